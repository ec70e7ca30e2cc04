"""Everything about OpenAI Chat Completions, `POST /v1/chat/completions`, and its dialects."""

from .decode import OpenaiChatDecoder
from .document import as_stream
from .encode import LOSSES, OpenaiChatEncoder, answer

__all__ = ["LOSSES", "OpenaiChatDecoder", "OpenaiChatEncoder", "answer", "as_stream"]
