"""Mutants that decode google-generate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from streamconform_reference.apis.google_generate.calls import FunctionCalls
from streamconform_reference.apis.google_generate.decode import GoogleGenerateDecoder
from streamconform_reference.apis.google_generate.framing import GoogleFraming, GoogleSseFraming
from streamconform_reference.apis.google_generate.reasons import STOP_REASONS
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.outcome import Cost, Json, Usage
from streamconform_reference.pricing import Billing, Pricing

from .json_values import drop_key, object_at
from .model import ARGUMENTS, CONTENT, ERROR, GIVES_UP, STOP_REASON
from .registry import StreamMutants

mutants = StreamMutants("google-generate", GoogleGenerateDecoder)


@mutants.replace(
    "framing_factory",
    kind="reads-as-units",
    fails=GIVES_UP,
)
class ArrayParsedByRead(GoogleFraming):
    """Parses each network read of an array as one element."""

    def receive(self, data: bytes) -> list[Frame]:
        frames = super().receive(data)
        if not self._head.startswith(b"["):
            return frames
        element = data.strip(b"[],\r\n ")
        return [Frame(element, None, 0, 0)] if element else []


@mutants.replace(
    "framing_factory",
    kind="error-as-success",
    fails=ERROR,
)
class BareErrorIgnored(GoogleFraming):
    """Ignores an error sent as bare JSON after the events."""

    def _choose(self) -> Framing:
        chosen = super()._choose()
        if isinstance(chosen, GoogleSseFraming):
            chosen = self._chosen = SseFraming()
        return chosen


@mutants.replace(
    "calls_factory",
    kind="calls-merged",
    fails=CONTENT,
)
class CallsOfOneNameJoined(FunctionCalls):
    """Stores calls by name, so parallel calls to one tool become one."""

    @cached_property
    def names(self) -> set[str]:
        return set()

    def take(self, part: Any, signature: str) -> None:
        name = part.get("name") if isinstance(part, dict) else None
        if isinstance(name, str):
            if name in self.names:
                return
            self.names.add(name)
        super().take(part, signature)


@mutants.decoder(
    kind="failure-as-stop",
    fails=(*ERROR, *CONTENT),
)
class FailedCallAsStop(GoogleGenerateDecoder):
    """Treats a finish reason that reports a failure as a normal end."""

    def read_finish(self, finish: Any, finish_message: Any) -> None:
        failed = isinstance(finish, str) and STOP_REASONS.get(finish) == "error"
        super().read_finish("STOP" if failed else finish, finish_message)


@mutants.decoder(
    kind="failure-as-stop",
    fails=STOP_REASON,
)
class BlockedAnswerAsStop(GoogleGenerateDecoder):
    """Treats an answer that a filter ended as a normal end."""

    def read_finish(self, finish: Any, finish_message: Any) -> None:
        super().read_finish(finish, finish_message)
        if STOP_REASONS.get(self.finish or "") == "content_filter":
            self.message.stop("stop", self.finish)


@mutants.stream(
    kind="content-lost-at-the-end",
    fails=(*CONTENT, "**:invariant.streaming"),
)
def blocked_text_lost(messages: list[Json]) -> Iterator[Json]:
    """Returns an empty answer if a filter ended it, although text had arrived."""
    outcome = messages[-1]["outcome"]
    blocked = outcome["status"] == "complete" and outcome["stop"]["reason"] == "content_filter"
    if blocked:
        outcome["content"] = []
    yield from (message for message in messages if not (blocked and "content_index" in message))


@mutants.decoder(
    kind="signature-lost",
    fails=(*CONTENT, "**:invariant.streaming"),
)
class CallSignatureCut(GoogleGenerateDecoder):
    """Reports a call's signature as a thought without text, and loses its first character."""

    def read_part(self, part: Payload) -> None:
        signature = part.get("thoughtSignature")
        if "functionCall" in part and isinstance(signature, str) and signature:
            super().read_part({"text": "", "thought": True, "thoughtSignature": signature[1:]})
            part = {key: value for key, value in part.items() if key != "thoughtSignature"}
        super().read_part(part)


@mutants.output(
    kind="stop-hides-calls",
    fails=STOP_REASON,
)
def finish_hides_calls(message: Json) -> None:
    """Takes `STOP` literally, so the function calls before it are never run."""
    stop = object_at(message.get("outcome", message), "stop")
    if stop.get("reason") == "tool_use":
        stop["reason"] = "stop"


@mutants.decoder(
    kind="part-lost",
    fails=(*CONTENT, *STOP_REASON, "**:invariant.streaming"),
)
class FirstPartOnly(GoogleGenerateDecoder):
    """Reads only the first part of each payload."""

    def read_candidate(self, candidate: Payload) -> None:
        content = object_at(candidate, "content")
        parts = content.get("parts")
        if isinstance(parts, list):
            candidate = {**candidate, "content": {**content, "parts": parts[:1]}}
        super().read_candidate(candidate)


@mutants.decoder(
    kind="end-too-early",
    fails=GIVES_UP,
)
class FirstReasonEnds(GoogleGenerateDecoder):
    """Stops reading at the first `finishReason`, whatever comes after it."""

    def read(self, payload: Payload) -> None:
        super().read(payload)
        if self.finish is not None:
            self.end_of_body()


@mutants.decoder(
    kind="price-variant-ignored",
    fails=("**:cost.**",),
)
class ModalitiesAtOnePrice(GoogleGenerateDecoder):
    """Ignores the counts by modality, so audio and images are priced like text."""

    def read_usage(self, usage: Payload) -> None:
        super().read_usage({name: value for name, value in usage.items() if not name.endswith("Details")})


@mutants.replace(
    "calls_factory",
    kind="arguments-lost",
    fails=ARGUMENTS,
)
class PartialNullDropped(FunctionCalls):
    """Drops a null among arguments that are streamed value by value."""

    def take(self, part: Any, signature: str) -> None:
        entries = part.get("partialArgs") if isinstance(part, dict) else None
        if isinstance(entries, list):
            part = {**part, "partialArgs": [entry for entry in entries if "nullValue" not in entry]}
        super().take(part, signature)


@mutants.decoder(
    kind="other-counts",
    fails=("**:usage.input", "**:cost.input", "**:cost.total"),
)
class SearchResultsBilled(GoogleGenerateDecoder):
    """Bills the content retrieved by Google Search as input, although it is free."""

    def read_candidate(self, candidate: Payload) -> None:
        super().read_candidate(candidate)
        self._searched = False


@mutants.decoder(
    kind="provider-call-lost",
    fails=CONTENT,
)
class ServerToolsDropped(GoogleGenerateDecoder):
    """Drops the calls to the provider's tools and their responses, which the next request must send back."""

    def read_part(self, part: Payload) -> None:
        if part.keys().isdisjoint({"toolCall", "toolResponse"}):
            super().read_part(part)


@mutants.decoder(
    kind="thinking-as-text",
    fails=CONTENT,
)
class SignedTextAsThinking(GoogleGenerateDecoder):
    """Treats text with a signature as thinking, so the user never sees it."""

    def read_part(self, part: Payload) -> None:
        super().read_part({**part, "thought": True} if part.get("thoughtSignature") else part)


@mutants.decoder(
    kind="signature-lost",
    fails=CONTENT,
)
class TextSignatureLost(GoogleGenerateDecoder):
    """Drops the signature of a text part, which often has empty text."""

    def read_part(self, part: Payload) -> None:
        if "text" in part:
            part = {key: value for key, value in part.items() if key != "thoughtSignature"}
        super().read_part(part)


@mutants.replace(
    "to_buckets",
    kind="thinking-counted-wrong",
    fails=("**:usage.output", "**:cost.output", "**:cost.total"),
)
def thoughts_not_counted(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Leaves the thought tokens out of the output, although they are billed as output."""
    buckets = GoogleGenerateDecoder.to_buckets(counts)
    return {**buckets, "output": counts.get("candidatesTokenCount", 0)}


@mutants.decoder(
    kind="failure-as-stop",
    fails=STOP_REASON,
)
class UnknownReasonAsStop(GoogleGenerateDecoder):
    """Treats a finish reason that is missing from its table as a normal end."""

    def read_finish(self, finish: Any, finish_message: Any) -> None:
        super().read_finish(finish, finish_message)
        if self.finish in ("MODEL_ARMOR", "ESCALATION", "PUP_LIMITED_DISABLED", "CONTINUATION"):
            self.message.stop("stop", self.finish)


@mutants.decoder(kind="price-variant-ignored", fails=("**:cost.**",))
class TrafficTypeIgnored(GoogleGenerateDecoder):
    """Bills every request to Vertex at the list price."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "trafficType"))


@mutants.decoder(kind="stop-details-lost", fails=("**:stop.details",))
class BlockMessageLost(GoogleGenerateDecoder):
    """Reports that a prompt was blocked, but not the provider's message about it."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "blockReasonMessage"))


@mutants.refuse(
    kind="absent-fatal",
    paths=("stream", "document"),
    fails=GIVES_UP,
)
def candidates_required(payload: Payload) -> bool:
    """Fails on a chunk or a document without candidates."""
    return not payload.get("candidates")


@mutants.refuse(kind="absent-fatal", fails=GIVES_UP)
def response_id_required(payload: Payload) -> bool:
    """Fails on a chunk without the id of the response."""
    return "responseId" not in payload


@mutants.refuse(kind="unknown-fatal", paths=("stream", "document"), fails=GIVES_UP)
def other_parts_fatal(payload: Payload) -> bool:
    """Fails on a part that is neither text nor a function call."""
    candidates = payload.get("candidates") or ()
    parts = [part for each in candidates for part in object_at(each, "content").get("parts") or ()]
    return any(part.keys().isdisjoint(("text", "functionCall", "thoughtSignature")) for part in parts)


@mutants.refuse(kind="unknown-fatal", fails=GIVES_UP)
def new_finish_reason_fatal(payload: Payload) -> bool:
    """Fails on a finish reason that it does not know."""
    reasons = [each["finishReason"] for each in payload.get("candidates") or () if each.get("finishReason")]
    return any(reason not in STOP_REASONS for reason in reasons)


@mutants.decoder(kind="provider-call-lost", fails=CONTENT)
class CodeUnread(GoogleGenerateDecoder):
    """Ignores the code that Google runs, and its results."""

    def read_part(self, part: Payload) -> None:
        if part.keys().isdisjoint(("executableCode", "codeExecutionResult")):
            super().read_part(part)


@mutants.decoder(kind="details-lost", fails=(*CONTENT, "**:usage.input", "**:cost.**"))
class SearchResultsUnread(GoogleGenerateDecoder):
    """Ignores the search results that an answer rests on."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "groundingMetadata"))


@mutants.decoder(kind="usage-lost", fails=("**:usage.input", "**:cost.**"))
class ToolTokensUnread(GoogleGenerateDecoder):
    """Does not count the tokens of the prompt that come from tools."""

    def read_usage(self, usage: Payload) -> None:
        super().read_usage(
            {name: count for name, count in usage.items() if name != "toolUsePromptTokenCount"}
        )


@mutants.decoder(kind="usage-outdated", fails=("**:usage.**", "**:cost.**"))
class LastUsageOnly(GoogleGenerateDecoder):
    """Forgets the counts that the last usage leaves out."""

    def read_usage(self, usage: Payload) -> None:
        self.counts.clear()
        super().read_usage(usage)


class _PricingByTotal(Pricing, frozen=True):
    """Price tables whose tiers count the output, too."""

    def cost(self, usage: Usage, billing: Billing | None = None) -> Cost | None:
        written = usage.output or 0
        tiers = [{**tier, "above": tier["above"] - written} for tier in self.table.get("tiers", ())]
        return Pricing({**self.table, "tiers": tiers}).cost(usage, billing)


@mutants.decoder(kind="price-variant-ignored", fails=("**:cost.**",))
class TierByTotal(GoogleGenerateDecoder):
    """Compares the input and the output together with the length of prompt that has higher prices."""

    def __init__(self, *, pricing: Mapping[str, Any] | None = None, **rest: Any) -> None:
        super().__init__(**rest)
        self.message = Assembler(None if pricing is None else _PricingByTotal(pricing))
        self.begin()
