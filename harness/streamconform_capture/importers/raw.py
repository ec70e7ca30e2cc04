"""Read a response body from a file: the output of `curl -N` or `curl -iN`, or one payload per line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.wire.reframe import NotPayloadError, restore_framing
from streamconform_capture.importers.detect import detect_apis_of_payload
from streamconform_capture.importers.exchange import ImportedExchange, encode_text, join_headers

STATUS_LINE: Final = re.compile(rb"HTTP/[0-9.]+ ([1-5][0-9]{2})(?: [^\r\n]*)?\r?\n")
HEADER_END: Final = re.compile(rb"\r?\n\r?\n")
CHUNK_SIZE: Final = re.compile(rb"[0-9A-Fa-f]{1,8}\r\n")
PAYLOADS: Final = ".jsonl"
MAX_HEADS: Final = 20
"""The maximum number of heads before the body: `100 Continue`, a proxy's answer to CONNECT, redirects."""


def read(path: Path, data: bytes, api: str | None) -> ImportedExchange:
    """Return the exchange in `data`. Raises `SourceError` if it cannot be parsed.

    For a file of payloads, the API is detected from the first line, unless `api` is given.
    """
    first = _read_first_line(data) if path.suffix == PAYLOADS else None
    if isinstance(first, str):
        return _join_texts(path, data)
    if path.suffix == PAYLOADS:
        return _read_payloads(path, data, api or _detect_api(path, first))
    status, headers, body = _split_head(path, data)
    # curl writes this header even if it has removed the encoding, so the bytes are examined too.
    if headers.get("transfer-encoding", "").lower() == "chunked" and CHUNK_SIZE.match(body):
        raise _make_error(
            path, "the body still has HTTP's chunked transfer encoding; record it without `curl --raw`"
        )
    form = "with its headers (`curl -i`)" if headers else "without headers"
    return ImportedExchange(
        origin=path.name,
        recipe=f"Imported with `conform import` from a body {form}",
        status=status,
        headers=headers,
        body=body,
    )


def _read_first_line(data: bytes) -> Any:
    """Return the first non-empty line as JSON; None if it is not JSON."""
    try:
        return json.loads(data.lstrip().partition(b"\n")[0])
    except (ValueError, RecursionError):
        return None


def _detect_api(path: Path, payload: Any) -> str:
    found = detect_apis_of_payload(payload) if isinstance(payload, dict) else ()
    if len(found) != 1:
        like = f" (it looks like {' or '.join(found)})" if found else ""
        message = f"cannot detect the API from the first payload{like}; pass --api, one of {', '.join(APIS)}"
        raise _make_error(path, message)
    return found[0]


def _join_texts(path: Path, data: bytes) -> ImportedExchange:
    """Join the lines, each a JSON string, into a body; some npm packages save chunks in this form."""
    pieces: list[str] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            piece = json.loads(line)
        except (ValueError, RecursionError):
            piece = None
        if not isinstance(piece, str):
            raise _make_error(path, f"line {number} is not a JSON string, unlike the first line")
        pieces.append(piece)
    return ImportedExchange(
        origin=path.name,
        recipe="Imported with `conform import` from chunks, one JSON string per line",
        body=encode_text("".join(pieces)),
    )


def _read_payloads(path: Path, data: bytes, api: str) -> ImportedExchange:
    try:
        body = restore_framing(data, APIS[api].write)
    except NotPayloadError as error:
        raise _make_error(path, str(error)) from error
    return ImportedExchange(
        origin=path.name,
        recipe=f"Imported with `conform import` from one payload per line, with the {api} framing restored",
        body=body,
    )


def _split_head(path: Path, data: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return the status, headers and body; if there are several heads, the last one is used."""
    status, headers = 200, dict[str, str]()
    for _ in range(MAX_HEADS):
        line = STATUS_LINE.match(data)
        if line is None:
            return status, headers, data
        # From the status line's own line end, because the head may have no headers.
        end = HEADER_END.search(data, line.end() - 2)
        if end is None:
            raise _make_error(path, "no empty line after the headers")
        status = int(line[1])
        headers = _parse_headers(data[line.end() : end.start()])
        data = data[end.end() :]
    raise _make_error(path, f"more than {MAX_HEADS} response heads before the body")


def _parse_headers(block: bytes) -> dict[str, str]:
    lines = (line.partition(b":") for line in block.split(b"\n"))
    return join_headers((name.strip(), value.strip()) for name, colon, value in lines if colon)


def _make_error(path: Path, message: str) -> SourceError:
    return SourceError((Problem(str(path), None, message),))
