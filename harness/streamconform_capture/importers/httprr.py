"""Read traces from Go's httprr: a header line, then exchanges (two lengths, a request and a response).

Requests and responses are stored as they were on the wire
(https://pkg.go.dev/golang.org/x/oscar/internal/httprr), so a response may use chunked transfer encoding.
Its chunk boundaries differ from those of network reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import h11

from streamconform.errors import Problem, SourceError
from streamconform_capture.importers.exchange import (
    Entry,
    ImportedExchange,
    NotImportable,
    SkippedExchange,
    join_headers,
)

FIRST_LINE: Final = re.compile(rb"httprr trace v1\r?\n")
LENGTHS: Final = re.compile(rb"(\d{1,12}) (\d{1,12})\r?\n")
HTTP2: Final = re.compile(rb"HTTP/2(?:\.0)?(?=[ \r])")
RECIPE: Final = "Imported from an httprr trace with `conform import`; transfer encoding removed"
MAX_HEAD: Final = 1024 * 1024


def is_trace(data: bytes) -> bool:
    """Return whether `data` should be read as a trace."""
    return FIRST_LINE.match(data) is not None


def read(path: Path, data: bytes) -> Iterator[Entry | SkippedExchange]:
    """Yield the exchanges in the trace `data`; those after a wrong length cannot be found.

    Raises `SourceError` if the first line is wrong, or the first exchange has no lengths or is longer than
    the file.
    """
    first = FIRST_LINE.match(data)
    if first is None:
        raise SourceError((Problem(str(path), None, "its first line is not `httprr trace v1`"),))
    position, number = first.end(), 0
    while position < len(data):
        number += 1
        where = f"{path.name}, exchange {number}"
        lengths = LENGTHS.match(data, position)
        start = lengths.end() if lengths else position
        middle = start + int(lengths[1]) if lengths else start
        end = middle + int(lengths[2]) if lengths else middle
        if lengths is None or end > len(data):
            why = (
                f"exchange {number} is longer than the file" if lengths else f"no lengths at byte {position}"
            )
            if number == 1:
                raise SourceError((Problem(str(path), None, why),))
            yield SkippedExchange(where, f"{why}; its last {len(data) - position} bytes are not read")
            return
        yield Entry(where, partial(_read_exchange, where, data[start:middle], data[middle:end]))
        position = end


def _read_exchange(where: str, request_bytes: bytes, response_bytes: bytes) -> ImportedExchange:
    try:
        return _parse_exchange(where, request_bytes, response_bytes)
    except h11.ProtocolError as error:
        raise NotImportable(f"not HTTP: {error}") from error


def _parse_exchange(where: str, request_bytes: bytes, response_bytes: bytes) -> ImportedExchange:
    server = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    # Go writes the HTTP version of the exchange, but always uses the syntax of HTTP/1.1.
    server.receive_data(HTTP2.sub(b"HTTP/1.1", request_bytes, count=1))
    request = server.next_event()
    if not isinstance(request, h11.Request):
        raise h11.RemoteProtocolError("the request ends inside its headers")
    sent = _read_body(server)
    client = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
    # h11 must know the request's method, because a response to HEAD has no body.
    client.send(h11.Request(method=request.method, target=request.target, headers=[("host", "recorded")]))
    client.send(h11.EndOfMessage())
    client.receive_data(HTTP2.sub(b"HTTP/1.1", response_bytes, count=1))
    # The end of the connection, which ends a body without a length.
    client.receive_data(b"")
    response = client.next_event()
    while isinstance(response, h11.InformationalResponse):
        response = client.next_event()
    if not isinstance(response, h11.Response):
        raise h11.RemoteProtocolError("the response ends inside its headers")
    return ImportedExchange(
        origin=where,
        recipe=RECIPE,
        status=response.status_code,
        headers=join_headers(response.headers),
        body=_read_body(client),
        url=request.target.decode("latin-1"),
        method=request.method.decode("ascii"),
        request_headers=join_headers(request.headers),
        request_body=sent,
    )


def _read_body(connection: h11.Connection) -> bytes:
    """Return the rest of a message, which may be truncated."""
    body = bytearray()
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Data):
            body += event.data
        else:
            return bytes(body)
