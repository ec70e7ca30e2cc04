"""Mutants that decode anthropic-messages."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from streamconform_reference.apis.anthropic_messages.decode import (
    HANDLERS,
    AnthropicMessagesDecoder,
    on_content_block_delta,
    on_content_block_start,
    on_message_delta,
    read_counts,
)
from streamconform_reference.apis.anthropic_messages.document import to_payloads
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.events import Event
from streamconform_reference.framing import Frame
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.outcome import Json

from .json_values import close_json, drop_key, object_at, report_refused_calls
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
)
from .registry import StreamMutants

mutants = StreamMutants("anthropic-messages", AnthropicMessagesDecoder)

_UNICODE_LINE_ENDS: Final = str.maketrans("\u2028\u2029\x85", "\n\n\n")


def _ended_blocks(message: Json) -> list[Json]:
    """Return the content blocks of the outcome, or the block in an event that ends one."""
    if "outcome" in message:
        blocks: list[Json] = message["outcome"]["content"]
        return blocks
    if message["type"] == "thinking_end":
        return [message]
    return [message["tool_call"]] if message["type"] == "toolcall_end" else []


@mutants.output(
    kind="unfinished-call-runs",
    fails=(*COMPLETE, *ARGUMENTS, "**:invariant.every-block-told"),
)
def arguments_repaired(message: Json) -> None:
    """Closes truncated arguments and marks the call as complete."""
    for block in _ended_blocks(message):
        if block.get("complete") is False:
            with suppress(ValueError):
                block["arguments"] = json.loads(close_json(block.get("arguments_text") or "{}"))
                block["complete"] = True


@mutants.replace(
    "handlers",
    "message_start",
    "message_delta",  # gateways report the breakdown here
    kind="price-variant-ignored",
    fails=("**:usage.cache_write_1h", "**:cost.cache_write", "**:cost.total"),
)
def cache_split_ignored(message: Assembler, payload: Payload) -> None:
    """Prices 1-hour cache writes like 5-minute ones."""
    start = object_at(payload, "message")
    holder = start or payload
    usage = {key: value for key, value in object_at(holder, "usage").items() if key != "cache_creation"}
    changed = {"message": {**start, "usage": usage}} if start else {"usage": usage}
    HANDLERS[payload["type"]](message, {**payload, **changed})


@mutants.replace(
    "handlers",
    "message_start",
    "message_delta",
    kind="cache-counted-twice",
    fails=("**:usage.input", "**:cost.**"),
)
def cached_tokens_twice(message: Assembler, payload: Payload) -> None:
    """Counts tokens read from the cache as input again, so they are billed twice."""
    HANDLERS[payload["type"]](message, payload)
    counts = read_counts(object_at(object_at(payload, "message") or payload, "usage"))
    if counts["input"] is not None:
        message.report_usage({"input": counts["input"] + (counts["cache_read"] or 0)})


@mutants.stream(kind="unfinished-call-runs", fails=(*COMPLETE, *ARGUMENTS, "**:invariant.ended-calls"))
def call_ended_before_the_break(messages: list[Json]) -> Iterator[Json]:
    """Hands out a call that the connection cut as finished, and then raises."""
    *events, answer = messages
    if answer["outcome"]["status"] != "incomplete":
        yield from messages
        return
    yield from events[:-1]
    for index, block in enumerate(answer["outcome"]["content"]):
        if block["type"] == "tool_call" and block["complete"] is False:
            with suppress(ValueError):
                arguments = json.loads(close_json(block["arguments_text"] or "{}"))
                block |= {"arguments": arguments, "complete": True}
                yield {"type": "toolcall_end", "content_index": index, "tool_call": block}
    yield from events[-1:]
    raised = {"type": "ConnectionResetError", "message": "the peer reset the connection", "where": "sse.py:9"}
    yield answer | {"raised": raised}


@mutants.stream(
    kind="unfinished-call-runs",
    fails=(*ERROR, *COMPLETE, *ARGUMENTS, "**:invariant.ended-calls"),
)
def call_ended_at_the_limit(messages: list[Json]) -> Iterator[Json]:
    """Hands out a call that the token limit cut as finished, and then raises."""
    *events, answer = messages
    outcome = answer["outcome"]
    calls = [*enumerate(outcome["content"])]
    cut = {index: block for index, block in calls if block["type"] == "tool_call" and not block["complete"]}
    if not cut or outcome["status"] != "complete" or outcome["stop"]["reason"] != "length":
        yield from messages
        return
    yield from events[:-1]
    for index, block in cut.items():
        block |= {"arguments": {}, "complete": True}
        yield {"type": "toolcall_end", "content_index": index, "tool_call": block}
    error = {"type": "protocol", "message": "the answer was truncated", "status": None}
    yield {"type": "error", "status": "error", "error": error}
    raised = {"type": "TruncatedError", "message": "the answer was truncated", "where": "agent.py:40 in run"}
    kept = {"status": "error", "stop": {"reason": "error"}, "error": error}
    yield {"outcome": outcome | kept, "raised": raised}


@mutants.replace(
    "handlers",
    "content_block_delta",
    kind="sources-lost",
    fails=CONTENT,
)
def citations_lost(message: Assembler, payload: Payload) -> None:
    """Reads a block's text, but ignores citations that come in deltas."""
    if object_at(payload, "delta").get("type") != "citations_delta":
        on_content_block_delta(message, payload)


@mutants.output(
    kind="cost-inexact",
    fails=("**:cost.**", "**:invariant.outcome-schema", "**:invariant.event-schema"),
)
def cost_from_floats(message: Json) -> None:
    """Computes cost with floats, so small amounts come out as `9e-05`."""
    holder = object_at(message, "outcome") or message
    cost = object_at(holder, "cost")
    if cost:
        holder["cost"] = {
            key: value if key == "currency" or value is None else str(float(value))
            for key, value in cost.items()
        }


@mutants.output(
    kind="unfinished-call-runs",
    fails=(*COMPLETE, *ARGUMENTS, "**:invariant.every-block-told"),
)
def cut_call_executable(message: Json) -> None:
    """Returns a truncated call as executable, with empty arguments."""
    for block in _ended_blocks(message):
        if block.get("complete") is False:
            block["arguments"] = {}
            block["complete"] = True


@mutants.document(kind="part-lost", fails=CONTENT)
def document_first_block_only(document: Payload) -> Iterator[Payload]:
    """Reads only the first block of a non-streaming answer."""
    content = document.get("content")
    yield from to_payloads({**document, "content": content[:1] if isinstance(content, list) else content})


@mutants.output(
    kind="empty-arguments-lost",
    fails=ARGUMENTS,
)
def empty_arguments_dropped(message: Json) -> None:
    """Fails to parse empty argument text, and reports no arguments instead of `{}`."""
    for block in _ended_blocks(message):
        if block.get("arguments") == {} and not (block["arguments_text"] or "").strip():
            block["arguments"] = None


@mutants.decoder(
    kind="cut-as-complete",
    fails=(*STATUS, *COMPLETE),
)
class EofAsSuccess(AnthropicMessagesDecoder):
    """Treats the end of the body as the end of a complete answer, even without `message_stop`."""

    def receive_eof(self) -> list[Event]:
        if not self.failed and self._framed:
            for frame in self.framing.end():
                self.receive_frame(frame)
            self.message.complete()
        return super().receive_eof()


@mutants.replace(
    "handlers",
    "error",
    kind="error-as-success",
    fails=(*ERROR, *COMPLETE),
)
def error_frame_swallowed(message: Assembler, _: Payload) -> None:
    """Treats a mid-stream error as the end of a complete answer."""
    message.complete()


@mutants.decoder(
    kind="unknown-fatal",
    fails=GIVES_UP,
)
class FallbackBlockFatal(AnthropicMessagesDecoder):
    """Fails on a block in which another model takes over the answer."""

    def read(self, payload: Payload) -> None:
        if object_at(payload, "content_block").get("type") == "fallback":
            raise BrokenPayloadError("a block without deltas")
        super().read(payload)


@mutants.replace(
    "handlers",
    "message_start",
    kind="price-variant-ignored",
    fails=("**:cost.**",),
)
def fast_mode_at_the_standard_price(message: Assembler, payload: Payload) -> None:
    """Ignores the speed reported in the usage, so fast mode costs too little."""
    start = object_at(payload, "message")
    usage = {key: value for key, value in object_at(start, "usage").items() if key != "speed"}
    changed = {"message": {**start, "usage": usage}} if usage else {}
    HANDLERS[payload["type"]](message, {**payload, **changed})


@mutants.decoder(
    kind="fragment-to-another-call",
    fails=(*ARGUMENTS, *ARGUMENTS_TEXT, *COMPLETE),
)
class InterleavedArgumentsJoined(AnthropicMessagesDecoder):
    """Appends every fragment of arguments to the most recently started call."""

    current: Any = None

    def read(self, payload: Payload) -> None:
        block = object_at(payload, "content_block")
        if "input" in block or block.get("type") == "tool_use":
            self.current = payload.get("index")
        if object_at(payload, "delta").get("type") == "input_json_delta":
            payload = {**payload, "index": self.current}
        super().read(payload)


@mutants.replace(
    "framing_factory",
    kind="last-frame-lost",
    fails=(*ERROR, *USAGE, *CONTENT, "**:model", "**:response_id"),
)
class LastFrameLost(SseFraming):
    """Drops the last event if no blank line follows it."""

    # The SSE standard asks for this, but gateways leave the blank line out.
    def end(self) -> list[Frame]:
        super().end()
        return []


@mutants.output(
    kind="redacted-lost",
    fails=("**:content.*.thinking.redacted",),
)
def omitted_thinking_as_redacted(message: Json) -> None:
    """Treats thinking whose text is omitted as redacted thinking."""
    for block in _ended_blocks(message):
        if block.get("signature") and block["text"] == "":
            block["redacted"] = True


@mutants.replace(
    "handlers",
    "message_delta",
    kind="failure-as-stop",
    fails=("**:stop.**",),
)
def pause_turn_as_stop(message: Assembler, payload: Payload) -> None:
    """Treats `pause_turn` as the end of the turn, so the rest is never requested."""
    on_message_delta(message, payload)
    if object_at(payload, "delta").get("stop_reason") == "pause_turn":
        message.stop("stop", "pause_turn")


@mutants.replace(
    "handlers",
    "content_block_start",
    kind="arguments-lost",
    fails=ARGUMENTS,
)
def prefilled_input_lost(message: Assembler, payload: Payload) -> None:
    """Drops the arguments in a call's start event, although no fragment follows."""
    block = {key: value for key, value in object_at(payload, "content_block").items() if key != "input"}
    on_content_block_start(message, {**payload, "content_block": block})


@mutants.replace(
    "handlers",
    "content_block_start",
    kind="provider-call-runs",
    fails=("**:content.*.tool_call.executor", "**:stop.**"),
)
def provider_call_as_client(message: Assembler, payload: Payload) -> None:
    """Asks the client to run a tool that the provider has already run."""
    block = object_at(payload, "content_block")
    if block.get("type") in ("server_tool_use", "mcp_tool_use"):
        block = {**block, "type": "tool_use"}
    on_content_block_start(message, {**payload, "content_block": block})


@mutants.output(kind="stop-reason-lost", fails=STOP_REASON)
def stop_lost_at_a_pause(message: Json) -> None:
    """Reports no stop reason for an answer that the provider paused, and the right one for all others."""
    stop = object_at(object_at(message, "outcome") or message, "stop")
    if stop.get("reason") == "pause":
        stop["reason"] = None


@mutants.output(kind="usage-lost", fails=(*USAGE, "**:invariant.last-usage"))
def usage_lost_with_calls(message: Json) -> None:
    """Reports no usage for an answer with tool calls, which another code path reads."""
    outcome = object_at(message, "outcome")
    if any(block["type"] == "tool_call" for block in outcome.get("content", ())):
        outcome |= {"usage": None, "cost": None}


@mutants.output(kind="unknown-as-zero", fails=("**:usage.**", "**:invariant.last-usage"))
def zero_after_a_count(message: Json) -> None:
    """Reports 0 input tokens for a broken stream, although their number had arrived."""
    outcome = object_at(message, "outcome")
    if outcome.get("status") == "incomplete" and outcome["usage"]:
        outcome["usage"]["input"] = 0


@mutants.replace(
    "handlers",
    "content_block_start",
    kind="redacted-lost",
    fails=CONTENT,
)
def redacted_thinking_dropped(message: Assembler, payload: Payload) -> None:
    """Drops redacted thinking, which the next request has to send back."""
    if object_at(payload, "content_block").get("type") != "redacted_thinking":
        on_content_block_start(message, payload)


@mutants.replace(
    "handlers",
    "content_block_delta",
    kind="signature-lost",
    fails=CONTENT,
)
def signature_lost(message: Assembler, payload: Payload) -> None:
    """Drops the signature of thinking, so the API rejects the next request."""
    if object_at(payload, "delta").get("type") != "signature_delta":
        on_content_block_delta(message, payload)


@mutants.replace(
    "handlers",
    "message_delta",
    kind="usage-outdated",
    fails=USAGE,
)
def start_usage_kept(message: Assembler, payload: Payload) -> None:
    """Keeps the input tokens from `message_start` even though `message_delta` reports more."""
    output = {"output_tokens": object_at(payload, "usage").get("output_tokens")}
    on_message_delta(message, {**payload, "usage": output})


@mutants.output(
    kind="unfinished-call-runs",
    fails=(*COMPLETE, *ARGUMENTS, "**:invariant.every-block-told"),
)
def truncated_call_executed(message: Json) -> None:
    """Marks a truncated call as complete."""
    for block in _ended_blocks(message):
        if block.get("complete") is False:
            block["complete"] = True


@mutants.replace(
    "framing_factory",
    kind="other-line-ends",
    fails=GIVES_UP,
)
class UnicodeLineEnds(SseFraming):
    """Splits lines at U+2028, U+2029 and U+0085, which are text in JSON."""

    def __init__(self) -> None:
        super().__init__()
        self._decoder = getincrementaldecoder("utf-8")(errors="replace")

    def receive(self, data: bytes) -> list[Frame]:
        return super().receive(self._decoder.decode(data).translate(_UNICODE_LINE_ENDS).encode())


@mutants.decoder(
    kind="unknown-fatal",
    fails=GIVES_UP,
)
class UnknownEventFatal(AnthropicMessagesDecoder):
    """Fails on an unknown event type."""

    def read(self, payload: Payload) -> None:
        kind = payload.get("type")
        if kind not in (*self.handlers, "ping"):
            raise BrokenPayloadError(f"unknown event type {kind!r}")
        super().read(payload)


@mutants.replace(
    "handlers",
    "message_delta",
    kind="usage-doubled",
    fails=USAGE,
)
def usage_summed(message: Assembler, payload: Payload) -> None:
    """Adds the cumulative usage in `message_delta` to the usage in `message_start`."""
    before = message.usage()
    on_message_delta(message, payload)
    now = read_counts(object_at(payload, "usage"))
    message.report_usage(
        {name: count + (getattr(before, name, None) or 0) for name, count in now.items() if count is not None}
    )


@mutants.replace(
    "framing_factory",
    kind="reads-as-units",
    fails=(*CONTENT, "**:error.message", "**:stop.sequence", "**:stop.details"),
)
class Utf8PerChunk(SseFraming):
    """Decodes each chunk separately, so a character split across two chunks is lost."""

    def receive(self, data: bytes) -> list[Frame]:
        return super().receive(data.decode("utf-8", "replace").encode())


@mutants.stream(
    kind="stop-guessed",
    fails=STOP_REASON,
)
def refused_call_as_tool_use(messages: list[Json]) -> Iterator[Json]:
    """Reports tool_use for every answer with a call, even if the model declined after it."""
    yield from report_refused_calls(messages, "refusal")


@mutants.decoder(kind="unknown-fatal", fails=GIVES_UP)
class ResultTypesFixed(AnthropicMessagesDecoder):
    """Fails on a result of code whose output is encrypted."""

    def read(self, payload: Payload) -> None:
        content = object_at(object_at(payload, "content_block"), "content")
        if content.get("type") == "encrypted_code_execution_result":
            raise BrokenPayloadError("unknown result")
        super().read(payload)


@mutants.refuse(kind="absent-fatal", fails=GIVES_UP)
def usage_members_required(payload: Payload) -> bool:
    """Fails if a usage is missing, has no `input_tokens`, or has a member that is null."""
    if payload.get("type") not in ("message_start", "message_delta"):
        return False
    usage = object_at(object_at(payload, "message") or payload, "usage")
    return "input_tokens" not in usage or None in usage.values()


@mutants.refuse(kind="absent-fatal", paths=BOTH, fails=GIVES_UP)
def null_content_of_compaction_fatal(payload: Payload) -> bool:
    """Fails on null as the content of a compaction, or as the details of an error."""
    blocks = [object_at(payload, "content_block"), *(object_at(payload, "message").get("content") or ())]
    if any(block.get("type") == "compaction" and block.get("content", "") is None for block in blocks):
        return True
    delta, error = object_at(payload, "delta"), object_at(payload, "error")
    return error.get("details", "") is None or (
        delta.get("type") == "compaction_delta" and delta.get("content") is None
    )


@mutants.decoder(kind="order-trusted", fails=(*GIVES_UP, "**:response_id"))
class EventsInOrderOnly(AnthropicMessagesDecoder):
    """Ignores a second message_start, events before the first, and those of a block that is not open."""

    begun = False
    is_open: frozenset[object] = frozenset()

    def read(self, payload: Payload) -> None:
        kind, index = payload.get("type"), payload.get("index")
        if kind == "content_block_start":
            self.is_open |= {index}
        is_stray = kind in ("content_block_delta", "content_block_stop") and index not in self.is_open
        if kind == "content_block_stop":
            self.is_open -= {index}
        if not is_stray and self.begun != (kind == "message_start"):
            self.begun = True
            super().read(payload)


@mutants.decoder(kind="price-variant-ignored", fails=("**:cost.**",))
class InferenceGeoIgnored(AnthropicMessagesDecoder):
    """Ignores the region in which the tokens were made."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "inference_geo"))


@mutants.decoder(kind="details-lost", fails=(*CONTENT, "**:model"))
class FallbackBlockLost(AnthropicMessagesDecoder):
    """Ignores the block that says that another model continues the answer."""

    def read(self, payload: Payload) -> None:
        if object_at(payload, "content_block").get("type") != "fallback":
            super().read(payload)


@mutants.replace("handlers", "message_delta", kind="usage-outdated", fails=USAGE)
def missing_count_erases(message: Assembler, payload: Payload) -> None:
    """Reports 0 for each count that the last usage leaves out."""
    usage = payload.get("usage")
    zeros = dict.fromkeys(("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), 0)
    HANDLERS["message_delta"](message, {**payload, "usage": {**zeros, **usage} if usage else usage})


def _list_advice(payload: Payload) -> list[Json]:
    """Return the contents of the blocks in the payload, which may be a whole message."""
    blocks = [object_at(payload, "content_block"), *(object_at(payload, "message").get("content") or ())]
    return [object_at(block, "content") for block in blocks]


@mutants.refuse(kind="unknown-fatal", paths=BOTH, fails=GIVES_UP)
def block_error_fatal(payload: Payload) -> bool:
    """Fails on the result of a server's tool that is an error, although the answer goes on."""
    return any("error_code" in content for content in _list_advice(payload))


@mutants.decoder(kind="other-counts", paths=BOTH, fails=USAGE)
class AdvisorTokensAdded(AnthropicMessagesDecoder):
    """Adds the tokens of the advisor, which have the price of another model, to those of the answer."""

    def read(self, payload: Payload) -> None:
        for holder in (payload, object_at(payload, "message")):
            usage = object_at(holder, "usage")
            for entry in usage.get("iterations") or ():
                for key in ("input_tokens", "output_tokens"):
                    usage[key] += entry[key] if entry.get("type") == "advisor_message" else 0
        super().read(payload)


@mutants.decoder(kind="stop-guessed", paths=BOTH, fails=STATUS)
class AdvisorReasonTrusted(AnthropicMessagesDecoder):
    """Takes the stop reason of an advice that was cut for that of the answer."""

    is_cut = False

    def read(self, payload: Payload) -> None:
        self.is_cut |= any(content.get("stop_reason") == "max_tokens" for content in _list_advice(payload))
        for holder in (object_at(payload, "delta"), object_at(payload, "message")):
            if self.is_cut and holder.get("stop_reason"):
                holder["stop_reason"] = "max_tokens"
        super().read(payload)


@mutants.decoder(kind="stop-details-lost", paths=BOTH, fails=("**:stop.details",))
class CreditTokenLost(AnthropicMessagesDecoder):
    """Keeps only the documented category and explanation of a refusal, without the credit for a retry."""

    def read(self, payload: Payload) -> None:
        for holder in (object_at(payload, "delta"), object_at(payload, "message")):
            if details := object_at(holder, "stop_details"):
                kept = ("type", "category", "explanation")
                holder["stop_details"] = {key: details.get(key) for key in kept}
        super().read(payload)


@mutants.decoder(kind="details-lost", paths=BOTH, fails=CONTENT)
class ToolChangesLost(AnthropicMessagesDecoder):
    """Drops the tools that a compacted history added and removed."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "tool_changes"))


@mutants.decoder(kind="price-variant-ignored", fails=("**:cost.**",))
class FastAlways(AnthropicMessagesDecoder):
    """Bills every answer as fast, whatever speed served it."""

    def read(self, payload: Payload) -> None:
        for usage in (object_at(payload, "usage"), object_at(object_at(payload, "message"), "usage")):
            if "speed" in usage:
                usage["speed"] = "fast"
        super().read(payload)


@mutants.decoder(kind="thinking-as-text", fails=(*CONTENT, "**:invariant.**"))
class ThinkingDeltaAsText(AnthropicMessagesDecoder):
    """Adds each thinking_delta to the text."""

    def read(self, payload: Payload) -> None:
        block, delta = object_at(payload, "content_block"), object_at(payload, "delta")
        if block.get("type") == "thinking":
            payload = {**payload, "content_block": {"type": "text", "text": block.get("thinking") or ""}}
        elif delta.get("type") == "thinking_delta":
            payload = {**payload, "delta": {"type": "text_delta", "text": delta["thinking"]}}
        super().read(payload)
