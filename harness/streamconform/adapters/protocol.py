"""Encode the messages of protocol v1 and parse a program's lines (`protocol.v1.json`).

No message contains the expected answer, the case's name or the delivery's name.
"""

from __future__ import annotations

import json
import re
from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, to_builtins

from streamconform._version import __version__
from streamconform.adapters import json_line, proxy_view
from streamconform.adapters.feed import BYTES_WITH_RUN, Feed
from streamconform.adapters.interface import (
    Answer,
    Errored,
    Greeting,
    Observation,
    Output,
    ProtocolFault,
    ProtocolFaultKind,
    Skipped,
)
from streamconform.adapters.non_json import MAX_TEXT, MAX_VALUES, NonJsonError, parse_with_nan
from streamconform.adapters.strict_json import MAX_DEPTH, InvalidNumberError, is_too_deep, parse_strict
from streamconform.model.capability import CALLED, CAPABILITIES, Claims
from streamconform.model.case import Case, Turn
from streamconform.model.cassette import Transport
from streamconform.model.growth import DIGEST_ABOVE
from streamconform.model.result import Raised
from streamconform.model.trial import AnyTrial, Behavior, Call, RoundTrip, Trial
from streamconform.printable import escape_line, escape_unprintable
from streamconform.schemas import find_problems

VERSION: Final = 1
MAX_LINE: Final = 64 * 1024 * 1024
"""Maximum bytes in a line from a program: four times the largest body, because events repeat the content."""
MAX_EVENTS: Final = 1_000_000
"""Maximum events per run; the largest body, delivered byte by byte, has fewer."""
MAX_OUTCOMES: Final = 1000
"""Maximum outcomes of one run."""
MAX_BLOCKS: Final = 100_000
"""Maximum content blocks per outcome: about as many empty tool calls as would fit in the largest body."""

STOP: Final = b'{"op":"stop"}\n'
API_KEY: Final = "conform"
"""The key that HTTP clients are given; the replay server accepts any key."""
QUOTED_BYTES: Final = 120
"""The maximum number of bytes of a line to quote in an error message."""
RAISED_OUTCOME: Final[Mapping[str, Any]] = {"status": "error", "content": [], "stop": {"reason": "error"}}
"""The outcome of a run whose result has `raised` but no `outcome`."""
MAX_RAISED_TYPE: Final = 200
MAX_RAISED_MESSAGE: Final = 500
MAX_RAISED_WHERE: Final = 300
"""The maximum number of characters to keep of each text that describes an exception."""
_ROOT: Final = r"(?<![\w.\-])(file://)?([A-Za-z]:)?[/\\]"
_TRACEBACK: Final = "\nTraceback (most recent call last):"
"""Some libraries include a traceback in an exception's message, which names folders on this machine."""
_PACKAGE_FOLDERS: Final = re.compile(
    _ROOT
    + r"[^()]*[/\\](node_modules|site-packages|dist-packages|pkg[/\\]mod|registry[/\\]src[/\\][^/\\]+)[/\\]"
)
_FOLDERS: Final = re.compile(_ROOT + r"([^()/\\:]+[/\\])*")
MAX_REASON: Final = 1000
MAX_TRACEBACK: Final = 4000
"""The maximum number of characters to keep of an adapter's description of its own failure."""
MAX_PATH: Final = 200
"""The maximum number of characters to keep of the path to a value that JSON cannot represent."""


class _Base64(dict[bytes, bytes]):
    """Maps a chunk to its base64; single bytes are cached, because bytewise deliveries have thousands."""

    def __missing__(self, data: bytes) -> bytes:
        return b2a_base64(data, newline=False)


_BASE64: Final = _Base64(
    {byte: b2a_base64(byte, newline=False) for byte in (bytes((i,)) for i in range(256))}
)


class ProtocolError(Exception):
    """A line breaks the protocol; the trial gets a `ProtocolFault` with the same kind and message."""

    def __init__(self, kind: ProtocolFaultKind, message: str) -> None:
        """Store `kind` and `message`."""
        super().__init__(message)
        self.kind: ProtocolFaultKind = kind
        self.message = message


class ResultLine(Struct, frozen=True):
    """A result line, which answers the run `id`."""

    id: str
    answer: Answer
    imported_reference: bool = False
    """Whether the program says that it has imported the bundled parser."""


class LiveEvent(Struct, frozen=True):
    """An event line for the run `id`."""

    id: str
    event: Any


def encode_hello() -> bytes:
    """Return the `hello` line."""
    return _encode_line({"op": "hello", "protocol": VERSION, "harness": __version__})


def encode_run(id_: str, trial: Trial, *, events: bool, feed: Feed = BYTES_WITH_RUN) -> bytes:
    """Return the `run` line for the stream of `trial`."""
    want = ["outcome", "events"] if events else ["outcome"]
    head = f'{{"op":"run","id":{json.dumps(id_)},"want":{json.dumps(want)},'.encode()
    if feed.input == "bytes":
        return head + _CASE_ENCODER.encode(trial) + _encode_chunks(trial.chunks) + _END
    if feed.input == "http":
        return head + _encode_case(trial.case, _http_input(feed))
    return head + _encode_case(trial.case, {"mode": "push"} | _describe_response(trial))


def _http_input(feed: Feed) -> dict[str, Any]:
    url = feed.base_url or ""
    over = {"transport": "websocket"} if url.startswith("ws:") else {}
    return {"mode": "http", "base_url": url, "api_key": API_KEY} | over


def _describe_response(trial: Trial) -> dict[str, Any]:
    over = {} if trial.transport == "http" else {"transport": trial.transport}
    return {"status": trial.status, "headers": dict(trial.headers)} | over


class _CaseEncoder:
    """Encodes the part of a run message that depends only on the case and transport, up to its chunks.

    It keeps the last result, because this part makes up most of a typical message, and about twenty trials of
    one case run in a row.
    """

    def __init__(self) -> None:
        self._last: tuple[Case, Transport, bytes] | None = None

    def encode(self, trial: Trial) -> bytes:
        case, transport = trial.case, trial.transport
        if self._last is None or self._last[0] is not case or self._last[1] != transport:
            source = {"mode": "bytes"} | _describe_response(trial) | {"chunks": []}
            self._last = (case, transport, _encode_case(case, source).removesuffix(_END))
        return self._last[2]


_CASE_ENCODER: Final = _CaseEncoder()
_END: Final = b"]}}\n"


def _encode_case(case: Case, source: Mapping[str, Any]) -> bytes:
    """Return the members of a run message that follow `op`, `id` and `want`; `input` comes last."""
    cassette = case.cassette
    members = {
        "api": case.api,
        "request": cassette.request.body,
        "model": cassette.model,
        "pricing": case.pricing,
        **({} if case.stream else {"stream": False}),
        **({} if case.growth is None else {"digest_above": DIGEST_ABOVE}),
        "input": source,
    }
    return _encode_line(members).removeprefix(b"{")


def _encode_chunks(chunks: Sequence[bytes]) -> bytes:
    """Return the chunks as base64 strings in JSON, separated by commas, without the brackets of the list."""
    # Built by hand instead of by `json`: a bytewise delivery has thousands of chunks.
    return b'"' + b'","'.join(map(_BASE64.__getitem__, chunks)) + b'"' if chunks else b""


def encode_chunk(id_: str, data: bytes) -> bytes:
    """Return the line with one chunk of the run `id_`, for the input mode `push`."""
    return b'{"op":"chunk","id":"%s","data":"%s"}\n' % (id_.encode(), _BASE64[data])


def encode_eof(id_: str) -> bytes:
    """Return the line that ends the body of the run `id_`."""
    return _encode_line({"op": "eof", "id": id_})


def encode_call(id_: str, trial: Call) -> bytes:
    """Return the `call` line for the function and input of `trial`."""
    case = trial.case
    function, _ = CALLED[case.kind]
    return _encode_line({"op": "call", "id": id_, "function": function, "api": case.api, "input": case.input})


def encode_request(id_: str, trial: AnyTrial, *, events: bool, feed: Feed = BYTES_WITH_RUN) -> bytes:
    """Return the line that asks for `trial`: a `run` or a `call`.

    Over HTTP, a request case is also a run: the client sends the conversation to our server.
    """
    if isinstance(trial, Trial):
        return encode_run(id_, trial, events=events, feed=feed)
    if isinstance(trial, Behavior):
        return _encode_behavior(id_, trial, feed)
    if feed.input == "http":
        head = {"op": "run", "id": id_, "want": ["outcome"]}
        return _encode_line(head | _conversation_members(trial) | {"input": _http_input(feed)})
    assert isinstance(trial, Call), "round trips are played one request at a time, or over HTTP"
    return encode_call(id_, trial)


CONTINUE: Final = "/continue"
"""The path, below the base URL of a trial about behavior, that the adapter gets to wait for the server."""


def _encode_behavior(id_: str, trial: Behavior, feed: Feed) -> bytes:
    """Return the `run` line for a trial about behavior."""
    case = trial.case.main
    control: dict[str, Any] = to_builtins(trial.case.control)
    url = f"{feed.base_url}{CONTINUE}"
    if "pause" in control:
        control["pause"] = {**control["pause"], "url": url}
    elif control.get("after") == 0:
        control["url"] = url
    head = f'{{"op":"run","id":{json.dumps(id_)},"want":["outcome"],"control":{json.dumps(control)},'
    return head.encode() + _encode_case(case, _http_input(feed))


def _conversation_members(trial: Call | RoundTrip) -> dict[str, Any]:
    """Return the members of a run that sends a conversation: one request, and one more for each turn."""
    turns: dict[str, Any] = {}
    if isinstance(trial, Call):
        conversation, request, pricing = trial.case.input, None, None
    else:
        case = trial.case
        conversation, pricing = case.conversation, case.answers[-1].pricing
        request = case.answers[0].cassette.request.body
        turns = {"turns": [_turn_members(turn) for turn in case.turns]}
        # Adapters that know only round trips read the results of the only turn.
        if len(case.turns) == 1 and not case.turns[0].messages:
            turns["results"] = list(case.turns[0].results)
    return turns | {
        "api": trial.case.api,
        "request": request,
        "model": conversation["model"],
        "pricing": pricing,
        "conversation": conversation,
    }


def _turn_members(turn: Turn) -> dict[str, Any]:
    members = {"results": list(turn.results), "messages": list(turn.messages)}
    return {name: value for name, value in members.items() if value}


def parse_greeting(line: bytes, fallback: str) -> Greeting:
    """Parse a program's `hello` line; `fallback` replaces a missing name. Raises `ProtocolError`."""
    message = parse_object(line)
    if message.get("op") != "hello":
        error = f"expected `hello` with `protocol` {VERSION}, got {quote_line(line)}"
        raise ProtocolError("not-a-message", error)
    # Checked before the schema, whose message would not mention the version.
    if message.get("protocol") != VERSION:
        version = json.dumps(message.get("protocol"))[:80]
        error = f"unsupported `protocol` {version}, expected {VERSION}: {quote_line(line)}"
        raise ProtocolError("not-a-message", error)
    errors = find_problems("protocol.v1", message, "hello")
    if errors:
        raise ProtocolError("not-a-message", "; ".join(errors))
    implementation = message["implementation"]
    apis = message.get("apis")
    return Greeting(
        name=implementation.get("name") or fallback,
        version=implementation.get("version"),
        language=implementation.get("language"),
        issues=implementation.get("issues"),
        apis=None if apis is None else frozenset(apis),
        inputs=tuple(message.get("inputs") or ("bytes",)),
        capabilities=_parse_claims(message.get("capabilities")),
        concurrency=int(message.get("concurrency") or 1),
        vendor=message.get("vendor"),
        lacks=frozenset(message.get("lacks") or ()),
        through=proxy_view.parse_proxy_view(message),
    )


def parse_reply(line: bytes) -> ResultLine | LiveEvent:
    """Parse a `result` or `event` line. Raises `ProtocolError`."""
    message = parse_object(line, allow_nan=True)
    id_ = message.get("id")
    if not isinstance(id_, str):
        error = f"`id` is missing or not a string: {quote_line(line)}; send back the id of the run"
        raise ProtocolError("not-a-message", error)
    match message.get("op"):
        case "event":
            return LiveEvent(id_, message.get("event"))
        case "result":
            return ResultLine(id_, _parse_answer(message, line), message.get("imported_reference") is True)
        case op:
            error = f"expected `op` to be `result` or `event`, got {json.dumps(op)[:80]}: {quote_line(line)}"
            raise ProtocolError("not-a-message", error)


def parse_object(line: bytes, *, allow_nan: bool = False) -> Mapping[str, Any]:
    """Return the JSON object in `line`. Raises `ProtocolError`.

    With `allow_nan`, NaN and Infinity are accepted in values that come from a library; `not_json` lists them.
    """
    message = parse_value(line, allow_nan=allow_nan)
    if not isinstance(message, dict):
        text = f'expected a JSON object, {{"op": …}}, got {quote_line(line)}'
        raise ProtocolError("not-json", text)
    return message


def parse_value(line: bytes, *, allow_nan: bool = False) -> Any:
    """Return the JSON value in `line`, with the same limits as for an object. Raises `ProtocolError`."""
    try:
        value = json_line.loads(line, parse_with_nan if allow_nan else parse_strict)
    except UnicodeDecodeError as error:
        text = f"byte {error.start} (0x{line[error.start]:02x}) is not UTF-8 in {quote_line(line)}"
        raise ProtocolError("not-json", f"{text}; write UTF-8 to stdout") from error
    except InvalidNumberError as error:
        text = f"`{error}` is not a JSON number, in {quote_line(line)}; send null or a string instead"
        raise ProtocolError("not-json", text) from error
    except NonJsonError as error:
        raise ProtocolError("not-json", f"{error}, in {quote_line(line)}") from error
    except RecursionError as error:
        raise _report_depth(line) from error
    except ValueError as error:
        hint = "print nothing else to stdout; write logs to stderr"
        raise ProtocolError("not-json", f"{_describe_syntax_error(line, error)}; {hint}") from error
    # Counting brackets first avoids walking the value for most lines.
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and is_too_deep(value):
        raise _report_depth(line)
    return value


def quote_line(line: bytes) -> str:
    """Return the beginning of `line` in backquotes, with invalid UTF-8 and control characters escaped."""
    content = line.rstrip(b"\r\n")
    text = escape_unprintable(content[:QUOTED_BYTES].decode("utf-8", "backslashreplace"))
    return f"`{text}`" if len(content) <= QUOTED_BYTES else f"`{text}…` ({len(line)} bytes)"


def _describe_syntax_error(line: bytes, error: ValueError) -> str:
    """Return why `line` is not JSON, with the error's position if the line starts like an object or list."""
    if not (isinstance(error, json.JSONDecodeError) and line.lstrip(b"\xef\xbb\xbf \t")[:1] in (b"{", b"[")):
        return f"expected a JSON object on a line of its own, got {quote_line(line)}"
    content = error.doc.rstrip("\r\n")
    start = max(error.pos - QUOTED_BYTES // 2, 0)
    text = escape_unprintable(content[start : start + QUOTED_BYTES])
    before, after = "…" * (start > 0), "…" * (start + QUOTED_BYTES < len(content))
    reason = f"{error.msg[:1].lower()}{error.msg[1:]}".removesuffix(" at").removesuffix(" starting")
    # Python's message names the token that it expected next, which depends on where the line was cut.
    if error.pos >= len(content):
        reason = "the line ends too early"
    return (
        f"invalid JSON at character {error.pos + 1}: {reason}, in `{before}{text}{after}` ({len(line)} bytes)"
    )


def _encode_line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _report_depth(line: bytes) -> ProtocolError:
    return ProtocolError("too-deep", f"nested deeper than {MAX_DEPTH} levels: {quote_line(line)}")


def parse_raised(value: Any) -> Raised | None:
    """Return the exception described by a result's `raised` field, shortened, or None if it is invalid."""
    match value:
        case {"type": str(type_), **rest}:
            text, where = rest.get("message"), rest.get("where")
            message = text.partition(_TRACEBACK)[0] if isinstance(text, str) else ""
            return Raised(
                escape_line(type_, MAX_RAISED_TYPE),
                escape_line(message, MAX_RAISED_MESSAGE),
                escape_line(_shorten_paths(where), MAX_RAISED_WHERE) if isinstance(where, str) else None,
            )
        case _:
            return None


def _shorten_paths(where: str) -> str:
    """Return `where` without this machine's folders: paths begin at the package, or are only a file name."""
    # Cut before the regular expressions read it: an adapter may send a text of any length.
    return _FOLDERS.sub("", _PACKAGE_FOLDERS.sub("", where[: 4 * MAX_RAISED_WHERE]))


def lacks_events(answer: Observation) -> bool:
    """Return whether `answer` still needs the events that were sent as separate lines."""
    # If an exception ended the run, its events are incomplete, and judging them would report the exception
    # twice. Compared by identity, since a library may itself return an equal outcome.
    return answer.events is None and answer.outcome is not RAISED_OUTCOME


def _parse_answer(message: Mapping[str, Any], line: bytes) -> Answer:
    taken, raised = message.get("taken"), parse_raised(message.get("raised"))
    match message:
        case {"outcome": _} if (fault := _find_excess(message)) is not None:
            return fault
        case {"outcome": outcome}:
            # `type` instead of `isinstance`, because `True` is an `int`.
            counts = tuple(taken) if isinstance(taken, list) and all(type(n) is int for n in taken) else None
            events, first = message.get("events"), message.get("first")
            deviations = proxy_view.parse_deviations(message)
            not_json = _parse_not_json(message)
            earlier = () if first is None else (first,)
            return Observation(outcome, events, counts, deviations, earlier, raised=raised, not_json=not_json)
        case {"outcomes": [_, *_] as outcomes} if len(outcomes) <= MAX_OUTCOMES:
            return Observation(outcomes[0], raised=raised, outcomes=tuple(outcomes))
        case {"output": output}:
            return Output(output)
        case {"skipped": {"reason": str(reason)}}:
            return Skipped(reason[:MAX_REASON])
        case {"errored": {"message": str(text), **rest}}:
            traceback = rest.get("traceback")
            return Errored(
                text[:MAX_REASON], traceback[-MAX_TRACEBACK:] if isinstance(traceback, str) else None
            )
        case _ if raised is not None:
            return Observation(RAISED_OUTCOME, raised=raised)
        case _:
            names = "`outcome`, `output`, `skipped`, `errored` or `raised`"
            return ProtocolFault("not-a-message", f"expected a result with {names}, got {quote_line(line)}")


def _find_excess(message: Mapping[str, Any]) -> ProtocolFault | None:
    """Return the fault for a result that exceeds the maximum number of blocks or events, or None."""
    for name in ("outcome", "first"):
        outcome = message.get(name)
        content = outcome.get("content") if isinstance(outcome, Mapping) else None
        if isinstance(content, list) and len(content) > MAX_BLOCKS:
            count = f"`{name}` has {len(content)} content blocks, more than {MAX_BLOCKS}"
            return ProtocolFault("too-many-blocks", f"{count}; join the deltas of a block")
    events = message.get("events")
    if isinstance(events, list) and len(events) > MAX_EVENTS:
        count = f"the result has {len(events)} events, more than {MAX_EVENTS}"
        return ProtocolFault("too-many-events", f"{count}; send one event per delta")
    return None


def _parse_not_json(message: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return (path, value) pairs from a result's `not_json` field; invalid entries are ignored."""
    entries = message.get("not_json")
    found = []
    for entry in entries[:MAX_VALUES] if isinstance(entries, list) else ():
        match entry:
            case {"path": str(path), "value": str(text)}:
                found.append((escape_line(path, MAX_PATH), escape_line(text, MAX_TEXT)))
            case _:
                pass
    return tuple(found)


def _parse_claims(value: Any) -> Claims | Mapping[str, Claims] | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {api: CAPABILITIES & frozenset(names) for api, names in value.items()}
    return CAPABILITIES & frozenset(value)
