"""The arguments in the start of a call are thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_content_block_start(message: Assembler, payload: Payload) -> None:
    """Begin the block without its input."""
    block = dict(part(payload, "content_block"))
    block.pop("input", None)
    decode.on_content_block_start(message, {**payload, "content_block": block})


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "content_block_start": on_content_block_start,
    }


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:prefilled-input-lost")
