"""What a conversation asks for beside its messages, as arguments of LiteLLM's `completion()`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.peers.litellm import messages

HOSTS: Final[Mapping[str, str]] = {
    "api.mistral.ai": "mistral",
    "api.x.ai": "xai",
    "api.deepseek.com": "deepseek",
    "api.cerebras.ai": "cerebras",
}
"""Hosts that speak Chat Completions, and are no `openai` to it."""
KEPT: Final[Mapping[str, str]] = {"long": "24h"}
"""How long OpenAI keeps what is cached, in its words (`prompt_cache_retention`)."""
MARKED: Final[Mapping[str, Mapping[str, str]]] = {
    "short": {"type": "ephemeral"},
    "long": {"type": "ephemeral", "ttl": "1h"},
}
"""The mark behind what is cached, where the provider wants one."""
SETTINGS: Final = ("parallel_tool_calls", "max_tokens", "temperature")
"""What has the same name."""


def arguments(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return messages, tools and settings; what a model does not take is left out by LiteLLM itself."""
    cache = conversation.get("cache", "")
    mark = MARKED.get(cache) if api in ("anthropic-messages", "bedrock-converse") else None
    made = {
        "drop_params": True,
        "messages": list(messages.messages(conversation, api, mark)),
        **{name: conversation[name] for name in SETTINGS if name in conversation},
        **_thinking(conversation.get("thinking")),
    }
    if tools := conversation.get("tools"):
        made["tools"] = [{"type": "function", "function": dict(each)} for each in tools]
    if (choice := conversation.get("tool_choice")) is not None:
        named = isinstance(choice, Mapping)
        made["tool_choice"] = {"type": "function", "function": dict(choice)} if named else choice
    if api == "openai-chat" and cache != "none":
        asked = {"prompt_cache_key": conversation.get("session"), "prompt_cache_retention": KEPT.get(cache)}
        made |= {name: value for name, value in asked.items() if value}
    return made


def prefix(conversation: Mapping[str, Any] | None, usual: str) -> str:
    """Return what stands before the model's name: the host's provider, where LiteLLM has one."""
    host = (conversation or {}).get("facts", {}).get("host", "")
    return HOSTS.get(host, usual) if usual == "openai" else usual


def _thinking(asked: Any) -> dict[str, Any]:
    match asked:
        case None:
            return {}
        case "off":
            return {"reasoning_effort": "none"}
        case {"budget": budget}:
            return {"thinking": {"type": "enabled", "budget_tokens": budget}}
        case {"effort": effort}:
            return {"reasoning_effort": effort}
        case _:
            return {"reasoning_effort": "medium"}
