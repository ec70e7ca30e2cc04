"""The values passed between the harness and an implementation of any kind.

Whatever an implementation does, the harness does not raise: every run ends with one `Answer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct

from streamconform.model.behavior import LogEntry
from streamconform.model.capability import OF_STREAMS, Capability, Claims
from streamconform.model.result import Raised, Resources
from streamconform.model.trial import Input, ProxyView

ProtocolFaultKind = Literal[
    "exited",
    "not-json",
    "not-a-message",
    "too-deep",
    "line-too-long",
    "too-many-events",
    "too-many-blocks",
    "too-slow-to-judge",
    "unknown-id",
    "answered-twice",
    "gave-up",
    "not-asked",
]
"""The ways in which an adapter can break the protocol."""


class Greeting(Struct, frozen=True, kw_only=True):
    """An implementation's description of itself.

    If `apis` is None, every API is claimed; if `capabilities` is None, every stream capability is claimed.
    """

    name: str
    version: str | None = None
    language: str | None = None
    issues: str | None = None
    apis: frozenset[str] | None = None
    inputs: tuple[Input, ...] = ("bytes",)
    capabilities: Claims | Mapping[str, Claims] | None = None
    concurrency: int = 1
    vendor: str | None = None
    """The vendor whose servers the client is written for, if several serve the API, or None for any."""
    lacks: frozenset[str] = frozenset()
    """The members of a conversation (conversation.v1) for which the client has no setting."""
    through: ProxyView | None = None
    """Set for a proxy: the API of the streams that are read from it. Only one of the proxy's programs runs at
    a time.
    """

    def claims(self, api: str | None) -> Claims:
        """Return the capabilities claimed for `api`, or for at least one API if `api` is None."""
        if self.capabilities is None:
            return OF_STREAMS
        if isinstance(self.capabilities, Mapping):
            if api is None:
                return frozenset[Capability]().union(*self.capabilities.values())
            return self.capabilities.get(api, frozenset())
        return self.capabilities


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of a run: outcome and events as JSON values, neither judged nor validated yet."""

    outcome: Any
    events: Any = None
    taken: tuple[int, ...] | None = None
    """For each event, the number of chunks read before it was emitted, if the adapter reports it."""
    deviations: tuple[tuple[str, str], ...] = ()
    """Pairs of a violated rule (from the greeting) and a description of the violation."""
    earlier: tuple[Any, ...] = ()
    """For a round trip: the outcomes of the answers before the last, if the adapter reports them."""
    requests: tuple[Any, ...] = ()
    """For a round trip: the requests that the server received or the adapter built, each as
    `{"body", "headers", "path"}`.
    """
    continued: bool = False
    """Whether the client sent the answer back and received `CANNED_TEXT` as the final answer."""
    raised: Raised | None = None
    """The exception that the library raised, if any; any events that it cut off are not reported."""
    log: tuple[LogEntry, ...] = ()
    """For a trial about behavior: what the server saw, in order."""
    outcomes: tuple[Any, ...] | None = None
    """For a trial about several answers: the outcome of each; `outcome` is then the first of them."""
    resources: Resources | None = None
    """What the program used for the run, if that was measured."""
    not_json: tuple[tuple[str, str], ...] = ()
    """Values that JSON cannot represent, each with its path: `("outcome.content.0.arguments.x", "NaN")`."""


class Output(Struct, frozen=True):
    """The result of a function call: a JSON value, not judged yet."""

    value: Any


class Skipped(Struct, frozen=True):
    """The adapter skipped the run."""

    reason: str


class Errored(Struct, frozen=True):
    """The adapter reported its own failure."""

    message: str
    traceback: str | None = None


class ProtocolFault(Struct, frozen=True):
    """The adapter broke the protocol."""

    kind: ProtocolFaultKind
    message: str
    stderr: tuple[str, ...] = ()
    """The last lines of stderr of a program that ended."""


class Hang(Struct, frozen=True):
    """No answer arrived within the timeout."""

    seconds: float


Answer = Observation | Output | Skipped | Errored | ProtocolFault | Hang


class ServerRecord(Struct, frozen=True, kw_only=True):
    """What the replay server received and sent in one trial; it can be saved and judged later."""

    answered: bool
    """Whether any reply contained the recorded answer, as a stream or as a document."""
    model_requests: int
    """The number of requests for a model's answer."""
    reached: bool = True
    """Whether any request arrived, even one that belongs to no trial."""
    requests: tuple[Mapping[str, Any], ...]
    """The requests as they appear in results."""
    wants_wrong_form: bool = False
    """Whether the client requested a stream in a trial that tests a non-streaming answer."""
    mismatch: str | None = None
    """The reason why the replies cannot be judged."""
    complaint: str | None = None
    """A message about invalid requests, or about missing ones."""
    progress: str = ""
    """How much of the last reply was sent."""
    log: tuple[LogEntry, ...] = ()
    """For a trial about behavior: what happened on its connections, in order."""
