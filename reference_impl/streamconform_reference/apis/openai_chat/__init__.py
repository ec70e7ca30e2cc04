"""Everything about OpenAI Chat Completions, `POST /v1/chat/completions`, and its dialects."""

from .decode import OpenaiChatDecoder
from .document import as_stream

__all__ = ["OpenaiChatDecoder", "as_stream"]
