"""Calls are kept by their index, which is the same for all of them in some versions."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.ollama_chat import OllamaChatDecoder

from ._tools import part


class Broken(OllamaChatDecoder):
    """The decoder with one call an index."""

    indices: set[int]

    def read_call(self, entry: Any) -> None:
        """Drop a call whose index was there."""
        index = part(entry, "function").get("index", 0) if isinstance(entry, dict) else 0
        if index in vars(self).setdefault("indices", set()):
            return
        self.indices.add(index)
        super().read_call(entry)


adapter = adapter_for({"ollama-chat": Broken}, name="mutant:calls-of-one-index-joined")
