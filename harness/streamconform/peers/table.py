"""The table of all peers: library, pinned release, the functions that its adapter calls, and its claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform.peers.node_table import NODE_PEERS
from streamconform.peers.peer import (
    OPENAI_CHAT,
    WITH_OWN_STOP_REASONS,
    WITH_PROVIDER_TOOLS,
    WITH_SIGNATURES,
    WITH_THINKING,
    Peer,
)

__all__ = ["PEERS", "Peer"]

_PYTHON_PEERS: Final = (
    Peer(
        name="openai",
        distribution="openai",
        version="3.54.0",
        module="openai.raw",
        apis=("openai-chat", "openai-responses"),
        through="`chat.completions.create()` and `responses.create()`, with and without `stream=True`",
        issues="https://github.com/openai/openai-python/issues",
        claims=(*WITH_PROVIDER_TOOLS, "refusals", "usage_details", "documents"),
        claims_by_api={"openai-chat": (*OPENAI_CHAT, "usage_details", "documents")},
    ),
    Peer(
        name="openai-helper",
        distribution="openai",
        version="3.54.0",
        module="openai.accumulated",
        apis=("openai-chat", "openai-responses"),
        through="`chat.completions.stream()` and `responses.stream()`, and what they accumulate",
        issues="https://github.com/openai/openai-python/issues",
        claims=(*WITH_PROVIDER_TOOLS, "refusals", "usage_details"),
        claims_by_api={"openai-chat": (*OPENAI_CHAT, "usage_details")},
    ),
    Peer(
        name="anthropic",
        distribution="anthropic",
        version="2.12.0",
        module="anthropic.raw",
        apis=("anthropic-messages",),
        through="`messages.create()`, with and without `stream=True`",
        issues="https://github.com/anthropics/anthropic-sdk-python/issues",
        claims=(*WITH_PROVIDER_TOOLS, "usage_details", "documents"),
    ),
    Peer(
        name="anthropic-helper",
        distribution="anthropic",
        version="2.12.0",
        module="anthropic.accumulated",
        apis=("anthropic-messages",),
        through="`messages.stream()` and its final message",
        issues="https://github.com/anthropics/anthropic-sdk-python/issues",
        claims=(*WITH_PROVIDER_TOOLS, "usage_details"),
    ),
    Peer(
        name="google-genai",
        distribution="google-genai",
        version="3.4.0",
        module="google_genai.generate",
        apis=("google-generate",),
        through="`models.generate_content_stream()` and `models.generate_content()`",
        issues="https://github.com/googleapis/python-genai/issues",
        claims=(*WITH_SIGNATURES, "usage_details", "documents"),
    ),
    Peer(
        name="ollama",
        distribution="ollama",
        version="0.6.3",
        module="ollama.chat",
        apis=("ollama-chat",),
        through="`Client.chat()`, with and without `stream=True`",
        issues="https://github.com/ollama/ollama-python/issues",
        claims=(*WITH_THINKING, "documents"),
    ),
    Peer(
        name="cohere",
        distribution="cohere",
        version="7.3.1",
        module="cohere.chat",
        apis=("cohere-chat",),
        through="`chat_stream()` and `chat()`, of `ClientV2` or, for v1, of `Client`",
        issues="https://github.com/cohere-ai/cohere-python/issues",
        claims=(*WITH_THINKING, "usage_details", "documents"),
    ),
    Peer(
        name="mistralai",
        distribution="mistralai",
        version="3.7.0",
        module="mistralai.chat",
        apis=("openai-chat",),
        through="`chat.stream()` and `chat.complete()`",
        issues="https://github.com/mistralai/client-python/issues",
        claims=(*WITH_THINKING, "documents"),
    ),
    Peer(
        name="boto3",
        distribution="boto3",
        version="1.44.5",
        module="boto3.converse",
        apis=("bedrock-converse",),
        through="`bedrock-runtime`'s `converse_stream()` and `converse()`",
        issues="https://github.com/boto/boto3/issues",
        claims=(*WITH_PROVIDER_TOOLS, "usage_details", "documents"),
    ),
    Peer(
        name="openai-agents",
        distribution="openai-agents",
        version="0.24.0",
        module="openai_agents.models",
        apis=("openai-chat", "openai-responses"),
        through="`stream_response()` of `OpenAIChatCompletionsModel` and `OpenAIResponsesModel`",
        issues="https://github.com/openai/openai-agents-python/issues",
        claims=(*WITH_PROVIDER_TOOLS, "refusals", "usage_details"),
        claims_by_api={"openai-chat": (*WITH_OWN_STOP_REASONS, "thinking", "refusals")},
    ),
    Peer(
        name="haystack",
        distribution="haystack-ai",
        version="3.4.1",
        module="haystack.generators",
        apis=("openai-chat", "openai-responses"),
        through="`run()` of `OpenAIChatGenerator` and `OpenAIResponsesChatGenerator`, streamed",
        issues="https://github.com/deepset-ai/haystack/issues",
        claims=(*WITH_OWN_STOP_REASONS, "usage_details", "thinking", "signatures"),
        claims_by_api={"openai-chat": (*WITH_OWN_STOP_REASONS, "usage_details")},
    ),
    Peer(
        name="strands",
        distribution="strands-agents",
        version="1.62.0",
        extras=("openai", "anthropic", "gemini"),
        module="strands.stream",
        apis=(
            "openai-chat",
            "openai-responses",
            "anthropic-messages",
            "google-generate",
            "bedrock-converse",
        ),
        through="`stream_messages()` of its model providers, through which an `Agent` streams",
        issues="https://github.com/strands-agents/harness-sdk/issues",
        claims=(*WITH_OWN_STOP_REASONS, "thinking", "signatures"),
        claims_by_api={  # no signature of encrypted reasoning
            "openai-chat": (*WITH_OWN_STOP_REASONS, "thinking"),
            "openai-responses": (*WITH_OWN_STOP_REASONS, "thinking"),
        },
    ),
    Peer(
        name="litellm",
        distribution="litellm",
        version="1.106.2",
        extras=("mcp",),  # without it, tools for Anthropic raise ModuleNotFoundError
        module="litellm.completion",
        apis=(
            "openai-chat",
            "anthropic-messages",
            "google-generate",
            "ollama-chat",
            "bedrock-converse",
        ),
        through="`completion(stream=True)` and `stream_chunk_builder()`",
        issues="https://github.com/BerriAI/litellm/issues",
        claims=(  # no `errors` or `raw_stop`: LiteLLM replaces the provider's errors and stop reasons
            "tool_calls",
            "parallel_tool_calls",
            "usage",
            "cache_usage",
            "usage_details",
            "thinking",
            "signatures",
            "requests",
        ),
        # Gemini's signatures come apart from their thoughts, so they are not claimed.
        claims_by_api={
            "google-generate": (
                "tool_calls",
                "parallel_tool_calls",
                "usage",
                "cache_usage",
                "usage_details",
                "thinking",
                "requests",
            )
        },
    ),
    Peer(
        name="pydantic-ai",
        distribution="pydantic-ai-slim",
        version="2.68.0",
        extras=("openai", "anthropic", "google", "bedrock", "cohere", "mistral"),
        module="pydantic_ai.direct",
        apis=(
            "openai-chat",
            "openai-responses",
            "anthropic-messages",
            "google-generate",
            "bedrock-converse",
        ),
        through="`direct.model_request_stream_sync()` and its response",
        issues="https://github.com/pydantic/pydantic-ai/issues",
        claims=(*WITH_SIGNATURES, "requests"),  # no `provider_tools`: it has its own names for them
    ),
    Peer(
        name="langchain",
        distribution="langchain-core",
        version="1.7.2",
        companions=(
            "langchain-openai",
            "langchain-anthropic",
            "langchain-google-genai",
            "langchain-ollama",
            "langchain-cohere",
        ),
        module="langchain.stream",
        apis=(
            "openai-chat",
            "openai-responses",
            "anthropic-messages",
            "google-generate",
            "ollama-chat",
            "cohere-chat",
        ),
        through="`stream()` of each chat model, the chunks added up, and `content_blocks`",
        issues="https://github.com/langchain-ai/langchain/issues",
        claims=(*WITH_SIGNATURES, "requests"),  # no `provider_tools`: it has its own names for them
        claims_by_api={"ollama-chat": (*WITH_THINKING, "signatures", "requests")},  # no count of the cache
    ),
)

PEERS: Final[Mapping[str, Peer]] = {peer.name: peer for peer in (*_PYTHON_PEERS, *NODE_PEERS)}
"""All peers by name, in the order in which they are listed."""
