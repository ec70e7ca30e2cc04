"""Of the usage in `message_delta` only the output counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_message_delta(message: Assembler, payload: Payload) -> None:
    """Take the stop reason and the output tokens."""
    usage = part(payload, "usage")
    output = {"output_tokens": usage.get("output_tokens")}
    decode.on_message_delta(message, {**payload, "usage": output})


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "message_delta": on_message_delta,
    }


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:start-usage-kept")
