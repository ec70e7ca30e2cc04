"""Reads the text of a v1 stream alone, so that its tool calls are never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.cohere_chat import CohereChatDecoder, v1
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_tool_calls_chunk(stream: v1.V1Stream, payload: Payload) -> None:
    """Take the text alone."""
    v1.on_text(stream, payload)


def on_stream_end(stream: v1.V1Stream, payload: Payload) -> None:
    """End the answer without its calls."""
    response = {key: value for key, value in part(payload, "response").items() if key != "tool_calls"}
    v1.on_stream_end(stream, {**payload, "response": response})


class Broken(CohereChatDecoder):
    """The decoder with the wrong handlers."""

    v1_handlers: ClassVar[Mapping[str, v1.Handler]] = {
        **{kind: handler for kind, handler in v1.HANDLERS.items() if kind != "tool-calls-generation"},
        "tool-calls-chunk": on_tool_calls_chunk,
        "stream-end": on_stream_end,
    }


adapter = adapter_for({"cohere-chat": Broken}, name="mutant:v1-calls-ignored")
