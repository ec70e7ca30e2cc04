"""The grammar of each API. It is a separate table because decoders do not need grammars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform_reference.apis.anthropic_messages.grammar import AnthropicMessagesGrammar
from streamconform_reference.apis.bedrock_converse.grammar import BedrockConverseGrammar
from streamconform_reference.apis.cohere_chat.grammar import CohereChatGrammar
from streamconform_reference.apis.google_generate.grammar import GoogleGenerateGrammar
from streamconform_reference.apis.ollama_chat.grammar import OllamaChatGrammar
from streamconform_reference.apis.openai_chat.grammar import OpenaiChatGrammar
from streamconform_reference.apis.openai_responses.grammar import OpenaiResponsesGrammar
from streamconform_reference.grammars.grammar import Grammar

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
