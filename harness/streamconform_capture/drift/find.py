"""Find new shapes in recorded answers, and answers that are not complete. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from streamconform.model.case import Case
from streamconform.model.cassette import Recorded
from streamconform.suite.shapes import ORDER, Shape, read_document_shapes, read_shapes
from streamconform_capture.drift.endings import Ending, changes_outcome, find_ending

NEW_EVENT: Final = "new event"
"""The type of a shape that represents an unknown event."""


@dataclass(frozen=True, slots=True)
class Novelty:
    """A new shape, and the answers that contain it."""

    api: str
    shape: Shape
    answers: int
    example: str
    """The name of the first answer with this shape."""
    first: str | None
    """The dates of the first and last answers with this shape, as YYYY-MM-DD, if known."""
    last: str | None
    changes_outcome: bool
    """Whether the shape is an enum value on which the outcome of the example depends."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The examined answers and their new shapes; the members of a new event or object are not listed."""

    answers: Mapping[str, int]
    """The number of answers per API."""
    novelties: tuple[Novelty, ...]
    """Sorted by API, then by shape."""
    endings: tuple[Ending, ...] = ()
    """The answers that are not complete, sorted by API, status and reason."""
    unread: tuple[tuple[str, str], ...] = ()
    """Recordings that were not read, each with the reason."""


def find_drift(
    answers: Iterable[Case],
    known: Mapping[str, frozenset[Shape]],
    unread: Iterable[tuple[str, str]] = (),
) -> Drift:
    """Return the shapes in `answers` that are not in `known`, each API's known shapes."""
    counts: Counter[str] = Counter()
    found: dict[tuple[str, Shape], list[Case]] = {}
    broken: dict[tuple[str, str, str], list[str]] = {}
    for answer in answers:
        api = answer.api
        counts[api] += 1
        events = {shape.event for shape in known[api]}
        for shape in {_name_event(each, events) for each in _read_shapes(answer) - known[api]}:
            found.setdefault((api, shape), []).append(answer)
        ending = find_ending(answer)
        if ending is not None:
            broken.setdefault((api, *ending), []).append(answer.id)
    holders = {(api, shape.event, shape.path) for api, shape in found if shape.type in ("object", "array")}
    novelties = (
        _describe(api, shape, found[api, shape])
        for api, shape in sorted(found)
        if not any((api, shape.event, holder) in holders for holder in _list_holders(shape.path))
    )
    endings = (Ending(*about, len(names), names[0]) for about, names in sorted(broken.items()))
    return Drift(counts, tuple(novelties), tuple(endings), tuple(unread))


def _read_shapes(answer: Case) -> frozenset[Shape]:
    return read_shapes(answer.cassette) if answer.stream else read_document_shapes(answer.cassette.body)


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


def _describe(api: str, shape: Shape, answers: list[Case]) -> Novelty:
    dates = sorted(date for answer in answers if (date := _get_date(answer)) is not None)
    return Novelty(
        api=api,
        shape=shape,
        answers=len(answers),
        example=answers[0].id,
        first=dates[0] if dates else None,
        last=dates[-1] if dates else None,
        changes_outcome=shape.type.startswith("= ") and changes_outcome(answers[0], shape),
    )


def _get_date(answer: Case) -> str | None:
    """Return the date of the recording, as YYYY-MM-DD, if it is known."""
    origin = answer.cassette.provenance
    return origin.date if isinstance(origin, Recorded) else None
