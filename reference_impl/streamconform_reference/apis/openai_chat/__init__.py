"""Everything about OpenAI Chat Completions, `POST /v1/chat/completions`, and its dialects."""

from .decode import OpenaiChatDecoder
from .document import to_payloads
from .encode import LOSSES, OpenaiChatEncoder, write_document

__all__ = ["LOSSES", "OpenaiChatDecoder", "OpenaiChatEncoder", "to_payloads", "write_document"]
