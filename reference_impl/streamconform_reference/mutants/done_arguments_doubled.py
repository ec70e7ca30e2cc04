"""The arguments of `done` are appended to those of the deltas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses import decode
from streamconform_reference.apis.openai_responses.answer import ResponseState
from streamconform_reference.decoding.decoder import Payload


def on_arguments_done(answer: ResponseState, payload: Payload) -> None:
    """Append the arguments like a fragment, and end the call."""
    decode.on_arguments_delta(answer, {**payload, "delta": payload.get("arguments")})
    decode.on_arguments_done(answer, {**payload, "arguments": None}, key="arguments")


class Broken(decode.OpenaiResponsesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "response.function_call_arguments.done": on_arguments_done,
    }


adapter = adapter_for({"openai-responses": Broken}, name="mutant:done-arguments-doubled")
