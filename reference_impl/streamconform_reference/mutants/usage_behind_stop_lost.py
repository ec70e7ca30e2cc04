"""Nothing is read behind `messageStop`, where the usage stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.bedrock_converse import BedrockConverseDecoder, decode
from streamconform_reference.decoding.decoder import Payload


def on_metadata(answer: decode.BedrockConverseDecoder, payload: Payload) -> None:
    """Read the metadata that comes too early."""
    if answer.stop_reason is None:
        decode.on_metadata(answer, payload)


class Broken(BedrockConverseDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {**decode.HANDLERS, "metadata": on_metadata}


adapter = adapter_for({"bedrock-converse": Broken}, name="mutant:usage-behind-stop-lost")
