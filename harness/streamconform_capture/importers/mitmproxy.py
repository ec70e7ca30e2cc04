"""Read flows that mitmproxy saved: a sequence of tnetstrings (https://tnetstrings.info/).

A value consists of its length, a colon, its bytes, and a character for its type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform_capture.importers.exchange import ImportedExchange, SkippedExchange

RECIPE: Final = "Imported from mitmproxy flows with `conform import`; transfer encoding removed"
LENGTH: Final = re.compile(rb"(\d{1,9}):")
# A flow is a dictionary, so the length of its first key follows the flow's own length.
START: Final = re.compile(rb"\d{1,9}:\d{1,9}:")
MAX_DEPTH: Final = 32
BROKEN: Final = (ValueError, KeyError, TypeError, AttributeError)


def is_flows(data: bytes) -> bool:
    """Return whether `data` should be read as flows."""
    return START.match(data) is not None


def read(path: Path, data: bytes) -> Iterator[ImportedExchange | SkippedExchange]:
    """Yield the exchanges in `data`'s flows. Raises `SourceError` if a value is malformed."""
    position, number = 0, 0
    while position < len(data):
        number += 1
        where = f"{path.name}, flow {number}"
        try:
            flow, position = _read_value(data, position, len(data), 0)
        except ValueError as error:
            raise SourceError((Problem(str(path), None, f"flow {number} is broken: {error}"),)) from error
        try:
            yield _read_flow(where, flow)
        except BROKEN as error:
            yield SkippedExchange(where, f"not a mitmproxy flow: {error}")


def _read_flow(where: str, flow: Mapping[str, Any]) -> ImportedExchange | SkippedExchange:
    if _to_text(flow.get("type")) != "http":
        return SkippedExchange(where, f"a flow of type {_to_text(flow.get('type'))}")
    request, response = flow["request"], flow.get("response")
    if response is None or response.get("content") is None:
        return SkippedExchange(where, "it has no response")
    return ImportedExchange(
        origin=where,
        recipe=RECIPE,
        status=int(response["status_code"]),
        headers=_read_headers(response),
        body=bytes(response["content"]),
        url=f"{_to_text(request['scheme'])}://{_to_text(request['host'])}{_to_text(request['path'])}",
        method=_to_text(request["method"]).upper(),
        request_headers=_read_headers(request),
        request_body=request.get("content"),
    )


def _read_headers(message: Mapping[str, Any]) -> dict[str, str]:
    """Return headers keyed by lower-case name; repeated values are joined with commas, as in HTTP."""
    headers: dict[str, str] = {}
    for pair in message["headers"]:
        name, value = _to_text(pair[0]).lower(), _to_text(pair[1])
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _to_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _read_value(data: bytes, start: int, end: int, depth: int) -> tuple[Any, int]:
    """Return the value between `start` and `end`, and the offset after it. Raises `ValueError`."""
    length = LENGTH.match(data, start, end)
    if length is None or depth > MAX_DEPTH:
        raise ValueError(f"no length at byte {start}" if depth <= MAX_DEPTH else "nested too deeply")
    first = length.end()
    last = first + int(length[1])
    if last >= end:
        raise ValueError(f"the value at byte {start} is longer than the file")
    return _convert(data, first, last, depth), last + 1


def _convert(data: bytes, first: int, last: int, depth: int) -> Any:
    # Containers are parsed in place: a copy at each level would cost their size times their depth.
    content = data[first:last] if data[last] not in b"]}" else b""
    match data[last : last + 1]:
        case b",":
            return content
        case b";":
            return content.decode("utf-8", "replace")
        case b"#":
            return int(content)
        case b"^":
            return float(content)
        case b"!":
            return content == b"true"
        case b"~":
            return None
        case b"]":
            return [*_read_items(data, first, last, depth)]
        case b"}":
            items = [*_read_items(data, first, last, depth)]
            return {_to_text(key): value for key, value in zip(items[::2], items[1::2], strict=True)}
        case other:
            raise ValueError(f"unknown type {other!r} at byte {last}")


def _read_items(data: bytes, position: int, end: int, depth: int) -> Iterator[Any]:
    while position < end:
        value, position = _read_value(data, position, end + 1, depth + 1)
        yield value
