"""Read flows that mitmproxy saved: a sequence of tnetstrings (https://tnetstrings.info/).

A value consists of its length, a colon, its bytes, and a character for its type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform_capture.importers.exchange import (
    Entry,
    ImportedExchange,
    NotImportable,
    SkippedExchange,
    join_headers,
    require,
    to_text,
)

RECIPE: Final = "Imported from mitmproxy flows with `conform import`; transfer encoding removed"
LENGTH: Final = re.compile(rb"(\d{1,9}):")
# A flow is a dictionary, so the length of its first key follows the flow's own length.
START: Final = re.compile(rb"\d{1,9}:\d{1,9}:")
MAX_DEPTH: Final = 32
MAX_NODES: Final = 1_000_000
"""The maximum number of values in a file; a flow has about 150."""
MAX_DIGITS: Final = 400
"""The maximum length of a number; the largest float has 309 digits."""


def is_flows(data: bytes) -> bool:
    """Return whether `data` should be read as flows."""
    return START.match(data) is not None


def read(path: Path, data: bytes) -> Iterator[Entry | SkippedExchange]:
    """Yield the exchanges in `data`'s flows; those after a malformed value cannot be found.

    Raises `SourceError` if the first flow is malformed.
    """
    reader = _Reader(data)
    position, number = 0, 0
    while position < len(data):
        number += 1
        where = f"{path.name}, flow {number}"
        try:
            flow, end = reader.read_value(position, len(data), 0)
        except ValueError as error:
            if number == 1:
                raise SourceError((Problem(str(path), None, f"flow 1 is broken: {error}"),)) from error
            left = len(data) - position
            yield SkippedExchange(where, f"it is broken, so the last {left} bytes are not read: {error}")
            return
        yield Entry(where, partial(_read_flow, where, flow))
        position = end


def _read_flow(where: str, flow: Any) -> ImportedExchange:
    kind = to_text(require(flow, dict, "the flow").get("type"), "its type")
    if kind != "http":
        raise NotImportable(f"a flow of type {kind}")
    request = require(flow.get("request"), dict, "its request")
    response = flow.get("response")
    if response is None or require(response, dict, "its response").get("content") is None:
        raise NotImportable("it has no response")
    scheme, host, target, method = (
        to_text(request.get(key), f"its {key}") for key in ("scheme", "host", "path", "method")
    )
    return ImportedExchange(
        origin=where,
        recipe=RECIPE,
        status=require(response.get("status_code"), int, "its status"),
        headers=_read_headers(response),
        body=response["content"],
        url=f"{scheme}://{host}{target}",
        method=method.upper(),
        request_headers=_read_headers(request),
        request_body=request.get("content"),
    )


def _read_headers(message: Mapping[str, Any]) -> dict[str, str]:
    pairs = [require(pair, list, "a header") for pair in require(message.get("headers"), list, "`headers`")]
    if any(len(pair) != 2 for pair in pairs):
        raise NotImportable("a header is not a name and a value")
    return join_headers((name, value) for name, value in pairs)


class _Reader:
    """Parses the values in `data`, up to a number of them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._count = 0

    def read_value(self, start: int, end: int, depth: int) -> tuple[Any, int]:
        """Return the value between `start` and `end`, and the offset after it. Raises `ValueError`."""
        length = LENGTH.match(self._data, start, end)
        self._count += 1
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        if self._count > MAX_NODES:
            raise ValueError(f"more than {MAX_NODES} values")
        if length is None:
            raise ValueError(f"no length at byte {start}")
        first = length.end()
        last = first + int(length[1])
        if last >= end:
            raise ValueError(f"the value at byte {start} is longer than the file")
        return self._convert(first, last, depth), last + 1

    def _convert(self, first: int, last: int, depth: int) -> Any:
        # Containers are parsed in place: a copy at each level would cost their size times their depth.
        content = self._data[first:last] if self._data[last] not in b"]}" else b""
        match self._data[last : last + 1]:
            case b",":
                return content
            case b";":
                return content.decode("utf-8", "replace")
            case b"#" if len(content) <= MAX_DIGITS:
                return int(content)
            case b"^" if len(content) <= MAX_DIGITS:
                return float(content)
            case b"!":
                return content == b"true"
            case b"~":
                return None
            case b"]":
                return [*self._read_items(first, last, depth)]
            case b"}":
                items = [*self._read_items(first, last, depth)]
                keys = [to_text(key, "a key") for key in items[::2]]
                return dict(zip(keys, items[1::2], strict=True))
            case other:
                raise ValueError(f"unknown type {other!r} at byte {last}")

    def _read_items(self, position: int, end: int, depth: int) -> Iterator[Any]:
        while position < end:
            value, position = self.read_value(position, end + 1, depth + 1)
            yield value
