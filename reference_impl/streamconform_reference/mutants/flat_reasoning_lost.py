"""Looks for reasoning in `reasoningText`, which it has only without streaming."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.bedrock_converse import BedrockConverseDecoder
from streamconform_reference.apis.bedrock_converse.content import DELTAS, add_reasoning
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload

from ._tools import part


def add_nested(message: Assembler, slot: int, delta: Payload) -> None:
    """Append what is in `reasoningText`."""
    add_reasoning(message, slot, part(delta, "reasoningText"))


class Broken(BedrockConverseDecoder):
    """The decoder with the wrong handler."""

    deltas: ClassVar[Mapping[str, tuple[type, Callable[..., None]]]] = {
        **DELTAS,
        "reasoningContent": (dict, add_nested),
    }


adapter = adapter_for({"bedrock-converse": Broken}, name="mutant:flat-reasoning-lost")
