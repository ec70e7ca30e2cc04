"""A tool that the provider runs looks like one that the client has to run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages import decode
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_content_block_start(message: Assembler, payload: Payload) -> None:
    """Begin every call as the client's."""
    block = dict(part(payload, "content_block"))
    if block.get("type") in ("server_tool_use", "mcp_tool_use"):
        block["type"] = "tool_use"
    decode.on_content_block_start(message, {**payload, "content_block": block})


class Broken(decode.AnthropicMessagesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "content_block_start": on_content_block_start,
    }


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:provider-call-as-client")
