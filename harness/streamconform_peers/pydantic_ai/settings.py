"""Convert a conversation's options to Pydantic AI's model settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

CACHE_VALUES: Final[Mapping[str, Any]] = {"none": False, "short": "5m", "long": "1h"}
"""Pydantic AI's value for a conversation's `cache`."""
OPENAI_HOST: Final = "api.openai.com"
NAMES: Final[Mapping[str, str]] = {
    "parallel_tool_calls": "parallel_tool_calls",
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "stop": "stop_sequences",
    "service_tier": "service_tier",
}
"""Options of conversations, each with its name in Pydantic AI."""


def build_settings(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the model settings."""
    settings = {name: conversation[key] for key, name in NAMES.items() if key in conversation}
    match conversation.get("tool_choice"):
        case {"name": name}:
            settings["tool_choice"] = [name]
        case {"allowed": names, "mode": "required"}:
            settings["tool_choice"] = names
        case str() as choice:
            settings["tool_choice"] = choice
        case _:
            pass  # a list of allowed tools always requires a call
    if (cache := conversation.get("cache")) is not None:
        settings["cache"] = CACHE_VALUES[cache]
    if api.startswith("openai"):
        if cache == "long" and conversation.get("facts", {}).get("host", OPENAI_HOST) == OPENAI_HOST:
            settings["openai_prompt_cache_retention"] = "24h"
        if cache != "none" and "session" in conversation:
            settings["openai_prompt_cache_key"] = conversation["session"]
        if "user" in conversation:
            settings["openai_user"] = conversation["user"]
        if "logprobs" in conversation:
            settings |= {"openai_logprobs": True, "openai_top_logprobs": conversation["logprobs"]}
    return settings | _build_thinking(conversation.get("thinking"), api)


def _build_thinking(thinking: Any, api: str) -> dict[str, Any]:
    match thinking:
        case None:
            return {}
        case "off":
            return {"thinking": False}
        case {"budget": budget}:
            # Only some providers' settings have a thinking budget; the common settings do not.
            config = {"type": "enabled", "budget_tokens": budget}
            provider_settings: Mapping[str, dict[str, Any]] = {
                "anthropic-messages": {"anthropic_thinking": config},
                "bedrock-converse": {"bedrock_additional_model_requests_fields": {"thinking": config}},
                "google-generate": {"google_thinking_config": {"thinking_budget": budget}},
            }
            return provider_settings.get(api, {"thinking": True})
        case _:
            return {"thinking": thinking.get("effort", True)}
