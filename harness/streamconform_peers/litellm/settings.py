"""Convert a conversation to arguments for LiteLLM's `completion()`: messages, tools and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform_peers.litellm import messages

HOST_PREFIXES: Final[Mapping[str, str]] = {
    "api.mistral.ai": "mistral",
    "api.x.ai": "xai",
    "api.deepseek.com": "deepseek",
    "api.cerebras.ai": "cerebras",
}
"""Hosts of the Chat Completions API, each with its own prefix in LiteLLM."""
CACHE_RETENTIONS: Final[Mapping[str, str]] = {"long": "24h"}
"""OpenAI's `prompt_cache_retention` for each value of a conversation's `cache`."""
CACHE_CONTROLS: Final[Mapping[str, Mapping[str, str]]] = {
    "short": {"type": "ephemeral"},
    "long": {"type": "ephemeral", "ttl": "1h"},
}
"""Anthropic's and Bedrock's `cache_control` for each value of a conversation's `cache`."""
SAME_NAMES: Final = (
    "parallel_tool_calls",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "stop",
    "service_tier",
    "user",
)
"""Options with the same name in LiteLLM and in conversations."""


def build_arguments(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return messages, tools and options; LiteLLM drops options that a model does not support."""
    cache = conversation.get("cache", "")
    cache_control = CACHE_CONTROLS.get(cache) if api in ("anthropic-messages", "bedrock-converse") else None
    arguments = {
        "drop_params": True,
        "messages": list(messages.build_messages(conversation, api, cache_control)),
        **{name: conversation[name] for name in SAME_NAMES if name in conversation},
        **_build_thinking(conversation.get("thinking")),
    }
    if tools := conversation.get("tools"):
        functions = [{key: value for key, value in tool.items() if key != "cache"} for tool in tools]
        arguments["tools"] = [{"type": "function", "function": function} for function in functions]
    if (output := conversation.get("output_schema")) is not None:
        arguments["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", **output}}
    if (choice := conversation.get("tool_choice")) is not None:
        arguments["tool_choice"] = _build_tool_choice(choice)
    if "logprobs" in conversation:
        arguments |= {"logprobs": True, "top_logprobs": conversation["logprobs"]}
    if api == "openai-chat" and cache != "none":
        fields = {
            "prompt_cache_key": conversation.get("session"),
            "prompt_cache_retention": CACHE_RETENTIONS.get(cache),
        }
        arguments |= {name: value for name, value in fields.items() if value}
    return arguments


def get_prefix(conversation: Mapping[str, Any] | None, default: str) -> str:
    """Return the model name's prefix: LiteLLM's prefix for the conversation's host, or else `default`."""
    host = (conversation or {}).get("facts", {}).get("host", "")
    return HOST_PREFIXES.get(host, default) if default == "openai" else default


def _build_tool_choice(choice: Any) -> Any:
    match choice:
        case {"allowed": names, "mode": mode}:
            tools = [{"type": "function", "function": {"name": name}} for name in names]
            return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}
        case {"name": _}:
            return {"type": "function", "function": dict(choice)}
        case _:
            return choice


def _build_thinking(thinking: Any) -> dict[str, Any]:
    match thinking:
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
