"""Cohere Chat: v2 server-sent events or v1 JSON lines in, events and the outcome out.

Source: https://docs.cohere.com/reference/chat-stream, https://docs.cohere.com/reference/chat-stream-v1, and
the types in the `cohere` package (7.3.1). `v2` and `v1` read the events, and `terminal` reads the end.

Undocumented behavior, and differences between servers:

- The payload, not the framing, determines the version: v2 names its events in `type`, and v1 in `event_type`.
- `[DONE]` may follow the end of a v2 stream and is ignored: on its own, it does not complete the answer.
- A payload that has a message but no type is an error (`{"message": "..."}`), even as the only line of a body
  with HTTP status 200.
- Everything after `message-end` or `stream-end` is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from streamconform_reference.decoding.decoder import Decoder, Payload
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.framing import Framing

from . import v1, v2
from .framing import CohereFraming

# The values of `type` in error payloads that gateways send and that are not part of this API.
UNTYPED: Final = (None, "error")


class CohereChatDecoder(Decoder):
    """Decodes one response of `POST /v2/chat` or `POST /v1/chat` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = CohereFraming
    v2_handlers: ClassVar[Mapping[str, v2.Handler]] = v2.HANDLERS
    v1_handlers: ClassVar[Mapping[str, v1.Handler]] = v1.HANDLERS

    def begin(self) -> None:
        """Initialize the state that is kept between payloads."""
        self.v2 = v2.V2Stream(self.message)
        self.v1 = v1.V1Stream(self.message)

    def read(self, payload: Payload) -> None:
        """Read one payload; unknown types are ignored."""
        kind = payload.get("type")
        if isinstance(kind, str) and (handler := self.v2_handlers.get(kind)):
            handler(self.v2, payload)
            return
        name = payload.get("event_type")
        if isinstance(name, str):
            if old_handler := self.v1_handlers.get(name):
                old_handler(self.v1, payload)
        elif payload.get("error") or (kind in UNTYPED and isinstance(payload.get("message"), str)):
            self.message.fail(read_error(payload))
