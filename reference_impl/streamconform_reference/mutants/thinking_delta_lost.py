"""Reads the text of content and nothing else, so thinking is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.cohere_chat import CohereChatDecoder, v2
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_content_delta(stream: v2.V2Stream, payload: Payload) -> None:
    """Read the delta, unless it is thinking."""
    if "thinking" not in part(part(part(payload, "delta"), "message"), "content"):
        v2.on_content_delta(stream, payload)


class Broken(CohereChatDecoder):
    """The decoder with the wrong handler."""

    v2_handlers: ClassVar[Mapping[str, v2.Handler]] = {**v2.HANDLERS, "content-delta": on_content_delta}


adapter = adapter_for({"cohere-chat": Broken}, name="mutant:thinking-delta-lost")
