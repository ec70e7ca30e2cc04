"""Mutants that decode openai-chat."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from msgspec.structs import replace

from streamconform_reference.apis.openai_chat.decode import OpenaiChatDecoder, take_content
from streamconform_reference.apis.openai_chat.document import to_payloads
from streamconform_reference.apis.openai_chat.reasoning import TEXT_KEYS, Reasoning, read_reasoning
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


@mutants.replace(
    "to_buckets",
    kind="cache-counted-twice",
    issues=("BerriAI/litellm#6215", "continuedev/continue#13104", "Aider-AI/aider#5516"),
    fails=("**:usage.input", "**:cost.input", "**:cost.total"),
)
def cached_subset_not_subtracted(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Counts the whole prompt as input, including the cached part that is counted separately."""
    return {**compute_buckets(counts), "input": counts.get("prompt")}


@mutants.replace(
    "calls_factory",
    kind="identity-trusted",
    issues=("poolsideai/pool#9", "cubist38/mlx-openai-server#216", "InternLM/lmdeploy#3412"),
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
    issues=("aaif-goose/goose#10935", "aaif-goose/goose#8641", "deepset-ai/haystack#8507"),
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


@mutants.replace(
    "calls_factory",
    kind="arguments-doubled",
    issues=("NousResearch/hermes-agent#35718",),
    fails=ARGUMENTS,
)
class CumulativeArgumentsJoined(ToolCalls):
    """Joins fragments that each repeat the arguments so far."""

    def add_arguments(self, call: WireCall, arguments: Any) -> None:
        super().add_arguments(call, arguments)
        call.text_so_far = None


@mutants.decoder(
    kind="signature-lost",
    issues=("tinyhumansai/openhuman#3548", "earendil-works/pi#6733", "crmne/ruby_llm#591"),
    fails=("**:content.*.tool_call.signature",),
)
class CallSignatureLost(OpenaiChatDecoder):
    """Reads only the documented members of a call, so Gemini's signature is lost."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "extra_content"))


@mutants.decoder(
    kind="sources-lost",
    issues=("BerriAI/litellm#13777", "BerriAI/litellm#9358", "chatboxai/chatbox#2404"),
    fails=("**:content.*.text.citations",),
)
class CitationsListIgnored(OpenaiChatDecoder):
    """Reads a chunk's choices but ignores the list of URLs next to them."""

    def read(self, payload: Payload) -> None:
        super().read({key: value for key, value in payload.items() if key != "citations"})


@mutants.decoder(
    kind="sources-lost",
    issues=("openai/openai-agents-python#4252",),
    fails=("**:content.*.text.citations",),
)
class AnnotationsOfADeltaIgnored(OpenaiChatDecoder):
    """Reads a delta's text but ignores its annotations."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "annotations"))


@mutants.decoder(
    kind="usage-doubled",
    issues=("open-webui/open-webui#29064", "pydantic/pydantic-ai#4056"),
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
    issues=("GCWing/OpenBitFun#2038", "brightwave-inc/tidebreak#1124"),
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
    issues=("AstrBotDevs/AstrBot#6692", "sgl-project/sglang#5661"),
    fails=(*CONTENT, "**:stop.reason"),
)
class MissingIndexLost(ToolCalls):
    """Drops the fragments of tool calls that have no index."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        return None if fragment.index is None else super().resolve(fragment)


@mutants.decoder(
    kind="usage-outdated",
    issues=("openai/openai-agents-python#2122", "openai/openai-agents-js#1474", "coder/coder#28068"),
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
    issues=("can1357/oh-my-pi#1779", "google/adk-go#1254"),
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
    issues=("browser-use/browser-use#4065", "earendil-works/pi#2709", "hugalafutro/model-hotel#991"),
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
    issues=("aaif-goose/goose#8715", "can1357/oh-my-pi#2434"),
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
    issues=("run-llama/llama_index#21693", "langchain4j/langchain4j#4544"),
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
    issues=("NousResearch/hermes-agent#8259", "NousResearch/hermes-agent#11984", "bytedance/deer-flow#654"),
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
    issues=("langchain-ai/langchain#35281", "huggingface/smolagents#1958", "ai-dynamo/dynamo#4723"),
    fails=CONTENT,
)
class ReusedIndexMerged(ToolCalls):
    """Merges parallel calls that share one index, although their ids differ."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        call = self._by_index.get(fragment.index)
        return call if isinstance(call, WireCall) else super().resolve(fragment)


@mutants.replace(
    "fields", "refusal", kind="refusal-lost", issues=("MacPaw/OpenAI#249",), fails=(*CONTENT, *STOP_REASON)
)
def refusal_lost(answer: OpenaiChatDecoder, refusal: Any) -> None:
    """Does not read refusals, so they look like empty answers."""
    del answer, refusal


@mutants.output(
    kind="cache-counted-twice",
    issues=("BerriAI/litellm#6215",),
    fails=("**:usage.input",),
)
def cached_tokens_twice_without_writes(message: Json) -> None:
    """Counts cached tokens as input too, although it exposes the reads; the writes it does not expose."""
    usage = object_at(message.get("outcome", message), "usage")
    if usage.get("input") is not None:
        usage["input"] += (usage.get("cache_read") or 0) + (usage.pop("cache_write", None) or 0)


@mutants.stream(
    kind="content-lost-at-the-end", issues=("XpressAI/xaibo#33",), fails=(*CONTENT, "**:invariant.streaming")
)
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
    issues=("sgl-project/sglang#2877", "vercel/workflow#1387", "strands-agents/harness-sdk#3206"),
    fails=STOP_REASON,
)
def stop_hides_calls(message: Json) -> None:
    """Takes `stop` literally, so the tool calls before it are never run."""
    stop = object_at(message.get("outcome", message), "stop")
    if stop.get("raw") == "stop" and stop["reason"] == "tool_use":
        stop["reason"] = "stop"


@mutants.decoder(issues=("openai/openai-node#1206",), fails=STATUS)
class AudioEndUnknown(OpenaiChatDecoder):
    """Waits for a `finish_reason` after audio, which OpenAI does not send."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "expires_at"))


@mutants.decoder(
    issues=("OleksandrChekhovskyi/hax#15", "maximhq/bifrost#5425"),
    fails=("**:status", "**:error", "**:error.**"),
)
class ErrorOfAChoiceIgnored(OpenaiChatDecoder):
    """Reads a choice's reason but ignores its error."""

    def read(self, payload: Payload) -> None:
        choices = payload.get("choices")
        super().read({**payload, "choices": drop_key(choices, "error")} if choices else payload)


@mutants.decoder(issues=("QwenLM/qwen-code#9882",), fails=STOP_REASON)
class ReasonInCapitalsUnknown(OpenaiChatDecoder):
    """Compares the reason with lower-case words, so a limit in capitals is not recognized."""

    def read_finish(self, finish: str, *, failed: bool = False) -> None:
        super().read_finish(finish, failed=failed)
        if finish.isupper():
            self.message.stop("other", finish)


@mutants.replace(
    "fields",
    "tool_calls",
    issues=("openai/openai-python#3201",),
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
    issues=("AstrBotDevs/AstrBot#6692",),
    fails=(*CONTENT, "**:invariant.**"),
)
class BareFragmentsToTheFirst(ToolCalls):
    """Adds fragments that name no call to the first call."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        if fragment.index is None and not (fragment.id or fragment.name) and self._calls:
            return self._calls[0]
        return super().resolve(fragment)


@mutants.decoder(issues=("microsoft/vscode#330279",), fails=(*CONTENT, "**:invariant.**"))
class ThoughtPerDelta(OpenaiChatDecoder):
    """Makes each piece of reasoning a block of its own, so that a thought is shown with one word per line."""

    def read_delta(self, delta: Payload) -> None:
        super().read_delta(delta)
        if not _REASONING.isdisjoint(delta):
            self.prose.end()
