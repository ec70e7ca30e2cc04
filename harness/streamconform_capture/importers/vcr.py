"""Read vcrpy cassettes, YAML and JSON, with vcrpy's own deserialisers.

vcrpy joins the chunks of a stream, so the bytes are preserved but the chunk boundaries are lost. Its YAML
loader is safe (since 8.2.1, GHSA-rpj2-4hq8-938g). Before it runs, a pass over the parser's events rejects
documents that would need unbounded memory to compose.
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
from streamconform_capture.importers.exchange import ImportedExchange, SkippedExchange

MAX_DEPTH: Final = 64
MAX_EVENTS: Final = 2_000_000
SUFFIXES: Final = (".yaml", ".yml")
RECIPE: Final = "Imported from a vcrpy cassette with `conform import`; content and transfer encodings removed"
BROKEN: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError, yaml.YAMLError)
"""Exceptions that vcrpy raises for files that it did not write."""


def read(path: Path, data: bytes) -> Iterator[ImportedExchange | SkippedExchange]:
    """Yield the exchanges of the cassette in `data`; one that cannot be read becomes a `SkippedExchange`.

    Raises `SourceError` if `data` is not a cassette.
    """
    text = decode_utf8(path, data)
    try:
        if path.suffix in SUFFIXES:
            reject_hostile(path, text)
            requests, responses, *_ = deserialize(text, yamlserializer)
        else:
            requests, responses, *_ = deserialize(text, jsonserializer)
        pairs = list(zip(requests, responses, strict=True))
    except BROKEN as error:
        message = f"not a vcrpy cassette: {describe_error(error)}"
        raise SourceError((Problem(str(path), find_line(error), message),)) from error
    for number, (request, response) in enumerate(pairs, start=1):
        where = f"{path.name}, interaction {number} of {len(pairs)}"
        try:
            yield read_exchange(where, request, response)
        except BROKEN as error:
            yield SkippedExchange(where, describe_error(error))


def decode_utf8(path: Path, data: bytes) -> str:
    """Return a file's text. Raises `SourceError`, with the line number, if a byte is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}"
        raise SourceError((Problem(str(path), data.count(b"\n", 0, error.start) + 1, message),)) from error


def reject_hostile(path: Path, text: str) -> None:
    """Raise `SourceError` if composing the YAML would recurse too deeply or need unbounded memory.

    Anchors alone are allowed, because vcrpy writes them.
    """
    depth = 0
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        # Only a plain `<<` is a merge key; a quoted one is text.
        merge = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]
        message = (
            f"nested deeper than {MAX_DEPTH} levels"
            if depth > MAX_DEPTH
            else "a merge key (`<<`), which vcrpy does not write"
            if merge
            else f"more than {MAX_EVENTS} nodes"
            if count > MAX_EVENTS
            else None
        )
        if message is not None:
            raise SourceError((Problem(str(path), _get_event_line(event), message),))


def _get_event_line(event: yaml.Event) -> int | None:
    return None if event.start_mark is None else event.start_mark.line + 1


def read_exchange(where: str, request: Any, response: Mapping[str, Any]) -> ImportedExchange:
    """Return a request and its response as an exchange. Raises one of `BROKEN` if the form is wrong."""
    old = "status_code" in response  # the format that vcrpy before 6 wrote for httpx
    status = response["status_code"] if old else response["status"]["code"]
    body = _to_bytes(response["content"]) if old else _read_body(response.get("body"))
    # `type`, because `True` is an `int`.
    if type(status) is not int or not 100 <= status <= 599:
        raise ValueError(f"{status!r} is not an HTTP status")
    if body is None:
        raise ValueError("its response has no readable body")
    return ImportedExchange(
        origin=where,
        recipe=RECIPE,
        status=status,
        headers=_read_headers(response.get("headers")),
        body=body,
        url=str(request.uri),
        method=str(request.method).upper(),
        request_headers=_read_headers(request.headers),
        request_body=_to_bytes(request.body),
    )


def _read_body(body: Any) -> bytes | None:
    """Return a response's bytes, stored as text, `!!binary`, or the base64 that betamax and others write."""
    if not isinstance(body, Mapping):
        return _to_bytes(body)
    if isinstance(body.get("base64_string"), str):
        try:
            return base64.b64decode(body["base64_string"], validate=False)
        except binascii.Error as error:
            raise ValueError(f"its `base64_string` is not base64: {error}") from error
    if body.get("encoding") == "base64" and isinstance(body.get("string"), str | bytes):
        return base64.b64decode(body["string"])
    return _to_bytes(body.get("string"))


def _to_bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if hasattr(value, "getvalue"):
        value = value.getvalue()
    return bytes(value) if isinstance(value, bytes | bytearray) else None


def _read_headers(recorded: Any) -> dict[str, str]:
    """Return headers by lower-case name; repeated values are joined with commas, as in HTTP."""
    headers: dict[str, str] = {}
    for name, values in recorded.items() if isinstance(recorded, Mapping) else ():
        texts = values if isinstance(values, list | tuple) else [values]
        headers[str(name).lower()] = ", ".join(
            text.decode("latin-1") if isinstance(text, bytes) else str(text) for text in texts[:8]
        )
    return headers


def find_line(error: BaseException) -> int | None:
    """Return the line number of the YAML error, if the error gives one."""
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark is not None else None


def describe_error(error: BaseException) -> str:
    """Return the first line of the message of `error`, which is one of the `BROKEN` exceptions."""
    if isinstance(error, KeyError):
        return f"missing {error}"
    return (str(error) or type(error).__name__).partition("\n")[0].strip()[:200]
