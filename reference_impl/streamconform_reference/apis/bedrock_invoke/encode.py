"""Encode events as an invoke stream of Anthropic's events, and an outcome as a single document.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html

- The events are Anthropic's, one per message, in base64. There is no ping.
- `message_stop` also contains the service's counts, as in recordings; its latencies are 0, because they are
  not measured.
- Errors have the same form as in Converse: messages in a stream, and documents with `__type`.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from streamconform_reference.apis.anthropic_messages.encode import AnthropicMessagesEncoder
from streamconform_reference.apis.anthropic_messages.encode import write_document as write_anthropic_document
from streamconform_reference.apis.anthropic_messages.losses import encode_usage
from streamconform_reference.apis.bedrock_converse.encode import write_error_document, write_failure
from streamconform_reference.encoding.encoder import apply_losses
from streamconform_reference.framing.write import encode_event_stream_message
from streamconform_reference.json_text.codec import dumps
from streamconform_reference.outcome import Error, Json, Outcome, Usage

from .chunks import CHUNK
from .decode import METRIC_FIELDS, METRICS
from .losses import LOSSES

_API: Final = "bedrock-invoke"


class BedrockInvokeEncoder(AnthropicMessagesEncoder):
    """Writes one response of `POST /model/{modelId}/invoke-with-response-stream`."""

    def ping(self) -> bytes:
        """Return nothing: the service sends no pings."""
        return b""

    def write_event(self, kind: str, **fields: Any) -> bytes:
        """Return a message that contains an event."""
        return encode_event_stream_message(
            {":event-type": CHUNK, ":content-type": "application/json", ":message-type": "event"},
            {"bytes": base64.b64encode(dumps({"type": kind, **fields})).decode()},
        )

    def write_failure(self, error: Error) -> bytes:
        """Return the message that ends a failed answer."""
        return write_failure(error)

    def summarize(self, usage: Usage | None) -> Json:
        """Return the service's counts."""
        counts = {key: getattr(encode_usage(usage), name) for name, key in METRIC_FIELDS.items()}
        known = {key: count for key, count in counts.items() if count is not None}
        return {METRICS: {**known, "invocationLatency": 0, "firstByteLatency": 0}}


def write_document(outcome: Outcome, *, model: str, response_id: str, created: int = 0) -> Json:
    """Return the answer as a single document, or as an error document if it is not complete."""
    if outcome.status == "complete":
        return write_anthropic_document(outcome, model=model, response_id=response_id, created=created)
    expressed = apply_losses({_API: LOSSES}, _API, outcome, form="document")
    return write_error_document(expressed.error or Error(None, None, None))
