"""A trial: a case under a delivery or fault, a call, a round trip; the tables of deliveries and faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from streamconform.model.case import LEVELS, CallCase, Case, Expectation, Level, RoundTripCase

Framing = Literal["sse", "ndjson", "json_array", "eventstream", "document"]
"""`document` is a body that is not in the api's framing: an error document, a page."""
Input = Literal["bytes", "push", "http"]
DeliverySet = Literal["fast", "standard", "full"]
FaultSet = Literal["none", "one", "all"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A way to hand over the same bytes; the outcome must not change."""

    name: str
    level: Level
    does: str
    framings: frozenset[Framing] = frozenset({"sse", "ndjson", "json_array", "eventstream"})
    inputs: frozenset[Input] = frozenset({"bytes", "push", "http"})


SSE: Final = frozenset[Framing]({"sse"})
ANY: Final = frozenset[Framing]({"sse", "ndjson", "json_array", "eventstream", "document"})
ANY_INPUT: Final = frozenset[Input]({"bytes", "push", "http"})
HTTP: Final = frozenset[Input]({"http"})

DELIVERIES: Final[Mapping[str, Delivery]] = {
    delivery.name: delivery
    for delivery in (
        Delivery("recorded", "must", "as recorded: a chunk a network read, or a frame", ANY),
        Delivery("whole", "must", "everything in one chunk", ANY),
        Delivery("bytewise", "must", "one byte a chunk", ANY),
        Delivery("utf8-split", "must", "a cut inside every character of several bytes", ANY),
        Delivery("random", "must", "cuts at places drawn from the seed", ANY),
        Delivery("crlf", "must", "every line end as CR LF", SSE),
        Delivery("comments", "must", "a comment between any two frames", SSE),
        Delivery("unknown-event", "must", "events of a type that nobody knows yet"),
        Delivery("unknown-field", "must", "a field that nobody knows yet in every payload"),
        Delivery("bom", "should", "a byte order mark before the first line", SSE),
        Delivery("no-space", "should", "no space after the colon of a field", SSE),
        Delivery("padding", "should", "white space between the tokens of every payload"),
        Delivery("key-order", "should", "the keys of every object in reverse"),
        Delivery("multiline-data", "should", "payloads over several data lines", SSE),
        Delivery("gzip", "should", "compressed on the way", ANY, HTTP),
        Delivery("cr", "may", "every line end as CR", SSE),
    )
}

DELIVERY_SETS: Final[Mapping[DeliverySet, tuple[str, ...]]] = {
    "fast": ("recorded", "bytewise"),
    "standard": tuple(name for name, each in DELIVERIES.items() if each.level == "must"),
    "full": tuple(DELIVERIES),
}

FAULT_SETS: Final[Mapping[DeliverySet, FaultSet]] = {"fast": "none", "standard": "one", "full": "all"}
"""The faults that go with a set of deliveries, where `--faults` does not say: `one` is one of each kind."""

FAULTS: Final[Mapping[str, Level]] = {
    "cut-after-frame": "must",
    "cut-inside-json": "must",
    "cut-inside-utf8": "must",
    "error-frame": "must",
    "reset": "must",
    "stall": "should",
}

OF_ROUND_TRIPS: Final = ("recorded", "whole", "bytewise", "random")
"""The deliveries of round trips: they are about requests, and streams are judged in cases of their own."""

FAULTS_OVER_HTTP: Final = frozenset({"reset", "stall"})
"""What only a connection can do."""


OF_A_PROXY: Final = ("grammar.", "http.", "refusal.", "upstream.")
"""How the names of the rules begin that a stream seen through another api is held to."""


@dataclass(frozen=True, slots=True)
class ProxyView:
    """The api through which a stream is seen where a proxy stands between, and the rules it is held to."""

    api: str
    rules: Mapping[str, Level] = field(default_factory=dict)
    held: bool = False
    """Whether the proxy may keep back what came until it is whole."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A case and how its bytes are handed over: `chunks` joined are the body that is delivered."""

    case: Case
    delivery: str
    """A name of `DELIVERIES`, or of `FAULTS` with a frame's number: `cut-after-frame.12`."""
    level: Level
    chunks: tuple[bytes, ...] = field(repr=False)
    derived: Expectation | None = field(default=None, repr=False)
    """What is expected of a broken stream, where the case's own expectation does not hold."""
    through: ProxyView | None = field(default=None, repr=False)
    """The api of the stream that is read, where it is not the case's."""

    @property
    def expect(self) -> Expectation:
        """Return what is expected of these bytes."""
        return self.case.expect if self.derived is None else self.derived

    @property
    def id(self) -> str:
        """Return `api/topic/case@delivery`."""
        return f"{self.case.id}@{self.delivery}"

    @property
    def body(self) -> bytes:
        """Return the bytes as delivered."""
        return b"".join(self.chunks)


@dataclass(frozen=True, slots=True)
class Call:
    """A case without bytes: it is asked once, and has the attributes of a trial that do not depend on any."""

    case: CallCase

    @property
    def delivery(self) -> None:
        """Return None: nothing is delivered."""
        return

    @property
    def level(self) -> Level:
        """Return the case's."""
        return self.case.level

    @property
    def id(self) -> str:
        """Return `common/topic/case`."""
        return self.case.id


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A round trip under one delivery, which is that of both answers."""

    case: RoundTripCase
    first: Trial
    second: Trial

    @property
    def delivery(self) -> str:
        """Return a name of `OF_ROUND_TRIPS`."""
        return self.second.delivery

    @property
    def level(self) -> Level:
        """Return that of both answers."""
        return self.second.level

    @property
    def id(self) -> str:
        """Return `api/topic/case@delivery`."""
        return f"{self.case.id}@{self.delivery}"


AnyTrial = Trial | Call | RoundTrip


def inputs(trial: AnyTrial) -> frozenset[Input]:
    """Return the inputs over which a trial can be asked; a call by any."""
    if isinstance(trial, RoundTrip):
        return HTTP
    name = (trial.delivery or "").partition(".")[0]
    if name in FAULTS_OVER_HTTP:
        return HTTP
    return DELIVERIES[name].inputs if name in DELIVERIES else ANY_INPUT


def lower(one: Level, other: Level) -> Level:
    """Return the looser of two levels."""
    return max(one, other, key=LEVELS.index)
