"""Everything about Anthropic Messages, `POST /v1/messages`."""

from .decode import AnthropicMessagesDecoder

__all__ = ["AnthropicMessagesDecoder"]
