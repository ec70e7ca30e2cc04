"""Counts what the model read and wrote, preamble and all, and not what is billed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.cohere_chat import CohereChatDecoder, v1, v2
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def unbilled(usage: Payload) -> Payload:
    """Return the usage with the tokens in place of the billed units."""
    return {**usage, "billed_units": usage.get("tokens")}


def on_message_end(stream: v2.V2Stream, payload: Payload) -> None:
    """Read the end with that usage."""
    delta = part(payload, "delta")
    v2.on_message_end(stream, {**payload, "delta": {**delta, "usage": unbilled(part(delta, "usage"))}})


def on_stream_end(stream: v1.V1Stream, payload: Payload) -> None:
    """Read the end with that usage."""
    response = part(payload, "response")
    v1.on_stream_end(stream, {**payload, "response": {**response, "meta": unbilled(part(response, "meta"))}})


class Broken(CohereChatDecoder):
    """The decoder with the wrong handlers."""

    v2_handlers: ClassVar[Mapping[str, v2.Handler]] = {**v2.HANDLERS, "message-end": on_message_end}
    v1_handlers: ClassVar[Mapping[str, v1.Handler]] = {**v1.HANDLERS, "stream-end": on_stream_end}


adapter = adapter_for({"cohere-chat": Broken}, name="mutant:billed-units-ignored")
