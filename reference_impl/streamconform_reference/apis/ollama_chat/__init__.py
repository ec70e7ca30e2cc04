"""Everything about Ollama's own chat, `POST /api/chat`."""

from .decode import OllamaChatDecoder
from .document import as_stream

__all__ = ["OllamaChatDecoder", "as_stream"]
