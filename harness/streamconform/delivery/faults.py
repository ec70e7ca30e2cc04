"""Streams that break: where they are cut, what is sent instead, and what is expected then. Pure.

Nothing is written by hand here: the expectation follows from the case's own, from where the stream broke,
and from the ending of the API (`Api.ending`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import Ending
from streamconform.apis.payloads import Payload, read_payload
from streamconform.delivery.deliver import CHARACTER, cut
from streamconform.model.case import Case, Expectation, Partial
from streamconform.model.leaf import AnyOf, Leaf, Literally
from streamconform.model.trial import Framing
from streamconform.wire.frames import Frame
from streamconform.wire.framings import split

MOST: Final[Mapping[str, int]] = {
    "cut-after-frame": 14,
    "cut-inside-json": 8,
    "cut-inside-utf8": 4,
    "error-frame": 6,
}
"""Faults of each kind a case, 32 in all; where a stream has more places they are spread over it."""

MOST_OVER_HTTP: Final[Mapping[str, int]] = {"reset": 4, "stall": 2}
"""The same of those that only a connection can do; a stall costs time."""

DEPTH: Final = 4
"""Levels of a payload that say of which type a frame is."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A stream that broke: its id behind the `@`, the chunks that came, and what is expected of them."""

    name: str
    chunks: tuple[bytes, ...]
    expect: Expectation


@dataclass(frozen=True, slots=True)
class _Stream:
    """A body taken apart."""

    case: Case
    framed: Framing
    ending: Ending
    frames: tuple[Frame, ...]
    payloads: tuple[Payload, ...]
    types: tuple[object, ...]
    terminal: int
    """Number of the terminal frame; of frames where there is none."""
    settled: int
    """Number of the last frame that may still change the content; after it the outcome stands."""


def faults(case: Case, framed: Framing, *, every: bool, http: bool = False) -> Iterator[Fault]:
    """Yield the faults of `case`, in the order of `MOST`; one of each kind unless `every` is asked for.

    Those that only a connection can do come last, and only where there is one (`http`).

    A body that is not in the api's framing has none. A place is taken once for each pair of types of
    neighbouring frames, so that every transition of the protocol is broken once.
    """
    if framed == "document":
        return
    stream = _stream(case, framed)
    skipped = case.skip.faults if case.skip else frozenset[str]()
    for kind, most in {**MOST, **(MOST_OVER_HTTP if http else {})}.items():
        if kind not in skipped:
            places = _spread(PLACES[kind](stream), most)
            chosen = places if every else _telling(places, stream)
            yield from (MAKE[kind](stream, f"{kind}.{number}", number) for number in chosen)


def _stream(case: Case, framed: Framing) -> _Stream:
    frames = split(framed, case.cassette.body)
    payloads = tuple(read_payload(frame.payload) for frame in frames)
    ending = APIS[case.api].ending
    ends = [number for number, payload in enumerate(payloads) if ending.is_terminal(payload)]
    terminal = ends[0] if ends else len(frames)
    later = [
        n
        for n in range(terminal, len(frames))
        if ending.is_terminal(payloads[n]) or any(payloads[n].get(name) for name in ending.content)
    ]
    types = tuple(_type(payload, frame.event) for frame, payload in zip(frames, payloads, strict=True))
    return _Stream(case, framed, ending, frames, payloads, types, terminal, later[-1] if later else terminal)


def _transitions(stream: _Stream) -> list[int]:
    """Return the frames behind which a transition between two types comes for the first time."""
    last = len(stream.frames) - 1
    return [n for n in _first_of_a_kind(stream, range(last)) if not stream.terminal <= n < stream.settled]


def _inside(stream: _Stream) -> list[int]:
    return _first_of_a_kind(stream, _cuttable(stream))


def _characters(stream: _Stream) -> list[int]:
    found = (n for n in _cuttable(stream) if CHARACTER.search(stream.frames[n].payload))
    return _first_of_a_kind(stream, found)


def _cuttable(stream: _Stream) -> Iterator[int]:
    """Yield the frames whose payload is an object or an array, so that no beginning of it is whole."""
    for number, frame in enumerate(stream.frames):
        unsettled = stream.terminal < number <= stream.settled
        if frame.value is not None and frame.payload[:1] in (b"{", b"[") and not unsettled:
            yield number


def _first_of_a_kind(stream: _Stream, numbers: Iterable[int]) -> list[int]:
    """Return the first of `numbers` for each pair of types of a frame and the next one."""
    first: dict[object, int] = {}
    for number in numbers:
        first.setdefault(stream.types[number : number + 2], number)
    return list(first.values())


def _before_terminal(stream: _Stream) -> list[int]:
    return [n for n in _transitions(stream) if n < stream.terminal]


def _where_errors_come(stream: _Stream) -> list[int]:
    """Return where an error may come: in a stream that would have been whole, before its end."""
    known = stream.framed in stream.ending.error_frame
    whole = known and stream.case.expect.fields.get("status") == Literally("complete")
    return _before_terminal(stream) if whole else []


def _after_frame(stream: _Stream, name: str, number: int) -> Fault:
    return _broken(stream, name, stream.frames[number].end, number + 1)


def _disconnected(stream: _Stream, name: str, number: int) -> Fault:
    """Return the stream up to a frame behind which the connection fails.

    No provider says what a client calls that: it may show it as an error of its own, or as what it is, an
    answer that is not whole.
    """
    chunks = cut(stream.case.cassette.body[: stream.frames[number].end], (f.start for f in stream.frames))
    told = {"status": AnyOf(("incomplete", "error")), "stop.reason": AnyOf((None, "error"))}
    return Fault(name, chunks, _partial(stream, number + 1, told))


def _inside_json(stream: _Stream, name: str, number: int) -> Fault:
    start, stop = stream.frames[number].value or (0, 0)
    return _broken(stream, name, (start + 1 + stop) // 2, number)


def _inside_utf8(stream: _Stream, name: str, number: int) -> Fault:
    start, _ = stream.frames[number].value or (0, 0)
    found = CHARACTER.search(stream.frames[number].payload)
    assert found is not None, "only frames with such a character are chosen"
    return _broken(stream, name, start + found.start() + 1, number)


def _error_frame(stream: _Stream, name: str, number: int) -> Fault:
    ending = stream.ending
    told: dict[str, Leaf] = {
        "status": Literally("error"),
        "stop.reason": Literally("error"),
        "error.type": Literally(ending.error_type),
        "error.message": Literally(ending.error_message),
    }
    body = stream.case.cassette.body[: stream.frames[number].end]
    chunks = (*cut(body, (frame.start for frame in stream.frames)), ending.error_frame[stream.framed])
    return Fault(name, chunks, _partial(stream, number + 1, told))


def _broken(stream: _Stream, name: str, offset: int, whole: int) -> Fault:
    """Return the stream up to the byte `offset`, with `whole` whole frames in it."""
    chunks = cut(stream.case.cassette.body[:offset], (frame.start for frame in stream.frames))
    if whole > stream.terminal:
        return Fault(name, chunks, _after_terminal(stream, whole))
    given = stream.case.expect.fields.get("status")
    # where the whole stream fails without an error frame, nobody knows which frame made it fail
    open_ = given == Literally("error") and stream.terminal == len(stream.frames)
    told: dict[str, Leaf] = (
        {"status": AnyOf(("incomplete", "error"))}
        if open_
        else {"status": Literally("incomplete"), "stop.reason": Literally(None)}
    )
    return Fault(name, chunks, _partial(stream, whole, told))


def _partial(stream: _Stream, whole: int, told: Mapping[str, Leaf]) -> Expectation:
    """Return what a stream that broke may say: beginnings of the whole, and no call that had not ended."""
    case = stream.case
    ended = stream.ending.count_ended_calls(stream.payloads[:whole])
    fields = dict(told) | _usage(case) | _names(case)
    return Expectation(case.expect.content, fields, Partial(ended))


def _after_terminal(stream: _Stream, whole: int) -> Expectation:
    """Return the case's own expectation; usage and cost are open where a frame that tells them was lost."""
    expect = stream.case.expect
    if not any(b"usage" in frame.payload for frame in stream.frames[whole:]):
        return expect
    kept = {path: leaf for path, leaf in expect.fields.items() if not path.startswith(("usage", "cost"))}
    return replace(expect, fields=kept | _usage(stream.case))


def _usage(case: Case) -> dict[str, Leaf]:
    """Return for each judged bucket: null, the final value, or one that was reported earlier."""
    found: dict[str, Leaf] = {}
    for path, leaf in case.expect.fields.items():
        group, _, bucket = path.partition(".")
        values = _values(leaf)
        if group == "usage" and bucket and values is not None:
            seen = (getattr(report, bucket) for report in case.usage_seen)
            found[path] = AnyOf(tuple(dict.fromkeys((None, *values, *seen))))
    return found


def _names(case: Case) -> dict[str, Leaf]:
    """Return model and response id: as in the whole, or not told yet."""
    leaves = {name: _values(case.expect.fields.get(name)) for name in ("model", "response_id")}
    return {name: AnyOf((None, *values)) for name, values in leaves.items() if values is not None}


def _values(leaf: Leaf | None) -> tuple[Any, ...] | None:
    match leaf:
        case Literally(value):
            return (value,)
        case AnyOf(values):
            return values
        case _:
            return None


def _type(value: Any, name: str | None = None, depth: int = DEPTH) -> object:
    """Return what tells payloads of different types apart: members that say something, and type names."""
    match value:
        case dict():
            members = (
                (
                    key,
                    each
                    if key in ("type", "object") and isinstance(each, str)
                    else _type(each, None, depth - 1),
                )
                for key, each in value.items()
                if each not in (None, "", [], {}) and depth
            )
            return name, frozenset(members)
        case list():
            return "list", frozenset(_type(each, None, depth - 1) for each in value if depth)
        case _:
            return "value"


def _spread(places: Sequence[int], most: int) -> list[int]:
    last = len(places) - 1
    return list(places) if last < most else [places[i * last // (most - 1)] for i in range(most)]


def _telling(places: Sequence[int], stream: _Stream) -> list[int]:
    """Return the one place that tells most: the last before the terminal frame, where content is whole."""
    before = [n for n in places if n < stream.terminal] or list(places)
    return before[-1:]


PLACES: Final[Mapping[str, Callable[[_Stream], list[int]]]] = {
    "cut-after-frame": _transitions,
    "cut-inside-json": _inside,
    "cut-inside-utf8": _characters,
    "error-frame": _where_errors_come,
    "reset": _before_terminal,
    "stall": _before_terminal,
}
"""Where a fault of each kind can happen: numbers of frames."""

MAKE: Final[Mapping[str, Callable[[_Stream, str, int], Fault]]] = {
    "cut-after-frame": _after_frame,
    "cut-inside-json": _inside_json,
    "cut-inside-utf8": _inside_utf8,
    "error-frame": _error_frame,
    "reset": _disconnected,
    "stall": _disconnected,
}
"""The broken stream of each kind; a row here and in `PLACES` and `MOST` is a fault."""
