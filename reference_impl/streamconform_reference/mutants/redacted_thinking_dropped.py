"""Redacted thinking never becomes a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_content_block_start(message: Assembler, payload: Payload) -> None:
    """Begin the block, unless it is redacted thinking."""
    if part(payload, "content_block").get("type") != "redacted_thinking":
        decode.on_content_block_start(message, payload)


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "content_block_start": on_content_block_start,
    }


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:redacted-thinking-dropped")
