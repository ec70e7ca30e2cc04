"""Mutants that decode google-interactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar

from streamconform_reference.apis.google_generate.framing import GoogleFraming, GoogleSseFraming
from streamconform_reference.apis.google_interactions import decode
from streamconform_reference.apis.google_interactions.decode import GoogleInteractionsDecoder
from streamconform_reference.apis.google_interactions.document import to_payloads
from streamconform_reference.apis.google_interactions.steps import Step, Steps
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.fields import read_text
from streamconform_reference.framing import Framing
from streamconform_reference.framing.sse import SseFraming

from .json_values import object_at
from .model import ARGUMENTS, CONTENT, ERROR, GIVES_UP, STATUS, STOP_REASON, USAGE
from .registry import StreamMutants

mutants = StreamMutants("google-interactions", GoogleInteractionsDecoder)


@mutants.replace(
    "steps_factory",
    kind="fragment-to-another-call",
    fails=CONTENT,
)
class StepsByArrival(Steps):
    """Adds every delta to the step that started last, whatever its index."""

    def _find(self, index: int | None) -> Step | None:
        del index
        return self._last


@mutants.replace(
    "steps_factory",
    kind="signature-lost",
    fails=CONTENT,
)
class ThoughtSignatureIgnored(Steps):
    """Ignores the signatures of thoughts, so the next request is rejected."""

    def add(self, index: int | None, delta: Payload) -> None:
        if delta.get("type") != "thought_signature":
            super().add(index, delta)


@mutants.replace(
    "steps_factory",
    kind="signature-lost",
    fails=CONTENT,
)
class FirstSignatureWins(Steps):
    """Takes the first signature of a thought, which may be empty."""

    @cached_property
    def signed(self) -> set[int | None]:
        return set()

    def add(self, index: int | None, delta: Payload) -> None:
        if delta.get("type") == "thought_signature":
            if index in self.signed:
                return
            self.signed.add(index)
        super().add(index, delta)


@mutants.replace(
    "steps_factory",
    kind="thinking-as-text",
    fails=CONTENT,
)
class ThoughtsShownAsText(Steps):
    """Reports a thought's summary as the answer's text."""

    def start(self, index: int | None, data: Payload) -> None:
        super().start(index, {"type": "model_output"} if data.get("type") == "thought" else data)

    def add(self, index: int | None, delta: Payload) -> None:
        if delta.get("type") == "thought_summary":
            delta = {"type": "text", "text": read_text(object_at(delta, "content"), "text")}
        super().add(index, delta)


@mutants.replace(
    "steps_factory",
    kind="arguments-lost",
    fails=(*ARGUMENTS, *CONTENT),
)
class LastArgumentFragmentWins(Steps):
    """Treats each fragment as the complete arguments, so the last one wins."""

    def add(self, index: int | None, delta: Payload) -> None:
        step = self._find(index)
        if delta.get("type") == "arguments_delta" and step is not None:
            self.message.settle_arguments(step, read_text(delta, "arguments"))
        else:
            super().add(index, delta)


@mutants.replace(
    "framing_factory",
    kind="error-as-success",
    fails=ERROR,
)
class BareRefusalIgnored(GoogleFraming):
    """Ignores a refusal that is sent as a line of JSON between the events."""

    def _choose(self) -> Framing:
        chosen = super()._choose()
        if isinstance(chosen, GoogleSseFraming):
            chosen = self._chosen = SseFraming()
        return chosen


@mutants.decoder(
    kind="cut-as-complete",
    fails=STATUS,
)
class EndOfFileAsCompleted(GoogleInteractionsDecoder):
    """Reports an answer without `interaction.completed` as complete."""

    def end_of_body(self) -> None:
        if not self.message.ended:
            self.message.end_all(calls=False)
            self.message.stop("stop", None)
            self.message.complete()


@mutants.decoder(
    kind="failure-as-stop",
    fails=(*STOP_REASON, *ERROR),
)
class AnyStatusAsCompleted(GoogleInteractionsDecoder):
    """Treats every final status as a normal end."""

    def finish(self, interaction: Payload) -> None:
        super().finish({**interaction, "status": "completed"})


@mutants.decoder(
    kind="thinking-counted-wrong",
    fails=USAGE,
)
class ThoughtTokensNotCounted(GoogleInteractionsDecoder):
    """Reads only input, output and total, although thoughts are billed as output."""

    def report(self, usage: object, tier: str | None = None) -> None:
        if isinstance(usage, dict):
            usage = {
                name: count
                for name, count in usage.items()
                if name in ("total_input_tokens", "total_output_tokens")
            }
        super().report(usage, tier)


@mutants.replace(
    "steps_factory",
    kind="sources-lost",
    fails=CONTENT,
)
class AnnotationsIgnored(Steps):
    """Ignores deltas with annotations, so the sources of the text are lost."""

    def add(self, index: int | None, delta: Payload) -> None:
        if delta.get("type") != "text_annotation_delta":
            super().add(index, delta)


@mutants.decoder(
    kind="details-lost",
    fails=("**:continuation",),
)
class CheckpointAsContinuation(GoogleInteractionsDecoder):
    """Keeps the first continuation token, so content after it would be sent again."""

    @cached_property
    def tokens(self) -> list[str]:
        return []

    def read(self, payload: Payload) -> None:
        self.tokens.extend(
            token
            for holder in (payload, object_at(payload, "interaction"))
            if (token := read_text(holder, "continuation_token"))
        )
        super().read(payload)

    def finish(self, interaction: Payload) -> None:
        first = {"continuation_token": self.tokens[0]} if self.tokens else {}
        super().finish({**interaction, **first})


@mutants.decoder(
    kind="price-variant-ignored",
    fails=("**:cost.**",),
)
class InteractionModalitiesAtOnePrice(GoogleInteractionsDecoder):
    """Ignores the counts by modality, so audio and images are priced like text."""

    def report(self, usage: object, service_tier: str | None = None) -> None:
        if isinstance(usage, dict):
            usage = {name: value for name, value in usage.items() if not name.endswith("_by_modality")}
        super().report(usage, service_tier)


@mutants.decoder(
    kind="old-form-unread",
    fails=(*CONTENT, *STOP_REASON, *USAGE, "**:error.message", "**:invariant.**"),
)
class OnlyOldEventNames(GoogleInteractionsDecoder):
    """Knows only the event names that were used until June 2026."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        name: handler
        for name, handler in decode.HANDLERS.items()
        if name not in ("step.start", "step.delta", "step.stop")
    }


@mutants.document(kind="old-form-unread", fails=GIVES_UP)
def outputs_of_a_document_ignored(document: Payload) -> Iterator[Payload]:
    """Reads only the steps of a non-streaming answer, so one of the old schema has no content."""
    steps = {key: value for key, value in document.items() if key != "outputs"}
    yield from to_payloads({**steps, "steps": []} if "outputs" in document else document)
