"""Telegraph's chat: JSON lines in, events and the outcome out.

Source: https://telegraph.example/docs/chat

- Each record has a type. `text` is a piece of text, `call` a complete tool call; `end` and `error` are
  terminal.
- Records of unknown types are ignored, because the documentation says that new types may be added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Decoder, Payload
from streamconform_reference.decoding.fields import read_count, read_text
from streamconform_reference.decoding.prose import Prose
from streamconform_reference.framing import Framing
from streamconform_reference.framing.ndjson import NdjsonFraming
from streamconform_reference.outcome import Error, StopReason

_STOP_REASONS: Final[Mapping[str, StopReason]] = {"done": "stop", "call": "tool_use", "full": "length"}


class TelegraphChatDecoder(Decoder):
    """Decodes one response of `POST /telegraph/chat`, which always streams."""

    framing_factory: ClassVar[Callable[[], Framing]] = NdjsonFraming

    def begin(self) -> None:
        """Set the state that is kept between payloads."""
        self._prose = Prose(self.message)
        self._calls = 0

    def read(self, payload: Payload) -> None:
        """Read one record."""
        match payload.get("type"):
            case "text":
                if text := read_text(payload, "text"):
                    self._prose.append("text", text)
            case "call":
                self._read_call(payload)
            case "end":
                self._read_end(payload)
            case "error":
                self.message.fail(Error(None, read_text(payload, "message") or None, None))
            case _:
                pass  # a record that did not exist when this was written

    def _read_call(self, payload: Payload) -> None:
        name = read_text(payload, "name")
        if not name:
            raise BrokenPayloadError("a `call` has no `name`")
        self._prose.end()
        slot = ("call", self._calls)
        self._calls += 1
        self.message.start_call(slot, id=read_text(payload, "id") or None, name=name)
        self.message.settle_arguments(slot, payload.get("arguments", {}))
        self.message.end(slot)

    def _read_end(self, payload: Payload) -> None:
        self.message.model = read_text(payload, "model") or None
        self.message.report_usage(
            {
                "input": read_count(payload, "usage", "sent"),
                "output": read_count(payload, "usage", "received"),
            }
        )
        reason = read_text(payload, "reason")
        self.message.stop(_STOP_REASONS.get(reason, "other"), reason or None)
        self._prose.end()
        self.message.complete()
