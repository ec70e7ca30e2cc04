"""What a conversation asks for beside its messages, as Pydantic AI's model settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

KEPT: Final[Mapping[str, Any]] = {"none": False, "short": "5m", "long": "1h"}
SETTINGS: Final = ("parallel_tool_calls", "max_tokens", "temperature")
"""What has the same name."""


def settings(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return them; of a budget of thinking only providers' own settings speak."""
    made = {name: conversation[name] for name in SETTINGS if name in conversation}
    if (choice := conversation.get("tool_choice")) is not None:
        made["tool_choice"] = [choice["name"]] if isinstance(choice, Mapping) else choice
    if (cache := conversation.get("cache")) is not None:
        made["cache"] = KEPT[cache]
    if api.startswith("openai"):
        if cache == "long":
            made["openai_prompt_cache_retention"] = "24h"
        if cache != "none" and "session" in conversation:
            made["openai_prompt_cache_key"] = conversation["session"]
    return made | _thinking(conversation.get("thinking"), api)


def _thinking(asked: Any, api: str) -> dict[str, Any]:
    match asked:
        case None:
            return {}
        case "off":
            return {"thinking": False}
        case {"budget": budget}:
            by_budget = {"type": "enabled", "budget_tokens": budget}
            own: Mapping[str, dict[str, Any]] = {
                "anthropic-messages": {"anthropic_thinking": by_budget},
                "bedrock-converse": {"bedrock_additional_model_requests_fields": {"thinking": by_budget}},
                "google-generate": {"google_thinking_config": {"thinking_budget": budget}},
            }
            return own.get(api, {"thinking": True})
        case _:
            return {"thinking": asked.get("effort", True)}
