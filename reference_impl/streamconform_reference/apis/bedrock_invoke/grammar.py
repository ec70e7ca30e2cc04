"""The grammar of InvokeModel's streams: Anthropic's events, as Bedrock sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from msgspec.structs import replace

from streamconform_reference.apis.anthropic_messages.grammar import AnthropicMessagesGrammar
from streamconform_reference.apis.bedrock_converse.failures import EXCEPTIONS, FAILURES
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.aws_eventstream import EventStreamFraming
from streamconform_reference.grammars.fields import Field, format_value, needs
from streamconform_reference.grammars.grammar import ENDED, Deviation, Rule, Step, Violations, step

from .chunks import is_chunk, unwrap
from .decode import METRIC_FIELDS, METRICS

_API: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/"
_COUNTS: Final = (f"{METRICS}.{METRIC_FIELDS['input']}", f"{METRICS}.{METRIC_FIELDS['output']}")


UNMODELED: Final = "unmodeled error"
"""A message of type `error`, which may have only headers."""


class BedrockInvokeGrammar(AnthropicMessagesGrammar):
    """Checks one stream of `POST /model/{id}/invoke-with-response-stream`."""

    framing_factory: ClassVar[Callable[[], Framing]] = EventStreamFraming
    source: ClassVar[str] = f"{_API}API_runtime_InvokeModelWithResponseStream.html"
    rules: ClassVar[Mapping[str, Rule]] = {
        **{name: rule for name, rule in AnthropicMessagesGrammar.rules.items() if name != "event-name"},
        "chunk-bytes": Rule(
            "a `chunk` must have a base64-encoded event in `bytes`",
            source=f"{_API}API_runtime_PayloadPart.html",
        ),
        "exception-known": Rule(
            "an exception must be documented", "should", f"{_API}API_runtime_ResponseStream.html"
        ),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {
        **AnthropicMessagesGrammar.fields,
        "message_stop": (
            *needs("object", METRICS, level="should"),
            *needs("count", *_COUNTS, level="should"),
        ),
        "exception": needs("text", "message", level="should"),
    }
    order: ClassVar[Mapping[str, Step]] = {
        **AnthropicMessagesGrammar.order,
        "exception": step("before open closing", ENDED, "terminal-last"),
        UNMODELED: step("before open closing", ENDED, "terminal-last"),
    }

    def receive(self, frame: Frame) -> list[Deviation]:
        """Check the next message; return the new deviations."""
        if _is_failure(frame) or not is_chunk(frame):
            return super().receive(replace(frame, data=frame.data or b"{}"))
        try:
            event = unwrap(frame)
            problem = None if event.data else "it has none"
        except BrokenPayloadError as error:
            event, problem = replace(frame, data=b""), str(error)
        deviations = super().receive(event)
        return deviations if problem is None else [*deviations, self._to_deviation("chunk-bytes", problem)]

    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return the event's type; for a failure, `exception` or `error`."""
        if _is_failure(frame):
            return "exception" if ":exception-type" in (frame.headers or {}) else UNMODELED
        return super().kind_of(frame, payload) if is_chunk(frame) else None

    def check_name(self, frame: Frame, kind: str | None) -> Violations:
        """Yield a violation if an exception has an undocumented name."""
        name = (frame.headers or {}).get(":exception-type")
        if kind == "exception" and name not in EXCEPTIONS:
            yield "exception-known", f"it is {format_value(name)}"


def _is_failure(frame: Frame) -> bool:
    return (frame.headers or {}).get(":message-type") in FAILURES


GRAMMAR: Final = BedrockInvokeGrammar
