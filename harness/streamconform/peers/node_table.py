"""The peers that run on Node.js, in the form of `table`. A table, and no code."""

from __future__ import annotations

from typing import Final

from streamconform.peers.peer import CACHED, CHAT, HOSTED, SIGNED, Capabilities, Peer

LIVE: Final[Capabilities] = ("events",)
TOLD: Final[Capabilities] = ("usage_details", *LIVE)
AI: Final = (
    "@ai-sdk/openai@3.0.141",
    "@ai-sdk/anthropic@3.0.138",
    "@ai-sdk/google@3.0.141",
    "@ai-sdk/cohere@3.0.63",
    "@ai-sdk/mistral@3.0.69",
)

NODE: Final = (
    Peer(
        name="node-openai",
        distribution="openai",
        version="6.49.0",
        module="openai",
        apis=("openai-chat", "openai-responses"),
        through="`chat.completions.stream()` and `responses.stream()`, and what they accumulate",
        issues="https://github.com/openai/openai-node/issues",
        claims=(*SIGNED, "refusals", *TOLD),
        reads={"openai-chat": (*CHAT, *TOLD)},
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
        claims=(*HOSTED, *TOLD),
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
        claims=(*SIGNED, *TOLD),
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
        claims=(*CACHED, "thinking", *LIVE),
        language="javascript",
    ),
    Peer(
        name="node-ai",
        distribution="ai",
        version="6.0.326",
        beside=AI,
        module="ai",
        apis=("openai-chat", "openai-responses", "anthropic-messages", "google-generate", "cohere-chat"),
        through="`streamText()` and its `fullStream`",
        issues="https://github.com/vercel/ai/issues",
        claims=(*SIGNED, *TOLD),
        # Of Cohere it counts tokens, not the billed units that are compared.
        reads={
            "openai-chat": (*CACHED, *TOLD),
            "cohere-chat": ("tool_calls", "parallel_tool_calls", "errors", "raw_stop", "thinking", *LIVE),
        },
        language="javascript",
    ),
    Peer(
        name="node-ai-mistral",
        distribution="ai",
        version="6.0.326",
        beside=AI,
        module="ai mistral",
        apis=("openai-chat",),
        through="`streamText()` with the provider of Mistral, whose own streams alone it claims",
        issues="https://github.com/vercel/ai/issues",
        claims=(*CACHED, "thinking", *LIVE),
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
            *LIVE,
        ),
        # Gemini's signatures it keeps on the text or the call that they came with.
        reads={
            "google-generate": (
                "tool_calls",
                "parallel_tool_calls",
                "usage",
                "cache_usage",
                "cost",
                "thinking",
                *LIVE,
            )
        },
        language="javascript",
    ),
)
"""Every peer on Node.js, in the order of lists."""
