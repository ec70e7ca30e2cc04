"""The authored streams of every API, and the inputs of functions that belong to no API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import (
    bedrock_converse_streams,
    bedrock_invoke_streams,
    cohere_chat_streams,
    google_generate_streams,
    google_interactions_streams,
    ollama_chat_streams,
    openai_chat_streams,
    openai_responses_streams,
    streams,
)

SAMPLES: Mapping[str, Mapping[str, bytes]] = {
    "anthropic-messages": streams.STREAMS,
    "openai-chat": openai_chat_streams.STREAMS,
    "openai-responses": openai_responses_streams.STREAMS,
    "cohere-chat": cohere_chat_streams.STREAMS,
    "bedrock-converse": bedrock_converse_streams.STREAMS,
    "bedrock-invoke": bedrock_invoke_streams.STREAMS,
    "google-generate": google_generate_streams.STREAMS,
    "google-interactions": google_interactions_streams.STREAMS,
    "ollama-chat": ollama_chat_streams.STREAMS,
}

CALLS: Mapping[str, Mapping[str, Any]] = {
    "heal": {
        "object": {"a": 1},
        "text": r'{"say":"\"hi\""}',
        "escaped": r"{\"path\":\"C:\\\\temp\"}",
        "cut": '{"path":"/etc',
        "array": "[1]",
        "garbage": "not json",
    },
    "partial": {
        "whole": '{"a":[1,null]}',
        "value": '{"a":',
        "text": '{"a":"b',
        "escape": r'{"a":"b\u00',
        "half": r'{"a":"b\ud83d',
        "pair": r'{"a":"b\ud83d\ude00',
        "begun": "{",
        "number": '{"a":-',
    },
    "assemble": {
        "chat": {
            "payloads": [
                {
                    "api": "openai-chat",
                    "payload": {
                        "choices": [
                            {
                                "index": 0,
                                "delta": {
                                    "tool_calls": [
                                        {
                                            "index": n,
                                            "id": f"call_{n}",
                                            "function": {"name": "f", "arguments": "{"},
                                        }
                                        for n in range(2)
                                    ]
                                },
                            }
                        ]
                    },
                },
                {
                    "answer": 1,
                    "api": "anthropic-messages",
                    "payload": {
                        "type": "content_block_start",
                        "index": 0,
                        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "g", "input": {}},
                    },
                },
                {
                    "api": "openai-chat",
                    "payload": {
                        "choices": [
                            {
                                "index": 0,
                                "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]},
                                "finish_reason": "tool_calls",
                            }
                        ]
                    },
                },
            ]
        },
    },
    "count_tokens": {
        "words": {
            "system": "You are terse.",
            "messages": [{"role": "user", "content": "internationalisation"}],
        },
    },
}
