"""The `expect` mapping of a request case to a `RequestExpectation`, and how what is wanted is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform.model.request import Exactly, Fields, Items, JsonText, RequestExpectation, SameAs, Wanted
from streamconform.suite import expectation

REQUEST_MATCHERS: Final = ("exactly", "json", "same_as")
"""Matchers that only requests have; they stand in place of any value."""
_WHY_KEY: Final = "why"


def parse(expect: Mapping[str, Any]) -> RequestExpectation:
    """Return the expectation in `expect`, which fits the schema."""
    return RequestExpectation(
        must=_parse_fields(expect.get("must", {})),
        may=_parse_fields(expect.get("may", {})),
        must_not=tuple(expect.get("must_not", ())),
        headers={
            name.lower(): expectation.parse_leaf(value) for name, value in expect.get("headers", {}).items()
        },
        path=expectation.parse_leaf(expect["path"]) if "path" in expect else None,
    )


def parse_value(given: Any) -> Wanted:
    """Return what `given` asks for: a mapping is an object, unless its only key is a matcher's name."""
    if isinstance(given, list):
        return Items(tuple(map(parse_value, given)))
    if not isinstance(given, Mapping):
        return expectation.parse_leaf(given)
    match [key for key in given if key != _WHY_KEY]:
        case ["exactly"]:
            return Exactly(given["exactly"])
        case ["json"]:
            return JsonText(given["json"])
        case ["same_as"]:
            return SameAs(given["same_as"])
        case [name] if name in expectation.MATCHERS:
            return expectation.parse_leaf(given)
        case _:
            return _parse_fields(given)


def find_matcher_errors(
    given: Any, at: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the place of every matcher that is none, and what is wrong: the schema does not look for them."""
    if isinstance(given, list):
        for i, each in enumerate(given):
            yield from find_matcher_errors(each, (*at, i))
    if not isinstance(given, Mapping):
        return
    match [key for key in given if key != _WHY_KEY]:
        case ["exactly" | "json"]:
            return
        case ["matches"]:
            words = _check_regex(given["matches"])
        case ["present"]:
            words = None if isinstance(given["present"], bool) else "expected true or false"
        case ["any_of"]:
            words = None if isinstance(given["any_of"], list) and given["any_of"] else "expected values"
        case ["prefix_of" | "same_as" as name]:
            words = None if isinstance(given[name], str) else "expected text"
        case _:
            for name, each in given.items():
                yield from find_matcher_errors(each, (*at, name))
            return
    if words is not None:
        yield at, f"{words}, got {given}"


def _check_regex(pattern: Any) -> str | None:
    try:
        re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        return f"expected a regular expression ({error})"
    return None


def serialize_value(want: Wanted) -> Any:
    """Return the JSON value by which results and reports name what was wanted."""
    match want:
        case Exactly(value):
            return value
        case JsonText(value):
            return {"json": value}
        case SameAs(path):
            return {"same_as": path}
        case Fields(fields):
            return {name: serialize_value(each) for name, each in fields.items()}
        case Items(items):
            return [serialize_value(each) for each in items]
        case leaf:
            return expectation.serialize_leaf(leaf)


def _parse_fields(given: Mapping[str, Any]) -> Fields:
    return Fields({name: parse_value(value) for name, value in given.items()})
