"""Reads the start and the end of a tool call, and none of the fragments between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.cohere_chat import CohereChatDecoder, v2


class Broken(CohereChatDecoder):
    """The decoder without that handler."""

    v2_handlers: ClassVar[Mapping[str, v2.Handler]] = {
        kind: handler for kind, handler in v2.HANDLERS.items() if kind != "tool-call-delta"
    }


adapter = adapter_for({"cohere-chat": Broken}, name="mutant:argument-fragments-lost")
