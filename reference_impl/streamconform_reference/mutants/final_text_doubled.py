"""The text that `stream-end` repeats is appended to that of the events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.cohere_chat import CohereChatDecoder, v1
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_stream_end(stream: v1.V1Stream, payload: Payload) -> None:
    """Say the text of the response, then read the rest."""
    response = part(payload, "response")
    fragment = response.get("text")
    if isinstance(fragment, str):
        stream.append_text(fragment)
    v1.on_stream_end(stream, {**payload, "response": {**response, "text": ""}})


class Broken(CohereChatDecoder):
    """The decoder with the wrong handler."""

    v1_handlers: ClassVar[Mapping[str, v1.Handler]] = {**v1.HANDLERS, "stream-end": on_stream_end}


adapter = adapter_for({"cohere-chat": Broken}, name="mutant:final-text-doubled")
