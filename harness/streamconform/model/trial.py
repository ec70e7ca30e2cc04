"""Trials (a case with a delivery or fault, a call, a round trip, a script), and the deliveries and faults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Final, Literal, Protocol, get_args

from msgspec import Struct

from streamconform.model.case import LEVELS, BehaviorCase, CallCase, Case, Expectation, Level, RoundTripCase
from streamconform.model.cassette import SWITCHED, Transport

Framing = Literal["sse", "ndjson", "json_array", "eventstream", "invoke_stream", "websocket", "document"]
"""`invoke_stream` is an `eventstream` whose messages contain base64-encoded model events. `websocket` is what
a server sends after the handshake. `document` is a body that is not in the API's framing, such as a JSON
error or an HTML page.
"""
Input = Literal["bytes", "push", "http"]
DeliverySet = Literal["fast", "standard", "full", "variants"]
FaultSet = Literal["none", "one", "all"]


class Delivery(Struct, frozen=True):
    """A way to deliver the same stream; the outcome must not change."""

    name: str
    level: Level
    does: str
    framings: frozenset[Framing] = frozenset({"sse", "ndjson", "json_array", "eventstream", "invoke_stream"})
    inputs: frozenset[Input] = frozenset({"bytes", "push", "http"})


SSE: Final = frozenset[Framing]({"sse"})
EVENTS: Final = frozenset[Framing]({"sse", "ndjson"})
"""The framings of what a WebSocket may carry: events, or the lines of its own cassettes."""
ANY: Final = frozenset[Framing](get_args(Framing))
ANY_INPUT: Final = frozenset[Input]({"bytes", "push", "http"})
HTTP: Final = frozenset[Input]({"http"})
OF_CONVERSATIONS: Final = frozenset[Input]({"bytes", "http"})
"""For round trips; in mode bytes, an implementation reads each answer, and builds the next request."""

AS_IS: Final = "as-is"
"""The delivery that changes nothing over HTTP."""
WINDOWS: Final = "windows"
"""The delivery that only `conform compare` uses: with many recordings, it finds what `bytewise` finds."""
OLD_NAMES: Final[Mapping[str, str]] = {"recorded": AS_IS}
"""Earlier names of deliveries, accepted wherever a user can name a delivery."""
WEBSOCKET: Final = "websocket"
"""The delivery that changes nothing over a WebSocket, and the first word in the names of the others there."""
LARGE: Final = f"{WEBSOCKET}-large"
"""The delivery with a message above 1 MiB, which only the cases with `SAMPLE_TAG` have."""
UNCHANGED: Final = (AS_IS, WEBSOCKET)
UPGRADED: Final[Mapping[str, str]] = {"connection": "Upgrade", "upgrade": WEBSOCKET}
"""The headers that accept a handshake, without those that depend on the request."""
_OLD_ID: Final = re.compile(rf"@({'|'.join(OLD_NAMES)})(?=[:.]|$)")

_OF_SERVERS: Final = (
    Delivery("half-pairs", "should", "deltas that end and begin with half of a surrogate pair"),
    Delivery("empty-deltas", "must", "an empty delta before every delta"),
    Delivery("ids-absent", "should", "no ids of calls or items"),
    Delivery("ids-empty", "should", "an empty id in every fragment of a call"),
    Delivery("ids-repeated", "should", "the id in every fragment of a call"),
    Delivery("ids-rotate", "should", "a new id of the same call or item in every fragment or event"),
    Delivery("ids-shared", "should", "the same id for every call"),
    Delivery("nulls-repeated", "should", "a null id and name in all fragments of a call but the first"),
    Delivery("indexes-absent", "should", "no indexes of calls or items"),
    Delivery("indexes-from-one", "should", "indexes that begin at 1"),
    Delivery("indexes-shared", "should", "index 0 for every call"),
    Delivery("names-repeated", "should", "the name in every fragment of a call"),
    Delivery("names-empty", "should", "an empty name in all fragments of a call but the first"),
    Delivery("names-late", "should", "the name in the second fragment of a call"),
    Delivery("names-in-pieces", "may", "half of the name in each of the first two fragments of a call"),
    Delivery("fragments-bare", "should", "neither index nor id in all fragments of a call but the first"),
    Delivery("deltas-absent", "should", "the arguments of calls only in the events that end them"),
    Delivery("ends-absent", "should", "no ends of blocks"),
    Delivery("ends-late", "should", "the ends of all blocks after the last block"),
    Delivery("ends-twice", "should", "the end of every block twice"),
    Delivery("ends-unknown", "should", "the end of an item that never began"),
    Delivery("reasons-early", "should", "the reason `stop` in or after every piece of the answer"),
    Delivery("fragments-together", "should", "two fragments of one call in each chunk"),
)
VARIANTS: Final = tuple(delivery.name for delivery in _OF_SERVERS)
"""Deliveries in frames that some servers of an API send; `Api.variants` says which, and at which level."""

DELIVERIES: Final[Mapping[str, Delivery]] = {
    delivery.name: delivery
    for delivery in (
        Delivery(AS_IS, "must", "as recorded: one chunk per network read, or per frame", ANY),
        Delivery("whole", "must", "everything in one chunk", ANY),
        Delivery("bytewise", "must", "one byte per chunk", ANY),
        Delivery("utf8-split", "must", "a chunk boundary inside every multi-byte character", ANY),
        Delivery("random", "must", "chunk boundaries at random offsets, derived from the seed", ANY),
        Delivery("crlf", "must", "every line ends with CR LF", SSE),
        Delivery("comments", "must", "a comment before every frame", SSE),
        Delivery("unknown-event", "must", "additional events of an unknown type"),
        Delivery("unknown-field", "must", "an unknown field in every payload"),
        Delivery("bom", "should", "a byte order mark before the first line", SSE),
        Delivery("no-space", "should", "no space after the colon of a field", SSE),
        Delivery("padding", "should", "whitespace between the tokens of every payload"),
        Delivery("key-order", "should", "the keys of every object in reverse order"),
        Delivery("multiline-data", "should", "payloads split over several data lines", SSE),
        Delivery("gzip", "should", "compressed with gzip", ANY, HTTP),
        Delivery(WEBSOCKET, "must", "over a WebSocket: a message per event, in one frame and chunk", EVENTS),
        Delivery(f"{WEBSOCKET}-whole", "must", "over a WebSocket, everything in one chunk", EVENTS),
        Delivery(f"{WEBSOCKET}-bytewise", "must", "over a WebSocket, one byte per chunk", EVENTS),
        Delivery(
            f"{WEBSOCKET}-fragments", "must", "over a WebSocket, messages in fragments, with pings", EVENTS
        ),
        Delivery(LARGE, "must", "over a WebSocket, with one message above 1 MiB", EVENTS),
        Delivery("cr", "may", "every line ends in CR", SSE),
        Delivery(WINDOWS, "must", "one byte per chunk near places where parsers go wrong, else uncut", ANY),
        *_OF_SERVERS,
    )
}

SAMPLED: Final = ("bom", "no-space", "multiline-data")
"""Standard deliveries that run for only one case per API: a client supports them in all streams or none."""
SAMPLE_TAG: Final = "delivery-sample"
"""The tag that selects those cases."""
FULL_ONLY: Final = (f"{WEBSOCKET}-whole", f"{WEBSOCKET}-bytewise")
"""The deliveries that only a full run has, although they must not change the outcome."""

_OF_SUITE: Final = tuple(name for name in DELIVERIES if name != WINDOWS)
DELIVERY_SETS: Final[Mapping[DeliverySet, tuple[str, ...]]] = {
    "fast": (AS_IS, "bytewise", WEBSOCKET),
    "standard": tuple(
        name
        for name in _OF_SUITE
        if name not in (*VARIANTS, *FULL_ONLY) and (DELIVERIES[name].level == "must" or name in SAMPLED)
    ),
    "full": _OF_SUITE,
    "variants": VARIANTS,
}

FAULT_SETS: Final[Mapping[DeliverySet, FaultSet]] = {
    "fast": "none",
    "standard": "one",
    "full": "all",
    "variants": "none",
}
"""The default for `--faults` with each set of deliveries; `one` means one fault of each kind."""

FAULTS: Final[Mapping[str, Level]] = {
    "cut-after-frame": "must",
    "cut-inside-json": "must",
    "cut-inside-utf8": "must",
    "error-frame": "must",
    "reset": "must",
    "stall": "should",
    f"{WEBSOCKET}-cut": "must",
    f"{WEBSOCKET}-close": "must",
    f"{WEBSOCKET}-error": "must",
}

OF_ROUND_TRIPS: Final[Mapping[Transport, tuple[str, ...]]] = {
    "http": (AS_IS, "whole", "bytewise", "random"),
    "websocket": (WEBSOCKET,),
}
"""The deliveries of round trips. A few are enough, because a round trip tests requests, not streams."""

OF_DOCUMENTS: Final = (AS_IS,)
"""The deliveries of non-streaming answers, which a client reads completely before it parses them."""

FAULTS_OVER_HTTP: Final = frozenset({"reset", "stall"})
"""Faults that need a connection."""


OF_A_PROXY: Final = ("grammar.", "http.", "refusal.", "upstream.")
"""Name prefixes of the rules for streams that are read through a proxy."""


@dataclass(frozen=True, slots=True)
class ProxyView:
    """For a stream read through a proxy: the API of the translated stream, and the rules for it."""

    api: str
    rules: Mapping[str, Level] = field(default_factory=dict)
    held: bool = False
    """Whether the proxy may hold content back until it is complete."""


class Plan(Protocol):
    """How the bytes of a trial are made, as plain data: only the process that runs it needs the bytes."""

    def make(self, case: Case, delivery: str) -> Delivered:
        """Return what the trial of `case` with this delivery or fault delivers."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What a trial delivers. It is also the plan of a trial whose bytes are given."""

    chunks: tuple[bytes, ...] = field(repr=False)
    """Joined, they are the delivered body."""
    derived: Expectation | None = field(default=None, repr=False)
    """The expectation for a broken stream, if the case's own expectation does not apply."""

    def make(self, case: Case, delivery: str) -> Delivered:
        """Return these bytes."""
        del case, delivery
        return self


@dataclass(frozen=True, slots=True)
class Trial:
    """A case, the name of a delivery or fault, and how to make the bytes."""

    case: Case
    delivery: str
    """A name in `DELIVERIES`, or one in `FAULTS` with a frame number: `cut-after-frame.12`."""
    level: Level
    plan: Plan
    through: ProxyView | None = field(default=None, repr=False)
    """Set if the stream is translated into a different API before it is judged."""

    @property
    def chunks(self) -> tuple[bytes, ...]:
        """Return the chunks to deliver."""
        return self.plan.make(self.case, self.delivery).chunks

    @property
    def derived(self) -> Expectation | None:
        """Return the expectation for a broken stream, if the case's own expectation does not apply."""
        return self.plan.make(self.case, self.delivery).derived

    @property
    def transport(self) -> Transport:
        """Return what carries the bytes."""
        return find_transport(self.delivery)

    @property
    def status(self) -> int:
        """Return the HTTP status, or that of a handshake."""
        return SWITCHED if self.transport == "websocket" else self.case.cassette.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers of the answer, or those of a handshake."""
        return UPGRADED if self.transport == "websocket" else self.case.cassette.headers

    @property
    def expect(self) -> Expectation:
        """Return the expectation for these bytes."""
        derived = self.derived
        return self.case.expect if derived is None else derived

    @property
    def id(self) -> str:
        """Return `api/topic/case@delivery`."""
        return f"{self.case.id}@{self.delivery}"

    @property
    def body(self) -> bytes:
        """Return the bytes as delivered."""
        return b"".join(self.chunks)


class OnlyTrial(Struct, frozen=True):
    """The only trial of a case; it has the attributes of `Trial` that do not require bytes."""

    case: CallCase | BehaviorCase
    transport: ClassVar[Transport] = "http"

    @property
    def delivery(self) -> None:
        """Return None: there is no delivery, or a script delivers the bytes."""
        return

    @property
    def level(self) -> Level:
        """Return the level of the case."""
        return self.case.level

    @property
    def id(self) -> str:
        """Return `api/topic/case`, or `common/topic/case`."""
        return self.case.id


class Call(OnlyTrial, frozen=True):
    """The trial of a case without bytes."""

    case: CallCase


class RoundTrip(Struct, frozen=True):
    """One or more round trips with the same delivery for all answers."""

    case: RoundTripCase
    answers: tuple[Trial, ...]

    @property
    def delivery(self) -> str:
        """Return a name in `OF_ROUND_TRIPS`."""
        return self.answers[-1].delivery

    @property
    def transport(self) -> Transport:
        """Return what carries the requests and answers."""
        return self.answers[-1].transport

    @property
    def level(self) -> Level:
        """Return the level, which is the same for all answers."""
        return self.answers[-1].level

    @property
    def id(self) -> str:
        """Return `api/topic/case@delivery`."""
        return f"{self.case.id}@{self.delivery}"


class Behavior(OnlyTrial, frozen=True):
    """The trial of a case about behavior."""

    case: BehaviorCase

    @property
    def barrier(self) -> Trial:
        """Return an ordinary trial of the same client, which gives it the time to close a connection."""
        case = self.case.streams["text"]
        return Trial(case, AS_IS, case.level, Delivered((case.cassette.body,)))


AnyTrial = Trial | Call | RoundTrip | Behavior


def is_fault(delivery: str | None) -> bool:
    """Return whether a trial's delivery breaks its stream, as `cut-after-frame.3` does."""
    return (delivery or "").partition(".")[0] in FAULTS


def find_transport(delivery: str) -> Transport:
    """Return what carries the bytes of a delivery or fault."""
    return "websocket" if delivery.startswith(WEBSOCKET) else "http"


def supported_inputs(trial: AnyTrial) -> frozenset[Input]:
    """Return the input modes that can run `trial`."""
    if isinstance(trial, Behavior):
        return HTTP
    if isinstance(trial, RoundTrip):
        return OF_CONVERSATIONS
    name = (trial.delivery or "").partition(".")[0]
    if name in FAULTS_OVER_HTTP:
        return HTTP
    return DELIVERIES[name].inputs if name in DELIVERIES else ANY_INPUT


def get_current_name(delivery: str) -> str:
    """Return the current name of a delivery or fault; old names are accepted."""
    return OLD_NAMES.get(delivery, delivery)


def update_id(id_or_pattern: str) -> str:
    """Return the id of a trial or check, or an id pattern, with the delivery's current name."""
    return _OLD_ID.sub(lambda match: f"@{get_current_name(match[1])}", get_current_name(id_or_pattern))


@cache
def lower_level(one: Level, other: Level) -> Level:
    """Return the lower of two levels."""
    return max(one, other, key=LEVELS.index)
