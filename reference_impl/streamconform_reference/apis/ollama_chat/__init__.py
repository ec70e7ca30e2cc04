"""Everything about Ollama's own chat, `POST /api/chat`."""

from .decode import OllamaChatDecoder
from .document import as_stream
from .encode import LOSSES, OllamaChatEncoder, answer

__all__ = ["LOSSES", "OllamaChatDecoder", "OllamaChatEncoder", "answer", "as_stream"]
