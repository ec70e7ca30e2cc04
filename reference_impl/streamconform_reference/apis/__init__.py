"""The supported APIs. To add one, add its folder and one line in each table here."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from streamconform_reference.apis.anthropic_messages.request_decode import (
    conversation as anthropic_messages_conversation,
)
from streamconform_reference.apis.openai_chat.request_decode import conversation as openai_chat_conversation
from streamconform_reference.decoding.decoder import Decoder, Payload
from streamconform_reference.encoding.encoder import Answerer, Loss, Maker

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
from .anthropic_messages.request import build as anthropic_messages_request
from .bedrock_converse import BedrockConverseDecoder
from .bedrock_converse.request import build as bedrock_converse_request
from .cohere_chat import CohereChatDecoder
from .cohere_chat.request import build as cohere_chat_request
from .google_generate import GoogleGenerateDecoder
from .google_generate.request import build as google_generate_request
from .ollama_chat import OllamaChatDecoder
from .ollama_chat.request import build as ollama_chat_request
from .openai_chat import OpenaiChatDecoder
from .openai_chat.request import build as openai_chat_request
from .openai_responses import OpenaiResponsesDecoder
from .openai_responses.request import build as openai_responses_request

__all__ = ["ANSWERS", "CONVERSATIONS", "DECODERS", "DOCUMENTS", "ENCODERS", "LOSSES", "REQUESTS"]

DECODERS: Final[Mapping[str, type[Decoder]]] = {
    "anthropic-messages": AnthropicMessagesDecoder,
    "openai-chat": OpenaiChatDecoder,
    "openai-responses": OpenaiResponsesDecoder,
    "cohere-chat": CohereChatDecoder,
    "bedrock-converse": BedrockConverseDecoder,
    "google-generate": GoogleGenerateDecoder,
    "ollama-chat": OllamaChatDecoder,
}

# For an answer without streaming: the payloads of an equivalent stream. They raise
# `BrokenPayloadError` if the document is not an answer.
DOCUMENTS: Final[Mapping[str, Callable[[Payload], Iterable[Payload]]]] = {
    "anthropic-messages": anthropic_messages.as_stream,
    "openai-chat": openai_chat.as_stream,
    "openai-responses": openai_responses.as_stream,
    "cohere-chat": cohere_chat.as_stream,
    "bedrock-converse": bedrock_converse.as_stream,
    "google-generate": google_generate.as_stream,
    "ollama-chat": ollama_chat.as_stream,
}

# The encoder of each API: events in, the bytes of a stream out.
ENCODERS: Final[Mapping[str, Maker]] = {
    "anthropic-messages": anthropic_messages.AnthropicMessagesEncoder,
    "openai-chat": openai_chat.OpenaiChatEncoder,
    "ollama-chat": ollama_chat.OllamaChatEncoder,
    "openai-responses": openai_responses.OpenaiResponsesEncoder,
    "bedrock-converse": bedrock_converse.BedrockConverseEncoder,
    "cohere-chat": cohere_chat.encoder,
    "google-generate": google_generate.GoogleGenerateEncoder,
}

# An outcome as the answer without streaming.
ANSWERS: Final[Mapping[str, Answerer]] = {
    "anthropic-messages": anthropic_messages.answer,
    "openai-chat": openai_chat.answer,
    "ollama-chat": ollama_chat.answer,
    "openai-responses": openai_responses.answer,
    "bedrock-converse": bedrock_converse.answer,
    "cohere-chat": cohere_chat.answer,
    "google-generate": google_generate.answer,
}

# The parts of an outcome that an API cannot express, and what its encoder writes instead.
LOSSES: Final[Mapping[str, tuple[Loss, ...]]] = {
    "anthropic-messages": anthropic_messages.LOSSES,
    "openai-chat": openai_chat.LOSSES,
    "ollama-chat": ollama_chat.LOSSES,
    "openai-responses": openai_responses.LOSSES,
    "bedrock-converse": bedrock_converse.LOSSES,
    "cohere-chat": cohere_chat.LOSSES,
    "google-generate": google_generate.LOSSES,
}

# A conversation as an HTTP request; `requests.conversation` and `requests.options` define its fields.
REQUESTS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "anthropic-messages": anthropic_messages_request,
    "openai-chat": openai_chat_request,
    "openai-responses": openai_responses_request,
    "cohere-chat": cohere_chat_request,
    "bedrock-converse": bedrock_converse_request,
    "google-generate": google_generate_request,
    "ollama-chat": ollama_chat_request,
}

# A request as a conversation. They raise `RequestError` if the request is not valid.
CONVERSATIONS: Final[Mapping[str, Callable[[dict[str, Any], Mapping[str, str]], dict[str, Any]]]] = {
    "anthropic-messages": anthropic_messages_conversation,
    "openai-chat": openai_chat_conversation,
}
