"""The apis that can be decoded: a new one is its folder and one line here."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from streamconform_reference.decoder import Decoder, Payload

from . import anthropic_messages, openai_chat, openai_responses
from .anthropic_messages import AnthropicMessagesDecoder
from .openai_chat import OpenaiChatDecoder
from .openai_responses import OpenaiResponsesDecoder

__all__ = ["DECODERS", "DOCUMENTS"]

DECODERS: Final[Mapping[str, type[Decoder]]] = {
    "anthropic-messages": AnthropicMessagesDecoder,
    "openai-chat": OpenaiChatDecoder,
    "openai-responses": OpenaiResponsesDecoder,
}

# The payloads of a stream that would have said the same as an answer without streaming. They raise
# `BrokenPayloadError` where the document is no answer.
DOCUMENTS: Final[Mapping[str, Callable[[Payload], Iterable[Payload]]]] = {
    "anthropic-messages": anthropic_messages.as_stream,
    "openai-chat": openai_chat.as_stream,
    "openai-responses": openai_responses.as_stream,
}
