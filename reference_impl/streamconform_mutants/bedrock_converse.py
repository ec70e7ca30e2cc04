"""Mutants that decode bedrock-converse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.apis.bedrock_converse.content import DELTAS, add_reasoning
from streamconform_reference.apis.bedrock_converse.decode import BedrockConverseDecoder, on_metadata
from streamconform_reference.apis.bedrock_converse.failures import EXCEPTIONS
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.framing import Frame
from streamconform_reference.framing.aws_eventstream import EventStreamFraming
from streamconform_reference.outcome import Json

from .bedrock_invoke import ChecksumsUnchecked
from .json_values import drop_key, object_at, report_refused_calls
from .model import ARGUMENTS, COMPLETE, CONTENT, ERROR, GIVES_UP, STATUS, STOP_REASON, USAGE
from .registry import StreamMutants

mutants = StreamMutants("bedrock-converse", BedrockConverseDecoder)

Deltas = Mapping[str, tuple[type, Callable[..., None]]]

_KEYS_OF_BLOCK_STOP: Final = {"contentBlockIndex", "p"}
_COUNTS_WITHOUT_CACHE: Final = ("inputTokens", "outputTokens", "totalTokens")


@mutants.decoder(
    kind="calls-merged",
    fails=(*CONTENT, "**:invariant.**"),
)
class BlockIndexIgnored(BedrockConverseDecoder):
    """Joins the input of parallel calls as if they were a single block."""

    first: Any = None

    def read(self, payload: Payload) -> None:
        if self.first is None and "toolUse" in object_at(payload, "start"):
            self.first = payload.get("contentBlockIndex")
        if self.first is not None:
            if payload.keys() <= _KEYS_OF_BLOCK_STOP:
                return
            if "toolUse" in object_at(payload, "delta"):
                payload = {**payload, "contentBlockIndex": self.first}
        super().read(payload)


@mutants.replace(
    "handlers",
    "metadata",
    kind="cache-lost",
    fails=USAGE,
)
def converse_cache_ignored(answer: BedrockConverseDecoder, payload: Payload) -> None:
    """Ignores the tokens read from and written to the cache."""
    usage = object_at(payload, "usage")
    counts = {key: usage[key] for key in _COUNTS_WITHOUT_CACHE if key in usage}
    on_metadata(answer, {**payload, "usage": counts})


@mutants.decoder(
    kind="sources-lost",
    fails=CONTENT,
)
class ConverseCitationsLost(BedrockConverseDecoder):
    """Ignores citation deltas, which exist only in a stream."""

    deltas: ClassVar[Deltas] = {kind: delta for kind, delta in DELTAS.items() if kind != "citation"}


@mutants.replace(
    "framing_factory",
    kind="damage-unnoticed",
    fails=ERROR,
)
class DamagedMessageAsEnd(EventStreamFraming):
    """Stops at a message with a wrong checksum, but reports no error."""

    broken = False

    def receive(self, data: bytes) -> list[Frame]:
        if self.broken:
            return []
        frames = super().receive(data)
        self.broken = self.fault is not None
        self.fault = None
        return frames


@mutants.replace("framing_factory", kind="damage-unnoticed", fails=GIVES_UP)
class ChecksumsOfConverseUnchecked(ChecksumsUnchecked):
    """Trusts a message's lengths, and never verifies its checksums."""


@mutants.decoder(kind="identity-trusted", fails=GIVES_UP)
class CallAtAUsedIndexFatal(BedrockConverseDecoder):
    """Fails on a call that begins at the index of a text."""

    texts: frozenset[object] = frozenset()

    def read(self, payload: Payload) -> None:
        index = payload.get("contentBlockIndex")
        if "text" in object_at(payload, "delta"):
            self.texts |= {index}
        elif "toolUse" in object_at(payload, "start") and index in self.texts:
            raise BrokenPayloadError("two blocks have one index")
        super().read(payload)


@mutants.decoder(
    kind="error-as-success",
    fails=ERROR,
)
class ExceptionDropped(BedrockConverseDecoder):
    """Ignores exception messages, so a failed stream looks merely truncated."""

    def take_failure(self, frame: Frame) -> None:
        pass


def _add_nested_reasoning(message: Assembler, slot: int, delta: Payload) -> None:
    add_reasoning(message, slot, object_at(delta, "reasoningText"))


@mutants.decoder(
    kind="thinking-lost",
    fails=(*CONTENT, "**:invariant.streaming"),
)
class FlatReasoningLost(BedrockConverseDecoder):
    """Reads reasoning from `reasoningText`, which exists only in non-streaming answers."""

    deltas: ClassVar[Deltas] = {**DELTAS, "reasoningContent": (dict, _add_nested_reasoning)}


@mutants.replace(
    "handlers",
    "metadata",
    kind="stop-guessed",
    fails=("**:stop.**",),
)
def guardrail_trace_as_stop(answer: BedrockConverseDecoder, payload: Payload) -> None:
    """Mistakes any assessment in the trace for an intervention, even if the guardrail let the answer pass."""
    on_metadata(answer, payload)
    guardrail = object_at(object_at(payload, "trace"), "guardrail")
    if any(guardrail.get(key) for key in ("inputAssessment", "outputAssessments")):
        answer.message.stop("content_filter", "guardrail_intervened")


@mutants.decoder(
    kind="cut-as-complete",
    fails=(*STATUS, *COMPLETE, *ARGUMENTS),
)
class MetadataAsEnd(BedrockConverseDecoder):
    """Treats usage as the end of a complete answer, even without `messageStop`."""

    def end_of_body(self) -> None:
        if self.stop_reason is None and self.message.usage() is not None:
            self.stop("end_turn", None)
        super().end_of_body()


@mutants.decoder(
    kind="arguments-lost",
    fails=(*CONTENT, "**:invariant.streaming", "**:invariant.ended-calls"),
)
class ToolInputLost(BedrockConverseDecoder):
    """Never attaches a tool's streamed input to its call."""

    deltas: ClassVar[Deltas] = {kind: delta for kind, delta in DELTAS.items() if kind != "toolUse"}


@mutants.replace(
    "handlers",
    "metadata",
    kind="end-too-early",
    fails=(*USAGE, *STATUS),
)
def usage_behind_stop_lost(answer: BedrockConverseDecoder, payload: Payload) -> None:
    """Stops at `messageStop`, before the usage that follows it."""
    if answer.stop_reason is None:
        on_metadata(answer, payload)


@mutants.stream(kind="stop-guessed", fails=STOP_REASON)
def blocked_call_as_tool_use(messages: list[Json]) -> Iterator[Json]:
    """Reports tool_use for every answer with a call, even if a filter stopped the answer after it."""
    yield from report_refused_calls(messages, "content_filtered", "guardrail_intervened")


@mutants.decoder(kind="order-trusted", fails=(*CONTENT, *COMPLETE, "**:invariant.**"))
class BlocksWithoutStopLost(BedrockConverseDecoder):
    """Reads a block when its stop event arrives, and never if there is none."""

    def begin(self) -> None:
        super().begin()
        self.waiting: dict[object, list[tuple[str, Payload]]] = {}

    def read_event(self, kind: str, body: Payload) -> None:
        held = self.waiting.setdefault(body.get("contentBlockIndex"), [])
        if kind in ("contentBlockStart", "contentBlockDelta"):
            held.append((kind, body))
            return
        if kind == "contentBlockStop":
            for event in held:
                super().read_event(*event)
            held.clear()
        super().read_event(kind, body)


@mutants.decoder(kind="stop-details-lost", fails=("**:stop.sequence",))
class SequenceOfDocumentsOnly(BedrockConverseDecoder):
    """Looks for the matched stop sequence of a stream where a document has it."""

    def stop(self, raw: str, fields: object) -> None:
        super().stop(raw, drop_key(fields, "delta"))


@mutants.decoder(kind="unknown-fatal", fails=GIVES_UP)
class UnknownEventOfConverseFatal(BedrockConverseDecoder):
    """Fails on an event that its model of the service does not have."""

    def read_event(self, kind: str, body: Payload) -> None:
        if kind not in self.handlers and kind not in EXCEPTIONS:
            raise BrokenPayloadError(f"unknown event `{kind}`")
        super().read_event(kind, body)


@mutants.decoder(kind="price-variant-ignored", fails=("**:usage.cache_write_1h", "**:cost.**"))
class CacheDetailsIgnored(BedrockConverseDecoder):
    """Prices cache writes of one hour like those of five minutes."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "cacheDetails"))
