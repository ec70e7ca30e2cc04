"""Record one exchange with a live server: the body's bytes, chunk boundaries and times.

A recording does not contain known secrets. Request and response headers are kept by allow-list; the values of
`secret_headers` are sent but never stored, and are blanked where the server echoes them.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import httpx
from msgspec import structs

from streamconform.model.cassette import SWITCHED, Cassette, ChunkMark, Recorded, Request
from streamconform.secrets import scrub
from streamconform_capture.record.errors import (
    BadAddress,
    BadHeader,
    CannotConnect,
    NoResponse,
    UnsuitableExchange,
)

Cut = Literal["closed", "reset", "timeout", "too_large", "client left", "not forwarded"]
"""Why a body is incomplete.

* `closed`: the connection ended, or its data was no longer HTTP, before the announced end of the body
* `reset`: the network failed
* `timeout`, `too_large`: the recorder's own limits
* `client left`: the client being recorded closed its connection
* `not forwarded`: the recorder could not send the answer on, because HTTP forbids it
"""

MAX_BYTES = 16 * 1024 * 1024
"""The default maximum size of a body in bytes; also the maximum in a cassette."""

MAX_MARKS = 32_768
"""The maximum number of chunks; the last one contains the rest of the body. Writing more takes seconds."""

SUFFIXES = {
    "application/json": "json",
    "application/vnd.amazon.eventstream": "eventstream",
    "application/stream+json": "ndjson",
    "application/x-ndjson": "ndjson",
    "text/event-stream": "sse",
}
"""Maps a media type to the suffix of the body's file. Any other type gets `sse`, because a stream was
requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecording:
    """One exchange, byte for byte except for known secrets."""

    path: str
    """The path and query as sent; the method is always POST."""
    request_headers: Mapping[str, str]
    """Headers on the allow-list, with lower-case names."""
    request_body: bytes
    status: int
    headers: Mapping[str, str]
    """Headers on the allow-list, with lower-case names."""
    body: bytes
    """The bytes on the wire, without HTTP's transfer encoding."""
    received: int
    """The number of bytes of the body that arrived, which is more than `body` has if it was `too_large`."""
    marks: tuple[ChunkMark, ...]
    """One chunk per read: an HTTP chunk, or the part of one that arrived in that read."""
    cut: Cut | None
    """None if the server ended the body correctly."""
    server: str = ""
    """The `Server` header, which is not kept."""


def record(
    base_url: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes | Mapping[str, Any],
    *,
    secret_headers: Mapping[str, str] | None = None,
    timeout: float = 300.0,
    max_bytes: int = MAX_BYTES,
    on_chunk: Callable[[bytes], None] | None = None,
) -> RawRecording:
    """POST `body` to `base_url` + `path` and return the recorded exchange.

    Blocks until the body ends or a limit is reached: `timeout` seconds in total, or a body of `max_bytes`.
    `on_chunk` receives each chunk before secrets are blanked; an exception it raises ends the recording.
    A mapping is sent as compact JSON. Proxy settings in the environment are ignored, and redirects are
    not followed, so that the key reaches only the given host.

    Raises:
        BadAddress: the address is not http or https, or the query contains a key.
        BadHeader: a header contains a newline or another character that HTTP forbids.
        CannotConnect: the connection failed.
        NoResponse: no HTTP response head arrived within `timeout`.

    """
    exchange = record_async(
        base_url,
        path,
        headers,
        body,
        secret_headers=secret_headers,
        timeout=timeout,
        max_bytes=max_bytes,
        on_chunk=on_chunk,
    )
    return asyncio.run(exchange)


async def record_async(
    base_url: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes | Mapping[str, Any],
    *,
    secret_headers: Mapping[str, str] | None = None,
    timeout: float = 300.0,  # noqa: ASYNC109 - one deadline over connect, head and body
    max_bytes: int = MAX_BYTES,
    on_chunk: Callable[[bytes], None] | None = None,
) -> RawRecording:
    """Do the same as `record`, but inside a running event loop."""
    url, where = parse_address(base_url, path)
    hidden = check_headers(secret_headers or {}, where)
    sent = {"content-type": "application/json"} | check_headers(headers, where) | hidden
    content = body if isinstance(body, bytes) else _to_json(body)
    tape = _Tape(max_bytes, on_chunk)
    request = httpx.Request(
        "POST",
        url,
        # The chunks of a compressed body do not match the server's writes, and a cassette cannot hold it.
        headers=sent | {"accept-encoding": "identity"},
        content=content,
        extensions={"trace": tape.trace},
    )
    cut = await _receive(request, tape, timeout, where)
    if tape.head is None:
        raise NoResponse(where, f"nothing received within {timeout:g} s", timed_out=True)
    recording = RawRecording(
        path=path,
        request_headers=sent,
        request_body=content,
        status=tape.head.status_code,
        headers=tape.head.headers,
        body=bytes(tape.body),
        received=tape.received,
        marks=tuple(tape.marks),
        cut=cut,
        server=tape.head.headers.get("server", ""),
    )
    return hide_secrets(recording, hidden)


def hide_secrets(recording: RawRecording, hidden: Mapping[str, str]) -> RawRecording:
    """Return a recording with only the headers that may be kept, and without the values in `hidden`."""
    secrets = scrub.extract_secrets(hidden)
    # A secret header is not stored even if its name is on the allow-list.
    kept = scrub.REQUEST_HEADERS - hidden.keys()
    return replace(
        recording,
        request_headers=_blank_values(scrub.filter_headers(recording.request_headers, kept), secrets),
        request_body=scrub.blank(recording.request_body, secrets),
        headers=_blank_values(scrub.filter_headers(recording.headers, scrub.RESPONSE_HEADERS), secrets),
        body=scrub.blank(recording.body, secrets),
        server=_blank_values({"": recording.server}, secrets)[""],
    )


def add_mark(marks: list[ChunkMark], offset: int, sent_at: float) -> None:
    """Add the chunk that begins at `offset` and has arrived now, unless there are `MAX_MARKS` already."""
    if len(marks) < MAX_MARKS:
        marks.append(ChunkMark(offset, round((time.monotonic() - sent_at) * 1000)))


def to_cassette(recording: RawRecording, *, api: str, name: str, provenance: Recorded) -> Cassette:
    """Return `recording` as a cassette; the provenance's note says where and why an incomplete body ends.

    Raises:
        UnsuitableExchange: the request is not a JSON object, or the response is compressed.

    """
    try:
        body = json.loads(recording.request_body)
    except ValueError as error:
        raise UnsuitableExchange(recording.path, f"the request body is not JSON ({error})") from error
    if not isinstance(body, dict):
        raise UnsuitableExchange(recording.path, "the request body is not a JSON object")
    encoding = recording.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise UnsuitableExchange(
            recording.path, f"the response has content-encoding `{encoding}`, expected `identity`"
        )
    notes = [provenance.note] if provenance.note else []
    if recording.cut is not None:
        notes.append(f"The recording ends after {len(recording.body)} bytes: {recording.cut}.")
    if len(recording.marks) == MAX_MARKS:
        notes.append(f"Only the first {MAX_MARKS:,} chunk boundaries were recorded.")
    media_type = recording.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Cassette(
        api=api,
        name=name,
        request=Request(method="POST", path=recording.path, headers=recording.request_headers, body=body),
        status=recording.status,
        headers=recording.headers,
        body=recording.body,
        suffix="ndjson" if recording.status == SWITCHED else SUFFIXES.get(media_type, "sse"),
        marks=recording.marks,
        provenance=structs.replace(provenance, note=" ".join(notes) or None),
    )


class _Tape:
    """The part of the response received so far; it survives the exception that ends the exchange."""

    def __init__(self, max_bytes: int, on_chunk: Callable[[bytes], None] | None) -> None:
        self.head: httpx.Response | None = None
        self.body = bytearray()
        self.marks: list[ChunkMark] = []
        self.received = 0
        self._max_bytes = max_bytes
        self._on_chunk = on_chunk
        self._sent_at = time.monotonic()

    async def trace(self, event: str, _info: object) -> None:
        """Restart the clock once the request has been sent completely."""
        if event.endswith(".send_request_body.complete"):
            self._sent_at = time.monotonic()

    def add(self, chunk: bytes) -> bool:
        """Store as much of the chunk as the limit allows; return whether all of it fit."""
        self.received += len(chunk)
        data = chunk[: self._max_bytes - len(self.body)]
        if data:
            add_mark(self.marks, len(self.body), self._sent_at)
            self.body += data
            if self._on_chunk is not None:
                self._on_chunk(data)
        return len(data) == len(chunk)


async def _receive(request: httpx.Request, tape: _Tape, seconds: float, where: str) -> Cut | None:
    """Send `request`, store the response on `tape`, and return why it is incomplete, or None."""
    deadline = asyncio.timeout(seconds)
    try:
        # The client's timeouts apply to single reads; the deadline covers the whole exchange. Loading
        # certificates is slow, so it is skipped without TLS.
        tls = request.url.scheme == "https"
        async with deadline, httpx.AsyncClient(timeout=None, trust_env=False, verify=tls) as client:  # noqa: S113
            tape.head = await client.send(request, stream=True)
            async for chunk in tape.head.aiter_raw():
                if not tape.add(chunk):
                    return "too_large"
    except TimeoutError:
        if not deadline.expired():  # raised by `on_chunk`
            raise
        return "timeout"
    except httpx.ConnectError as error:
        raise CannotConnect(where, _describe_error(error)) from error
    except (httpx.RemoteProtocolError, httpx.NetworkError) as error:
        if tape.head is None:
            raise NoResponse(where, _describe_error(error)) from error
        return "closed" if isinstance(error, httpx.RemoteProtocolError) else "reset"
    return None


def parse_address(
    base_url: str, path: str, schemes: tuple[str, str] = ("http", "https")
) -> tuple[httpx.URL, str]:
    """Return the request URL, and a printable form of it without the user, password or query."""
    try:
        url = httpx.URL(base_url.rstrip("/") + path)
    except httpx.InvalidURL as error:
        raise BadAddress(path, f"not a valid URL ({error})") from error
    where = f"{url.scheme}://{url.netloc.decode('ascii')}{url.path}"
    if url.scheme not in schemes or not url.host or not path.startswith("/"):
        raise BadAddress(where, f"not an {' or '.join(schemes)} address")
    if keys := sorted(scrub.KEY_PARAMETERS & {name.lower() for name in url.params}):
        raise BadAddress(where, f"the query contains a key, `{keys[0]}`, and it would be recorded")
    return url, where


def check_headers(headers: Mapping[str, str], where: str) -> dict[str, str]:
    """Return the headers with lower-case names, or raise `BadHeader`.

    An HTTP library would quote the value, which may be a key, in its own error.
    """
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable() and value == value.strip()):
            raise BadHeader(where, f"the value of header `{name}` is not printable ASCII")
    return {name.lower(): value for name, value in headers.items()}


def _blank_values(headers: Mapping[str, str], secrets: tuple[bytes, ...]) -> dict[str, str]:
    return {name: scrub.blank(value.encode(), secrets).decode() for name, value in headers.items()}


def _to_json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _describe_error(error: Exception) -> str:
    """Return the error's message, or its class name if it has none."""
    return str(error).rstrip(".") or type(error).__name__
