"""Gemini's Interactions API: server-sent events in, events and the outcome out.

Source: https://ai.google.dev/api/interactions-api, the types in the `google-genai` package (3.4.0), and
recorded streams. `steps` reads the content, and `usage` reads the counts.

Undocumented behavior, and differences between servers:

- The payload's `event_type` decides. `interaction.completed` ends the answer, whatever its status; `[DONE]`
  alone does not.
- Until June 2026, the events had other names (`content.start`), which servers that emulate the API still
  send, and interactions had `outputs` in place of `steps`.
- Usage arrives in many places (`metadata`, `step.stop`, `interaction.status_update`), always as the totals so
  far. `step_usage` covers only one step and is ignored.
- If the request is refused after the stream has begun, a JSON document on a separate line may end the stream
  (googleapis/js-genai#1973).
- A `failed` status or an `error` event makes the answer an error, even if its code says that the answer was
  blocked.
- The first id and the first model that are not empty are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.apis.google_generate.framing import GoogleFraming
from streamconform_reference.decoding.decoder import Decoder, Payload
from streamconform_reference.decoding.fields import read_index, read_objects, read_text, require_object
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.framing import Framing
from streamconform_reference.outcome import Error, StopReason
from streamconform_reference.pricing import Billing

from .steps import Steps
from .usage import Totals, read_usage_modalities

Handler = Callable[["GoogleInteractionsDecoder", Payload], None]

# https://ai.google.dev/api/interactions-api#Resource:Interaction
STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "completed": "stop",
    "requires_action": "tool_use",
    "incomplete": "length",
    "budget_exceeded": "length",
    "requires_continuation": "pause",
    "cancelled": "other",
    "failed": "error",
}
_ENDS_CALLS: Final = frozenset({"completed", "requires_action"})
_USAGE_IN_METADATA: Final = ("total_usage", "usage")
"""The documented name, and the name in recorded streams."""


def on_created(answer: GoogleInteractionsDecoder, payload: Payload) -> None:
    """Read id and model."""
    answer.identify(require_object(payload, "interaction"))


def on_status_update(answer: GoogleInteractionsDecoder, payload: Payload) -> None:
    """Read the usage so far; a status is final only in the last event."""
    answer.report(payload.get("usage"))


def on_step_start(answer: GoogleInteractionsDecoder, payload: Payload) -> None:
    """Start a step, which may already be complete."""
    answer.steps.start(read_index(payload, "index"), require_object(payload, "step"))


def on_content_start(answer: GoogleInteractionsDecoder, payload: Payload) -> None:
    """Start a step of the API's first schema, in which each content item of the answer had an index."""
    answer.steps.start_content(read_index(payload, "index"), require_object(payload, "content"))


def on_step_delta(answer: GoogleInteractionsDecoder, payload: Payload) -> None:
    """Append to a step."""
    answer.steps.add(read_index(payload, "index"), require_object(payload, "delta"))


def on_step_stop(answer: GoogleInteractionsDecoder, payload: Payload) -> None:
    """End a step."""
    answer.steps.stop(read_index(payload, "index"))
    answer.report(payload.get("usage"))


def on_completed(answer: GoogleInteractionsDecoder, payload: Payload) -> None:
    """End the answer; this is the terminal event."""
    answer.finish(require_object(payload, "interaction"))


def on_error(answer: GoogleInteractionsDecoder, payload: Payload) -> None:
    """End the answer with the provider's error; the HTTP status was 200."""
    answer.message.fail(read_error(payload))


HANDLERS: Final[Mapping[str, Handler]] = {
    "interaction.created": on_created,
    "interaction.status_update": on_status_update,
    "step.start": on_step_start,
    "step.delta": on_step_delta,
    "step.stop": on_step_stop,
    "interaction.completed": on_completed,
    "error": on_error,
    # The names until June 2026.
    "interaction.start": on_created,
    "content.start": on_content_start,
    "content.delta": on_step_delta,
    "content.stop": on_step_stop,
    "interaction.complete": on_completed,
}


class GoogleInteractionsDecoder(Decoder):
    """Decodes one response of `POST /v1beta/interactions` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = GoogleFraming
    handlers: ClassVar[Mapping[str, Handler]] = HANDLERS
    steps_factory: ClassVar[type[Steps]] = Steps

    def begin(self) -> None:
        """Initialize the state that is kept between payloads."""
        self.steps = self.steps_factory(self.message)
        self.totals = Totals()

    def read(self, payload: Payload) -> None:
        """Read one payload; unknown types are ignored."""
        kind = payload.get("event_type")
        if kind is None and payload.get("error") is not None:
            kind = "error"  # a document that refuses the request
        handler = self.handlers.get(kind) if isinstance(kind, str) else None
        if handler is None:
            return
        metadata = payload.get("metadata")
        if isinstance(metadata, dict):
            for name in _USAGE_IN_METADATA:
                self.report(metadata.get(name))
        handler(self, payload)

    def identify(self, interaction: Payload) -> None:
        """Set the model and id, unless they are already known."""
        self.message.model = self.message.model or read_text(interaction, "model") or None
        self.message.response_id = self.message.response_id or read_text(interaction, "id") or None

    def report(self, usage: Any, service_tier: str | None = None) -> None:
        """Report the totals so far; the last report of each wins."""
        if isinstance(usage, dict):
            self.totals.update(usage)
            buckets = self.totals.compute_buckets(self.steps.kinds)
            self.message.report_usage(
                buckets, Billing(service_tier=service_tier, modalities=read_usage_modalities(usage))
            )

    def finish(self, interaction: Payload) -> None:
        """End the answer with its status; a server may list steps that it did not stream."""
        self.identify(interaction)
        status = read_text(interaction, "status")
        if not self.steps.kinds:
            self.steps.add_listed(interaction)
        self.report(interaction.get("usage"), read_text(interaction, "service_tier") or None)
        token = interaction.get("continuation_token")
        self.message.continuation = token if isinstance(token, str) and token else None
        reason = STOP_REASONS.get(status, "other")
        self.message.stop(reason, status or None)
        if reason == "error":
            self.message.fail(self._read_failure(interaction, status))
            return
        self.message.end_all(calls=status in _ENDS_CALLS)
        self.message.complete()

    def _read_failure(self, interaction: Payload, status: str) -> Error:
        """Return the interaction's first error, or else the error of one of its steps."""
        listed = [*read_objects(interaction, "errors"), interaction.get("error"), self.steps.error]
        error = next((item for item in listed if isinstance(item, dict)), {})
        read = read_error({"error": error})
        return Error(read.type or status, read.message, read.status)
