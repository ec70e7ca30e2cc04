"""The signature of thinking is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_content_block_delta(message: Assembler, payload: Payload) -> None:
    """Append to the block, unless it is a signature."""
    if part(payload, "delta").get("type") != "signature_delta":
        decode.on_content_block_delta(message, payload)


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "content_block_delta": on_content_block_delta,
    }


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:signature-lost")
