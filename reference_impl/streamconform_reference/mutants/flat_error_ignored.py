"""Only the nested form of the event `error` is an error; the documented flat one ends the answer well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses import decode
from streamconform_reference.apis.openai_responses.answer import ResponseState
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def on_error(answer: ResponseState, payload: Payload) -> None:
    """Look for the nested error only."""
    if part(payload, "error"):
        decode.on_error(answer, payload)
    else:
        answer.message.stop("stop", None)
        answer.message.complete()


class Broken(decode.OpenaiResponsesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {**decode.HANDLERS, "error": on_error}


adapter = adapter_for({"openai-responses": Broken}, name="mutant:flat-error-ignored")
