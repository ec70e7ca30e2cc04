"""Mutants that decode openai-chat."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from msgspec.structs import replace

from streamconform_reference.apis.openai_chat.decode import OpenaiChatDecoder, take_content
from streamconform_reference.apis.openai_chat.document import to_payloads
from streamconform_reference.apis.openai_chat.reasoning import TEXT_KEYS, Reasoning, read_reasoning
from streamconform_reference.apis.openai_chat.reasons import read_reason
from streamconform_reference.apis.openai_chat.tool_calls import (
    LEGACY_INDEX,
    Fragment,
    ToolCalls,
    WireCall,
    read_fragment,
)
from streamconform_reference.apis.openai_chat.usage import compute_buckets
from streamconform_reference.decoding.decoder import DONE_MARK, BrokenPayloadError, Payload
from streamconform_reference.framing import Frame
from streamconform_reference.outcome import Json

from .json_values import drop_key, object_at
from .model import ARGUMENTS, COMPLETE, CONTENT, GIVES_UP, STATUS, STOP_REASON, USAGE
from .registry import StreamMutants

mutants = StreamMutants("openai-chat", OpenaiChatDecoder)

_REASONING: Final = frozenset(TEXT_KEYS)
_REASONS: Final = (None, "stop", "length", "tool_calls", "content_filter", "function_call")


def _entries(payload: Payload) -> Iterator[Payload]:
    """Yield the fragments of calls in a chunk."""
    for choice in payload.get("choices") or ():
        yield from object_at(choice, "delta").get("tool_calls") or ()


@mutants.replace(
    "to_buckets",
    kind="cache-counted-twice",
    fails=("**:usage.input", "**:cost.input", "**:cost.total"),
)
def cached_subset_not_subtracted(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Counts the whole prompt as input, including the cached part that is counted separately."""
    return {**compute_buckets(counts), "input": counts.get("prompt")}


@mutants.replace(
    "calls_factory",
    kind="identity-trusted",
    fails=CONTENT,
)
class CallForEveryId(ToolCalls):
    """Starts a call at every new id, although some servers make up a new id for each fragment."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        if not fragment.id or fragment.id in self._by_id:
            return super().resolve(fragment)
        call = self._begin()
        self._by_index[fragment.index] = call
        return call


@mutants.decoder(
    kind="absent-fatal",
    fails=GIVES_UP,
)
class ChunkWithoutChoiceFatal(OpenaiChatDecoder):
    """Fails on a payload without a choice, or on a choice without a delta."""

    def read(self, payload: Payload) -> None:
        try:
            _ = payload["choices"][0]["delta"]
        except (KeyError, IndexError, TypeError) as missing:
            raise BrokenPayloadError("no `choices[0].delta`") from missing
        super().read(payload)


@mutants.decoder(
    kind="signature-lost",
    fails=("**:content.*.tool_call.signature",),
)
class CallSignatureLost(OpenaiChatDecoder):
    """Reads only the documented members of a call, so Gemini's signature is lost."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "extra_content"))


@mutants.decoder(
    kind="sources-lost",
    fails=("**:content.*.text.citations",),
)
class CitationsListIgnored(OpenaiChatDecoder):
    """Reads a chunk's choices but ignores the list of URLs next to them."""

    def read(self, payload: Payload) -> None:
        super().read({key: value for key, value in payload.items() if key != "citations"})


@mutants.decoder(
    kind="sources-lost",
    fails=("**:content.*.text.citations",),
)
class AnnotationsOfADeltaIgnored(OpenaiChatDecoder):
    """Reads a delta's text but ignores its annotations."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "annotations"))


@mutants.decoder(
    kind="usage-doubled",
    fails=USAGE,
)
class CumulativeUsageSummed(OpenaiChatDecoder):
    """Adds up usage that is cumulative in every payload."""

    def count(self, counts: Mapping[str, int]) -> None:
        super().count({name: self.counts.get(name, 0) + count for name, count in counts.items()})


@mutants.document(kind="part-lost", fails=CONTENT)
def document_first_call_only(document: Payload) -> Iterator[Payload]:
    """Reads only the first call of a non-streaming answer."""
    for payload in to_payloads(document):
        calls = payload["choices"][0]["delta"].get("tool_calls")
        if isinstance(calls, list):
            del calls[1:]
        yield payload


@mutants.decoder(
    kind="cut-as-complete",
    fails=(*STATUS, *COMPLETE, *ARGUMENTS),
)
class DoneMarkAsSuccess(OpenaiChatDecoder):
    """Treats `[DONE]` as the end of a complete answer, even without a `finish_reason`."""

    def receive_frame(self, frame: Frame) -> None:
        if frame.data.strip() == DONE_MARK and self.finish is None:
            self.read_finish("stop")
        super().receive_frame(frame)


@mutants.replace(
    "calls_factory",
    kind="identity-trusted",
    fails=(*CONTENT, "**:stop.reason"),
)
class MissingIndexLost(ToolCalls):
    """Drops the fragments of tool calls that have no index."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        return None if fragment.index is None else super().resolve(fragment)


@mutants.decoder(
    kind="usage-outdated",
    fails=USAGE,
)
class NullUsageErases(OpenaiChatDecoder):
    """Forgets the usage when it is null in a later payload."""

    def read_usage(self, payload: Payload, choice: Payload) -> None:
        if payload.get("usage", choice) is None:
            self.counts.clear()
        super().read_usage(payload, choice)

    # Usage is reported once, at the end, because a report cannot be taken back.
    def report(self) -> None:
        pass

    def end_of_body(self) -> None:
        if self.counts and not self.message.ended:
            super().report()
        super().end_of_body()


@mutants.replace(
    "calls_factory",
    kind="arguments-lost",
    fails=ARGUMENTS,
)
class ObjectArgumentsDropped(ToolCalls):
    """Drops arguments sent as an object instead of text."""

    def add_arguments(self, call: WireCall, arguments: object) -> None:
        if isinstance(arguments, str):
            super().add_arguments(call, arguments)


@mutants.replace(
    "fields",
    "function_call",
    kind="call-doubled",
    fails=CONTENT,
)
def old_call_beside_new(answer: OpenaiChatDecoder, function: Any) -> None:
    """Counts the deprecated `function_call` as another call, although `tool_calls` contains the same call."""
    answer.calls.take(read_fragment({"function": function}, index=LEGACY_INDEX))


@mutants.replace(
    "to_buckets",
    kind="thinking-counted-wrong",
    fails=("**:usage.output", "**:cost.output", "**:cost.total"),
)
def reasoning_added_to_output(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Adds the reasoning tokens to the completion tokens, which already include them."""
    completion = counts.get("completion")
    output = None if completion is None else completion + counts.get("reasoning", 0)
    return {**compute_buckets(counts), "output": output}


@mutants.replace(
    "to_reasoning",
    kind="content-doubled",
    fails=("**:content.*.thinking.text",),
)
def reasoning_doubled(delta: Payload) -> Iterator[Reasoning]:
    """Reads reasoning twice if it is sent under two names."""
    for key in TEXT_KEYS:
        if delta.get(key):
            yield from read_reasoning({key: delta[key]})
    yield from read_reasoning({key: value for key, value in delta.items() if key not in TEXT_KEYS})


@mutants.replace(
    "fields",
    "content",
    kind="thinking-lost",
    fails=CONTENT,
)
def reasoning_part_dropped(answer: OpenaiChatDecoder, content: Any) -> None:
    """Ignores the reasoning in a list of content parts, which Databricks sends."""
    is_list = isinstance(content, list)
    take_content(
        answer, [part for part in content if part.get("type") != "reasoning"] if is_list else content
    )


@mutants.replace(
    "calls_factory",
    kind="identity-joined",
    fails=(*CONTENT, "**:invariant.streaming"),
)
class RepeatedIdJoined(ToolCalls):
    """Concatenates an id that is repeated in every fragment."""

    def describe(self, call: WireCall, fragment: Fragment) -> None:
        self.joined[call.slot] = self.joined.get(call.slot, "") + fragment.id
        super().describe(call, replace(fragment, id=""))

    # Without a name the start of the call is held back until its end, when all ids have been read.
    def add_arguments(self, call: WireCall, arguments: object) -> None:
        name, call.name = call.name, ""
        super().add_arguments(call, arguments)
        call.name = name

    def end(self, *, truncated: bool) -> None:
        for call in self._calls:
            self.message.describe_call(call.slot, id=self.joined.get(call.slot))
        super().end(truncated=truncated)

    @cached_property
    def joined(self) -> dict[Hashable, str]:
        return {}


@mutants.replace(
    "calls_factory",
    kind="identity-joined",
    fails=("**:content.*.tool_call.name", "**:invariant.streaming"),
)
class RepeatedNameJoined(ToolCalls):
    """Concatenates a name that is repeated in every fragment."""

    def describe(self, call: WireCall, fragment: Fragment) -> None:
        super().describe(call, fragment)
        self.joined[call.slot] = self.joined.get(call.slot, "") + fragment.name
        self.message.describe_call(call.slot, name=self.joined[call.slot])

    # Without a name the start of the call is held back until its end, when all names have been read.
    def add_arguments(self, call: WireCall, arguments: object) -> None:
        name, call.name = call.name, ""
        super().add_arguments(call, arguments)
        call.name = name

    @cached_property
    def joined(self) -> dict[Hashable, str]:
        return {}


@mutants.replace(
    "calls_factory",
    kind="calls-merged",
    fails=CONTENT,
)
class ReusedIndexMerged(ToolCalls):
    """Merges parallel calls that share one index, although their ids differ."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        call = self._by_index.get(fragment.index)
        return call if isinstance(call, WireCall) else super().resolve(fragment)


@mutants.replace("fields", "refusal", kind="refusal-lost", fails=(*CONTENT, *STOP_REASON))
def refusal_lost(answer: OpenaiChatDecoder, refusal: Any) -> None:
    """Does not read refusals, so they look like empty answers."""
    del answer, refusal


@mutants.output(
    kind="cache-counted-twice",
    fails=("**:usage.input",),
)
def cached_tokens_twice_without_writes(message: Json) -> None:
    """Counts cached tokens as input too, although it exposes the reads; the writes it does not expose."""
    usage = object_at(message.get("outcome", message), "usage")
    if usage.get("input") is not None:
        usage["input"] += (usage.get("cache_read") or 0) + (usage.pop("cache_write", None) or 0)


@mutants.stream(kind="content-lost-at-the-end", fails=(*CONTENT, "**:invariant.streaming"))
def limited_calls_lost(messages: list[Json]) -> Iterator[Json]:
    """Returns no calls if the token limit ended the answer, not even the finished ones."""
    outcome = messages[-1]["outcome"]
    if outcome["status"] != "complete" or outcome["stop"]["reason"] != "length":
        yield from messages
        return
    kept = [index for index, block in enumerate(outcome["content"]) if block["type"] != "tool_call"]
    outcome["content"] = [outcome["content"][index] for index in kept]
    for message in messages:
        if "content_index" not in message:
            yield message
        elif message["content_index"] in kept:
            yield message | {"content_index": kept.index(message["content_index"])}


@mutants.output(
    kind="stop-hides-calls",
    fails=STOP_REASON,
)
def stop_hides_calls(message: Json) -> None:
    """Takes `stop` literally, so the tool calls before it are never run."""
    stop = object_at(message.get("outcome", message), "stop")
    if stop.get("raw") == "stop" and stop["reason"] == "tool_use":
        stop["reason"] = "stop"


@mutants.decoder(kind="stop-reason-lost", fails=STATUS)
class AudioEndUnknown(OpenaiChatDecoder):
    """Waits for a `finish_reason` after audio, which OpenAI does not send."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "expires_at"))


@mutants.decoder(
    kind="error-as-success",
    fails=("**:status", "**:error", "**:error.**"),
)
class ErrorOfAChoiceIgnored(OpenaiChatDecoder):
    """Reads a choice's reason but ignores its error."""

    def read(self, payload: Payload) -> None:
        choices = payload.get("choices")
        super().read({**payload, "choices": drop_key(choices, "error")} if choices else payload)


@mutants.decoder(kind="stop-reason-lost", fails=STOP_REASON)
class ReasonInCapitalsUnknown(OpenaiChatDecoder):
    """Compares the reason with lower-case words, so a limit in capitals is not recognized."""

    def read_finish(self, finish: str, *, failed: bool = False) -> None:
        super().read_finish(finish, failed=failed)
        if finish.isupper():
            self.message.stop("other", finish)


@mutants.replace(
    "fields",
    "tool_calls",
    kind="arguments-lost",
    fails=(*ARGUMENTS, "**:content.*.tool_call.arguments_text"),
)
def second_entry_stranded(answer: OpenaiChatDecoder, entries: Any) -> None:
    """Stores the entries of a chunk by index, so only the first of two with one index is kept."""
    indexes = [entry.get("index") for entry in entries]
    for number, entry in enumerate(entries):
        if type(indexes[number]) is not int or indexes[number] not in indexes[:number]:
            answer.calls.take(read_fragment(entry))


@mutants.replace(
    "calls_factory",
    kind="fragment-to-another-call",
    fails=(*CONTENT, "**:invariant.**"),
)
class BareFragmentsToTheFirst(ToolCalls):
    """Adds fragments that name no call to the first call."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        if fragment.index is None and not (fragment.id or fragment.name) and self._calls:
            return self._calls[0]
        return super().resolve(fragment)


@mutants.decoder(kind="thoughts-split", fails=(*CONTENT, "**:invariant.**"))
class ThoughtPerDelta(OpenaiChatDecoder):
    """Makes each piece of reasoning a block of its own, so that a thought is shown with one word per line."""

    def read_delta(self, delta: Payload) -> None:
        super().read_delta(delta)
        if not _REASONING.isdisjoint(delta):
            self.prose.end()


@mutants.refuse(kind="unknown-fatal", paths=("stream", "document"), fails=GIVES_UP)
def unknown_finish_reason_fatal(payload: Payload) -> bool:
    """Fails on a finish reason that OpenAI does not document."""
    return any(choice.get("finish_reason") not in _REASONS for choice in payload.get("choices") or ())


@mutants.refuse(kind="absent-fatal", paths=("document",), fails=GIVES_UP)
def content_required(payload: Payload) -> bool:
    """Fails on a message without content."""
    return any(object_at(choice, "delta").get("content") is None for choice in payload.get("choices") or ())


@mutants.refuse(kind="absent-fatal", fails=GIVES_UP)
def null_content_beside_calls_fatal(payload: Payload) -> bool:
    """Fails on a chunk with calls whose content is null."""
    deltas = [object_at(choice, "delta") for choice in payload.get("choices") or ()]
    return any(delta.get("tool_calls") and delta.get("content", "") is None for delta in deltas)


@mutants.decoder(kind="end-too-early", fails=GIVES_UP)
class FirstFinishEnds(OpenaiChatDecoder):
    """Ignores what follows the first finish reason."""

    def read(self, payload: Payload) -> None:
        if self.finish is None:
            super().read(payload)


@mutants.decoder(kind="end-too-early", fails=(*CONTENT, "**:invariant.**"))
class CallsFlushedAtStop(OpenaiChatDecoder):
    """Ends the calls at the reason `stop`, and drops the fragments after it."""

    def read_finish(self, finish: str, *, failed: bool = False) -> None:
        super().read_finish(finish, failed=failed)
        if read_reason(finish) == "stop":
            self.calls.end(truncated=False)


@mutants.decoder(kind="end-too-early", fails=GIVES_UP)
class FirstUsageEnds(OpenaiChatDecoder):
    """Takes the first chunk with a usage for the last one."""

    def read(self, payload: Payload) -> None:
        if not self.counts:
            super().read(payload)


@mutants.decoder(kind="end-too-early", fails=(*CONTENT, "**:invariant.**"))
class FinishChunkUnread(OpenaiChatDecoder):
    """Reads nothing but the reason from the chunk that has a finish reason."""

    def read_choice(self, choice: Payload) -> None:
        super().read_choice({**choice, "delta": {}} if choice.get("finish_reason") else choice)


@mutants.refuse(kind="identity-trusted", fails=GIVES_UP)
def name_without_id_fatal(payload: Payload) -> bool:
    """Fails on a call that has no id."""
    return any(
        object_at(entry, "function").get("name") and not entry.get("id") for entry in _entries(payload)
    )


@mutants.refuse(kind="identity-trusted", fails=GIVES_UP)
def empty_name_fatal(payload: Payload) -> bool:
    """Fails on a fragment whose name is null or empty, although it only continues a call."""
    return any(object_at(entry, "function").get("name", "-") in (None, "") for entry in _entries(payload))


@mutants.replace("calls_factory", kind="identity-trusted", fails=(*CONTENT, "**:invariant.**"))
class IndexesFromZero(ToolCalls):
    """Stores calls in a list, and drops those whose index is beyond its end."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        is_beyond = type(fragment.index) is int and fragment.index > len(self._calls)
        return None if is_beyond else super().resolve(fragment)


@mutants.replace("calls_factory", kind="identity-trusted", fails=CONTENT)
class ArgumentsBeforeTheNameLost(ToolCalls):
    """Drops arguments that come before the name of their call."""

    def add_arguments(self, call: WireCall, arguments: Any) -> None:
        if call.name:
            super().add_arguments(call, arguments)


@mutants.replace("calls_factory", kind="arguments-doubled", fails=CONTENT)
class FirstArgumentsTwice(ToolCalls):
    """Stores the arguments of the first fragment of a call, and then appends them."""

    def add_arguments(self, call: WireCall, arguments: Any) -> None:
        if isinstance(arguments, str) and not call.has_arguments:
            super().add_arguments(call, arguments)
        super().add_arguments(call, arguments)
        # A client that appends like this does not look for fragments that repeat the arguments so far.
        call.text_so_far = None


@mutants.decoder(kind="arguments-lost", fails=(*CONTENT, "**:invariant.**"))
class CustomCallsUnread(OpenaiChatDecoder):
    """Reads the name and the arguments of a function, and not those of a custom tool."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "custom"))
