"""The stop reasons of each provider, and what they mean in the normal form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ANTHROPIC: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "refusal": "refusal",
}
BEDROCK: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
COHERE_V1: Final[Mapping[str, str]] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "ERROR_LIMIT": "length",
    "TOOL_CALL": "tool_use",
    "ERROR_TOXIC": "content_filter",
}
GOOGLE: Final[Mapping[str, str]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), "content_filter"),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "LANGUAGE", "NO_IMAGE"), "error"),
    **dict.fromkeys(("MODEL_ARMOR", "JAILBREAK", "ESCALATION", "PUP_LIMITED_DISABLED"), "content_filter"),
    **dict.fromkeys(("TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"), "error"),
    "IMAGE_OTHER": "error",
    "CONTINUATION": "pause",
}
OPENAI_CHAT: Final[Mapping[str, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
}
ANY: Final[Mapping[str, str]] = {
    **OPENAI_CHAT,
    **ANTHROPIC,
    **BEDROCK,
    **GOOGLE,
    **COHERE_V1,
    "completed": "stop",
    "max_output_tokens": "length",
}


def translate_stop(raw: str | None) -> str | None:
    """Return the stop reason of the normal form for that of any provider; None for an answer without one."""
    return ANY.get(raw, "other") if raw else None
