"""The event `response.incomplete` is not known, so its reason and usage are lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_responses import decode
from streamconform_reference.apis.openai_responses.answer import ResponseState
from streamconform_reference.decoding.decoder import Payload


def on_incomplete(answer: ResponseState, payload: Payload) -> None:
    """End the answer as if nothing had been said."""
    del payload
    answer.message.stop("stop", None)
    answer.message.complete()


class Broken(decode.OpenaiResponsesDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {
        **decode.HANDLERS,
        "response.incomplete": on_incomplete,
    }


adapter = adapter_for({"openai-responses": Broken}, name="mutant:incomplete-as-stop")
