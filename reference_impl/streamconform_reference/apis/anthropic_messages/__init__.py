"""Everything about Anthropic Messages, `POST /v1/messages`."""

from .decode import AnthropicMessagesDecoder
from .document import to_payloads
from .encode import LOSSES, AnthropicMessagesEncoder, write_document

__all__ = ["LOSSES", "AnthropicMessagesDecoder", "AnthropicMessagesEncoder", "to_payloads", "write_document"]
