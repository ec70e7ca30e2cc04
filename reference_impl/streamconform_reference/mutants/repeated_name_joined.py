"""A name that comes with every fragment is joined to itself."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.apis.openai_chat.tool_calls import Fragment, ToolCalls, WireCall


class BrokenCalls(ToolCalls):
    """Calls whose name is all the names that came."""

    def describe(self, call: WireCall, fragment: Fragment) -> None:
        """Join the name, also when it is the whole name again."""
        super().describe(call, fragment)
        so_far = self.joined.get(call.slot, "")
        self.joined[call.slot] = so_far + fragment.name
        self.message.describe_call(call.slot, name=self.joined[call.slot])

    def add_arguments(self, call: WireCall, arguments: object) -> None:
        """Keep the start of the call back until its end, when all names have come."""
        name, call.name = call.name, ""
        super().add_arguments(call, arguments)
        call.name = name

    @cached_property
    def joined(self) -> dict[Hashable, str]:
        """The names, by the slot of their call."""
        return {}


class Broken(OpenaiChatDecoder):
    """The decoder that takes every name for a piece."""

    calls_factory: ClassVar[type[ToolCalls]] = BrokenCalls


adapter = adapter_for({"openai-chat": Broken}, name="mutant:repeated-name-joined")
