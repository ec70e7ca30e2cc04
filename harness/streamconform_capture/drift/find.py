"""Find new shapes in streams. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from streamconform.model.cassette import Cassette, Recorded
from streamconform.suite.shapes import ORDER, Shape, read_shapes

NEW_EVENT: Final = "new event"
"""The type of a shape that represents an unknown event."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream to examine."""

    name: str
    """The stream's file, or the question that the stream answers."""
    cassette: Cassette

    @property
    def date(self) -> str | None:
        """Return the date of the recording, as YYYY-MM-DD, if it is known."""
        origin = self.cassette.provenance
        return origin.date if isinstance(origin, Recorded) else None


@dataclass(frozen=True, slots=True)
class Novelty:
    """A new shape, and the streams that contain it."""

    api: str
    shape: Shape
    streams: int
    example: str
    """The name of the first stream with this shape."""
    first: str | None
    """The dates of the first and last streams with this shape, as YYYY-MM-DD, if known."""
    last: str | None


@dataclass(frozen=True, slots=True)
class Drift:
    """The examined streams and their new shapes; the members of a new event or object are not listed."""

    streams: Mapping[str, int]
    """The number of streams per API."""
    novelties: tuple[Novelty, ...]
    """Sorted by API, then by shape."""
    unread: tuple[tuple[str, str], ...] = ()
    """Recordings that were not read, each with the reason."""


def find_drift(
    streams: Iterable[Stream],
    known: Mapping[str, frozenset[Shape]],
    unread: Iterable[tuple[str, str]] = (),
) -> Drift:
    """Return the shapes in `streams` that are not in `known`, each API's known shapes."""
    counts: Counter[str] = Counter()
    found: dict[tuple[str, Shape], list[Stream]] = {}
    for stream in streams:
        api = stream.cassette.api
        counts[api] += 1
        events = {shape.event for shape in known[api]}
        for shape in {_name_event(each, events) for each in read_shapes(stream.cassette) - known[api]}:
            found.setdefault((api, shape), []).append(stream)
    holders = {(api, shape.event, shape.path) for api, shape in found if shape.type in ("object", "array")}
    novelties = (
        _describe(api, shape, found[api, shape])
        for api, shape in sorted(found)
        if not any((api, shape.event, holder) in holders for holder in _list_holders(shape.path))
    )
    return Drift(counts, tuple(novelties), tuple(unread))


def _name_event(shape: Shape, events: Collection[str]) -> Shape:
    """Return the shape of the entire new event that contains or follows `shape`, or else `shape` itself."""
    if shape.type == ORDER:
        return shape if shape.path in events else Shape(shape.path, "*", NEW_EVENT)
    return shape if shape.event in events else Shape(shape.event, "*", NEW_EVENT)


def _list_holders(path: str) -> Iterator[str]:
    """Yield the paths of the objects and lists that contain the member at `path`."""
    for place, character in enumerate(path):
        if place and character in ".[":
            yield path[:place]


def _describe(api: str, shape: Shape, streams: list[Stream]) -> Novelty:
    dates = sorted(stream.date for stream in streams if stream.date is not None)
    return Novelty(
        api=api,
        shape=shape,
        streams=len(streams),
        example=streams[0].name,
        first=dates[0] if dates else None,
        last=dates[-1] if dates else None,
    )
