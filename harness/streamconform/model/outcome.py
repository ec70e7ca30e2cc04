"""The outcome of a stream, in the normal form (`outcome.v1.json`).

Token buckets are disjoint: None means not reported; 0 means reported as zero. Money is decimal text, because
floats are inexact.

`absent` lists the keys that an implementation left out because it does not expose the value. Here, a key
that was left out and one that is `null` are both None, but `null` means that there is no value, and is
judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Status = Literal["complete", "incomplete", "error"]
Reason = Literal["stop", "length", "tool_use", "content_filter", "refusal", "pause", "error", "other"]
Executor = Literal["client", "provider"]
BlockType = Literal["text", "thinking", "refusal", "tool_call", "other"]

STATUSES: tuple[Status, ...] = get_args(Status)
REASONS: tuple[Reason, ...] = get_args(Reason)
EXECUTORS: tuple[Executor, ...] = get_args(Executor)
BROKEN_STATUSES: tuple[Status, ...] = ("incomplete", "error")
"""The statuses of a broken stream. The client may report either: no provider documents which is correct."""
FAILED_REASONS: tuple[Reason | None, ...] = ("error", None, "other")
"""The stop reasons of a stream that broke or failed before the provider sent a reason."""


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text.

    `phase` is `commentary` or `final_answer` in the Responses API. `citations` are objects with the keys
    `source`, `title`, `quote`, `start`, `end` and `data`, all of them optional.
    """

    text: str
    phase: str | None = None
    signature: str | None = None
    citations: tuple[Mapping[str, Any], ...] = ()
    echo: Mapping[str, Any] | None = None
    type: Literal["text"] = "text"
    # Not compared: the judge finds empty texts by comparing with `Text("")`, whichever keys are left out.
    absent: frozenset[str] = field(default=frozenset(), compare=False)
    """The keys that were left out."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The text of the model's refusal to answer."""

    text: str
    type: Literal["refusal"] = "refusal"


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning. `text` is empty if none was sent; for a redacted block, `signature` is its opaque data."""

    text: str = ""
    signature: str | None = None
    redacted: bool = False
    echo: Mapping[str, Any] | None = None
    type: Literal["thinking"] = "thinking"
    absent: frozenset[str] = field(default=frozenset(), compare=False)
    """The keys that were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call; `arguments` is None if their text is not valid JSON."""

    id: str | None = None
    name: str | None = None
    arguments: Any = None
    arguments_text: str | None = None
    complete: bool | None = None
    executor: Executor = "client"
    signature: str | None = None
    echo: Mapping[str, Any] | None = None
    type: Literal["tool_call"] = "tool_call"
    absent: frozenset[str] = field(default=frozenset(), compare=False)
    """The keys that were left out."""

    @property
    def is_executable(self) -> bool:
        """Return whether an agent that receives this call would run it."""
        return self.complete is not False and self.arguments is not None


@dataclass(frozen=True, slots=True)
class Other:
    """Any other block, such as citations, images or provider tool results."""

    kind: str | None = None
    data: Any = None
    type: Literal["other"] = "other"


Block = Text | Thinking | Refusal | ToolCall | Other


@dataclass(frozen=True, slots=True)
class Stop:
    """The stop reason, both normalized and as the provider sent it.

    `sequence` is the stop sequence that matched, and `details` are the provider's details about the stop.
    """

    reason: Reason | None = None
    raw: str | None = None
    sequence: str | None = None
    details: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens in disjoint buckets; `cache_write_1h` is part of `cache_write`, `reasoning` of `output`."""

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    output: int | None = None
    reasoning: int | None = None
    web_searches: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """USD as decimal text; `total` is the sum of the other amounts."""

    currency: Literal["USD"] = "USD"
    input: str | None = None
    cache_read: str | None = None
    cache_write: str | None = None
    output: str | None = None
    other: str | None = None
    total: str | None = None


@dataclass(frozen=True, slots=True)
class Error:
    """The error that the provider reported, or that broke the stream."""

    type: str | None = None
    message: str | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The whole outcome. `cost` is None if prices or usage are unknown."""

    status: Status
    content: tuple[Block, ...]
    stop: Stop = Stop()
    usage: Usage = Usage()
    cost: Cost | None = None
    error: Error | None = None
    model: str | None = None
    response_id: str | None = None
    continuation: str | None = None
    """The token with which the next request continues this answer."""
    echo: Mapping[str, Any] | None = None
    """Members of the provider's own that the next request sends back."""
    absent: frozenset[str] = field(default=frozenset(), compare=False)
    """The omitted paths outside the content: `model`, `stop.raw`, `usage.reasoning`."""
    omitted: frozenset[str] = field(default=frozenset(), compare=False)
    """The groups (`usage`, `cost`, `error`) without any known key; if claimed, they count as null."""
