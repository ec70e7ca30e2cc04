"""Arguments that come as an object, and not as its text, are dropped."""

from __future__ import annotations

from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.apis.openai_chat.tool_calls import ToolCalls, WireCall


class BrokenCalls(ToolCalls):
    """Calls whose arguments are text."""

    def add_arguments(self, call: WireCall, arguments: object) -> None:
        """Append text only."""
        if isinstance(arguments, str):
            super().add_arguments(call, arguments)


class Broken(OpenaiChatDecoder):
    """The decoder that knows arguments as text only."""

    calls_factory: ClassVar[type[ToolCalls]] = BrokenCalls


adapter = adapter_for({"openai-chat": Broken}, name="mutant:object-arguments-dropped")
