"""The outcome of a stream: one normal form for every provider's answers.

This module contains only values. `to_json` returns the normal form with all its keys, but for `echo`, which
holds members of the provider's own that the next request must send back, by the provider's names. None means
"not reported", never zero.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Status = Literal["complete", "incomplete", "error"]
StopReason = Literal["stop", "length", "tool_use", "content_filter", "refusal", "pause", "error", "other"]
Executor = Literal["client", "provider"]
ProseKind = Literal["text", "thinking", "refusal"]
Json = dict[str, Any]


def _describe_echo(echo: Json | None) -> Json:
    """Return the member with what must be sent back, if there is anything."""
    return {"echo": echo} if echo else {}


class Citation(Struct, frozen=True, kw_only=True):
    """A source of a text.

    `source` is its URL, or else the provider's id for the document. `quote` is the cited part of the source.
    `start` and `end` are positions in the block's text, as counted by the provider. `data` is the
    citation as the provider sent it.
    """

    source: str | None = None
    title: str | None = None
    quote: str | None = None
    start: int | None = None
    end: int | None = None
    data: Any = None

    def to_json(self) -> Json:
        """Return the normal form."""
        return {
            "source": self.source,
            "title": self.title,
            "quote": self.quote,
            "start": self.start,
            "end": self.end,
            "data": self.data,
        }


class Text(Struct, frozen=True):
    """Visible text. `phase` is the Responses API's phase. The signature must be sent back."""

    text: str
    phase: str | None = None
    signature: str | None = None
    citations: tuple[Citation, ...] = ()
    echo: Json | None = None

    def to_json(self) -> Json:
        """Return the block in the normal form."""
        return {
            "type": "text",
            "text": self.text,
            "phase": self.phase,
            "signature": self.signature,
            "citations": [citation.to_json() for citation in self.citations],
            **_describe_echo(self.echo),
        }


class Refusal(Struct, frozen=True):
    """Text in which the model declines the request, if the API marks it as a refusal."""

    text: str

    def to_json(self) -> Json:
        """Return the block in the normal form."""
        return {"type": "refusal", "text": self.text}


class Thinking(Struct, frozen=True, kw_only=True):
    """Reasoning, and the signature that the next request must return unchanged.

    The text is empty if the provider hides it. The signature of a redacted block is its encrypted data.
    """

    text: str
    signature: str | None
    redacted: bool
    echo: Json | None = None

    def to_json(self) -> Json:
        """Return the block in the normal form."""
        return {
            "type": "thinking",
            "text": self.text,
            "signature": self.signature,
            "redacted": self.redacted,
            **_describe_echo(self.echo),
        }


class ToolCall(Struct, frozen=True, kw_only=True):
    """A tool call. A client may execute the call only if it is complete and has arguments.

    `arguments` is a JSON value, or None if the call is incomplete or the text cannot be parsed.
    `arguments_text` is the joined fragments, or None if there were none.
    """

    id: str
    name: str
    arguments: Any
    arguments_text: str | None
    complete: bool
    executor: Executor
    signature: str | None = None
    """Opaque data that must be sent back with the call."""
    echo: Json | None = None

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
            "signature": self.signature,
            **_describe_echo(self.echo),
        }


class Other(Struct, frozen=True):
    """A block that has no common form, such as an image or the result of a provider's tool."""

    kind: str
    data: Any

    def to_json(self) -> Json:
        """Return the block in the normal form."""
        return {"type": "other", "kind": self.kind, "data": self.data}


Block = Text | Refusal | Thinking | ToolCall | Other


class Stop(Struct, frozen=True):
    """The stop reason, both in the normal form and in the provider's spelling.

    `sequence` is the stop sequence that matched, and `details` contains any other details from the provider.
    """

    reason: StopReason | None
    raw: str | None
    sequence: str | None = None
    details: Any = None

    def to_json(self) -> Json:
        """Return the normal form."""
        return {
            "reason": self.reason,
            "raw": self.raw,
            "sequence": self.sequence,
            "details": self.details,
        }


class Usage(Struct, frozen=True, kw_only=True):
    """Token counts in disjoint buckets: `input` excludes cache reads and writes.

    `cache_write_1h` is part of `cache_write`, and `reasoning` is part of `output`.
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


class Cost(Struct, frozen=True, kw_only=True):
    """US dollars as decimal strings without exponents; `total` is the sum of the others."""

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


class Error(Struct, frozen=True):
    """An error, with every field that could be read.

    `type` is the provider's error type, or `protocol` if the bytes do not follow the API's format. `status`
    is the HTTP status of the failure, or None if it is unknown. `details`, which the normal form has in
    `stop`, are what else the provider says about the failure.
    """

    type: str | None
    message: str | None
    status: int | None
    details: Json | None = None

    def to_json(self) -> Json:
        """Return the normal form."""
        return {"type": self.type, "message": self.message, "status": self.status}


class Outcome(Struct, frozen=True, kw_only=True):
    """The complete answer, or the part that has arrived so far."""

    status: Status
    content: tuple[Block, ...]
    stop: Stop
    usage: Usage | None
    cost: Cost | None
    error: Error | None
    model: str | None
    response_id: str | None
    continuation: str | None = None
    """The token that lets the next request continue a paused answer."""
    echo: Json | None = None

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
            "continuation": self.continuation,
            **_describe_echo(self.echo),
        }
