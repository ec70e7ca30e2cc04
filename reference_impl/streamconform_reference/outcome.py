"""What a stream amounts to, in the normal form that every provider's answer is brought to.

Values only. `to_json` gives the normal form with all its keys; an absent value is None, and None
means "not reported", never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["complete", "incomplete", "error"]
StopReason = Literal["stop", "length", "tool_use", "content_filter", "refusal", "pause", "error", "other"]
Executor = Literal["client", "provider"]
ProseKind = Literal["text", "thinking", "refusal"]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text."""

    text: str

    def to_json(self) -> Json:
        """Return the block in the normal form."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Text with which the model declines, where the api marks it as such."""

    text: str

    def to_json(self) -> Json:
        """Return the block in the normal form."""
        return {"type": "refusal", "text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """Reasoning, and what the api wants back unchanged in the next request.

    The text is empty where the provider shows none. The signature of a redacted block is its data.
    """

    text: str
    signature: str | None
    redacted: bool

    def to_json(self) -> Json:
        """Return the block in the normal form."""
        return {
            "type": "thinking",
            "text": self.text,
            "signature": self.signature,
            "redacted": self.redacted,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool. Only a complete one with arguments may be executed.

    `arguments` is a JSON value, None while the call is not complete or where its text does not
    parse. `arguments_text` is the fragments joined, None where no fragment came.
    """

    id: str
    name: str
    arguments: Any
    arguments_text: str | None
    complete: bool
    executor: Executor

    def to_json(self) -> Json:
        """Return the block in the normal form."""
        return {
            "type": "tool_call",
            "id": self.id,
            "name": self.name,
            "arguments": self.arguments,
            "arguments_text": self.arguments_text,
            "complete": self.complete,
            "executor": self.executor,
        }


@dataclass(frozen=True, slots=True)
class Other:
    """A piece of the answer without a common form: a citation, the result of a provider's tool."""

    kind: str
    data: Any

    def to_json(self) -> Json:
        """Return the block in the normal form."""
        return {"type": "other", "kind": self.kind, "data": self.data}


Block = Text | Refusal | Thinking | ToolCall | Other


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the answer ended: by our word and by the provider's."""

    reason: StopReason | None
    raw: str | None

    def to_json(self) -> Json:
        """Return the normal form."""
        return {"reason": self.reason, "raw": self.raw}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens in disjoint buckets.

    `cache_write_1h` is a part of `cache_write` and `reasoning` a part of `output`.
    """

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    output: int | None = None
    reasoning: int | None = None
    web_searches: int | None = None

    def to_json(self) -> Json:
        """Return the normal form."""
        return {
            "input": self.input,
            "cache_read": self.cache_read,
            "cache_write": self.cache_write,
            "cache_write_1h": self.cache_write_1h,
            "output": self.output,
            "reasoning": self.reasoning,
            "web_searches": self.web_searches,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """US dollars as decimal strings in plain notation; `total` is the sum of the others."""

    input: str
    cache_read: str
    cache_write: str
    output: str
    other: str
    total: str

    def to_json(self) -> Json:
        """Return the normal form."""
        return {
            "currency": "USD",
            "input": self.input,
            "cache_read": self.cache_read,
            "cache_write": self.cache_write,
            "output": self.output,
            "other": self.other,
            "total": self.total,
        }


@dataclass(frozen=True, slots=True)
class Error:
    """What went wrong, as far as it could be read.

    `type` is the provider's word, or `protocol` where the bytes are not what the api sends.
    `status` is the HTTP status of the failure, None where nothing names one.
    """

    type: str | None
    message: str | None
    status: int | None

    def to_json(self) -> Json:
        """Return the normal form."""
        return {"type": self.type, "message": self.message, "status": self.status}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The whole answer, or the answer so far."""

    status: Status
    content: tuple[Block, ...]
    stop: Stop
    usage: Usage | None
    cost: Cost | None
    error: Error | None
    model: str | None
    response_id: str | None

    def to_json(self) -> Json:
        """Return the normal form."""
        return {
            "status": self.status,
            "content": [block.to_json() for block in self.content],
            "stop": self.stop.to_json(),
            "usage": self.usage and self.usage.to_json(),
            "cost": self.cost and self.cost.to_json(),
            "error": self.error and self.error.to_json(),
            "model": self.model,
            "response_id": self.response_id,
        }
