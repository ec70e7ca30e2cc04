"""A call without parameters has `null` for its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.cohere_chat import CohereChatDecoder, v2
from streamconform_reference.decoding.decoder import Payload


def on_tool_call_end(stream: v2.V2Stream, payload: Payload) -> None:
    """End the call with the text `null`, where it has no other."""
    slot = stream.find_slot("call", payload)
    if stream.message.text(slot).strip() in ("", "null"):
        stream.message.settle_arguments(slot, "null")
        stream.message.end(slot)
    v2.on_tool_call_end(stream, payload)


class Broken(CohereChatDecoder):
    """The decoder with the wrong handler."""

    v2_handlers: ClassVar[Mapping[str, v2.Handler]] = {**v2.HANDLERS, "tool-call-end": on_tool_call_end}


adapter = adapter_for({"cohere-chat": Broken}, name="mutant:no-parameters-as-null")
