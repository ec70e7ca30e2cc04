"""The table of the peers that run on Node.js."""

from __future__ import annotations

from typing import Final

from streamconform.peers.peer import (
    OPENAI_CHAT,
    WITH_CACHE,
    WITH_PROVIDER_TOOLS,
    WITH_SIGNATURES,
    Capabilities,
    Peer,
)

EVENTS: Final[Capabilities] = ("events",)
EVENTS_DETAILS: Final[Capabilities] = ("usage_details", *EVENTS)
AI_SDK_PROVIDERS: Final = (
    "@ai-sdk/openai@3.0.141",
    "@ai-sdk/anthropic@3.0.138",
    "@ai-sdk/google@3.0.141",
    "@ai-sdk/cohere@3.0.63",
    "@ai-sdk/mistral@3.0.69",
)

NODE_PEERS: Final = (
    Peer(
        name="node-openai",
        distribution="openai",
        version="6.49.0",
        module="openai",
        apis=("openai-chat", "openai-responses"),
        through="`chat.completions.stream()` and `responses.stream()`, and what they accumulate",
        issues="https://github.com/openai/openai-node/issues",
        claims=(*WITH_SIGNATURES, "refusals", *EVENTS_DETAILS),
        claims_by_api={"openai-chat": (*OPENAI_CHAT, *EVENTS_DETAILS)},
        language="javascript",
    ),
    Peer(
        name="node-anthropic",
        distribution="@anthropic-ai/sdk",
        version="1.12.0",
        module="anthropic",
        apis=("anthropic-messages",),
        through="`messages.stream()` and its final message",
        issues="https://github.com/anthropics/anthropic-sdk-typescript/issues",
        claims=(*WITH_PROVIDER_TOOLS, *EVENTS_DETAILS),
        language="javascript",
    ),
    Peer(
        name="node-google-genai",
        distribution="@google/genai",
        version="2.32.0",
        module="google_genai",
        apis=("google-generate",),
        through="`models.generateContentStream()`",
        issues="https://github.com/googleapis/js-genai/issues",
        claims=(*WITH_SIGNATURES, *EVENTS_DETAILS),
        language="javascript",
    ),
    Peer(
        name="node-ollama",
        distribution="ollama",
        version="0.6.4",
        module="ollama",
        apis=("ollama-chat",),
        through="`chat({stream: true})`",
        issues="https://github.com/ollama/ollama-js/issues",
        claims=(*WITH_CACHE, "thinking", *EVENTS),
        language="javascript",
    ),
    Peer(
        name="node-ai",
        distribution="ai",
        version="6.0.326",
        companions=AI_SDK_PROVIDERS,
        module="ai",
        apis=("openai-chat", "openai-responses", "anthropic-messages", "google-generate", "cohere-chat"),
        through="`streamText()` and its `fullStream`",
        issues="https://github.com/vercel/ai/issues",
        claims=(*WITH_SIGNATURES, *EVENTS_DETAILS),
        # For Cohere the AI SDK counts tokens; cases compare billed units, so usage is not claimed.
        claims_by_api={
            "openai-chat": (*WITH_CACHE, *EVENTS_DETAILS),
            "cohere-chat": ("tool_calls", "parallel_tool_calls", "errors", "raw_stop", "thinking", *EVENTS),
        },
        language="javascript",
    ),
    Peer(
        name="node-ai-mistral",
        vendor="mistral",
        distribution="ai",
        version="6.0.326",
        companions=AI_SDK_PROVIDERS,
        module="ai mistral",
        apis=("openai-chat",),
        through="`streamText()` with the provider of Mistral, for streams of Mistral itself",
        issues="https://github.com/vercel/ai/issues",
        claims=(*WITH_CACHE, "thinking", *EVENTS),
        language="javascript",
    ),
    Peer(
        name="node-pi-ai",
        distribution="@mariozechner/pi-ai",
        version="0.73.1",
        module="pi_ai",
        apis=("openai-chat", "openai-responses", "anthropic-messages", "google-generate", "bedrock-converse"),
        through="`stream()` and its `result()`",
        issues="https://github.com/badlogic/pi-mono/issues",
        claims=(
            "tool_calls",
            "parallel_tool_calls",
            "usage",
            "cache_usage",
            "cost",
            "thinking",
            "signatures",
            *EVENTS,
        ),
        # It keeps Gemini's signatures on the text or call they came with, so signatures are not claimed.
        claims_by_api={
            "google-generate": (
                "tool_calls",
                "parallel_tool_calls",
                "usage",
                "cache_usage",
                "cost",
                "thinking",
                *EVENTS,
            )
        },
        language="javascript",
    ),
)
"""All peers on Node.js, in the order in which they are listed."""
