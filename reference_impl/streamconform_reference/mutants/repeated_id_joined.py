"""An id that comes with every fragment is joined to itself."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.apis.openai_chat.tool_calls import Fragment, ToolCalls, WireCall


class BrokenCalls(ToolCalls):
    """Calls whose id is all the ids that came."""

    def describe(self, call: WireCall, fragment: Fragment) -> None:
        """Join the id, and give the name alone to the message."""
        self.joined[call.slot] = self.joined.get(call.slot, "") + fragment.id
        super().describe(call, replace(fragment, id=""))

    def add_arguments(self, call: WireCall, arguments: object) -> None:
        """Keep the start of the call back until its end, when all ids have come."""
        name, call.name = call.name, ""
        super().add_arguments(call, arguments)
        call.name = name

    def end(self, *, truncated: bool) -> None:
        """Give the joined ids to the message."""
        for call in self._calls:
            self.message.describe_call(call.slot, id=self.joined.get(call.slot))
        super().end(truncated=truncated)

    @cached_property
    def joined(self) -> dict[Hashable, str]:
        """The ids, by the slot of their call."""
        return {}


class Broken(OpenaiChatDecoder):
    """The decoder that takes every id for a piece."""

    calls_factory: ClassVar[type[ToolCalls]] = BrokenCalls


adapter = adapter_for({"openai-chat": Broken}, name="mutant:repeated-id-joined")
