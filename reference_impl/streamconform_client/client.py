"""Requests for answers, and what a client does about connections: closing, retrying, reusing."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from streamconform_reference.adapter import BytesRun, open_decoder
from streamconform_reference.apis import DECODERS, REQUEST_BUILDERS
from streamconform_reference.decoding.decoder import Decoder

if TYPE_CHECKING:
    import httpx

RETRIED: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""The statuses after which the same request may succeed."""
_FIRST_WAIT: Final = 0.05
"""The seconds before the first retry, if the server does not say; real clients wait longer."""
_LONGEST_WAIT: Final = 60.0
"""The longest `retry-after` to obey; no user waits longer for the first word."""
_CONVERSATION: Final = {"max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]}


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """The request to send: to which API, where, and its body."""

    api: str
    base_url: str
    body: Mapping[str, Any]
    model: str
    pricing: Mapping[str, Any] | None = None


@cache
def load_certificates() -> ssl.SSLContext:
    """Return the certificates to trust, which take longer to load than an answer takes to read."""
    return ssl.create_default_context()


class HttpClient:
    """A pool of connections to one server, inside `async with`."""

    retries = 2
    """How often a request is sent again before the first byte of its answer, unless retries are off."""

    def __init__(self, *, retries: int | None = None) -> None:
        """Store the settings; no connection is opened yet."""
        self.retries = type(self).retries if retries is None else retries
        self.http = self.make_http()

    def make_http(self) -> httpx.AsyncClient:
        """Return the pool of connections."""
        import httpx  # the module is imported with all mutants, and few of them need it

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        return httpx.AsyncClient(timeout=None, limits=limits, trust_env=False, verify=load_certificates())

    async def close(self) -> None:
        """Close every connection."""
        await self.http.aclose()

    @asynccontextmanager
    async def stream(self, asked: AnswerRequest) -> AsyncIterator[AnswerReader]:
        """Yield the answer to a request; leaving the context closes its connection unless it has ended.

        A request is sent again only if its answer has not begun.
        """
        response = await self.send_with_retries(asked)
        try:
            yield self.read(response, asked)
        finally:
            await self.leave(response)

    def read(self, response: httpx.Response, asked: AnswerRequest) -> AnswerReader:
        """Return the reading of an answer."""
        return AnswerReader(response, asked)

    async def leave(self, response: httpx.Response) -> None:
        """Close the connection of an answer that has not ended; keep that of one that has."""
        await response.aclose()

    async def send_with_retries(self, asked: AnswerRequest) -> httpx.Response:
        """Return the first answer that is worth reading, or the last one. Raises httpx's errors."""
        import httpx

        attempt = 0
        while True:
            try:
                response = await self.send(asked, attempt)
            except httpx.TransportError:
                if attempt >= self.retries:
                    raise
                await asyncio.sleep(self.compute_wait(None, attempt))
            else:
                if not self.is_retried(response.status_code) or attempt >= self.retries:
                    return response
                await response.aread()  # the connection can then be used again
                await asyncio.sleep(self.compute_wait(response.headers.get("retry-after"), attempt))
            attempt += 1

    async def send(self, asked: AnswerRequest, attempt: int) -> httpx.Response:
        """Send a request and return the head of its answer. Raises httpx's errors."""
        del attempt
        return await self.http.send(self.build_request(asked), stream=True)

    def build_request(self, asked: AnswerRequest) -> httpx.Request:
        """Return the request with its path and headers."""
        built = REQUEST_BUILDERS[asked.api]({"model": asked.model, **_CONVERSATION})
        url = asked.base_url + built["path"]
        return self.http.build_request("POST", url, headers=built["headers"], json=asked.body)

    def is_retried(self, status: int) -> bool:
        """Return whether a request is sent again after an answer with this status."""
        return status in RETRIED

    def compute_wait(self, retry_after: str | None, attempt: int) -> float:
        """Return the seconds to wait before the next attempt; an invalid header counts as none."""
        own: float = _FIRST_WAIT * 2**attempt
        try:
            seconds = float(retry_after or "")
        except ValueError:
            seconds = _read_date(retry_after or "")
        return seconds if 0 <= seconds <= _LONGEST_WAIT else own


def _read_date(text: str) -> float:
    """Return the seconds until a date, 0 if it has passed, or -1 if the text is not a date."""
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return -1.0
    return max((date - datetime.now(UTC)).total_seconds(), 0.0) if date.tzinfo is not None else -1.0


class AnswerReader:
    """An answer that is being read."""

    def __init__(self, response: httpx.Response, asked: AnswerRequest) -> None:
        """Store the response, of which nothing has been read yet."""
        self.response = response
        headers = {name.lower(): value for name, value in response.headers.items()}
        run = BytesRun(asked.api, response.status_code, headers, asked.pricing, ())
        self.has_ended = False
        self.decoder: Decoder = open_decoder(run, DECODERS)

    async def events(self) -> AsyncIterator[Any]:
        """Yield the events of the answer."""
        async for chunk in self.chunks():
            for event in self.decoder.receive_data(chunk):
                yield event
        for event in self.decoder.receive_eof():
            yield event
        self.has_ended = True

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body. A broken connection ends it; the decoder reports that the end is missing."""
        import httpx

        with contextlib.suppress(httpx.TransportError):
            async for chunk in self.response.aiter_bytes():
                yield chunk

    @property
    def outcome(self) -> Any:
        """Return what has been received so far."""
        return self.decoder.outcome if self.has_ended else self.decoder.snapshot()
