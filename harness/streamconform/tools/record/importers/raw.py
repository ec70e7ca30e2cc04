"""Bodies as files: what `curl -N` printed, with `-i` its headers in front; or payloads, one a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.tools.record.importers.exchange import Exchange
from streamconform.wire.reframe import NotPayloadError, restore_framing

STATUS_LINE: Final = re.compile(rb"HTTP/[0-9.]+ ([1-5][0-9]{2})(?: [^\r\n]*)?\r?\n")
HEADER_END: Final = re.compile(rb"\r?\n\r?\n")
CHUNK_SIZE: Final = re.compile(rb"[0-9A-Fa-f]{1,8}\r\n")
PAYLOADS: Final = ".jsonl"
MAX_HEADS: Final = 20
"""Responses in front of the last one: `100 Continue`, a proxy's answer to CONNECT, redirects."""


def read(path: Path, data: bytes, api: str) -> Exchange:
    """Return the exchange in `data`; raises `SourceError` where it is none."""
    if path.suffix == PAYLOADS:
        return _payloads(path, data, api)
    status, headers, body = _head(path, data)
    if headers.get("transfer-encoding", "").lower() == "chunked" and CHUNK_SIZE.match(body):
        words = "the body is still in HTTP's chunked framing; record it without `curl --raw`"
        raise _wrong(path, words)
    how = "with its headers (`curl -i`)" if headers else "without headers"
    return Exchange(
        origin=path.name,
        recipe=f"conform import of a body {how}",
        status=status,
        headers=headers,
        body=body,
    )


def _payloads(path: Path, data: bytes, api: str) -> Exchange:
    try:
        body = restore_framing(data, APIS[api].write)
    except NotPayloadError as error:
        raise _wrong(path, str(error)) from error
    return Exchange(
        origin=path.name,
        recipe=f"conform import of payloads, one a line, put back into the framing of {api}",
        body=body,
    )


def _head(path: Path, data: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body; the last head counts where several stand in front."""
    status, headers = 200, dict[str, str]()
    for _ in range(MAX_HEADS):
        line = STATUS_LINE.match(data)
        if line is None:
            return status, headers, data
        end = HEADER_END.search(data, line.end() - 2)
        if end is None:
            raise _wrong(path, "the headers do not end: no empty line follows them")
        status = int(line[1])
        headers = _headers(data[line.end() : end.start()])
        data = data[end.end() :]
    raise _wrong(path, f"more than {MAX_HEADS} heads of responses in front of the body")


def _headers(block: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in block.split(b"\n"):
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            key = name.strip().lower()
            found[key] = f"{found[key]}, {value.strip()}" if key in found else value.strip()
    return found


def _wrong(path: Path, words: str) -> SourceError:
    return SourceError((Problem(str(path), None, words),))
