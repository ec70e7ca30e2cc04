"""An error in mid-stream ends the answer as if it were complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..adapter import adapter_for
from ..apis.anthropic_messages import decode
from ..assemble import Assembler
from ..decoder import Payload


def on_error(message: Assembler, payload: Payload) -> None:
    """End the answer and say nothing."""
    del payload
    message.complete()


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {**decode.HANDLERS, "error": on_error}


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:error-frame-swallowed")
