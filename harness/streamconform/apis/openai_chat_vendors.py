"""JSON Schemas of the payloads that each Chat Completions vendor documents.

Undocumented fields are allowed, except for those in which other servers send content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform.apis.api import Json

# These follow the schemas CompletionChunk and ChatCompletionResponse of https://docs.mistral.ai/api: a call
# has its name and arguments in every piece, and there is no separate frame for a failure. Fields that the
# schemas leave out are allowed: Mistral adds some, such as `p`, which is padding.
_MISTRAL_CALL: Final[Json] = {
    "required": ["function"],
    "properties": {
        "id": {"type": "string", "minLength": 1},
        "index": {"type": "integer"},
        "function": {
            "required": ["name", "arguments"],
            "properties": {"name": {"type": "string"}, "arguments": {"type": ["string", "object"]}},
        },
    },
}
_MISTRAL_MESSAGE: Final[Json] = {
    "properties": {
        "role": {"type": ["string", "null"]},
        "content": {
            "type": ["string", "array", "null"],
            "items": {"type": "object", "required": ["type"]},
        },
        "tool_calls": {"type": ["array", "null"], "items": _MISTRAL_CALL},
        # Fields in which other servers send content; Mistral sends thoughts as parts of `content`.
        "function_call": False,
        "reasoning": {"type": "null"},
        "reasoning_content": {"type": "null"},
        "refusal": {"type": "null"},
    },
}
_MISTRAL_PAYLOAD: Final[Json] = {
    "type": "object",
    "required": ["id", "model", "choices"],
    "properties": {
        "id": {"type": "string"},
        "model": {"type": "string"},
        "choices": {
            "type": "array",
            "items": {
                "required": ["index", "finish_reason"],
                "oneOf": [{"required": ["delta"]}, {"required": ["message"]}],
                "properties": {
                    "index": {"type": "integer"},
                    "delta": _MISTRAL_MESSAGE,
                    "message": _MISTRAL_MESSAGE,
                    "finish_reason": {
                        "enum": ["stop", "length", "model_length", "error", "tool_calls", None],
                    },
                },
            },
        },
        "usage": {
            "type": "object",
            "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
        },
    },
}

_TEXT: Final[Json] = {"type": ["string", "null"]}
_CALL: Final[Json] = {
    "type": "object",
    "properties": {
        "id": _TEXT,
        "type": {"enum": ["function", None]},
        "index": {"type": "integer"},
        "function": {"type": "object", "properties": {"name": _TEXT, "arguments": _TEXT}},
        "custom": False,
    },
}
_ERROR: Final[Json] = {"type": "object", "required": ["message"], "properties": {"message": _TEXT}}
_USAGE: Final[Json] = {
    "type": ["object", "null"],
    "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
}
# The fields besides `content` and `tool_calls` in which servers send content.
_NO_OTHER_CONTENT: Final[Json] = {
    field: {"type": "null"}
    for field in ("reasoning", "reasoning_content", "reasoning_text", "refusal", "function_call")
}


def _build_message(fields: Json, call: Json) -> Json:
    """Return the schema of a message or a delta; `fields` are the vendor's own."""
    calls = {"type": ["array", "null"], "items": call}
    return {
        "type": "object",
        "properties": {**_NO_OTHER_CONTENT, "content": _TEXT, "tool_calls": calls, **fields},
    }


def _build_answer(reasons: tuple[str, ...], *, required: tuple[str, ...], fields: Json) -> Json:
    """Return the schema of a chunk or a complete answer; calls have an index only in chunks.

    `reasons` lists the stop reasons; it is empty if the vendor's list is open-ended.
    """
    choice = {
        "type": "object",
        "oneOf": [{"required": ["delta"]}, {"required": ["message"]}],
        "properties": {
            "index": {"type": "integer"},
            "delta": _build_message(fields, {**_CALL, "required": ["index"]}),
            "message": _build_message(fields, _CALL),
            "finish_reason": {"enum": [*reasons, None]} if reasons else _TEXT,
        },
    }
    choices = {"type": "array", "items": choice}
    return {"type": "object", "required": required, "properties": {"choices": choices, "usage": _USAGE}}


def _or_error(answer: Json) -> Json:
    """Return the schema of an answer, or of an error in its place."""
    is_error = {"required": ["error"], "not": {"required": ["choices"]}}
    return {"if": is_error, "then": {"properties": {"error": _ERROR}}, "else": answer}


# https://console.groq.com/docs/api-reference#chat-create, https://console.groq.com/docs/errors
_GROQ_PAYLOAD: Final = _or_error(
    _build_answer(
        ("stop", "length", "tool_calls", "function_call", "content_filter"),
        required=("id", "model", "choices"),
        fields={"reasoning": _TEXT, "function_call": {}},
    )
)
# https://docs.together.ai/reference/chat-completions-1
_TOGETHER_PAYLOAD: Final = _or_error(
    _build_answer(
        ("stop", "eos", "length", "tool_calls", "function_call"),
        required=("id", "model", "choices"),
        fields={"reasoning": _TEXT, "reasoning_content": _TEXT},
    )
)
# https://inference-docs.cerebras.ai/api-reference/chat-completions
_CEREBRAS_PAYLOAD: Final = _or_error(
    _build_answer(
        ("stop", "length", "tool_calls", "content_filter"),
        required=("id", "model"),
        fields={"reasoning": _TEXT},
    )
)
# https://docs.z.ai/api-reference/llm/chat-completion, https://docs.z.ai/api-reference/api-code
_ZHIPU_PAYLOAD: Final = _or_error(
    _build_answer(
        ("stop", "tool_calls", "length", "sensitive", "model_context_window_exceeded", "network_error"),
        required=("choices",),
        fields={"reasoning_content": _TEXT},
    )
)
# https://openrouter.ai/docs/api/api-reference/chat/send-chat-completion-request, whose schemas require more
# fields than OpenAI sends. `usage` is absent or an object there, never null as with OpenAI's `include_usage`.
# OpenRouter's list of stop reasons is open. An error in a stream is a field of a chunk
# (https://openrouter.ai/docs/api/reference/streaming#handling-errors-during-streaming).
_OPENROUTER_PAYLOAD: Final[Json] = {
    **_build_answer(
        (),
        required=("id", "object", "created", "model", "choices"),
        fields={"reasoning": _TEXT, "refusal": _TEXT},
    ),
    "allOf": [
        {"properties": {"choices": {"items": {"required": ["index", "finish_reason"]}}}},
        {"properties": {"usage": {"type": "object"}}},
        {
            "if": {"properties": {"object": {"const": "chat.completion"}}},
            "then": {"required": ["system_fingerprint"]},
        },
    ],
}
# https://openrouter.ai/docs/api/reference/errors-and-debugging
_OPENROUTER_ERROR: Final[Json] = {
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
        }
    },
}

VENDOR_PAYLOADS: Final[Mapping[str, Json]] = {
    "mistral": _MISTRAL_PAYLOAD,
    "groq": _GROQ_PAYLOAD,
    "together": _TOGETHER_PAYLOAD,
    "cerebras": _CEREBRAS_PAYLOAD,
    "zhipu": _ZHIPU_PAYLOAD,
    "openrouter": _OPENROUTER_PAYLOAD,
}
VENDOR_ERRORS: Final[Mapping[str, Json]] = {"openrouter": _OPENROUTER_ERROR}
"""The JSON documents for HTTP errors, for vendors that document a form of their own."""
