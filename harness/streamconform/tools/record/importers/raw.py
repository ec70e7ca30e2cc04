"""Read a response body from a file: the output of `curl -N` or `curl -iN`, or one payload per line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.tools.record.importers.exchange import ImportedExchange
from streamconform.wire.reframe import NotPayloadError, restore_framing

STATUS_LINE: Final = re.compile(rb"HTTP/[0-9.]+ ([1-5][0-9]{2})(?: [^\r\n]*)?\r?\n")
HEADER_END: Final = re.compile(rb"\r?\n\r?\n")
CHUNK_SIZE: Final = re.compile(rb"[0-9A-Fa-f]{1,8}\r\n")
PAYLOADS: Final = ".jsonl"
MAX_HEADS: Final = 20
"""Limit of response heads before the body: `100 Continue`, a proxy's response to CONNECT, redirects."""


def read(path: Path, data: bytes, api: str) -> ImportedExchange:
    """Return the exchange in `data`; raise `SourceError` if it cannot be parsed."""
    if path.suffix == PAYLOADS:
        return _read_payloads(path, data, api)
    status, headers, body = _split_head(path, data)
    if headers.get("transfer-encoding", "").lower() == "chunked" and CHUNK_SIZE.match(body):
        raise _make_error(
            path, "the body still has HTTP's chunked transfer encoding; record it without `curl --raw`"
        )
    form = "with its headers (`curl -i`)" if headers else "without headers"
    return ImportedExchange(
        origin=path.name,
        recipe=f"conform import of a body {form}",
        status=status,
        headers=headers,
        body=body,
    )


def _read_payloads(path: Path, data: bytes, api: str) -> ImportedExchange:
    try:
        body = restore_framing(data, APIS[api].write)
    except NotPayloadError as error:
        raise _make_error(path, str(error)) from error
    return ImportedExchange(
        origin=path.name,
        recipe=f"conform import of one payload per line, with the framing of {api} restored",
        body=body,
    )


def _split_head(path: Path, data: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body; if there are several heads, the last one is used."""
    status, headers = 200, dict[str, str]()
    for _ in range(MAX_HEADS):
        line = STATUS_LINE.match(data)
        if line is None:
            return status, headers, data
        end = HEADER_END.search(data, line.end() - 2)
        if end is None:
            raise _make_error(path, "no empty line after the headers")
        status = int(line[1])
        headers = _parse_headers(data[line.end() : end.start()])
        data = data[end.end() :]
    raise _make_error(path, f"more than {MAX_HEADS} response heads before the body")


def _parse_headers(block: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in block.split(b"\n"):
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            key = name.strip().lower()
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return headers


def _make_error(path: Path, message: str) -> SourceError:
    return SourceError((Problem(str(path), None, message),))
