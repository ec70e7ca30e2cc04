"""A call under an index that is taken is joined to the one before it."""

from __future__ import annotations

from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.apis.openai_chat.tool_calls import Fragment, ToolCalls, WireCall


class BrokenCalls(ToolCalls):
    """Calls that know no key but the index."""

    def resolve(self, fragment: Fragment) -> WireCall | None:
        """Return the call of the index, whatever the id."""
        found = self._by_index.get(fragment.index)
        return found if isinstance(found, WireCall) else super().resolve(fragment)


class Broken(OpenaiChatDecoder):
    """The decoder that trusts the index."""

    calls_factory: ClassVar[type[ToolCalls]] = BrokenCalls


adapter = adapter_for({"openai-chat": Broken}, name="mutant:reused-index-merged")
