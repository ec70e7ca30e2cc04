"""Amazon Bedrock InvokeModel with Anthropic's models: an AWS event stream in, events and the outcome out.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
for the messages, the service model in botocore 1.44.5, and Anthropic Messages for the events in them.

Undocumented behavior, and differences between models:

- Every `chunk` contains one event, identified by its `type`; there is no event name. The padding `p` is not a
  field of the event. Chunks without `bytes` and messages of other types are ignored.
- `message_stop` contains the service's own counts (`amazon-bedrock-invocationMetrics`). In recordings, they
  differ from Anthropic's `usage` after tool calls, so they are used only for counts that `usage` lacks. It
  may also contain a `usage` with the cache counts (BerriAI/litellm#36878).
- A guardrail's intervention may be reported in any event, in addition to the model's stop reason.
- Errors are messages of type `exception` or `error`, as in Converse, or an `error` event in a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.apis.anthropic_messages.decode import AnthropicMessagesDecoder, read_usage
from streamconform_reference.apis.bedrock_converse.failures import (
    FAILURES,
    read_failed_message,
    read_failed_response,
)
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import read_count
from streamconform_reference.decoding.provider_errors import protocol_error
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.aws_eventstream import EventStreamFraming
from streamconform_reference.outcome import Error
from streamconform_reference.pricing import Billing

from .chunks import is_chunk, unwrap
from .families import refuse_other_families

METRICS: Final = "amazon-bedrock-invocationMetrics"
METRIC_FIELDS: Final[Mapping[str, str]] = {
    "input": "inputTokenCount",
    "cache_read": "cacheReadInputTokenCount",
    "cache_write": "cacheWriteInputTokenCount",
    "output": "outputTokenCount",
}
# https://docs.aws.amazon.com/bedrock/latest/userguide/guardrails-use-inference-api.html
GUARDRAIL: Final = "amazon-bedrock-guardrailAction"
INTERVENED: Final = "INTERVENED"
SERVICE_TIER: Final = "x-amzn-bedrock-service-tier"
"""The header with the tier that served the request."""


class BedrockInvokeDecoder(AnthropicMessagesDecoder):
    """Decodes one response of `POST /model/{modelId}/invoke-with-response-stream`."""

    framing_factory: ClassVar[Callable[[], Framing]] = EventStreamFraming

    def begin(self) -> None:
        """Initialize the state that is kept between payloads."""
        self._intervened = False
        self.message.report_usage({}, Billing(service_tier=self.headers.get(SERVICE_TIER)))

    def receive_frame(self, frame: Frame) -> None:
        """Decode one message of the stream; pass the messages in order."""
        if (frame.headers or {}).get(":message-type") in FAILURES:
            self.take_failure(frame)
        elif is_chunk(frame) and not self.message.ended:
            try:
                event = self.unwrap(frame)
            except BrokenPayloadError as error:
                self.message.fail(protocol_error(str(error)))
            else:
                super().receive_frame(event)

    def unwrap(self, frame: Frame) -> Frame:
        """Return the frame with the model's event as its data.

        Raises:
            BrokenPayloadError: the message contains no event.
        """
        return unwrap(frame)

    def take_failure(self, frame: Frame) -> None:
        """End the answer with the error in a message; the HTTP status was 200."""
        self.message.fail(read_failed_message(frame))

    def read(self, payload: Payload) -> None:
        """Read one event; any event may contain the service's own fields."""
        refuse_other_families(payload)
        self._intervened = self._intervened or payload.get(GUARDRAIL) == INTERVENED
        # All of this must be done before `super().read`, which ends the answer at `message_stop`.
        last = payload.get("type") == "message_stop"
        if last:
            read_usage(self.message, payload.get("usage"))
        self.read_metrics(payload.get(METRICS))
        if last and self._intervened:
            self.message.stop("content_filter", self.message.snapshot().stop.raw)
        super().read(payload)

    def read_metrics(self, metrics: Any) -> None:
        """Report the service's counts that the model's `usage` lacks."""
        if isinstance(metrics, dict):
            usage = self.message.usage()
            counts = {name: read_count(metrics, key) for name, key in METRIC_FIELDS.items()}
            self.message.report_usage(
                {name: n for name, n in counts.items() if usage is None or getattr(usage, name) is None}
            )

    def read_failure(self, document: bytes) -> Error:
        """Return the error for a failed response; a header names its type."""
        return read_failed_response(document, self.status, self.headers)
