"""Everything about Ollama's own chat, `POST /api/chat`."""

from .decode import OllamaChatDecoder
from .document import to_payloads
from .encode import LOSSES, OllamaChatEncoder, write_document

__all__ = ["LOSSES", "OllamaChatDecoder", "OllamaChatEncoder", "to_payloads", "write_document"]
