"""`pause_turn` is taken for the end of the turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_message_delta(message: Assembler, payload: Payload) -> None:
    """Read the stop reason as `end_turn`, but keep the word."""
    decode.on_message_delta(message, payload)
    if part(payload, "delta").get("stop_reason") == "pause_turn":
        message.stop("stop", "pause_turn")


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "message_delta": on_message_delta,
    }


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:pause-turn-as-stop")
