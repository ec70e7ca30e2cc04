"""Cassettes of vcrpy, YAML and JSON, read with vcrpy's own deserialisers.

vcrpy joins a stream: the bytes are kept, where the network cut them is not. Its YAML loader is a safe one
(since 8.2.1, GHSA-rpj2-4hq8-938g); before it, a pass over the parser's events refuses what would cost
unbounded memory to compose.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from vcr.serialize import deserialize
from vcr.serializers import jsonserializer, yamlserializer

from streamconform.errors import Problem, SourceError
from streamconform.tools.record.importers.exchange import Exchange, Left

MAX_DEPTH: Final = 64
MAX_EVENTS: Final = 2_000_000
SUFFIXES: Final = (".yaml", ".yml")
RECIPE: Final = "conform import of a vcrpy cassette, content coding and framing of HTTP taken off"
BROKEN: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError, yaml.YAMLError)
"""What vcrpy raises on files that it did not write."""


def is_cassette(path: Path, data: bytes) -> bool:
    """Return whether `data` is meant as a vcrpy cassette: YAML, or a JSON object with interactions."""
    if path.suffix in SUFFIXES:
        return True
    return path.suffix == ".json" and data.lstrip()[:1] == b"{" and b'"interactions"' in data


def read(path: Path, data: bytes) -> Iterator[Exchange | Left]:
    """Yield the exchanges of the cassette in `data`, and why one cannot be read.

    Raises `SourceError` where `data` is no cassette.
    """
    text = _text(path, data)
    try:
        if path.suffix in SUFFIXES:
            _refuse_hostile(path, text)
            requests, responses, *_ = deserialize(text, yamlserializer)
        else:
            requests, responses, *_ = deserialize(text, jsonserializer)
        pairs = list(zip(requests, responses, strict=True))
    except BROKEN as error:
        words = f"not a cassette of vcrpy: {_first_line(error)}"
        raise SourceError((Problem(str(path), _line(error), words),)) from error
    for number, (request, response) in enumerate(pairs, start=1):
        where = f"{path.name}, interaction {number} of {len(pairs)}"
        try:
            yield _exchange(where, request, response)
        except BROKEN as error:
            yield Left(where, _first_line(error))


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        words = f"not UTF-8 at byte {error.start}"
        raise SourceError((Problem(str(path), data.count(b"\n", 0, error.start) + 1, words),)) from error


def _refuse_hostile(path: Path, text: str) -> None:
    """Raise where composing would recurse too deep or blow up; anchors by themselves are vcrpy's own."""
    depth = 0
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        merge = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]
        words = (
            f"nested deeper than {MAX_DEPTH} levels"
            if depth > MAX_DEPTH
            else "a merge key (`<<`), which vcrpy does not write"
            if merge
            else f"more than {MAX_EVENTS} nodes"
            if count > MAX_EVENTS
            else None
        )
        if words is not None:
            raise SourceError((Problem(str(path), _line_of(event), words),))


def _line_of(event: yaml.Event) -> int | None:
    return None if event.start_mark is None else event.start_mark.line + 1


def _exchange(where: str, request: Any, response: Mapping[str, Any]) -> Exchange:
    """Return one interaction; httpx was recorded in a form of its own by vcrpy before 6."""
    old = "status_code" in response
    status = response["status_code"] if old else response["status"]["code"]
    body = _bytes(response["content"]) if old else _body(response.get("body"))
    if type(status) is not int or not 100 <= status <= 599:
        raise ValueError(f"{status!r} is no HTTP status")
    if body is None:
        raise ValueError("its response has no body that can be read")
    return Exchange(
        origin=where,
        recipe=RECIPE,
        status=status,
        headers=_headers(response.get("headers")),
        body=body,
        url=str(request.uri),
        method=str(request.method).upper(),
        request_headers=_headers(request.headers),
        request_body=_bytes(request.body),
    )


def _body(body: Any) -> bytes | None:
    """Return the bytes of a response: text, `!!binary`, or base64 as betamax and other VCRs write it."""
    if not isinstance(body, Mapping):
        return _bytes(body)
    if isinstance(body.get("base64_string"), str):
        try:
            return base64.b64decode(body["base64_string"], validate=False)
        except binascii.Error as error:
            raise ValueError(f"its `base64_string` is not base64: {error}") from error
    if body.get("encoding") == "base64" and isinstance(body.get("string"), str | bytes):
        return base64.b64decode(body["string"])
    return _bytes(body.get("string"))


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if hasattr(value, "getvalue"):
        value = value.getvalue()
    return bytes(value) if isinstance(value, bytes | bytearray) else None


def _headers(given: Any) -> dict[str, str]:
    """Return headers by lower-case name; several values of one are joined as HTTP joins them."""
    found: dict[str, str] = {}
    for name, values in given.items() if isinstance(given, Mapping) else ():
        texts = values if isinstance(values, list | tuple) else [values]
        joined = ", ".join(
            each.decode("latin-1") if isinstance(each, bytes) else str(each) for each in texts[:8]
        )
        found[str(name).lower()] = joined
    return found


def _line(error: BaseException) -> int | None:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark is not None else None


def _first_line(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return (str(error) or type(error).__name__).partition("\n")[0].strip()[:200]
