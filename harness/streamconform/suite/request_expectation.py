"""Parse the `expect` mapping of a request case into a `RequestExpectation`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform.model.leaf import Leaf
from streamconform.model.request import (
    Alternative,
    Contains,
    Exactly,
    Fields,
    Items,
    JsonText,
    OneOf,
    RequestExpectation,
    SameAs,
    Wanted,
)
from streamconform.suite import expectation

_WHY_KEY: Final = "why"


def parse(expect: Mapping[str, Any]) -> RequestExpectation:
    """Return the expectation in `expect`, which has already been validated against the schema."""
    return RequestExpectation(
        must=_parse_fields(expect.get("must", {})),
        should=_parse_fields(expect.get("should", {})),
        may=_parse_fields(expect.get("may", {})),
        must_not=tuple(expect.get("must_not", ())),
        headers=_parse_headers(expect),
        path=_parse_path(expect),
        when=tuple(map(_parse_alternative, expect.get("when", ()))),
    )


def _parse_alternative(entry: Mapping[str, Any]) -> Alternative:
    conditions = entry.get("if", {})
    return Alternative(_parse_headers(conditions), _parse_path(conditions), parse(entry))


def _parse_headers(holder: Mapping[str, Any]) -> dict[str, Leaf]:
    return {name.lower(): expectation.parse_leaf(value) for name, value in holder.get("headers", {}).items()}


def _parse_path(holder: Mapping[str, Any]) -> Leaf | None:
    return expectation.parse_leaf(holder["path"]) if "path" in holder else None


def parse_value(value: Any) -> Wanted:
    """Return the expectation in `value`; a mapping means an object, unless its only key names a matcher."""
    if isinstance(value, list):
        return Items(tuple(map(parse_value, value)))
    if not isinstance(value, Mapping):
        return expectation.parse_leaf(value)
    match [key for key in value if key != _WHY_KEY]:
        case ["exactly"]:
            return Exactly(value["exactly"])
        case ["json"]:
            return JsonText(value["json"])
        case ["same_as"]:
            return SameAs(value["same_as"])
        case ["contains"]:
            return Contains(value["contains"])
        case ["one_of"]:
            return OneOf(tuple(map(parse_value, value["one_of"])), value.get(_WHY_KEY))
        case [name] if name in expectation.MATCHERS:
            return expectation.parse_leaf(value)
        case _:
            return _parse_fields(value)


def find_errors(expect: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path and the message of every mistake in `expect` that the schema cannot find."""
    for name in ("must", "should", "may"):
        yield from find_matcher_errors(expect.get(name, {}), (name,))
    alternatives = expect.get("when", ())
    for i, entry in enumerate(alternatives):
        path, is_last = ("when", i), i == len(alternatives) - 1
        if "if" not in entry and not is_last:
            yield path, "an alternative without `if` always applies, so it must be the last"
        if is_last and not entry.keys() - {"if"}:
            yield path, "the last alternative expects nothing; leave it out"
        for inner, message in find_errors(entry):
            yield (*path, *inner), message


def find_matcher_errors(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path and the message of every invalid matcher inside `value`."""
    # The schema cannot find them: to it, a body is any JSON.
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from find_matcher_errors(item, (*path, i))
    if not isinstance(value, Mapping):
        return
    match [key for key in value if key != _WHY_KEY]:
        case ["exactly" | "json"]:
            return
        case ["matches"]:
            message = _check_regex(value["matches"])
        case ["present"]:
            message = None if isinstance(value["present"], bool) else "expected true or false"
        case ["any_of" | "one_of" as name]:
            options = value[name]
            message = (
                None if isinstance(options, list) and options else "expected a list of at least one value"
            )
            if name == "one_of" and message is None:
                yield from find_matcher_errors(options, (*path, name))
        case ["any_of", "prefer"] | ["prefer", "any_of"]:
            message = "requests have no preferred values; leave out `prefer`"
        case ["prefix_of" | "same_as" | "contains" as name]:
            message = None if isinstance(value[name], str) else "expected text"
        case _:
            for name, member in value.items():
                yield from find_matcher_errors(member, (*path, name))
            return
    if message is not None:
        yield path, f"{message}, got {value}"


def _check_regex(pattern: Any) -> str | None:
    try:
        re.compile(pattern)
    # `a{99999999999}` raises `OverflowError`, and deep nesting `RecursionError`.
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        return f"expected a regular expression ({error})"
    return None


def serialize_value(expected: Wanted) -> Any:
    """Return the JSON form of an expected value, as results and reports show it."""
    match expected:
        case Exactly(value):
            return value
        case JsonText(value):
            return {"json": value}
        case SameAs(path):
            return {"same_as": path}
        case Contains(text):
            return {"contains": text}
        case OneOf(options):
            return {"one_of": [serialize_value(option) for option in options]}
        case Fields(fields):
            return {name: serialize_value(member) for name, member in fields.items()}
        case Items(items):
            return [serialize_value(item) for item in items]
        case leaf:
            return expectation.serialize_leaf(leaf)


def _parse_fields(entry: Mapping[str, Any]) -> Fields:
    return Fields({name: parse_value(value) for name, value in entry.items()})
