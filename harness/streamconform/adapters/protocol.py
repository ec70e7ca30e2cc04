"""Protocol v1 as text: messages to a program, and what a line from one means (`protocol.v1.json`)."""

from __future__ import annotations

import json
from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamconform import __version__
from streamconform.adapters import json_line, proxy_view
from streamconform.adapters.conversation_message import conversed
from streamconform.adapters.feed import WITH_THE_RUN, Feed
from streamconform.adapters.interface import (
    Answer,
    Errored,
    Fault,
    FaultKind,
    Greeting,
    Observation,
    Output,
    Skipped,
)
from streamconform.adapters.strict_json import MAX_DEPTH, NotANumber, deep, strict
from streamconform.model.capability import CALLED, CAPABILITIES, Claims
from streamconform.model.case import Case
from streamconform.model.trial import AnyTrial, Call, RoundTrip, Trial
from streamconform.printable import escape_unprintable
from streamconform.schemas import problems

VERSION: Final = 1
MAX_LINE: Final = 64 * 1024 * 1024
"""Bytes in one line from a program: four times the largest body, as events repeat what they carry."""

STOP: Final = b'{"op":"stop"}\n'
API_KEY: Final = "conform"
"""What a client may send to the replay server; any is accepted."""
SHOWN: Final = 120
"""Bytes of a line that a message shows."""
BYTE: Final = tuple(b2a_base64(bytes((i,)), newline=False) for i in range(256))


class ProtocolFault(Exception):
    """A line breaks the protocol; becomes a `Fault` of the trial that it belongs to."""

    def __init__(self, kind: FaultKind, message: str) -> None:
        """Keep kind and message."""
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class Reply:
    """A result line: the answer to the run `id`."""

    id: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """An event line of the run `id`."""

    id: str
    event: Any


def hello() -> bytes:
    """Return the greeting."""
    return _line({"op": "hello", "protocol": VERSION, "harness": __version__})


def run(id_: str, trial: Trial, *, events: bool, feed: Feed = WITH_THE_RUN) -> bytes:
    """Return the request to read the stream of `trial`; nothing in it tells what is expected."""
    want = ["outcome", "events"] if events else ["outcome"]
    head = f'{{"op":"run","id":{json.dumps(id_)},"want":{json.dumps(want)},'.encode()
    if feed.input == "bytes":
        return head + _REQUESTS.of(trial.case) + _listed(trial.chunks) + _END
    if feed.input == "http":
        return head + _of_case(trial.case, _from_server(feed))
    cassette = trial.case.cassette
    given = {"mode": "push", "status": cassette.status, "headers": dict(cassette.headers)}
    return head + _of_case(trial.case, given)


def _from_server(feed: Feed) -> dict[str, Any]:
    return {"mode": "http", "base_url": feed.base_url, "api_key": API_KEY}


class _Requests:
    """What a run message says of its case, up to its chunks; the trials of a case come one after the other.

    It is the largest part of most messages, and would be written anew for each of twenty trials.
    """

    def __init__(self) -> None:
        self._last: tuple[Case, bytes] | None = None

    def of(self, case: Case) -> bytes:
        if self._last is None or self._last[0] is not case:
            cassette = case.cassette
            headers = dict(cassette.headers)
            given = {"mode": "bytes", "status": cassette.status, "headers": headers, "chunks": []}
            self._last = (case, _of_case(case, given).removesuffix(_END))
        return self._last[1]


_REQUESTS: Final = _Requests()
_END: Final = b"]}}\n"


def _of_case(case: Case, given: Mapping[str, Any]) -> bytes:
    """Return the rest of a run message, behind its first members; `input` is the last."""
    cassette = case.cassette
    told = {
        "api": case.api,
        "request": cassette.request.body,
        "model": cassette.model,
        "pricing": case.pricing,
        "input": given,
    }
    return _line(told).removeprefix(b"{")


def _listed(chunks: Sequence[bytes]) -> bytes:
    """Return the chunks, thousands where each is one byte, as the inside of a JSON list of base64 texts."""
    return b'"' + b'","'.join(map(_base64, chunks)) + b'"' if chunks else b""


def chunk(id_: str, data: bytes) -> bytes:
    """Return the line that hands over one chunk of the run `id_`, which was asked with mode push."""
    return b'{"op":"chunk","id":"%s","data":"%s"}\n' % (id_.encode(), _base64(data))


def eof(id_: str) -> bytes:
    """Return the line that ends the body of the run `id_`."""
    return _line({"op": "eof", "id": id_})


def call(id_: str, called: Call) -> bytes:
    """Return the request to call the function of `called` with its input."""
    case = called.case
    function, _ = CALLED[case.kind]
    return _line({"op": "call", "id": id_, "function": function, "api": case.api, "input": case.input})


def question(id_: str, trial: AnyTrial, *, events: bool, feed: Feed = WITH_THE_RUN) -> bytes:
    """Return the request that `trial` is about; over HTTP a conversation is one to ask the server with."""
    if isinstance(trial, Trial):
        return run(id_, trial, events=events, feed=feed)
    if isinstance(trial, RoundTrip) or feed.input == "http":
        head = {"op": "run", "id": id_, "want": ["outcome"]}
        return _line(head | conversed(trial) | {"input": _from_server(feed)})
    return call(id_, trial)


def greeting(line: bytes, fallback: str) -> Greeting:
    """Return what the program says of itself; raises `ProtocolFault` with what is wrong in its answer."""
    message = parsed(line)
    if message.get("op") != "hello":
        words = f"expected `hello` with `protocol` {VERSION}, got {shown(line)}"
        raise ProtocolFault("not-a-message", words)
    if message.get("protocol") != VERSION:
        words = f"it speaks `protocol` {json.dumps(message.get('protocol'))[:80]}, not {VERSION}"
        raise ProtocolFault("not-a-message", f"{words}: {shown(line)}")
    wrong = problems("protocol.v1", message, "hello")
    if wrong:
        raise ProtocolFault("not-a-message", "; ".join(wrong))
    given = message["implementation"]
    apis = message.get("apis")
    return Greeting(
        name=given.get("name") or fallback,
        version=given.get("version"),
        language=given.get("language"),
        issues=given.get("issues"),
        apis=None if apis is None else frozenset(apis),
        inputs=tuple(message.get("inputs") or ("bytes",)),
        capabilities=_claims(message.get("capabilities")),
        concurrency=int(message.get("concurrency") or 1),
        through=proxy_view.of_greeting(message),
    )


def reply(line: bytes) -> Reply | LiveEvent:
    """Return what `line` says; raises `ProtocolFault` where it is no message of the protocol."""
    message = parsed(line)
    id_ = message.get("id")
    if not isinstance(id_, str):
        words = f"a line whose `id` is missing or no text: {shown(line)}; send back the id of the run"
        raise ProtocolFault("not-a-message", words)
    match message.get("op"):
        case "event":
            return LiveEvent(id_, message.get("event"))
        case "result":
            return Reply(id_, _answer(message, line))
        case op:
            given = json.dumps(op)[:80]
            words = f"`op` is {given}, expected `result` or `event`: {shown(line)}"
            raise ProtocolFault("not-a-message", words)


def parsed(line: bytes) -> Mapping[str, Any]:
    """Return the object in `line`; raises `ProtocolFault` that says what it is instead."""
    try:
        message = json_line.loads(line, strict)
    except UnicodeDecodeError as error:
        words = f"byte {error.start} (0x{line[error.start]:02x}) is not UTF-8 in {shown(line)}"
        raise ProtocolFault("not-json", f"{words}; write UTF-8 to stdout") from error
    except NotANumber as error:
        words = f"`{error}` is no number of JSON, in {shown(line)}; send null or text in its place"
        raise ProtocolFault("not-json", words) from error
    except RecursionError as error:
        raise _too_deep(line) from error
    except ValueError as error:
        words = f"expected a JSON object on a line of its own, got {shown(line)}"
        hint = "print nothing else to stdout, logs belong on stderr"
        raise ProtocolFault("not-json", f"{words}; {hint}") from error
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and deep(message):
        raise _too_deep(line)
    if not isinstance(message, dict):
        words = f'expected a JSON object, {{"op": …}}, got {shown(line)}; every message is an object'
        raise ProtocolFault("not-json", words)
    return message


def shown(line: bytes) -> str:
    """Return the beginning of `line` as harmless text: bytes that are no UTF-8, and controls, as escapes."""
    whole = line.rstrip(b"\r\n")
    harmless = escape_unprintable(whole[:SHOWN].decode("utf-8", "backslashreplace"))
    return f"`{harmless}`" if len(whole) <= SHOWN else f"`{harmless}…` ({len(line)} bytes)"


def _base64(data: bytes) -> bytes:
    return BYTE[data[0]] if len(data) == 1 else b2a_base64(data, newline=False)


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _too_deep(line: bytes) -> ProtocolFault:
    words = f"nested deeper than {MAX_DEPTH} levels: {shown(line)}; no answer of a provider is"
    return ProtocolFault("too-deep", words)


def _answer(message: Mapping[str, Any], line: bytes) -> Answer:
    taken = message.get("taken")
    match message:
        case {"outcome": outcome}:
            counts = tuple(taken) if isinstance(taken, list) and all(type(n) is int for n in taken) else None
            events, first = message.get("events"), message.get("first")
            return Observation(outcome, events, counts, proxy_view.deviations(message), first)
        case {"output": output}:
            return Output(output)
        case {"skipped": {"reason": str(reason)}}:
            return Skipped(reason)
        case {"errored": {"message": str(said), **rest}}:
            traceback = rest.get("traceback")
            return Errored(said, traceback if isinstance(traceback, str) else None)
        case _:
            these = "`outcome`, `output`, `skipped`, `errored`"
            words = f"a result with none of {these}: {shown(line)}; send one of them"
            return Fault("not-a-message", words)


def _claims(given: Any) -> Claims | Mapping[str, Claims] | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {api: CAPABILITIES & frozenset(claimed) for api, claimed in given.items()}
    return CAPABILITIES & frozenset(given)
