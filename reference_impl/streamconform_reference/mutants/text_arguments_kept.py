"""Arguments that come as text are handed on as text."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.ollama_chat import OllamaChatDecoder
from streamconform_reference.json_text.codec import dumps

from ._tools import part


class Broken(OllamaChatDecoder):
    """The decoder that quotes them."""

    def read_call(self, entry: Any) -> None:
        """Quote the text once more."""
        function = part(entry, "function") if isinstance(entry, dict) else {}
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            entry = {**entry, "function": {**function, "arguments": dumps(arguments).decode()}}
        super().read_call(entry)


adapter = adapter_for({"ollama-chat": Broken}, name="mutant:text-arguments-kept")
