"""Counts input and output, and forgets what was read from and written to the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.bedrock_converse import BedrockConverseDecoder, decode
from streamconform_reference.decoding.decoder import Payload

from ._tools import part

_COUNTED = ("inputTokens", "outputTokens", "totalTokens")


def on_metadata(answer: decode.BedrockConverseDecoder, payload: Payload) -> None:
    """Read the two counts."""
    usage = part(payload, "usage")
    counted = {key: usage[key] for key in _COUNTED if key in usage}
    decode.on_metadata(answer, {**payload, "usage": counted})


class Broken(BedrockConverseDecoder):
    """The decoder with the wrong handler."""

    handlers: ClassVar[Mapping[str, decode.Handler]] = {**decode.HANDLERS, "metadata": on_metadata}


adapter = adapter_for({"bedrock-converse": Broken}, name="mutant:converse-cache-ignored")
