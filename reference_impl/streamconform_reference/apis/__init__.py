"""The supported APIs. To add one, add its folder and one line in each table here."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from streamconform_reference.apis.anthropic_messages.request_decode import (
    read_conversation as anthropic_messages_conversation,
)
from streamconform_reference.apis.openai_chat.request_decode import (
    read_conversation as openai_chat_conversation,
)
from streamconform_reference.decoding.decoder import Decoder, Payload
from streamconform_reference.encoding.encoder import DocumentWriter, EncoderFactory, Loss

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
from .anthropic_messages.request import build_request as anthropic_messages_request
from .bedrock_converse import BedrockConverseDecoder
from .bedrock_converse.request import build_request as bedrock_converse_request
from .cohere_chat import CohereChatDecoder
from .cohere_chat.request import build_request as cohere_chat_request
from .google_generate import GoogleGenerateDecoder
from .google_generate.request import build_request as google_generate_request
from .ollama_chat import OllamaChatDecoder
from .ollama_chat.request import build_request as ollama_chat_request
from .openai_chat import OpenaiChatDecoder
from .openai_chat.request import build_request as openai_chat_request
from .openai_responses import OpenaiResponsesDecoder
from .openai_responses.request import build_request as openai_responses_request

__all__ = [
    "DECODERS",
    "DOCUMENT_READERS",
    "DOCUMENT_WRITERS",
    "ENCODERS",
    "LOSSES",
    "REQUEST_BUILDERS",
    "REQUEST_READERS",
]

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
DOCUMENT_READERS: Final[Mapping[str, Callable[[Payload], Iterable[Payload]]]] = {
    "anthropic-messages": anthropic_messages.to_payloads,
    "openai-chat": openai_chat.to_payloads,
    "openai-responses": openai_responses.to_payloads,
    "cohere-chat": cohere_chat.to_payloads,
    "bedrock-converse": bedrock_converse.to_payloads,
    "google-generate": google_generate.to_payloads,
    "ollama-chat": ollama_chat.to_payloads,
}

# The encoder of each API: events in, the bytes of a stream out.
ENCODERS: Final[Mapping[str, EncoderFactory]] = {
    "anthropic-messages": anthropic_messages.AnthropicMessagesEncoder,
    "openai-chat": openai_chat.OpenaiChatEncoder,
    "ollama-chat": ollama_chat.OllamaChatEncoder,
    "openai-responses": openai_responses.OpenaiResponsesEncoder,
    "bedrock-converse": bedrock_converse.BedrockConverseEncoder,
    "cohere-chat": cohere_chat.make_encoder,
    "google-generate": google_generate.GoogleGenerateEncoder,
}

# An outcome as the answer without streaming.
DOCUMENT_WRITERS: Final[Mapping[str, DocumentWriter]] = {
    "anthropic-messages": anthropic_messages.write_document,
    "openai-chat": openai_chat.write_document,
    "ollama-chat": ollama_chat.write_document,
    "openai-responses": openai_responses.write_document,
    "bedrock-converse": bedrock_converse.write_document,
    "cohere-chat": cohere_chat.write_document,
    "google-generate": google_generate.write_document,
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
REQUEST_BUILDERS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "anthropic-messages": anthropic_messages_request,
    "openai-chat": openai_chat_request,
    "openai-responses": openai_responses_request,
    "cohere-chat": cohere_chat_request,
    "bedrock-converse": bedrock_converse_request,
    "google-generate": google_generate_request,
    "ollama-chat": ollama_chat_request,
}

# A request as a conversation. They raise `RequestError` if the request is not valid.
REQUEST_READERS: Final[Mapping[str, Callable[[dict[str, Any], Mapping[str, str]], dict[str, Any]]]] = {
    "anthropic-messages": anthropic_messages_conversation,
    "openai-chat": openai_chat_conversation,
}
