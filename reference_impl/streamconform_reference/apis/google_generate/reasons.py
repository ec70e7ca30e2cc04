"""Gemini's finish reasons, and the enum numbers that some clients send instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform_reference.decoding.decoder import BrokenPayloadError
from streamconform_reference.outcome import StopReason

# https://ai.google.dev/api/generate-content#FinishReason, and Vertex AI's MODEL_ARMOR.
STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "ESCALATION": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
    "MALFORMED_RESPONSE": "error",
    "LANGUAGE": "error",
    "NO_IMAGE": "error",
    "IMAGE_OTHER": "error",
    "CONTINUATION": "pause",
    "OTHER": "other",
    "FINISH_REASON_UNSPECIFIED": "other",
}

# The reasons by their enum numbers in the Gemini API. Vertex AI uses the same numbers up to 5.
# https://github.com/googleapis/googleapis/blob/master/google/ai/generativelanguage/v1beta/generative_service.proto
NUMBERED_REASONS: Final[Mapping[str, str]] = {
    "0": "FINISH_REASON_UNSPECIFIED",
    "1": "STOP",
    "2": "MAX_TOKENS",
    "3": "SAFETY",
    "4": "RECITATION",
    "5": "OTHER",
    "6": "LANGUAGE",
    "7": "BLOCKLIST",
    "8": "PROHIBITED_CONTENT",
    "9": "SPII",
    "10": "MALFORMED_FUNCTION_CALL",
    "11": "IMAGE_SAFETY",
    "12": "UNEXPECTED_TOOL_CALL",
}


def read_enum(value: Any, key: str) -> str:
    """Return an enum value's name, or its number as text.

    Raises:
        BrokenPayloadError: the value is neither a name nor a number; the key is used in the error message.
    """
    # `type`, because `True` is an `int`.
    if isinstance(value, str) or type(value) is int:
        return str(value)
    problem = f"`{key}` is not text"
    raise BrokenPayloadError(problem)
