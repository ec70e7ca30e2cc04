"""Convert a conversation's options to settings of LangChain's chat models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MAX_TOKENS_FIELDS: Final[Mapping[str, str]] = {
    "google-generate": "max_output_tokens",
    "ollama-chat": "num_predict",
}
"""The field for the maximum number of output tokens, by API, if it is not `max_tokens`."""
TOOL_CHOICES: Final[Mapping[str, Mapping[str, Any]]] = {
    "openai-chat": {"required": "any"},
    "anthropic-messages": {"required": "any", "none": {"type": "none"}},
    "cohere-chat": {"required": "REQUIRED", "none": "NONE", "auto": None},
}
"""LangChain's values for `tool_choice`, by API; some integrations pass through the provider's own value."""
_SAMPLING: Final = {name: name for name in ("temperature", "top_p", "top_k", "seed")}
_PENALTIES: Final = {name: name for name in ("presence_penalty", "frequency_penalty")}
OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "openai-chat": {**_SAMPLING, **_PENALTIES, "stop": "stop", "service_tier": "service_tier"},
    "openai-responses": {**_SAMPLING, "service_tier": "service_tier"},
    "anthropic-messages": {**_SAMPLING, "stop": "stop_sequences"},
    "google-generate": {**_SAMPLING, "stop": "stop"},
    "ollama-chat": {**_SAMPLING, "stop": "stop"},
    "cohere-chat": {"temperature": "temperature", "top_p": "p", "top_k": "k", "seed": "seed", "stop": "stop"},
}
"""Options of conversations, each with its name in the API's chat model."""
OPENAI_HOST: Final = "api.openai.com"
CACHE_CONTROLS: Final[Mapping[str, Mapping[str, str]]] = {
    "short": {"type": "ephemeral"},
    "long": {"type": "ephemeral", "ttl": "1h"},
}
"""Anthropic's `cache_control` for each value of a conversation's `cache`."""


def build_settings(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the keyword arguments of the chat model's class."""
    names = OPTIONS.get(api, _SAMPLING)
    settings = {name: conversation[key] for key, name in names.items() if key in conversation}
    if "logprobs" in conversation and api == "openai-chat":
        settings |= {"logprobs": True, "top_logprobs": conversation["logprobs"]}
    if "max_tokens" in conversation:
        settings[MAX_TOKENS_FIELDS.get(api, "max_tokens")] = conversation["max_tokens"]
    cache, session = conversation.get("cache"), conversation.get("session")
    if api.startswith("openai") and cache != "none":
        is_long = cache == "long" and conversation.get("facts", {}).get("host", OPENAI_HOST) == OPENAI_HOST
        fields = {"prompt_cache_key": session, "prompt_cache_retention": "24h" if is_long else None}
        settings["model_kwargs"] = {name: value for name, value in fields.items() if value}
    adaptive = conversation.get("facts", {}).get("thinking") == "adaptive"
    return settings | _build_thinking(conversation.get("thinking"), api, adaptive=adaptive)


def get_cache_control(conversation: Mapping[str, Any], api: str) -> Mapping[str, str] | None:
    """Return the system prompt's `cache_control`, or None if the API does not have that field."""
    return CACHE_CONTROLS.get(conversation.get("cache", "")) if api == "anthropic-messages" else None


def build_tool_choice(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the keyword arguments of `bind_tools` other than the tools."""
    keywords: dict[str, Any] = {}
    if (choice := conversation.get("tool_choice")) is not None:
        # LangChain passes the allowed tools on only in the provider's own form.
        name = choice.get("name", choice.get("mode")) if isinstance(choice, Mapping) else choice
        keywords["tool_choice"] = TOOL_CHOICES.get(api, TOOL_CHOICES["openai-chat"]).get(name, name)
    if "parallel_tool_calls" in conversation and api in (
        "openai-chat",
        "openai-responses",
        "anthropic-messages",
    ):
        keywords["parallel_tool_calls"] = conversation["parallel_tool_calls"]
    return keywords


def build_format(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Return the keyword argument of `bind` for the answer's format, as `create_agent` sets it.

    ChatCohere does not convert OpenAI's form, so it gets the form that its `with_structured_output` uses.
    """
    if (output := conversation.get("output_schema")) is None:
        return {}
    if api == "cohere-chat":
        return {"response_format": {"type": "json_object", "schema": output["schema"]}}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", **output}}}


def _build_thinking(thinking: Any, api: str, *, adaptive: bool) -> dict[str, Any]:
    effort = thinking.get("effort", "medium") if isinstance(thinking, Mapping) else "none"
    budget = thinking.get("budget") if isinstance(thinking, Mapping) else 0
    match thinking, api:
        case None, _:
            return {}
        case _, "cohere-chat":
            limit = {"token_budget": budget} if budget else {}
            return {"thinking": {"type": "disabled" if budget == 0 else "enabled", **limit}}
        case _, "ollama-chat":
            return {"reasoning": False if thinking == "off" else thinking.get("effort", True)}
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
