"""What an answer in one piece, and an error, look like: the fields of their documents by api.

Sources: https://docs.claude.com/en/api/messages and /errors,
https://platform.openai.com/docs/api-reference, https://ai.google.dev/api/generate-content,
https://github.com/ollama/ollama/blob/main/docs/api.md, https://docs.cohere.com/reference/chat,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.grammars.fields import ABSENT, Field, fits, needs, values_at

ANSWERS: Final[Mapping[str, tuple[Field, ...]]] = {
    "anthropic-messages": (
        *needs("name", "id", "model", "stop_reason", "content[].type"),
        *needs('"message"', "type"),
        *needs('"assistant"', "role"),
        *needs("list", "content"),
        *needs("text or null", "stop_sequence"),
        *needs("count", "usage.input_tokens", "usage.output_tokens"),
        *needs("object", "usage"),
    ),
    "openai-chat": (
        *needs("name", "id", "model", "choices[].finish_reason"),
        *needs('"chat.completion"', "object"),
        *needs("list", "choices"),
        *needs("count", "created", "choices[].index"),
        *needs('"assistant"', "choices[].message.role"),
        *needs("text or null", "choices[].message.content"),
        *needs("object", "choices[].message", "usage"),
        *needs("count", "usage.prompt_tokens", "usage.completion_tokens", "usage.total_tokens"),
    ),
    "openai-responses": (
        *needs("name", "id", "model", "status", "output[].type"),
        *needs('"response"', "object"),
        *needs("number", "created_at"),
        *needs("list", "output"),
        *needs("object", "usage"),
        *needs("count", "usage.input_tokens", "usage.output_tokens", "usage.total_tokens"),
    ),
    "google-generate": (
        *needs("list", "candidates"),
        *needs("name", "candidates[].finishReason"),
        *needs("object", "usageMetadata"),
        *needs("count", "usageMetadata.promptTokenCount", "usageMetadata.totalTokenCount"),
        *needs("name", "modelVersion", "responseId", level="should"),
    ),
    "ollama-chat": (
        *needs("name", "model", "created_at"),
        *needs("object", "message"),
        *needs('"assistant"', "message.role"),
        *needs("text", "message.content"),
        *needs("true or false", "done"),
        *needs("name", "done_reason", level="should"),
    ),
    "cohere-chat": (
        *needs("name", "id", "finish_reason"),
        *needs("object", "message"),
        *needs('"assistant"', "message.role"),
        *needs("count", "usage.billed_units.input_tokens", "usage.billed_units.output_tokens"),
    ),
    "bedrock-converse": (
        *needs("object", "output", "output.message", "usage", "metrics"),
        *needs('"assistant"', "output.message.role"),
        *needs("list", "output.message.content"),
        *needs("name", "stopReason"),
        *needs("count", "usage.inputTokens", "usage.outputTokens", "usage.totalTokens"),
    ),
}
"""The fields of an answer without streaming."""

_OPENAI: Final = (*needs("object", "error"), *needs("name", "error.message", "error.type"))
ERRORS: Final[Mapping[str, tuple[Field, ...]]] = {
    "anthropic-messages": (
        *needs('"error"', "type"),
        *needs("object", "error"),
        *needs("name", "error.type", "error.message"),
    ),
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "google-generate": (
        *needs("object", "error"),
        *needs("count", "error.code"),
        *needs("name", "error.message", "error.status"),
    ),
    "ollama-chat": needs("name", "error"),
    "cohere-chat": needs("name", "message"),
    "bedrock-converse": needs("name", "message"),
}
"""The fields of an error document."""

COUNT: Final = needs("count", "input_tokens")


def faults(document: Mapping[str, Any], fields: tuple[Field, ...]) -> Iterator[tuple[Field, str | None]]:
    """Yield every field, and what is wrong with it or None."""
    for field in fields:
        words = None
        for value in values_at(document, field.path):
            if value is ABSENT:
                words = f"`{field.path}` is absent, expected {field.kind}"
            elif not fits(field.kind, value):
                words = f"`{field.path}` is `{str(value)[:60]}`, expected {field.kind}"
        yield field, words
