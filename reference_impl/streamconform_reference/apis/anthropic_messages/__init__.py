"""Everything about Anthropic Messages, `POST /v1/messages`."""

from .decode import AnthropicMessagesDecoder
from .document import as_stream
from .encode import LOSSES, AnthropicMessagesEncoder, answer

__all__ = ["LOSSES", "AnthropicMessagesDecoder", "AnthropicMessagesEncoder", "answer", "as_stream"]
