"""Record one exchange with a live server: the bytes, where they were cut and when.

A recording holds no secret. Headers are kept by allow-list on both sides; a key given in
`secret_headers` is sent and forgotten, and where the server echoes it, it is blanked.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import httpx

from streamconform.model.cassette import Cassette, ChunkMark, Recorded, Request
from streamconform.tools.record import scrub
from streamconform.tools.record.errors import BadAddress, BadHeader, CannotConnect, NoAnswer, Unsuitable

Cut = Literal["closed", "reset", "timeout", "too_large"]
"""Why a body is not whole.

`closed`: the connection ended, or stopped being HTTP, before the announced end of the body;
`reset`: the network gave up; `timeout`, `too_large`: the recorder's own bounds.
"""

MAX_BYTES = 16 * 1024 * 1024
"""Bound of a body unless told otherwise; also the largest that a cassette may have."""

SUFFIXES = {
    "application/json": "json",
    "application/vnd.amazon.eventstream": "eventstream",
    "application/stream+json": "ndjson",
    "application/x-ndjson": "ndjson",
    "text/event-stream": "sse",
}
"""Media type to suffix of the body's file; anything else came where a stream was asked for: sse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One exchange, free of secrets, as raw as it came."""

    path: str
    """Path and query as sent; the method is POST."""
    request_headers: Mapping[str, str]
    """Those on the allow-list, names in lower case."""
    request_body: bytes
    status: int
    headers: Mapping[str, str]
    """Those on the allow-list, names in lower case."""
    body: bytes
    """As it stood on the wire, without HTTP's own framing."""
    marks: tuple[ChunkMark, ...]
    """One per read: an HTTP chunk, or as much of it as had come."""
    cut: Cut | None
    """None: the server ended the body as HTTP says."""


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
) -> Recording:
    """Return the exchange that follows from POSTing `body` to `base_url` + `path`.

    Blocks until the body ends or a bound is met: `timeout` seconds over everything, `max_bytes` of body.
    `on_chunk` gets each chunk as it comes, before anything is blanked; what it raises ends the recording.
    A body given as a mapping is sent as compact JSON. Environment and proxies are ignored, redirects
    are not followed.

    Raises:
        BadAddress: no http or https address, or a key in the query.
        BadHeader: a header with a line end or another character that HTTP refuses.
        CannotConnect: no connection.
        NoAnswer: no HTTP response head within `timeout`.

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
) -> Recording:
    """Return what `record` returns, inside a running event loop."""
    url, where = _address(base_url, path)
    hidden = _sendable(secret_headers or {}, where)
    sent = {"content-type": "application/json"} | _sendable(headers, where) | hidden
    content = body if isinstance(body, bytes) else _dump(body)
    tape = _Tape(max_bytes, on_chunk)
    request = httpx.Request(
        "POST",
        url,
        headers=sent | {"accept-encoding": "identity"},
        content=content,
        extensions={"trace": tape.trace},
    )
    cut = await _run(request, tape, timeout, where)
    if tape.head is None:
        raise NoAnswer(where, f"nothing came within {timeout:g} s")
    secrets = scrub.secrets_of(hidden)
    return Recording(
        path=path,
        request_headers=_blank_values(scrub.kept(sent, scrub.KEPT_OF_REQUEST - hidden.keys()), secrets),
        request_body=scrub.blank(content, secrets),
        status=tape.head.status_code,
        headers=_blank_values(scrub.kept(tape.head.headers, scrub.KEPT_OF_RESPONSE), secrets),
        body=scrub.blank(bytes(tape.body), secrets),
        marks=tuple(tape.marks),
        cut=cut,
    )


def to_cassette(recording: Recording, *, api: str, name: str, provenance: Recorded) -> Cassette:
    """Return `recording` as a cassette; a cut is told in the provenance's note.

    Raises:
        Unsuitable: the request is no JSON object, or the body came compressed.

    """
    try:
        body = json.loads(recording.request_body)
    except ValueError as error:
        raise Unsuitable(recording.path, f"the request's body is not JSON ({error})") from error
    if not isinstance(body, dict):
        raise Unsuitable(recording.path, "the request's body is not a JSON object")
    encoding = recording.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise Unsuitable(recording.path, f"the body came as `{encoding}` although `identity` was asked for")
    if recording.cut is not None:
        cut = f"The recording ends after {len(recording.body)} bytes: {recording.cut}."
        provenance = replace(provenance, note=f"{provenance.note or ''} {cut}".strip())
    media_type = recording.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Cassette(
        api=api,
        name=name,
        request=Request(method="POST", path=recording.path, headers=recording.request_headers, body=body),
        status=recording.status,
        headers=recording.headers,
        body=recording.body,
        suffix=SUFFIXES.get(media_type, "sse"),
        marks=recording.marks,
        provenance=provenance,
    )


class _Tape:
    """What has come so far; outlives the exception that ends the exchange."""

    def __init__(self, max_bytes: int, on_chunk: Callable[[bytes], None] | None) -> None:
        self.head: httpx.Response | None = None
        self.body = bytearray()
        self.marks: list[ChunkMark] = []
        self._max_bytes = max_bytes
        self._on_chunk = on_chunk
        self._sent_at = time.monotonic()

    async def trace(self, event: str, _info: object) -> None:
        """Start the clock when the last byte of the request is out."""
        if event.endswith(".send_request_body.complete"):
            self._sent_at = time.monotonic()

    def add(self, chunk: bytes) -> bool:
        """Keep the chunk as far as the bound allows; return whether it fitted."""
        kept = chunk[: self._max_bytes - len(self.body)]
        if kept:
            elapsed = round((time.monotonic() - self._sent_at) * 1000)
            self.marks.append(ChunkMark(len(self.body), elapsed))
            self.body += kept
            if self._on_chunk is not None:
                self._on_chunk(kept)
        return len(kept) == len(chunk)


async def _run(request: httpx.Request, tape: _Tape, seconds: float, where: str) -> Cut | None:
    """Send `request`, put the answer on `tape`, and return why it is not whole, if it is not."""
    deadline = asyncio.timeout(seconds)
    try:
        # No timeouts of the client's own: they are per read, the deadline is over everything.
        # Certificates are slow to load, and of no use without TLS.
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
        raise CannotConnect(where, _words(error)) from error
    except (httpx.RemoteProtocolError, httpx.NetworkError) as error:
        if tape.head is None:
            raise NoAnswer(where, _words(error)) from error
        return "closed" if isinstance(error, httpx.RemoteProtocolError) else "reset"
    return None


def _address(base_url: str, path: str) -> tuple[httpx.URL, str]:
    """Return the URL to ask, and its name for people, without user, password and query."""
    try:
        url = httpx.URL(base_url.rstrip("/") + path)
    except httpx.InvalidURL as error:
        raise BadAddress(path, f"this makes no URL ({error})") from error
    where = f"{url.scheme}://{url.netloc.decode('ascii')}{url.path}"
    if url.scheme not in {"http", "https"} or not url.host or not path.startswith("/"):
        raise BadAddress(where, "no http or https address")
    if keys := sorted(scrub.KEY_PARAMETERS & {name.lower() for name in url.params}):
        raise BadAddress(where, f"`{keys[0]}` in the query is a key, and the path is kept")
    return url, where


def _sendable(headers: Mapping[str, str], where: str) -> dict[str, str]:
    """Return the headers with lower-case names; refuse before an HTTP library quotes a key in its error."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable() and value == value.strip()):
            raise BadHeader(where, f"the value of header `{name}` is not printable ASCII")
    return {name.lower(): value for name, value in headers.items()}


def _blank_values(headers: Mapping[str, str], secrets: tuple[bytes, ...]) -> dict[str, str]:
    return {name: scrub.blank(value.encode(), secrets).decode() for name, value in headers.items()}


def _dump(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _words(error: Exception) -> str:
    """Return the error's own words, or its kind where it has none."""
    return str(error).rstrip(".") or type(error).__name__
