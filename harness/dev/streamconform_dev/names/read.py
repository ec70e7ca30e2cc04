"""The names in an API's answers: events, types of objects, fields and enum values.

A name is written as `event NAME`, `<TYPE>`, `OWNER.FIELD` or `OWNER.FIELD = VALUE`. The owner of a field is
the type of its object, or if it has none, the field or the event that contains it. So a name is one fact
about the API, however many paths lead to it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.model.case import Case
from streamconform.model.cassette import Cassette
from streamconform.suite.shapes import NO_EVENT, Shape
from streamconform.wire import framings

MAX_DEPTH: Final = 14
_WORD: Final = re.compile(r"[A-Za-z0-9_./-]{1,60}")
_STEP: Final = re.compile(r"(?P<field>[^.<\[]+)(?:\[\])*(?:<(?P<type>[^>]*)>)?(?:\.|$)")
TYPE_FIELDS: Final = ("type", "event_type")

Names = Mapping[str, frozenset[str]]
"""Maps each name to the paths at which it occurs, without types and list marks."""


def read_type_names(shapes: Iterable[Shape]) -> Names:
    """Return the names in the shapes that an SDK's types describe."""
    names: dict[str, set[str]] = defaultdict(set)
    for shape in shapes:
        names[f"event {shape.event}"].add("")
        for name, place in _name_path(shape.event, shape.path, shape.type):
            names[name].add(place)
    return {name: frozenset(places) for name, places in names.items()}


def _name_path(event: str, path: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the names that one path adds: its last field, the type of its value, and the value."""
    owner, place, field, type_, is_typed = event, "", "", None, False
    for step in _STEP.finditer(path):
        is_typed = bool(type_) or (not field and event != NO_EVENT)
        owner = type_ or field or event
        field, type_ = step["field"], step["type"]
        place = f"{place}.{field}" if place else field
    if type_:
        yield f"<{type_}>", place
    if field in TYPE_FIELDS and is_typed:
        return  # the type is a name of its own
    yield f"{owner}.{field}", place
    if kind.startswith("= "):
        yield f"{owner}.{field} = {kind[2:]}", place


def read_case_names(cases: Iterable[Case]) -> dict[str, set[str]]:
    """Return the names in the answers of cases, by API."""
    names: dict[str, set[str]] = defaultdict(set)
    # A stream and its twin without streaming have one name.
    for cassette in {(case.api, case.cassette.body): case.cassette for case in cases}.values():
        names[cassette.api] |= set(_walk_cassette(cassette))
    return names


def _walk_cassette(cassette: Cassette) -> Iterator[str]:
    framing = APIS[cassette.api].detect_framing(cassette.status, cassette.body)
    bodies: Iterable[tuple[str | None, bytes]] = (
        [(None, cassette.body)]
        if framing == "document"
        else [(frame.event, frame.payload) for frame in framings.split(framing, cassette.body)]
    )
    for event, body in bodies:
        try:
            payload = json.loads(body)
        except (ValueError, RecursionError):
            continue
        if isinstance(payload, dict):
            named = payload.get("event_type") or payload.get("type") or event or NO_EVENT
            name = named if isinstance(named, str) else NO_EVENT
            yield f"event {name}"
            yield from walk_object(payload, name, 0)


def walk_object(value: Mapping[str, Any], owner: str, depth: int) -> Iterator[str]:
    """Yield the names in an object, whose fields `owner` has; an object with a type has two owners."""
    if depth > MAX_DEPTH:
        return
    for field, member in value.items():
        name = f"{owner}.{field}"
        yield name
        for item in member if isinstance(member, list) else [member]:
            if isinstance(item, dict):
                yield from walk_object(item, field, depth + 1)
                if isinstance(item.get("type"), str):
                    yield f"<{item['type']}>"
                    yield from walk_object(item, item["type"], depth + 1)
            elif isinstance(item, str) and _WORD.fullmatch(item):
                yield f"{name} = {item}"
