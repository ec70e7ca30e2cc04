"""Finish reasons: OpenAI's, those of other vendors, and Gemini's, which gateways pass on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamconform_reference.apis.google_generate.reasons import STOP_REASONS as GEMINI_REASONS
from streamconform_reference.outcome import StopReason

# The first five are OpenAI's. The others come from Mistral, https://docs.mistral.ai/api; DeepSeek,
# https://api-docs.deepseek.com/api/create-chat-completion; OpenRouter, Zhipu, Bedrock's gateway and older
# servers of open models.
STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
    "model_length": "length",
    "error": "error",
    "insufficient_system_resource": "error",
    "network_error": "error",
    "sensitive": "content_filter",
    "guardrail_intervened": "content_filter",
    "tool_call": "tool_use",
    "end": "stop",
    "eos": "stop",
}
TRUNCATING: Final = frozenset({"length", "content_filter"})


def read_reason(finish: str) -> StopReason:
    """Return the stop reason. Gateways write reasons in capitals, as Gemini does (QwenLM/qwen-code#9884)."""
    return STOP_REASONS.get(finish.lower()) or GEMINI_REASONS.get(finish.upper(), "other")
