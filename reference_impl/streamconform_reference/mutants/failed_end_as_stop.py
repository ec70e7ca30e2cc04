"""A `finish_reason` that is a failure ends the answer as if it were complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.cohere_chat import CohereChatDecoder, v1, v2
from streamconform_reference.decoding.decoder import Payload

from ._tools import part

_FAILURES = ("ERROR", "TIMEOUT")


def forgiven(holder: Payload) -> Payload:
    """Return the end without its failure."""
    failed = holder.get("finish_reason") in _FAILURES
    return {**holder, "finish_reason": "COMPLETE", "error": None} if failed else holder


def on_message_end(stream: v2.V2Stream, payload: Payload) -> None:
    """Read the end without its failure."""
    v2.on_message_end(stream, {**payload, "delta": forgiven(part(payload, "delta"))})


def on_stream_end(stream: v1.V1Stream, payload: Payload) -> None:
    """Read the end without its failure."""
    v1.on_stream_end(stream, forgiven(payload))


class Broken(CohereChatDecoder):
    """The decoder with the wrong handlers."""

    v2_handlers: ClassVar[Mapping[str, v2.Handler]] = {**v2.HANDLERS, "message-end": on_message_end}
    v1_handlers: ClassVar[Mapping[str, v1.Handler]] = {**v1.HANDLERS, "stream-end": on_stream_end}


adapter = adapter_for({"cohere-chat": Broken}, name="mutant:failed-end-as-stop")
