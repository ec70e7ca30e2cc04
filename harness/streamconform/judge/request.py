"""Compare a request with its expectation: one check per leaf and per path that must be absent. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import Struct

from streamconform.apis import APIS
from streamconform.judge.compare import FAILED_VERDICT, check_rule
from streamconform.judge.match import is_equal, matches_leaf
from streamconform.judge.request_ids import find_repeated_ids
from streamconform.model.case import Level
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
from streamconform.model.trial import lower_level
from streamconform.model.verdict import Check
from streamconform.suite.request_expectation import serialize_value

UNIQUE_IDS_PATH: Final = "invariant.unique-ids"
# Not None, because a member sent as null differs from an absent member.
_ABSENT: Final = object()
_NOT_SENT: Final = "not sent"
_MAX_LOCATIONS: Final = 5
"""The maximum number of locations to list in a message for a path with `*`."""
_MAX_DEPTH: Final = 128
"""The maximum nesting depth of a body, because the comparison is recursive."""


def compare_request(api: str, expect: RequestExpectation, got: Any, level: Level) -> Iterator[Check]:
    """Yield the checks on `got`, a request of the form `{"body": {…}, "headers": {…}, "path": "…"}`.

    Check paths begin with `body` or `headers`, or are `path`. A wrong length fails one check, at the list's
    `length`; the items that are in both lists are still compared. In every case, no two calls may share an
    id.
    """
    request = got if isinstance(got, Mapping) else {}
    body = request.get("body")
    if not isinstance(body, Mapping):
        message = 'the adapter returned no request; expected {"body": {…}, "headers": {…}}'
        yield check_rule("body", level, message, expected={}, got=body)
        return
    if _is_too_deep(body):
        message = f"the body is nested deeper than {_MAX_DEPTH} levels, which no provider accepts"
        yield check_rule("body", level, message)
        return
    # Cases compare meaning, so equivalent spellings of a body are normalized before the comparison.
    form = APIS[api].requests
    canonical = form.canonical(dict(body))
    headers = request.get("headers")
    # HTTP header names are case-insensitive.
    lowered = {str(k).lower(): v for k, v in headers.items()} if isinstance(headers, Mapping) else {}
    sent = Sent(canonical, lowered, request.get("path", _ABSENT))
    yield from _compare_parts(expect, sent, level)
    alternative = next((each for each in expect.when if _applies(each, sent)), None)
    if alternative is not None:
        note = _describe_conditions(alternative, sent)
        yield from (_add_note(check, note) for check in _compare_parts(alternative.expect, sent, level))
    yield check_rule(UNIQUE_IDS_PATH, level, find_repeated_ids(form.call_ids, canonical))


class Sent(Struct, frozen=True):
    """A request as it was sent, with its body in canonical form."""

    body: Mapping[str, Any]
    headers: Mapping[str, Any]
    """By lower-case name."""
    path: Any


def _compare_parts(expect: RequestExpectation, sent: Sent, level: Level) -> Iterator[Check]:
    yield from _compare_value("body", expect.must, sent.body, level, sent.body)
    yield from _compare_value("body", expect.should, sent.body, lower_level(level, "should"), sent.body)
    yield from _compare_value("body", expect.may, sent.body, "may", sent.body)
    for path in expect.must_not:
        yield _check_absent(path, sent.body, level)
    for name, leaf in expect.headers.items():
        yield _check_leaf(f"headers.{name}", leaf, sent.headers.get(name, _ABSENT), level)
    if expect.path is not None:
        yield _check_leaf("path", expect.path, sent.path, level)


def _applies(alternative: Alternative, sent: Sent) -> bool:
    path = None if sent.path is _ABSENT else sent.path
    return (alternative.path is None or matches_leaf(alternative.path, path)) and all(
        matches_leaf(leaf, sent.headers.get(name)) for name, leaf in alternative.headers.items()
    )


def _describe_conditions(alternative: Alternative, sent: Sent) -> str:
    """Return what the client sent, as far as it chose the alternative; empty if there is no condition."""
    named = [f"`{name}: {sent.headers.get(name, '')}`" for name in alternative.headers]
    if alternative.path is not None:
        named.append(f"`{sent.path}`")
    return f"in a request with {' and '.join(named)}" if named else ""


def _add_note(check: Check, note: str) -> Check:
    """Return the check with the note, if its message is a sentence about what was sent."""
    if not note or check.message in (None, _NOT_SENT):
        return check
    return replace(check, message=f"{check.message} ({note})")


def list_check_paths(expect: RequestExpectation) -> Iterator[str]:
    """Yield the path of every check that may be made on a request."""
    yield "body"
    yield UNIQUE_IDS_PATH
    for part in (expect, *(alternative.expect for alternative in expect.when)):
        for fields in (part.must, part.should, part.may):
            yield from _list_paths("body", fields)
        yield from (f"body.{path}" for path in part.must_not)
        yield from (f"headers.{name}" for name in part.headers)
        if part.path is not None:
            yield "path"


def _list_paths(path: str, expected: Wanted) -> Iterator[str]:
    yield path
    match expected:
        case Fields(fields):
            for name, member in fields.items():
                yield from _list_paths(f"{path}.{name}", member)
        case Items(items):
            yield f"{path}.length"
            for i, item in enumerate(items):
                yield from _list_paths(f"{path}.{i}", item)
        case _:
            pass


def _is_too_deep(body: Mapping[str, Any]) -> bool:
    # Level by level, because recursion would fail on the very bodies that this function must detect.
    values: list[Any] = [body]
    for _ in range(_MAX_DEPTH):
        values = [member for value in values for member in _list_members(value).values()]
    return bool(values)


def _compare_value(
    path: str, expected: Wanted, got: Any, level: Level, body: Mapping[str, Any]
) -> Iterator[Check]:
    match expected:
        case Fields(fields) if isinstance(got, Mapping):
            for name, member in fields.items():
                yield from _compare_value(f"{path}.{name}", member, got.get(name, _ABSENT), level, body)
        case Items(items) if isinstance(got, Sequence) and not isinstance(got, str):
            if len(items) == len(got):
                yield Check(path=f"{path}.length", level=level, verdict="pass", got=len(got))
            else:
                yield Check(
                    path=f"{path}.length",
                    level=level,
                    verdict=FAILED_VERDICT[level],
                    expected=len(items),
                    got=len(got),
                )
            for i, (item, value) in enumerate(zip(items, got, strict=False)):
                yield from _compare_value(f"{path}.{i}", item, value, level, body)
        case SameAs(other_path):
            yield _check_same_as(path, other_path, got, level, body)
        case OneOf(options):
            holds = any(_meets(path, option, got, body) for option in options)
            yield _make_check(path, expected, got, level, holds=holds)
        case Contains(text):
            yield _make_check(path, expected, got, level, holds=_contains(got, text))
        case Exactly() | JsonText() | Fields() | Items():
            yield _make_check(path, expected, got, level, holds=_matches_value(expected, got))
        case leaf:
            yield _check_leaf(path, leaf, got, level)


def _meets(path: str, expected: Wanted, got: Any, body: Mapping[str, Any]) -> bool:
    checks = _compare_value(path, expected, got, "must", body)
    return all(check.verdict == "pass" for check in checks)


def _contains(value: Any, text: str) -> bool:
    members = _list_members(value).values()
    return any(text in member if isinstance(member, str) else _contains(member, text) for member in members)


def _matches_value(expected: Exactly | JsonText | Fields | Items, got: Any) -> bool:
    if isinstance(expected, Exactly):
        return got is not _ABSENT and is_equal(expected.value, got)
    if not isinstance(expected, JsonText) or not isinstance(got, str):
        return False  # an object or a list was expected, and `got` is neither
    try:
        return is_equal(expected.value, json.loads(got))
    # The client's text need not be JSON, and JSON may be nested deeper than the parser can follow.
    except (ValueError, RecursionError):
        return False


def _check_leaf(path: str, leaf: Leaf, got: Any, level: Level) -> Check:
    return _make_check(path, leaf, got, level, holds=matches_leaf(leaf, None if got is _ABSENT else got))


def _check_same_as(path: str, other_path: str, got: Any, level: Level, body: Mapping[str, Any]) -> Check:
    other = next((value for _, value in _find_locations(other_path.split("."), body, ())), _ABSENT)
    if other is not _ABSENT and got is not _ABSENT and is_equal(other, got):
        return Check(path=path, level=level, verdict="pass", got=got)
    missing = f"body.{other_path}, which it must equal, is missing"
    return Check(
        path=path,
        level=level,
        verdict=FAILED_VERDICT[level],
        expected=None if other is _ABSENT else other,
        got=None if got is _ABSENT else got,
        message=missing if other is _ABSENT else _describe_absence(got),
    )


def _make_check(path: str, expected: Wanted, got: Any, level: Level, *, holds: bool) -> Check:
    if holds:
        return Check(path=path, level=level, verdict="pass", got=None if got is _ABSENT else got)
    return Check(
        path=path,
        level=level,
        verdict=FAILED_VERDICT[level],
        expected=serialize_value(expected),
        got=None if got is _ABSENT else got,
        message=_describe_absence(got),
    )


def _describe_absence(got: Any) -> str | None:
    return _NOT_SENT if got is _ABSENT else None


def _check_absent(path: str, body: Mapping[str, Any], level: Level) -> Check:
    locations = [*_find_locations(path.split("."), body, ())]
    if not locations:
        return Check(path=f"body.{path}", level=level, verdict="pass")
    names = ", ".join(location for location, _ in locations[:_MAX_LOCATIONS])
    message = f"must not be sent: {names}"
    return check_rule(f"body.{path}", level, message, expected={"present": False}, got=locations[0][1])


def _find_locations(steps: Sequence[str], value: Any, location: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield every location that a path with `*` matches, along with the value there."""
    if not steps:
        yield ".".join(location), value
        return
    for name, member in _list_members(value).items():
        if steps[0] in ("*", name):
            yield from _find_locations(steps[1:], member, (*location, name))


def _list_members(value: Any) -> Mapping[str, Any]:
    """Return an object's members by key, or a list's items by index."""
    if isinstance(value, Mapping):
        return value
    return {str(i): item for i, item in enumerate(value)} if isinstance(value, list) else {}
