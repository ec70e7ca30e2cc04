"""What a conversation asks for beside its messages, as settings of LangChain's chat models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MOST: Final[Mapping[str, str]] = {"google-generate": "max_output_tokens", "ollama-chat": "num_predict"}
"""What the number of tokens is called where it is not `max_tokens`."""
CHOICES: Final[Mapping[str, Mapping[str, Any]]] = {
    "openai-chat": {"required": "any"},
    "anthropic-messages": {"required": "any", "none": {"type": "none"}},
    "cohere-chat": {"required": "REQUIRED", "none": "NONE", "auto": None},
}
"""Its words where they are not the conversation's; some integrations hand the provider's on as they are."""
MARKED: Final[Mapping[str, Mapping[str, str]]] = {
    "short": {"type": "ephemeral"},
    "long": {"type": "ephemeral", "ttl": "1h"},
}
"""Anthropic's mark behind what is cached."""


def settings(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the arguments of the chat model's class."""
    made = {"temperature": conversation["temperature"]} if "temperature" in conversation else {}
    if "max_tokens" in conversation:
        made[MOST.get(api, "max_tokens")] = conversation["max_tokens"]
    cache, session = conversation.get("cache"), conversation.get("session")
    if api.startswith("openai") and cache != "none":
        kept = {"prompt_cache_key": session, "prompt_cache_retention": "24h" if cache == "long" else None}
        made["model_kwargs"] = {name: value for name, value in kept.items() if value}
    adaptive = conversation.get("facts", {}).get("thinking") == "adaptive"
    return made | _thinking(conversation.get("thinking"), api, adaptive=adaptive)


def mark(conversation: Mapping[str, Any], api: str) -> Mapping[str, str] | None:
    """Return the mark behind the system prompt."""
    return MARKED.get(conversation.get("cache", "")) if api == "anthropic-messages" else None


def choice(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return what `bind_tools` is told beside the tools."""
    made: dict[str, Any] = {}
    if (chosen := conversation.get("tool_choice")) is not None:
        word = chosen["name"] if isinstance(chosen, Mapping) else chosen
        made["tool_choice"] = CHOICES.get(api, CHOICES["openai-chat"]).get(word, word)
    if "parallel_tool_calls" in conversation and api in (
        "openai-chat",
        "openai-responses",
        "anthropic-messages",
    ):
        made["parallel_tool_calls"] = conversation["parallel_tool_calls"]
    return made


def _thinking(asked: Any, api: str, *, adaptive: bool) -> dict[str, Any]:
    effort = asked.get("effort", "medium") if isinstance(asked, Mapping) else "none"
    budget = asked.get("budget") if isinstance(asked, Mapping) else 0
    match asked, api:
        case None, _:
            return {}
        case _, "cohere-chat":
            told = {"token_budget": budget} if budget else {}
            return {"thinking": {"type": "disabled" if budget == 0 else "enabled", **told}}
        case _, "ollama-chat":
            return {"reasoning": False if asked == "off" else asked.get("effort", True)}
        case _, "google-generate" if budget is not None:
            return {"thinking_budget": budget}
        case "off", "anthropic-messages":
            return {"thinking": {"type": "disabled"}}
        case _, "anthropic-messages" if budget:
            return {"thinking": {"type": "enabled", "budget_tokens": budget}}
        case _, "anthropic-messages" if adaptive:
            return {"thinking": {"type": "adaptive"}, "reasoning_effort": effort}
        case _:
            return {"reasoning_effort": effort}
