"""Everything about Anthropic Messages, `POST /v1/messages`."""

from .decode import AnthropicMessagesDecoder
from .document import as_stream

__all__ = ["AnthropicMessagesDecoder", "as_stream"]
