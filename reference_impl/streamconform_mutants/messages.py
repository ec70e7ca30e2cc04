"""Mutants of Anthropic's messages and of both APIs of Bedrock: the same bug in APIs with the same blocks."""

from __future__ import annotations

import json
from typing import Any, Final

from streamconform_reference.apis.anthropic_messages.content import BLOCK_STARTS
from streamconform_reference.apis.bedrock_converse.content import DELTAS, STARTS
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.framing import Frame
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Json

from .every_api import SomeApis
from .json_values import drop_key, object_at
from .model import ARGUMENTS, BOTH, COMPLETE, CONTENT, ERROR, GIVES_UP, USAGE

_ANTHROPIC: Final = ("anthropic-messages", "bedrock-invoke")
_ALL: Final = (*_ANTHROPIC, "bedrock-converse")
_MORE_BLOCKS: Final = ("container_upload", "compaction")


mutants = SomeApis()


# Bytes


@mutants.decoder("anthropic-messages", kind="damage-unnoticed", fails=GIVES_UP)
class BrokenEventSkipped:
    """Skips an event whose data is not JSON."""

    def receive_frame(self, frame: Frame) -> None:
        if codec.is_json(frame.data):
            super().receive_frame(frame)  # type: ignore[misc]


@mutants.payloads(*_ANTHROPIC, kind="keep-alives-read", fails=GIVES_UP)
def ping_fatal(payload: Payload) -> Payload:
    """Fails on a ping."""
    if payload.get("type") == "ping":
        raise BrokenPayloadError("unknown event")
    return payload


# Forms of values


@mutants.payloads(*_ANTHROPIC, kind="unknown-fatal", paths=BOTH, fails=GIVES_UP)
def unknown_block_fatal(payload: Payload) -> Payload:
    """Fails on a block of an unknown type."""
    for block in [*object_at(payload, "message").get("content", ()), object_at(payload, "content_block")]:
        kind = block.get("type", "text")
        if not (kind in BLOCK_STARTS or kind in _MORE_BLOCKS or kind.endswith("_result")):
            raise BrokenPayloadError(f"unknown block {kind!r}")
    return payload


@mutants.decoder("bedrock-converse", kind="unknown-fatal", paths=BOTH, fails=GIVES_UP)
class UnknownMemberFatal:
    """Fails on a start or a delta of an unknown kind."""

    def read_event(self, kind: str, body: Payload) -> None:
        known = {"start": {*STARTS, "image"}, "delta": {*DELTAS, "image"}}
        for key, kinds in known.items():
            if not object_at(body, key).keys() <= kinds:
                raise BrokenPayloadError("unknown kind of block")
        super().read_event(kind, body)  # type: ignore[misc]


@mutants.payloads(*_ALL, kind="absent-fatal", paths=BOTH, fails=GIVES_UP)
def cache_counts_required(payload: Payload) -> Payload:
    """Fails if the counts of the cache are missing from the usage."""
    counted = [object_at(payload, "message"), object_at(payload, "metadata"), payload]
    for usage in [object_at(holder, "usage") for holder in counted if payload.get("type") != "message_delta"]:
        if usage and "cache_read_input_tokens" not in usage and "cacheReadInputTokens" not in usage:
            raise BrokenPayloadError("the cache counts are missing")
    return payload


@mutants.payloads(*_ALL, kind="absent-fatal", fails=GIVES_UP)
def empty_fragment_fatal(payload: Payload) -> Payload:
    """Fails on an empty fragment of a call's input."""
    delta = object_at(payload, "delta")
    if "" in (delta.get("partial_json"), object_at(delta, "toolUse").get("input")):
        raise BrokenPayloadError("an empty fragment")
    return payload


@mutants.decoder("bedrock-converse", kind="absent-fatal", paths=("document",), fails=GIVES_UP)
class SequenceRequired:
    """Fails if the stop sequence for which the request asked is null."""

    def stop(self, raw: str, fields: object) -> None:
        if isinstance(fields, dict) and fields.get("stop_sequence", "") is None:
            raise BrokenPayloadError("no stop sequence")
        super().stop(raw, fields)  # type: ignore[misc]


@mutants.payloads(*_ALL, kind="old-form-unread", paths=BOTH, fails=USAGE)
def only_split_writes_read(payload: Payload) -> Payload:
    """Reads cache writes only from the split by lifetime, which older models do not send."""
    text = json.dumps(payload)
    if 'cache_creation"' in text or "cacheDetails" in text:
        return payload
    changed: Payload = drop_key(drop_key(payload, "cache_creation_input_tokens"), "cacheWriteInputTokens")
    return changed


@mutants.decoder(*_ALL, kind="order-trusted", fails=(*ERROR, *USAGE))
class FragmentBehindItsBlockFatal:
    """Fails on a delta for a block that has stopped."""

    stopped: frozenset[Any] = frozenset()

    def read(self, payload: Payload) -> None:
        self._check(str(payload.get("type")), payload.get("index"))
        super().read(payload)  # type: ignore[misc]

    def read_event(self, kind: str, body: Payload) -> None:
        self._check(kind, body.get("contentBlockIndex"))
        super().read_event(kind, body)  # type: ignore[misc]

    def _check(self, kind: str, index: Any) -> None:
        if kind in ("content_block_start", "contentBlockStart"):
            self.stopped -= {index}
        elif kind in ("content_block_stop", "contentBlockStop"):
            self.stopped |= {index}
        elif kind in ("content_block_delta", "contentBlockDelta") and index in self.stopped:
            raise BrokenPayloadError("no such block is open")


# The end


@mutants.decoder(*_ANTHROPIC, kind="end-too-early", fails=(*ERROR, *USAGE, *COMPLETE))
class FirstMessageDeltaEnds:
    """Ends the answer at the first `message_delta`, before later counts."""

    message: Any

    def read(self, payload: Payload) -> None:
        super().read(payload)  # type: ignore[misc]
        if payload.get("type") == "message_delta":
            self.message.complete()


# Calls and content


@mutants.decoder(*_ANTHROPIC, kind="arguments-doubled", fails=(*ARGUMENTS, *CONTENT))
class StartInputKept:
    """Joins the input in the start of a call with the fragments that follow."""

    message: Any

    def read(self, payload: Payload) -> None:
        super().read(payload)  # type: ignore[misc]
        given = object_at(payload, "content_block").get("input")
        if given:
            self.message.add_arguments(payload["index"], json.dumps(given))


@mutants.decoder(*_ANTHROPIC, kind="identity-trusted", fails=GIVES_UP)
class IndexAsPosition:
    """Expects the index of a block to be its position in the answer."""

    started = 0

    def read(self, payload: Payload) -> None:
        if payload.get("type") == "content_block_start":
            if payload.get("index") != self.started:
                raise BrokenPayloadError("a block is missing")
            self.started += 1
        super().read(payload)  # type: ignore[misc]


@mutants.decoder("bedrock-converse", kind="identity-trusted", fails=GIVES_UP)
class GapFatal:
    """Expects the indices of the blocks to have no gaps."""

    last = -1

    def read_event(self, kind: str, body: Payload) -> None:
        index = body.get("contentBlockIndex")
        if isinstance(index, int):
            if index > self.last + 1:
                raise BrokenPayloadError("a block is missing")
            self.last = max(self.last, index)
        super().read_event(kind, body)  # type: ignore[misc]


@mutants.decoder(*_ALL, kind="identity-trusted", fails=(*CONTENT, "**:invariant.**"))
class SecondCallWithAnIdLost:
    """Keeps calls by id, so the second of two calls with one id is lost."""

    def begin(self) -> None:
        self.seen: set[object] = set()
        super().begin()  # type: ignore[misc]

    def read(self, payload: Payload) -> None:
        identity = object_at(payload, "content_block").get("id")
        identity = identity or object_at(object_at(payload, "start"), "toolUse").get("toolUseId")
        if identity is None or identity not in self.seen:
            super().read(payload)  # type: ignore[misc]
        self.seen.add(identity)


@mutants.decoder(*_ANTHROPIC, kind="call-doubled", fails=(*CONTENT, *ARGUMENTS, "**:invariant.**"))
class CallAtEachStop:
    """Reports a call at each `content_block_stop`, also at a second one."""

    def begin(self) -> None:
        self.starts: dict[Any, Payload] = {}
        self.stops: set[Any] = set()
        super().begin()  # type: ignore[misc]

    def read(self, payload: Payload) -> None:
        index = payload.get("index")
        if payload.get("type") == "content_block_start":
            self.starts[index] = payload
            self.stops.discard(index)
        elif payload.get("type") == "content_block_stop":
            if index in self.stops and index in self.starts:
                super().read(self.starts[index])  # type: ignore[misc]
            self.stops.add(index)
        super().read(payload)  # type: ignore[misc]


@mutants.decoder(*_ALL, kind="order-trusted", fails=GIVES_UP)
class StrayEventFatal:
    """Fails on a second start of the message, on a delta of a block that ended, and on a stray end."""

    def begin(self) -> None:
        self.states: dict[Any, str] = {}
        super().begin()  # type: ignore[misc]

    def read(self, payload: Payload) -> None:
        index = payload.get("index", payload.get("contentBlockIndex"))
        state = self.states.get(index)
        if payload.get("type") == "message_start":
            index, state = "message", self.states.get("message")
            is_stray = state is not None
            state = "open"
        elif payload.keys() & {"content_block", "start"}:
            is_stray, state = False, "open"
        elif "delta" in payload:
            is_stray, state = state == "ended", "open"
        else:
            is_stray, state = state != "open", "ended"
        if index is not None:
            if is_stray:
                raise BrokenPayloadError("an event of a block that is not open")
            self.states[index] = state
        super().read(payload)  # type: ignore[misc]


@mutants.decoder("anthropic-messages", kind="order-trusted", fails=GIVES_UP)
class OpenBlockFatal:
    """Fails on the start of a block while another one is open."""

    def begin(self) -> None:
        self.opened: set[Any] = set()
        super().begin()  # type: ignore[misc]

    def read(self, payload: Payload) -> None:
        if payload.get("type") == "content_block_start":
            if self.opened:
                raise BrokenPayloadError("another block is open")
            self.opened.add(payload.get("index"))
        elif payload.get("type") == "content_block_stop":
            self.opened.discard(payload.get("index"))
        super().read(payload)  # type: ignore[misc]


@mutants.outcome(*_ALL, kind="details-lost", paths=BOTH, fails=CONTENT)
def other_blocks_emptied(outcome: Json) -> None:
    """Keeps only the kind of a block that is neither text nor thinking nor a call."""
    for block in outcome["content"]:
        if block["type"] == "other":
            block["data"] = None


@mutants.decoder(*_ALL, kind="thoughts-split", fails=(*CONTENT, "**:invariant.**"))
class BlockPerThought:
    """Makes a block of each delta of a thought."""

    message: Any

    def read(self, payload: Payload) -> None:
        super().read(payload)  # type: ignore[misc]
        delta = object_at(payload, "delta")
        if "thinking" in delta or "reasoningContent" in delta:
            self.message.end(payload.get("index", payload.get("contentBlockIndex")))


# Usage


@mutants.decoder(*_ALL, kind="usage-outdated", fails=USAGE)
class FirstCountsKept:
    """Keeps the first report of each count, so later ones are ignored."""

    message: Any

    def read(self, payload: Payload) -> None:
        before = self.message.usage()
        super().read(payload)  # type: ignore[misc]
        if before is not None and not self.message.ended:
            counts = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")
            self.message.report_usage({name: getattr(before, name) for name in counts})


@mutants.payloads(*_ALL, kind="price-variant-ignored", paths=BOTH, fails=USAGE)
def cache_lifetimes_unread(payload: Payload) -> Payload:
    """Prices cache writes of every lifetime like the shortest."""
    changed: Payload = drop_key(drop_key(payload, "cache_creation"), "cacheDetails")
    return changed


@mutants.payloads("bedrock-converse", kind="other-counts", paths=BOTH, fails=USAGE)
def output_from_the_total(payload: Payload) -> Payload:
    """Subtracts the input from the total for the output, although the total includes the cache."""
    for holder in (payload, object_at(payload, "metadata")):
        usage = object_at(holder, "usage")
        if isinstance(usage.get("totalTokens"), int) and isinstance(usage.get("inputTokens"), int):
            usage["outputTokens"] = usage["totalTokens"] - usage["inputTokens"]
    return payload


@mutants.payloads(*_ANTHROPIC, kind="other-counts", paths=BOTH, fails=USAGE)
def cache_reads_as_writes(payload: Payload) -> Payload:
    """Takes the tokens read from the cache for those written to it."""
    for holder in (payload, object_at(payload, "message")):
        usage = object_at(holder, "usage")
        if usage.get("cache_read_input_tokens"):
            usage["cache_creation_input_tokens"] = usage["cache_read_input_tokens"]
    return payload


@mutants.payloads("bedrock-converse", kind="cache-counted-twice", paths=BOTH, fails=USAGE)
def cache_names_added(payload: Payload) -> Payload:
    """Adds up the counts of the cache, which some answers have under two names."""
    for holder in (payload, object_at(payload, "metadata")):
        usage = object_at(holder, "usage")
        for name in ("cacheReadInputToken", "cacheWriteInputToken"):
            if f"{name}Count" in usage:
                usage[f"{name}s"] += usage[f"{name}Count"]
    return payload


@mutants.payloads("bedrock-converse", kind="part-lost", paths=BOTH, fails=(*CONTENT, "**:stop.reason"))
def typed_call_by_provider(payload: Payload) -> Payload:
    """Takes every call with a type for one that the service runs."""
    for holder in (payload, object_at(payload, "contentBlockStart")):
        call = object_at(object_at(holder, "start"), "toolUse")
        if "type" in call:
            call["type"] = "server_tool_use"
    return payload
