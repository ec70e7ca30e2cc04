"""The options of a conversation besides its messages: tools, limits, thinking, and facts about the host.

This module is independent of any provider's format. An absent field means that nothing is requested.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from streamconform_reference.requests.conversation import Conversation

Request = dict[str, Any]
"""`{"body": {...}, "headers": {...}, "path": "/v1/messages"}`."""

API_KEY: Final = "conform"
"""The API key in built requests; it belongs to no account."""

MAX_DEFAULT_LIMIT: Final = 32_000
"""The largest default token limit per answer; a request may set a higher one."""
DEFAULT_LIMIT: Final = 4096
"""The default limit for an unknown model; every model supports it."""

ThinkingMode = Literal["budget", "adaptive", "effort"]

# A client-side choice, because no provider documents how many tokens an effort level means.
BUDGETS: Final[Mapping[str, int]] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 32_768,
}
DEFAULT_EFFORT: Final = "medium"
DEFAULT_NAME: Final = "answer"
_INPUT: Final = {"properties": {"input": {"type": "string"}}, "required": ["input"]}
"""The name given to an unnamed schema, for APIs that require a name."""


@dataclass(frozen=True, slots=True)
class ThinkingOptions:
    """How the model should think; `by` is None for an unknown model."""

    off: bool = False
    by: ThinkingMode | None = None
    requested_effort: str | None = None
    requested_budget: int | None = None
    display: str | None = None
    """Whether the answer shows the thinking: `summarized` or `omitted`."""

    @property
    def by_budget(self) -> bool:
        """Whether to send a token budget; for an unknown model, the requested option decides."""
        return self.by == "budget" or (self.by is None and self.requested_budget is not None)

    @property
    def effort(self) -> str | None:
        """Return the requested level, or the lowest one that covers the budget; None means the default."""
        if self.requested_effort or self.requested_budget is None:
            return self.requested_effort
        budget = self.requested_budget
        # Few models know `xhigh`, so it is sent only if it is requested.
        levels = (level for level, tokens in BUDGETS.items() if tokens >= budget and level != "xhigh")
        return next(levels, "max")

    @property
    def budget(self) -> int | None:
        """Return the requested number of tokens, or the number for the level; None means the default."""
        if self.requested_budget is None and self.requested_effort:
            return BUDGETS[self.requested_effort]
        return self.requested_budget


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The JSON Schema that an answer must match; `strict` is None if the conversation omits it."""

    schema: Mapping[str, Any]
    name: str
    strict: bool | None

    def build_strict(self) -> dict[str, bool]:
        """Return `strict` as a field, if the conversation sets it."""
        return {} if self.strict is None else {"strict": self.strict}


def read_output_schema(conversation: Conversation) -> OutputSchema | None:
    """Return the answer's schema, or None if any answer will do."""
    requested = conversation.get("output_schema")
    if requested is None:
        return None
    return OutputSchema(requested["schema"], requested.get("name", DEFAULT_NAME), requested.get("strict"))


def read_thinking(conversation: Conversation) -> ThinkingOptions | None:
    """Return the thinking options to send, or None to send nothing.

    The result is None if the conversation requests nothing, or if the model always or never thinks.
    """
    requested = conversation.get("thinking")
    by = read_facts(conversation).get("thinking")
    if requested is None or by in ("none", "always"):
        return None
    if requested == "off":
        return ThinkingOptions(off=True, by=by)
    return ThinkingOptions(
        by=by,
        requested_effort=requested.get("effort"),
        requested_budget=requested.get("budget"),
        display=requested.get("display"),
    )


def read_limit(conversation: Conversation) -> int | None:
    """Return the requested limit, capped at the model's maximum, which APIs enforce."""
    requested_limit, maximum = (
        conversation.get("max_tokens"),
        read_facts(conversation).get("max_output_tokens"),
    )
    return (
        min(requested_limit, maximum)
        if requested_limit is not None and maximum is not None
        else requested_limit
    )


def can_think(conversation: Conversation) -> bool:
    """Whether the model is known to support thinking."""
    return read_facts(conversation).get("thinking") not in (None, "none")


def read_facts(conversation: Conversation) -> Mapping[str, Any]:
    """Return the known facts about the model and the host."""
    known: Mapping[str, Any] = conversation.get("facts", {})
    return known


def is_on_host(conversation: Conversation, *domains: str) -> bool:
    """Whether the host is known and is in one of these domains."""
    host = read_facts(conversation).get("host", "").partition(":")[0].lower()
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def compute_default_limit(conversation: Conversation) -> int:
    """Return the default token limit: a third of the model's maximum, but at most `MAX_DEFAULT_LIMIT`."""
    maximum = read_facts(conversation).get("max_output_tokens")
    return DEFAULT_LIMIT if maximum is None else max(min(maximum // 3, MAX_DEFAULT_LIMIT), 1)


def restrict_tools(conversation: Conversation) -> Conversation:
    """Return the conversation with only the allowed tools, for APIs that have no list of allowed ones."""
    choice = conversation.get("tool_choice")
    if not isinstance(choice, Mapping) or "allowed" not in choice:
        return conversation
    tools = [tool for tool in conversation.get("tools", ()) if tool["name"] in choice["allowed"]]
    return {**conversation, "tools": tools, "tool_choice": choice["mode"]}


def build_schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, which is always an object with properties.

    Anthropic and Ollama require the type, and OpenAI and Ollama require the properties, even if there are
    none. Where there are no custom tools, such a tool has one argument, its input.
    """
    return {"type": "object", "properties": {}, **tool.get("parameters", _INPUT)}


def build_description(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description as a field, if there is one."""
    return {"description": tool["description"]} if tool.get("description") else {}


def find_tool_kind(conversation: Conversation, name: str) -> str:
    """Return the type of a declared tool in OpenAI's APIs."""
    custom = any(tool["name"] == name and "format" in tool for tool in conversation["tools"])
    return "custom" if custom else "function"


def read_grammar(tool: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the grammar of a custom tool's input, or None if the input is any text."""
    form = tool["format"]
    return form if isinstance(form, Mapping) else None


def build_strict(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return `strict` as a field, if it is set."""
    return {"strict": tool["strict"]} if "strict" in tool else {}


def build_function_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the format of OpenAI's Chat Completions, which Cohere and Ollama share."""
    return {
        "type": "function",
        "function": {"name": tool["name"], **build_description(tool), "parameters": build_schema(tool)},
    }


def is_streamed(conversation: Conversation) -> bool:
    """Whether the answer should be streamed."""
    return bool(conversation.get("stream", True))


def make_request(path: str, body: dict[str, Any], **headers: str) -> Request:
    """Return a request with a JSON body; an `_` in header names becomes `-`."""
    header_fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"path": path, "headers": {"content-type": "application/json", **header_fields}, "body": body}


def format_bearer() -> str:
    """Return the value of an `authorization` header."""
    return f"Bearer {API_KEY}"
