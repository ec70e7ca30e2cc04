"""The values that innocents work on, and the `Innocent` record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]
Answer = dict[str, Any]
"""A result line of protocol v1 as JSON: `outcome`, `events`, `raised`. The keys `taken` and `continued` are
optional; `continued` marks an answer whose client sent a paused answer back."""

ORDERED: Final = (
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    "google-interactions",
    "openai-responses",
)
"""The APIs whose messages record the order of text, thinking and calls."""


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The values that a case allows at one place of an answer."""

    path: str
    """`stop.reason` or `usage.input`; in a block, the name of its field."""
    values: tuple[Any, ...]
    block: int | None = None
    """The position in the outcome's content, if the value belongs to a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFacts:
    """The properties of a trial on which a freedom can depend."""

    api: str
    stream: bool
    """False for a non-streaming answer."""
    fault: str | None
    """The kind of fault, such as `cut-after-frame`, or None if the delivery is complete."""
    body: bytes
    statuses: tuple[str, ...]
    """The statuses that the case allows."""
    kinds: frozenset[str]
    """The kinds of `other` blocks that the case names."""
    has_order: bool
    """Whether the API's messages record the order of text and calls."""
    alternatives: tuple[Alternatives, ...]
    final_text: str
    """The text of the answer that the replay server sends to a client that continues a paused answer."""


Change = Callable[[TrialFacts, Answer], Iterable[Answer] | None]
"""Changes the answer in place and returns None, or returns several answers that are judged in turn."""


RequestChange = Callable[[Json, Json], None]
"""Takes a conversation (`conversation.v1.json`), and changes the request that was built for it in place."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The sentence that grants a freedom, exactly as in `file`, except for line breaks."""

    file: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Innocent:
    """An implementation that uses one freedom, and is otherwise the reference."""

    name: str
    description: str
    grants: tuple[Grant, ...]
    change: Change = field(default=lambda _facts, _answer: None, repr=False)
    change_request: RequestChange | None = field(default=None, repr=False)
    """For a freedom that concerns the requests that are sent, instead of the answers that are read."""
    apis: frozenset[str] | None = None
    """The APIs that can express the freedom, so that an answer must change; None means all."""
    without: frozenset[str] = frozenset()
    """The capabilities that it does not claim."""
    may_warn: bool = False
    """Whether the documentation says that a client that uses the freedom gets warnings."""
