"""A request against what is wanted of it: a check for every leaf and every path that must not be. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.judge.compare import FAILED
from streamconform.judge.match import fits, same
from streamconform.judge.request_ids import repeated
from streamconform.model.case import Level
from streamconform.model.leaf import Leaf
from streamconform.model.request import Exactly, Fields, Items, JsonText, RequestExpectation, SameAs, Wanted
from streamconform.model.verdict import Check
from streamconform.suite.request_expectation import serialize_value

UNIQUE: Final = "invariant.unique-ids"
ABSENT: Final = object()
FOUND_MAX: Final = 5
"""Places that one path with `*` names in a message."""
MAX_DEPTH: Final = 128
"""Of a body; what compares it calls itself for every level."""


def compare_request(api: str, expect: RequestExpectation, got: Any, level: Level) -> Iterator[Check]:
    """Yield a check for everything that `expect` asks of `got`, `{"body": {…}, "headers": {…}, "path": "…"}`.

    Paths begin with `body` or `headers`, or are `path`. A list that is longer or shorter than wanted is one
    check, at its `length`; the items that both have are compared none the less. Whatever is expected, no two
    calls may have one id.
    """
    told = got if isinstance(got, Mapping) else {}
    body = told.get("body")
    if not isinstance(body, Mapping):
        words = 'what was returned is no request: {"body": {…}, "headers": {…}} is'
        yield Check(path="body", level=level, verdict=FAILED[level], expected={}, got=body, message=words)
        return
    if _deeper(body):
        words = f"it is nested deeper than {MAX_DEPTH} levels, which no provider takes"
        yield Check(path="body", level=level, verdict=FAILED[level], message=words)
        return
    form = APIS[api].requests
    sent = form.canonical(dict(body))
    yield from _compare("body", expect.must, sent, level, sent)
    yield from _compare("body", expect.may, sent, "may", sent)
    for path in expect.must_not:
        yield _not_there(path, sent, level)
    headers = told.get("headers")
    named = {str(k).lower(): v for k, v in headers.items()} if isinstance(headers, Mapping) else {}
    for name, leaf in expect.headers.items():
        yield _leaf(f"headers.{name}", leaf, named.get(name, ABSENT), level)
    if expect.path is not None:
        yield _leaf("path", expect.path, told.get("path", ABSENT), level)
    twice = repeated(form.call_ids, sent)
    yield Check(path=UNIQUE, level=level, verdict="pass" if twice is None else FAILED[level], message=twice)


def paths_of(expect: RequestExpectation) -> Iterator[str]:
    """Yield the path of every check that a request may get."""
    yield "body"
    for fields in (expect.must, expect.may):
        yield from _paths("body", fields)
    yield from (f"body.{path}" for path in expect.must_not)
    yield from (f"headers.{name}" for name in expect.headers)
    if expect.path is not None:
        yield "path"
    yield UNIQUE


def _paths(path: str, want: Wanted) -> Iterator[str]:
    yield path
    match want:
        case Fields(fields):
            for name, each in fields.items():
                yield from _paths(f"{path}.{name}", each)
        case Items(items):
            yield f"{path}.length"
            for i, each in enumerate(items):
                yield from _paths(f"{path}.{i}", each)
        case _:
            pass


def _deeper(body: Mapping[str, Any]) -> bool:
    level: list[Any] = [body]
    for _ in range(MAX_DEPTH):
        level = [each for value in level for each in _members(value).values()]
    return bool(level)


def _compare(path: str, want: Wanted, got: Any, level: Level, body: Mapping[str, Any]) -> Iterator[Check]:
    match want:
        case Fields(fields) if isinstance(got, Mapping):
            for name, each in fields.items():
                yield from _compare(f"{path}.{name}", each, got.get(name, ABSENT), level, body)
        case Items(items) if isinstance(got, Sequence) and not isinstance(got, str):
            lengths = Check(path=f"{path}.length", level=level, verdict="pass", got=len(got))
            if len(items) != len(got):
                lengths = Check(
                    path=lengths.path, level=level, verdict=FAILED[level], expected=len(items), got=len(got)
                )
            yield lengths
            for i, (each, there) in enumerate(zip(items, got, strict=False)):
                yield from _compare(f"{path}.{i}", each, there, level, body)
        case SameAs(where):
            yield _same_as(path, where, got, level, body)
        case Exactly() | JsonText() | Fields() | Items():
            yield _check(path, want, got, level, holds=_holds(want, got))
        case leaf:
            yield _leaf(path, leaf, got, level)


def _holds(want: Exactly | JsonText | Fields | Items, got: Any) -> bool:
    if isinstance(want, Exactly):
        return got is not ABSENT and same(want.value, got)
    if not isinstance(want, JsonText) or not isinstance(got, str):
        return False  # an object or a list that is none
    try:
        return same(want.value, json.loads(got))
    except (ValueError, RecursionError):
        return False


def _leaf(path: str, leaf: Leaf, got: Any, level: Level) -> Check:
    return _check(path, leaf, got, level, holds=fits(leaf, None if got is ABSENT else got))


def _same_as(path: str, where: str, got: Any, level: Level, body: Mapping[str, Any]) -> Check:
    there = next((value for _, value in _places(where.split("."), body, ())), ABSENT)
    if there is not ABSENT and got is not ABSENT and same(there, got):
        return Check(path=path, level=level, verdict="pass", got=got)
    return Check(
        path=path,
        level=level,
        verdict=FAILED[level],
        expected=None if there is ABSENT else there,
        got=None if got is ABSENT else got,
        message=f"nothing stands at body.{where}, which it has to be" if there is ABSENT else _unsent(got),
    )


def _check(path: str, want: Wanted, got: Any, level: Level, *, holds: bool) -> Check:
    if holds:
        return Check(path=path, level=level, verdict="pass", got=None if got is ABSENT else got)
    return Check(
        path=path,
        level=level,
        verdict=FAILED[level],
        expected=serialize_value(want),
        got=None if got is ABSENT else got,
        message=_unsent(got),
    )


def _unsent(got: Any) -> str | None:
    return "it is not sent" if got is ABSENT else None


def _not_there(path: str, body: Mapping[str, Any], level: Level) -> Check:
    found = [where for where, _ in _places(path.split("."), body, ())]
    if not found:
        return Check(path=f"body.{path}", level=level, verdict="pass")
    named = ", ".join(found[:FOUND_MAX])
    value = next(value for _, value in _places(path.split("."), body, ()))
    return Check(
        path=f"body.{path}",
        level=level,
        verdict=FAILED[level],
        expected={"present": False},
        got=value,
        message=f"it must not be sent: {named}",
    )


def _places(parts: Sequence[str], value: Any, at: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield every place that a path names, and what is there."""
    if not parts:
        yield ".".join(at), value
        return
    for name, each in _members(value).items():
        if parts[0] in ("*", name):
            yield from _places(parts[1:], each, (*at, name))


def _members(value: Any) -> Mapping[str, Any]:
    """Return what an object or a list holds, by key or index."""
    if isinstance(value, Mapping):
        return value
    return {str(i): each for i, each in enumerate(value)} if isinstance(value, list) else {}
