"""An error in mid-stream ends the answer as if it were complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload


def on_error(message: Assembler, payload: Payload) -> None:
    """End the answer and say nothing."""
    del payload
    message.complete()


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {**decode.HANDLERS, "error": on_error}


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:error-frame-swallowed")
