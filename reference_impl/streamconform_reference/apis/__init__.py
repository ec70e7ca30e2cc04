"""The apis that can be decoded: a new one is its folder and one line here."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from streamconform_reference.decoder import Decoder, Payload

from . import (
    anthropic_messages,
    bedrock_converse,
    cohere_chat,
    google_generate,
    ollama_chat,
    openai_chat,
    openai_responses,
)
from .anthropic_messages import AnthropicMessagesDecoder
from .bedrock_converse import BedrockConverseDecoder
from .cohere_chat import CohereChatDecoder
from .google_generate import GoogleGenerateDecoder
from .ollama_chat import OllamaChatDecoder
from .openai_chat import OpenaiChatDecoder
from .openai_responses import OpenaiResponsesDecoder

__all__ = ["DECODERS", "DOCUMENTS"]

DECODERS: Final[Mapping[str, type[Decoder]]] = {
    "anthropic-messages": AnthropicMessagesDecoder,
    "openai-chat": OpenaiChatDecoder,
    "openai-responses": OpenaiResponsesDecoder,
    "cohere-chat": CohereChatDecoder,
    "bedrock-converse": BedrockConverseDecoder,
    "google-generate": GoogleGenerateDecoder,
    "ollama-chat": OllamaChatDecoder,
}

# The payloads of a stream that would have said the same as an answer without streaming. They raise
# `BrokenPayloadError` where the document is no answer.
DOCUMENTS: Final[Mapping[str, Callable[[Payload], Iterable[Payload]]]] = {
    "anthropic-messages": anthropic_messages.as_stream,
    "openai-chat": openai_chat.as_stream,
    "openai-responses": openai_responses.as_stream,
    "cohere-chat": cohere_chat.as_stream,
    "bedrock-converse": bedrock_converse.as_stream,
    "google-generate": google_generate.as_stream,
    "ollama-chat": ollama_chat.as_stream,
}
