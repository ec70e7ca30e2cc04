"""A case: one named expectation, about one cassette or about one call (`spec.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from streamconform.model.cassette import Cassette
from streamconform.model.leaf import AnyOf, Leaf, Literally
from streamconform.model.outcome import BlockType, Usage
from streamconform.model.request import RequestExpectation

Level = Literal["must", "should", "may"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""From the strictest to the loosest."""
Kind = Literal["heal", "partial", "tokens", "request"]
"""Of a spec whose cases are about a function, without bytes."""
Function = Literal["heal", "partial", "count_tokens", "build_request"]


@dataclass(frozen=True, slots=True)
class ExpectedBlock:
    """A content block: for each field that is judged, what it must be."""

    type: BlockType
    fields: Mapping[str, Leaf]


@dataclass(frozen=True, slots=True)
class Partial:
    """That a stream broke: the content is what may have come of it, and all of it need not."""

    calls_ended: int
    """Tool calls that had ended when it broke; no more than these may be called complete."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expected outcome.

    `fields` holds the leaves outside the content by path (`stop.reason`, `usage.input`); what is not in
    it is not judged. Where `content` is None the content is not judged either.
    """

    content: tuple[ExpectedBlock, ...] | None
    fields: Mapping[str, Leaf]
    partial: Partial | None = None


NOTHING_EXPECTED: Final = Expectation(None, {})
"""Of a recording about which nobody said anything: only the invariants judge it."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Deliveries and faults that would change what the case means."""

    why: str
    deliveries: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseHead:
    """What a case of any kind says of itself."""

    id: str
    """api/topic/id, unique in the suite; `common` where there is no api."""
    api: str | None
    title: str
    level: Level = "must"
    why: str | None = None
    reviewed: bool = True
    tags: frozenset[str] = frozenset()
    sources: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    path: str = ""
    """The spec file, for messages."""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(CaseHead):
    """One expectation with the bytes that it is about."""

    api: str
    cassette: Cassette
    expect: Expectation
    pricing: Mapping[str, Any] | None = None
    usage_seen: tuple[Usage, ...] = ()
    skip: Skip | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCase(CaseHead):
    """One expectation with the input of the function that it is about: no bytes, no deliveries."""

    kind: Kind
    input: Any
    """Of a request a conversation (`conversation.v1.json`)."""
    expect: Literally | AnyOf | RequestExpectation
    """What the function returns, a JSON value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTripCase(CaseHead):
    """Two requests and both answers: the second takes the first answer and the tools' results along."""

    api: str
    first: Case
    """The answer to the first request, and what is expected of it: nothing, or the content too."""
    second: Case
    """The answer to the second."""
    conversation: Mapping[str, Any]
    """What the first request is made of (`conversation.v1.json`)."""
    results: tuple[Mapping[str, Any], ...]
    """`{name, content, error?}`: what comes of the calls in the first answer."""
    request: RequestExpectation
    """What is expected of the second request."""


AnyCase = Case | CallCase | RoundTripCase
