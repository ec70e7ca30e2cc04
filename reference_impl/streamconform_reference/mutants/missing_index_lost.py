"""Fragments without an index are dropped."""

from __future__ import annotations

from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.apis.openai_chat.tool_calls import Fragment, ToolCalls, WireCall


class BrokenCalls(ToolCalls):
    """Calls that need an index."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        """Return no call for a fragment without an index."""
        return None if fragment.index is None else super().resolve(fragment)


class Broken(OpenaiChatDecoder):
    """The decoder that wants every entry to have an index."""

    calls_factory: ClassVar[type[ToolCalls]] = BrokenCalls


adapter = adapter_for({"openai-chat": Broken}, name="mutant:missing-index-lost")
