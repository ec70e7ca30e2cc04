"""Mutants of every API: bugs that need no knowledge of a wire format, only of its bytes or of the outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import lru_cache
from typing import Any, Final, Unpack

from streamconform_reference.adapter import DOCUMENTS, Adapter, BytesRun, adapter, describe_adapter, find_lane
from streamconform_reference.apis import DECODERS
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Json

from .json_values import close_json
from .model import (
    ARGUMENTS,
    ARGUMENTS_TEXT,
    BOTH,
    COMPLETE,
    CONTENT,
    ERROR,
    GIVES_UP,
    STATUS,
    STOP_REASON,
    USAGE,
    Path,
)
from .registry import Bug, Named, Registry, SharedMutants

SAFE_INTEGER: Final = 2**53
"""The largest integer that a double holds together with its predecessor."""
MESSAGES: Final = ("bedrock-converse", "bedrock-invoke")
"""The APIs whose streams are binary messages."""
TEXTUAL: Final = tuple(api for api in DECODERS if api not in MESSAGES)
DOUBLES: Final = ("google-generate",)
"""The APIs whose arguments are a `Struct`, which has doubles and no integers."""
SOURCES_APART: Final = ("google-generate",)
"""The APIs that name the sources of an answer beside its text."""
SAME_REASON_WITH_CALLS: Final = ("google-generate", "google-interactions", "ollama-chat")
WITH_REASONS_FOR_CALLS: Final = tuple(api for api in DECODERS if api not in SAME_REASON_WITH_CALLS)
"""The APIs that have a stop reason of their own for calls."""
EVENT_STREAMS: Final = tuple(api for api in TEXTUAL if api != "ollama-chat")
WITH_FIELDS: Final = tuple(api for api in EVENT_STREAMS if api != "cohere-chat")
"""The APIs whose events have fields such as `id` in some streams."""

BLANK_LINE: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
DATA_WITHOUT_SPACE: Final = re.compile(rb"^data:(?! )[^\r\n]*", re.MULTILINE)
OTHER_FIELD: Final = re.compile(rb"^(?:id|retry):", re.MULTILINE)
NEXT_DATA_LINE: Final = re.compile(rb"(?<=[^\r\n])(\r?\n)(?=data:)")


class EveryApi(Registry):
    """Mutants that read all APIs, and report no events."""

    paths = BOTH

    def outcome(self, *apis: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Let the decorated function change the outcome of these APIs, or of all, in place."""

        def make(name: str, change: Callable[[Json], None]) -> Adapter:
            def broken(run: Any) -> Iterator[Json]:
                outcome = _read(run, tuple(run.chunks))
                change(outcome)
                yield {"outcome": outcome}

            return describe_without_events(broken, f"mutant:{name}", apis or tuple(DECODERS))

        return self.register({"trials": "once", **bug}, make)

    def chunks(self, *apis: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Read the chunks that the decorated function yields for the real ones."""

        def make(name: str, change: Callable[[Iterable[bytes]], Iterable[bytes]]) -> Adapter:
            def broken(run: Any) -> Iterator[Json]:
                yield {"outcome": _read(run, tuple(change(run.chunks)))}

            return describe_without_events(broken, f"mutant:{name}", apis)

        return self.register(bug, make)


class SomeApis(SharedMutants, EveryApi):
    """Mutants of some APIs, which change payloads, decoders, bytes or outcomes."""

    paths: tuple[Path, ...] = ("stream",)


mutants = EveryApi()


def describe_without_events(
    broken: Callable[[Any], Iterator[Json]], name: str, apis: tuple[str, ...]
) -> Adapter:
    """Return `broken` as an adapter that claims everything except events."""
    described = describe_adapter(broken, name=name, apis=apis, claimed=(DOCUMENTS,))
    vars(broken)["capabilities"] = [claim for claim in described.capabilities if claim != "events"]
    return described


def _read(run: Any, chunks: tuple[bytes, ...]) -> Json:
    """Return the outcome of the reference, which the caller may change."""
    headers = json.dumps(dict(run.headers))
    pricing = json.dumps(run.pricing and dict(run.pricing))
    given = (run.api, run.status, headers, pricing, chunks, run.stream, find_lane(run))
    outcome: Json = json.loads(_read_once(*given))
    return outcome


# These mutants get the same exchange one after the other.
@lru_cache(maxsize=2)
def _read_once(
    api: str,
    status: int,
    headers: str,
    pricing: str,
    chunks: tuple[bytes, ...],
    stream: bool,  # noqa: FBT001
    lane: str | None,
) -> str:
    *_, last = adapter(BytesRun(api, status, json.loads(headers), json.loads(pricing), chunks, stream, lane))
    return json.dumps(last["outcome"])


def _blocks(outcome: Json, *types: str) -> list[Json]:
    return [block for block in outcome["content"] if block["type"] in types]


def _keep(outcome: Json, is_kept: Callable[[Json], bool]) -> None:
    outcome["content"] = [block for block in outcome["content"] if is_kept(block)]


def _client_calls(outcome: Json) -> list[Json]:
    return [block for block in _blocks(outcome, "tool_call") if block["executor"] != "provider"]


# Bytes


@mutants.chunks(*TEXTUAL, kind="reads-as-units", paths=("stream",), fails=GIVES_UP)
def chunks_decoded_apart(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decodes each chunk separately, so a character split across two chunks is lost."""
    for chunk in chunks:
        yield chunk.decode("utf-8", "replace").encode()


@mutants.chunks(*TEXTUAL, kind="other-line-ends", paths=("stream",), fails=GIVES_UP)
def separators_end_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Ends lines at U+2028, U+2029 and U+0085, which are text in JSON."""
    text = b"".join(chunks)
    for separator in ("\u2028", "\u2029", "\u0085"):
        text = text.replace(separator.encode(), b"\n")
    yield text


@mutants.chunks(
    *EVENT_STREAMS, kind="keep-alives-read", paths=("stream",), fails=(*GIVES_UP, "**:continuation")
)
def comments_as_data(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Reads a comment as the data of an event."""
    text = b"\n" + b"".join(chunks)
    yield text.replace(b"\r\n", b"\n").replace(b"\n:", b"\ndata:")[1:]


@mutants.chunks(*DECODERS, kind="text-garbled", fails=GIVES_UP)
def text_as_latin_1(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decodes the body as Latin-1, so every character beyond ASCII becomes several."""
    for chunk in chunks:
        yield chunk.decode("latin-1").encode()


@mutants.chunks(*TEXTUAL, kind="last-frame-lost", paths=("stream",), fails=GIVES_UP)
def unended_line_lost(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Drops what follows the last line end."""
    text = b"".join(chunks)
    yield text[: max(text.rfind(b"\n"), text.rfind(b"\r"), text.rfind(b"]")) + 1]


@mutants.chunks(*EVENT_STREAMS, kind="last-frame-lost", paths=("stream",), fails=GIVES_UP)
def blank_line_awaited(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Drops an event that no blank line follows."""
    text = b"".join(chunks)
    ends = [end.end() for end in BLANK_LINE.finditer(text)]
    yield text[: ends[-1]] if ends and b"data:" in text else text


@mutants.chunks(*TEXTUAL, kind="other-lines-unread", paths=("stream",), fails=(*GIVES_UP, "**:continuation"))
def carriage_returns_unread(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Ends lines only at LF, so a stream with CRLF has no event."""
    text = b"".join(chunks)
    yield b"" if b"\r\n" in text else text


@mutants.chunks(*EVENT_STREAMS, kind="other-lines-unread", paths=("stream",), fails=GIVES_UP)
def space_expected(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Skips data lines that have no space after the colon."""
    yield DATA_WITHOUT_SPACE.sub(b"", b"".join(chunks))


@mutants.chunks(*WITH_FIELDS, kind="other-lines-unread", paths=("stream",), fails=GIVES_UP)
def every_field_as_data(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Reads the fields `id` and `retry` as data."""
    yield OTHER_FIELD.sub(b"data:", b"".join(chunks))


@mutants.chunks(*EVENT_STREAMS, kind="other-lines-unread", paths=("stream",), fails=GIVES_UP)
def data_lines_apart(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Takes each of several data lines of an event for an event."""
    yield NEXT_DATA_LINE.sub(rb"\1\1", b"".join(chunks))


@mutants.chunks("ollama-chat", kind="keep-alives-read", paths=("stream",), fails=GIVES_UP)
def blank_lines_as_records(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Reads an empty line as a record."""
    yield BLANK_LINE.sub(b"\n?\n", b"".join(chunks))


@mutants.outcome(
    trials="once and broken", kind="damage-unnoticed", fails=(*ERROR, *CONTENT, "**:model", "**:response_id")
)
def damage_as_the_end(outcome: Json) -> None:
    """Stops reading where the bytes are damaged, and reports what came before as the answer."""
    if outcome["status"] == "error" and outcome["error"]["type"] == "protocol":
        outcome |= {"status": "complete", "error": None}
        outcome["stop"]["reason"] = "stop"


# The end


@mutants.chunks(*DECODERS, kind="cut-as-complete", paths=("document",), fails=GIVES_UP)
def cut_document_closed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Closes the JSON of a document that was cut, and reads it as a whole one."""
    body = b"".join(chunks)
    if body.lstrip().startswith(b"{") and not codec.is_json(body):
        body = close_json(body.decode("utf-8", "ignore")).encode()
    yield body


@mutants.outcome(*WITH_REASONS_FOR_CALLS, kind="stop-guessed", fails=STATUS)
def reason_from_the_calls(outcome: Json) -> None:
    """Reports tool_use for every complete answer with a call of the client, whatever ended it."""
    if outcome["status"] == "complete" and _client_calls(outcome):
        outcome["stop"]["reason"] = "tool_use"


@mutants.outcome(trials="once and broken", kind="cut-as-complete", paths=("stream",), fails=STATUS)
def end_of_body_as_success(outcome: Json) -> None:
    """Takes the end of the bytes for the end of the answer."""
    if outcome["status"] == "incomplete":
        outcome["status"] = "complete"
        outcome["stop"]["reason"] = "tool_use" if _client_calls(outcome) else "stop"


@mutants.outcome(trials="once and broken", kind="error-as-success", fails=ERROR)
def errors_ignored(outcome: Json) -> None:
    """Reports what arrived before an error as a complete answer."""
    if outcome["status"] == "error":
        outcome["status"] = "complete"
        outcome["error"] = None
        outcome["stop"]["reason"] = "stop"


@mutants.outcome(trials="once and broken", kind="error-details-lost", fails=("**:error", "**:error.**"))
def error_unexplained(outcome: Json) -> None:
    """Reports that an answer failed, but not why."""
    if outcome["error"]:
        outcome["error"] = {"type": "error", "message": "the answer failed", "status": None}


@mutants.outcome(kind="failure-as-stop", fails=STOP_REASON)
def every_end_as_stop(outcome: Json) -> None:
    """Reports the end of every answer without calls as a normal one."""
    if outcome["status"] == "complete" and outcome["stop"]["reason"] != "tool_use":
        outcome["stop"]["reason"] = "stop"


@mutants.outcome(kind="stop-reason-lost", fails=("**:stop", "**:stop.**"))
def stop_reason_unread(outcome: Json) -> None:
    """Reports no stop reason."""
    outcome["stop"]["reason"] = None


@mutants.outcome(kind="stop-details-lost", fails=("**:stop", "**:stop.**"))
def stop_details_unread(outcome: Json) -> None:
    """Reports why the answer ended, but neither the matched sequence nor the details."""
    outcome["stop"] |= {"sequence": None, "details": None}


@mutants.outcome(kind="stop-hides-calls", fails=(*CONTENT, *STOP_REASON))
def calls_only_if_announced(outcome: Json) -> None:
    """Returns calls only if the provider's stop reason mentions them."""
    raw = str(outcome["stop"]["raw"]).lower()
    if not any(word in raw for word in ("tool", "function", "action")):
        calls = _client_calls(outcome)
        _keep(outcome, lambda block: block not in calls)
        if calls:
            outcome["stop"]["reason"] = "stop"


@mutants.outcome(kind="refusal-lost", fails=CONTENT)
def refusals_unread(outcome: Json) -> None:
    """Does not read refusals, so they look like empty answers."""
    _keep(outcome, lambda block: block["type"] != "refusal")


@mutants.outcome(kind="content-lost-at-the-end", fails=CONTENT)
def limited_content_lost(outcome: Json) -> None:
    """Returns no content if a limit or a filter ended the answer."""
    if outcome["stop"]["reason"] in {"length", "content_filter", "refusal"}:
        outcome["content"] = []


# Calls


@mutants.outcome(kind="part-lost", fails=CONTENT)
def only_the_first_block(outcome: Json) -> None:
    """Returns only the first block of an answer."""
    del outcome["content"][1:]


@mutants.outcome(kind="calls-merged", fails=CONTENT)
def last_call_only(outcome: Json) -> None:
    """Keeps one call, so the last of several parallel calls replaces the others."""
    replaced = _client_calls(outcome)[:-1]
    _keep(outcome, lambda block: block not in replaced)


@mutants.outcome(kind="fragment-to-another-call", fails=(*CONTENT, *ARGUMENTS))
def arguments_swapped(outcome: Json) -> None:
    """Gives the first two calls each other's arguments."""
    calls = _client_calls(outcome)
    if len(calls) > 1:
        first, second = calls[:2]
        for key in ("arguments", "arguments_text"):
            first[key], second[key] = second[key], first[key]


@mutants.outcome(kind="arguments-lost", fails=(*CONTENT, *ARGUMENTS, *ARGUMENTS_TEXT))
def arguments_unread(outcome: Json) -> None:
    """Reports every call without arguments."""
    for call in _client_calls(outcome):
        if call["arguments"]:
            call["arguments"] = {}
        elif call["complete"]:
            call["arguments_text"] = ""


@mutants.outcome(kind="empty-arguments-lost", fails=(*CONTENT, *ARGUMENTS))
def empty_arguments_as_null(outcome: Json) -> None:
    """Reports null as the arguments of a call that has none."""
    for call in _client_calls(outcome):
        if call["arguments"] == {}:
            call["arguments"] = None


@mutants.outcome(
    *(api for api in DECODERS if api not in DOUBLES), kind="arguments-changed", fails=(*CONTENT, *ARGUMENTS)
)
def integers_as_doubles(outcome: Json) -> None:
    """Reads integers as doubles, so large ones change."""

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: read(member) for key, member in value.items()}
        if isinstance(value, list):
            return [read(member) for member in value]
        if type(value) is int and abs(value) > SAFE_INTEGER:
            return int(float(value))
        return value

    for call in _client_calls(outcome):
        call["arguments"] = read(call["arguments"])


@mutants.outcome(kind="malformed-fatal", fails=GIVES_UP)
def malformed_arguments_fatal(outcome: Json) -> None:
    """Fails at the end of an answer with a call whose arguments are no JSON object."""
    if not all(isinstance(call["arguments"], dict) for call in _client_calls(outcome)):
        outcome |= {
            "status": "error",
            "content": [],
            "error": {"type": "json", "message": "", "status": None},
        }


@mutants.outcome(kind="call-doubled", fails=CONTENT)
def last_call_twice(outcome: Json) -> None:
    """Reports the last call twice, the second time without its id."""
    outcome["content"] += [{**deepcopy(call), "id": None} for call in _client_calls(outcome)[-1:]]


@mutants.outcome(
    trials="once and broken", kind="unfinished-call-runs", fails=(*CONTENT, *COMPLETE, *ARGUMENTS)
)
def every_call_runs(outcome: Json) -> None:
    """Reports every call as finished, and one whose arguments are not JSON as a call without arguments."""
    for call in _client_calls(outcome):
        call["complete"] = True
        if call["arguments"] is None:
            call["arguments"] = {}


@mutants.outcome(kind="provider-call-runs", fails=CONTENT)
def provider_calls_as_clients(outcome: Json) -> None:
    """Asks the client to run the tools that the provider has already run."""
    for call in _blocks(outcome, "tool_call"):
        call["executor"] = "client"


@mutants.outcome(kind="provider-call-lost", fails=CONTENT)
def provider_calls_lost(outcome: Json) -> None:
    """Drops the calls to the provider's tools."""
    _keep(outcome, lambda block: block.get("executor") != "provider")


# Text and thinking


@mutants.outcome(kind="content-doubled", fails=CONTENT)
def text_twice(outcome: Json) -> None:
    """Reports each text twice."""
    for block in _blocks(outcome, "text"):
        block["text"] *= 2


@mutants.outcome(kind="text-lost", fails=CONTENT)
def first_letter_lost(outcome: Json) -> None:
    """Drops the first letter of each text."""
    for block in _blocks(outcome, "text"):
        block["text"] = block["text"][1:]


@mutants.outcome(
    *(api for api in DECODERS if api not in SOURCES_APART),
    kind="sources-lost",
    fails=("**:content.*.text.citations",),
)
def sources_unread(outcome: Json) -> None:
    """Reads texts without their sources."""
    for block in _blocks(outcome, "text"):
        block["citations"] = []


@mutants.outcome(kind="thinking-lost", fails=CONTENT)
def thoughts_unread(outcome: Json) -> None:
    """Drops all thinking that is not redacted."""
    _keep(outcome, lambda block: block["type"] != "thinking" or block["redacted"])


@mutants.outcome(kind="thinking-as-text", fails=CONTENT)
def thoughts_as_text(outcome: Json) -> None:
    """Reports thinking as the answer's text."""
    for block in _blocks(outcome, "thinking"):
        if not block["redacted"]:
            text = block["text"]
            block.clear()
            block |= {"type": "text", "text": text, "phase": None, "signature": None, "citations": []}


@mutants.outcome(kind="signature-lost", fails=CONTENT)
def signatures_unread(outcome: Json) -> None:
    """Drops the signatures of thinking, text and calls."""
    for block in _blocks(outcome, "thinking", "text", "tool_call"):
        if not block.get("redacted"):
            block["signature"] = None


@mutants.outcome(kind="redacted-lost", fails=CONTENT)
def redacted_unread(outcome: Json) -> None:
    """Drops redacted thinking."""
    _keep(outcome, lambda block: not block.get("redacted"))


@mutants.outcome(kind="identity-lost", fails=("**:model", "**:response_id"))
def answer_without_name(outcome: Json) -> None:
    """Reports neither the model nor the answer's id."""
    outcome |= {"model": None, "response_id": None}


# Usage and cost


def _counts(outcome: Json) -> Json:
    """Return the usage, or an empty object if there is none."""
    usage: Json = outcome["usage"] or {}
    return usage


@mutants.outcome(kind="usage-lost", fails=USAGE)
def usage_unread(outcome: Json) -> None:
    """Reports no usage and no cost."""
    outcome |= {"usage": None, "cost": None}


@mutants.outcome(kind="usage-doubled", fails=USAGE)
def usage_counted_twice(outcome: Json) -> None:
    """Adds the usage of two events that report the same tokens."""
    counts = _counts(outcome)
    counts |= {key: value and value * 2 for key, value in counts.items()}


# Cohere's cached tokens are no part of the billed ones, which are the input.
@mutants.outcome(*(api for api in DECODERS if api != "cohere-chat"), kind="cache-counted-twice", fails=USAGE)
def cache_in_input(outcome: Json) -> None:
    """Counts tokens read from and written to the cache as input again."""
    counts = _counts(outcome)
    if counts.get("input") is not None:
        counts["input"] += (counts["cache_read"] or 0) + (counts["cache_write"] or 0)


@mutants.outcome(kind="cache-lost", fails=USAGE)
def cache_unread(outcome: Json) -> None:
    """Reports neither cache reads nor cache writes."""
    counts = _counts(outcome)
    counts |= dict.fromkeys(counts.keys() & {"cache_read", "cache_write", "cache_write_1h"})


@mutants.outcome(kind="thinking-counted-wrong", fails=USAGE)
def reasoning_in_output_again(outcome: Json) -> None:
    """Adds the reasoning tokens to the output, which contains them."""
    counts = _counts(outcome)
    if counts.get("output") is not None:
        counts["output"] += counts["reasoning"] or 0


@mutants.outcome(trials="once and broken", kind="unknown-as-zero", fails=USAGE)
def unknown_counts_as_zero(outcome: Json) -> None:
    """Reports 0 for every count that the answer did not give."""
    counts = _counts(outcome)
    counts |= {key: value or 0 for key, value in counts.items()}


@mutants.outcome(kind="cost-inexact", fails=("**:cost.**", "**:invariant.outcome-schema"))
def cost_in_floats(outcome: Json) -> None:
    """Computes cost with floats, so small amounts come out as `9e-05`."""
    cost = outcome["cost"] or {}
    cost |= {key: str(float(cost[key])) for key in cost if key != "currency" and cost[key] is not None}
