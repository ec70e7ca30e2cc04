"""`message.thinking` is not read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.ollama_chat import decode


class Broken(decode.OllamaChatDecoder):
    """The decoder without that field."""

    fields: ClassVar[Mapping[str, decode.FieldHandler]] = {
        key: take for key, take in decode.FIELDS.items() if key != "thinking"
    }


adapter = adapter_for({"ollama-chat": Broken}, name="mutant:thinking-unread")
