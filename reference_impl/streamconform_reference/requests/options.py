"""What a conversation asks for beside its messages: tools, limits, thinking, and what the host takes.

Facts only, no form of any provider. Fields that are not there are not asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from streamconform_reference.requests.conversation import Conversation

Request = dict[str, Any]
"""`{"body": {...}, "headers": {...}, "path": "/v1/messages"}`."""

KEY: Final = "conform"
"""The key that requests carry: there is no account behind it."""

LARGEST_DEFAULT: Final = 32_000
"""No answer is allowed more tokens than this, unless it is asked for."""
UNKNOWN_LIMIT: Final = 4096
"""For a model of which nothing is known; every model writes as many."""

By = Literal["budget", "adaptive", "effort"]

# A client's choice: no provider says how many tokens a level is.
BUDGETS: Final[Mapping[str, int]] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "max": 32_768,
}
USUAL_EFFORT: Final = "medium"


@dataclass(frozen=True, slots=True)
class Thinking:
    """How the model is told to think; `by` is None where nothing is known of the model."""

    off: bool = False
    by: By | None = None
    asked_effort: str | None = None
    asked_budget: int | None = None

    @property
    def by_budget(self) -> bool:
        """Whether a number of tokens is the right word; without facts, what was asked for says so."""
        return self.by == "budget" or (self.by is None and self.asked_budget is not None)

    @property
    def effort(self) -> str | None:
        """Return the level that was asked for, or the first that is worth the budget; None is as usual."""
        if self.asked_effort or self.asked_budget is None:
            return self.asked_effort
        budget = self.asked_budget
        return next((level for level, tokens in BUDGETS.items() if tokens >= budget), "max")

    @property
    def budget(self) -> int | None:
        """Return the tokens that were asked for, or those of the level; None is as usual."""
        if self.asked_budget is None and self.asked_effort:
            return BUDGETS[self.asked_effort]
        return self.asked_budget


def thinking(conversation: Conversation) -> Thinking | None:
    """Return what to tell the model of thinking; None is nothing.

    Nothing is asked for, the model does not think, or it always does and cannot be told how much.
    """
    asked = conversation.get("thinking")
    by = facts(conversation).get("thinking")
    if asked is None or by in ("none", "always"):
        return None
    if asked == "off":
        return Thinking(off=True, by=by)
    return Thinking(by=by, asked_effort=asked.get("effort"), asked_budget=asked.get("budget"))


def limit(conversation: Conversation) -> int | None:
    """Return the tokens that were asked for, as far as the model can write them; more is refused."""
    wanted, most = conversation.get("max_tokens"), facts(conversation).get("max_output_tokens")
    return min(wanted, most) if wanted is not None and most is not None else wanted


def is_thinker(conversation: Conversation) -> bool:
    """Whether the model is known to think."""
    return facts(conversation).get("thinking") not in (None, "none")


def facts(conversation: Conversation) -> Mapping[str, Any]:
    """Return what is known of the model and of the host."""
    known: Mapping[str, Any] = conversation.get("facts", {})
    return known


def on_host(conversation: Conversation, *domains: str) -> bool:
    """Whether the host is named, and is one of these domains or below one of them."""
    host = facts(conversation).get("host", "").partition(":")[0].lower()
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def default_limit(conversation: Conversation) -> int:
    """Return the tokens of an answer for which no limit is asked: floor(min(most / 3, 32000))."""
    most = facts(conversation).get("max_output_tokens")
    return UNKNOWN_LIMIT if most is None else max(min(most // 3, LARGEST_DEFAULT), 1)


def schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, an object with properties in any case.

    Anthropic and Ollama need the type, OpenAI and Ollama the properties, even where there are none.
    """
    return {"type": "object", "properties": {}, **tool["parameters"]}


def described(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description, as a field, if there is one."""
    return {"description": tool["description"]} if tool.get("description") else {}


def strictness(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return `strict`, as a field, if it was asked for."""
    return {"strict": tool["strict"]} if "strict" in tool else {}


def function_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the form of OpenAI's chat api, which Cohere and Ollama share."""
    return {
        "type": "function",
        "function": {"name": tool["name"], **described(tool), "parameters": schema(tool)},
    }


def streamed(conversation: Conversation) -> bool:
    """Whether the answer is to be streamed."""
    return bool(conversation.get("stream", True))


def to_json(path: str, body: dict[str, Any], **headers: str) -> Request:
    """Return a request with a JSON body; `_` in names of headers is `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"path": path, "headers": {"content-type": "application/json", **named}, "body": body}


def bearer() -> str:
    """Return the value of an `authorization` header."""
    return f"Bearer {KEY}"
