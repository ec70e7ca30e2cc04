"""Amazon Bedrock Converse: an AWS event stream in, events and the outcome out.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html and the
service model in botocore 1.44.5.

Undocumented behavior, and differences between models and proxies:

- `:event-type` names the payload's type. Without that header, the payload is an object whose only key is the
  type, as the SDKs return it. The padding `p` is not a field.
- `messageStop` is the terminal event, but usage follows it, in `metadata`. The answer therefore stays open
  until the end of the body, and completes there even if the metadata was lost. Some proxies send the metadata
  first, or several times: the last report of each count wins, and metadata without usage is ignored.
- An exception counts even after `messageStop`, because it means that the provider withdraws the answer.
- Calls end with their block. Proxies omit `contentBlockStop` (maximhq/bifrost#4262), so blocks that are still
  open at `messageStop` end there; so do calls, unless the answer was truncated.
- `malformed_model_output` and `malformed_tool_use` make the answer an error of that type.
- The body contains neither an id nor a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Decoder, Payload
from streamconform_reference.decoding.fields import read_text
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.aws_eventstream import EventStreamFraming
from streamconform_reference.outcome import Error, StopReason
from streamconform_reference.pricing import Billing

from .content import DELTAS, start_block
from .failures import EXCEPTIONS, FAILURES, read_exception, read_failed_message, read_failed_response
from .fields import read_object, require_block_index
from .usage import read_counts

Handler = Callable[["BedrockConverseDecoder", Payload], None]

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html
STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
# Stop reasons after which an open call may be truncated.
_TRUNCATING: Final = frozenset({"length", "content_filter", "error"})


def on_message_start(answer: BedrockConverseDecoder, _payload: Payload) -> None:
    """Start an answer."""
    answer.message.begin(model=None, response_id=None)


def on_block_start(answer: BedrockConverseDecoder, payload: Payload) -> None:
    """Start the block at an index."""
    start_block(answer.message, require_block_index(payload), payload)


def on_block_delta(answer: BedrockConverseDecoder, payload: Payload) -> None:
    """Append to the block at an index; a delta of an unknown kind is ignored."""
    slot = require_block_index(payload)
    deltas = payload.get("delta")
    if not isinstance(deltas, dict):
        raise BrokenPayloadError("`contentBlockDelta` has no `delta`")
    for kind, delta in deltas.items():
        known = answer.deltas.get(kind)
        if known is None or delta is None:
            continue
        expected, handler = known
        if not isinstance(delta, expected):
            raise BrokenPayloadError(f"a delta of `{kind}` has the wrong type")
        handler(answer.message, slot, delta)


def on_block_stop(answer: BedrockConverseDecoder, payload: Payload) -> None:
    """End the block at an index."""
    answer.message.end(require_block_index(payload))


def on_message_stop(answer: BedrockConverseDecoder, payload: Payload) -> None:
    """Set the stop reason; the answer stays open because its metadata follows."""
    answer.stop(read_text(payload, "stopReason"), payload.get("additionalModelResponseFields"))


def on_metadata(answer: BedrockConverseDecoder, payload: Payload) -> None:
    """Report the usage, and the service tier that selects its prices."""
    answer.message.report_usage(
        read_counts(read_object(payload, "usage")),
        Billing(service_tier=read_text(read_object(payload, "serviceTier"), "type") or None),
    )


HANDLERS: Final[Mapping[str, Handler]] = {
    "messageStart": on_message_start,
    "contentBlockStart": on_block_start,
    "contentBlockDelta": on_block_delta,
    "contentBlockStop": on_block_stop,
    "messageStop": on_message_stop,
    "metadata": on_metadata,
}


def _find_sequence(fields: object) -> str | None:
    """Return the stop sequence among the members of the model's own answer, or None."""
    if not isinstance(fields, dict):
        return None
    delta = fields.get("delta")
    found = (holder.get("stop_sequence") for holder in (fields, delta) if isinstance(holder, dict))
    return next((value for value in found if isinstance(value, str)), None)


class BedrockConverseDecoder(Decoder):
    """Decodes one response of `POST /model/{modelId}/converse-stream`."""

    framing_factory: ClassVar[Callable[[], Framing]] = EventStreamFraming
    handlers: ClassVar[Mapping[str, Handler]] = HANDLERS
    deltas: ClassVar[Mapping[str, tuple[type, Callable[..., None]]]] = DELTAS

    def begin(self) -> None:
        """Initialize the state that is kept between payloads."""
        self.stop_reason: str | None = None  # in the API's spelling; empty if `messageStop` has none
        self._event: str | None = None  # the payload's type according to the frame's headers

    def receive_frame(self, frame: Frame) -> None:
        """Decode the next message of the stream."""
        headers = frame.headers or {}
        if headers.get(":message-type") in FAILURES:
            self.take_failure(frame)
            return
        event = headers.get(":event-type")
        self._event = event if isinstance(event, str) else None
        super().receive_frame(frame)

    def take_failure(self, frame: Frame) -> None:
        """End the answer with the error in a message; the HTTP status was 200."""
        self.message.fail(read_failed_message(frame))

    def read(self, payload: Payload) -> None:
        """Read one payload; unknown types are ignored."""
        if self._event is not None:
            self.read_event(self._event, payload)
            return
        for kind, body in payload.items():
            if isinstance(body, dict):
                self.read_event(kind, body)
            elif kind in self.handlers and body is not None:
                raise BrokenPayloadError(f"`{kind}` is not an object")

    def read_event(self, kind: str, body: Payload) -> None:
        """Read an event according to its type."""
        handler = self.handlers.get(kind)
        if handler:
            handler(self, body)
        elif kind in EXCEPTIONS:
            self.message.fail(read_exception(kind, body))

    def read_failure(self, document: bytes) -> Error:
        """Return the error for a failed response; a header names its type."""
        return read_failed_response(document, self.status, self.headers)

    def stop(self, raw: str, fields: object) -> None:
        """Set the stop reason, and the matched stop sequence if the request asked for it; end open blocks.

        `fields` are the members of the model's own answer that the request named: Claude's `/stop_sequence`,
        or in the event of a stream, `/delta/stop_sequence` (https://github.com/vercel/ai/pull/11410).
        """
        self.stop_reason = raw
        reason = STOP_REASONS.get(raw, "other")
        sequence = _find_sequence(fields) if raw == "stop_sequence" else None
        self.message.stop(reason, raw or None, sequence=sequence)
        self.message.end_all(calls=reason not in _TRUNCATING)

    def end_of_body(self) -> None:
        """End the answer; it is complete if `messageStop` arrived, unless its reason is a failure."""
        if self.stop_reason is None or self.lacks_usage_of_cut_frame:
            self.message.end_of_file()
        elif STOP_REASONS.get(self.stop_reason) == "error":
            self.message.fail(Error(self.stop_reason, None, None))
        else:
            self.message.complete()
