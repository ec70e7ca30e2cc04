"""The input of a tool is collected and never attached to its call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.bedrock_converse import BedrockConverseDecoder
from streamconform_reference.apis.bedrock_converse.content import DELTAS


class Broken(BedrockConverseDecoder):
    """The decoder without that delta."""

    deltas: ClassVar[Mapping[str, tuple[type, Callable[..., None]]]] = {
        kind: delta for kind, delta in DELTAS.items() if kind != "toolUse"
    }


adapter = adapter_for({"bedrock-converse": Broken}, name="mutant:tool-input-lost")
