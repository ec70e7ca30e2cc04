"""The grammar of each api; apart from the decoders, which need none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .apis.anthropic_messages.grammar import AnthropicMessagesGrammar
from .apis.bedrock_converse.grammar import BedrockConverseGrammar
from .apis.cohere_chat.grammar import CohereChatGrammar
from .apis.google_generate.grammar import GoogleGenerateGrammar
from .apis.ollama_chat.grammar import OllamaChatGrammar
from .apis.openai_chat.grammar import OpenaiChatGrammar
from .apis.openai_responses.grammar import OpenaiResponsesGrammar
from .grammar import Grammar

__all__ = ["GRAMMARS"]

GRAMMARS: Final[Mapping[str, type[Grammar]]] = {
    "anthropic-messages": AnthropicMessagesGrammar,
    "openai-chat": OpenaiChatGrammar,
    "openai-responses": OpenaiResponsesGrammar,
    "google-generate": GoogleGenerateGrammar,
    "ollama-chat": OllamaChatGrammar,
    "cohere-chat": CohereChatGrammar,
    "bedrock-converse": BedrockConverseGrammar,
}
