"""What passes between the harness and an implementation, whatever it is and however it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from streamconform.model.capability import OF_STREAMS, Capability, Claims
from streamconform.model.trial import Input, Through

FaultKind = Literal[
    "exited",
    "not-json",
    "not-a-message",
    "too-deep",
    "line-too-long",
    "too-many-events",
    "unknown-id",
    "answered-twice",
    "gave-up",
    "not-asked",
]
"""How an adapter can break the protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What an implementation says of itself; None means every api, and everything that streams have."""

    name: str
    version: str | None = None
    language: str | None = None
    issues: str | None = None
    apis: frozenset[str] | None = None
    inputs: tuple[Input, ...] = ("bytes",)
    capabilities: Claims | Mapping[str, Claims] | None = None
    concurrency: int = 1
    through: Through | None = None
    """The api through which its streams are seen, where it is a proxy; one of its programs runs at a time."""

    def claims(self, api: str | None) -> Claims:
        """Return what it claims for `api`; without one, what it claims for any."""
        if self.capabilities is None:
            return OF_STREAMS
        if isinstance(self.capabilities, Mapping):
            if api is None:
                return frozenset[Capability]().union(*self.capabilities.values())
            return self.capabilities.get(api, frozenset())
        return self.capabilities


@dataclass(frozen=True, slots=True)
class Observation:
    """An answer: outcome and events as JSON values, not yet judged or even checked."""

    outcome: Any
    events: Any = None
    taken: tuple[int, ...] | None = None
    """For each event how many chunks had been taken when it came out, where the adapter can say."""
    deviations: tuple[tuple[str, str], ...] = ()
    """The rules of the greeting that the stream breaks, and how."""
    first: Any = None
    """Of a round trip, what was made of the first answer, where the adapter tells it."""
    requests: tuple[Any, ...] = ()
    """Of a round trip, what was sent, `{"body", "headers", "path"}` each, as the server got it."""


@dataclass(frozen=True, slots=True)
class Output:
    """An answer to a call: a JSON value, not yet judged."""

    value: Any


@dataclass(frozen=True, slots=True)
class Skipped:
    """The adapter declined."""

    reason: str


@dataclass(frozen=True, slots=True)
class Errored:
    """The adapter failed, and said so itself."""

    message: str
    traceback: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """The adapter broke the protocol."""

    kind: FaultKind
    message: str


@dataclass(frozen=True, slots=True)
class Hang:
    """Nothing came in time."""

    seconds: float


Answer = Observation | Output | Skipped | Errored | Fault | Hang
