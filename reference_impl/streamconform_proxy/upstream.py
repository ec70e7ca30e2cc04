"""The proxy's HTTP client: one request to the upstream, its response chunk by chunk, errors as messages.

It follows no redirects (they could leak a key), stores no cookies and ignores proxies from the environment.
Each request has its own connection: a server may close an idle connection while a request is in transit, and
a POST must not be retried unless it is known not to have arrived.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import aiohttp

MAX_DOCUMENT: Final = 64 * 1024 * 1024
"""The maximum size of a response that is a single document; no answer is that long."""
_READ_AHEAD: Final = 64 * 1024
"""The number of bytes buffered before the sender has to wait; aiohttp buffers up to twice as much."""
_BAD_GATEWAY: Final = 502
_GATEWAY_TIMEOUT: Final = 504


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTimeouts:
    """The upstream's time limits, in seconds."""

    connect: float = 10.0
    answer: float = 600.0
    """The time limit, in seconds, for the headers; a local server first loads the model and reads the prompt.
    """
    idle: float = 300.0
    """The time limit, in seconds, between two chunks."""


class UpstreamError(Exception):
    """The upstream could not be reached, or its response broke off."""

    def __init__(self, status: int, message: str) -> None:
        """Store the message, and the HTTP status for a client that has received nothing yet."""
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class UpstreamResponse:
    """The response to one request; it is open as long as the `post` context is."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    _response: aiohttp.ClientResponse
    _idle: float
    _silent: float = 0.0
    """The seconds spent waiting since the last chunk; only time spent in a read counts."""

    async def read_chunk(self, seconds: float | None = None) -> bytes | None:
        """Return the next chunk; empty at the end, None if nothing arrived within `seconds`.

        Raises:
            UpstreamError: the connection was lost, or the upstream was silent for too long.
        """
        left = self._idle - self._silent
        wait = left if seconds is None else min(seconds, left)
        try:
            async with asyncio.timeout(wait):
                data = await self._response.content.readany()
        except TimeoutError:
            self._silent += wait
            if wait < left:
                return None
            message = f"the upstream sent nothing for {self._idle:g} s"
            raise UpstreamError(_GATEWAY_TIMEOUT, message) from None
        except (aiohttp.ClientError, OSError) as error:
            message = f"the connection to the upstream was lost ({_describe_cause(error)})"
            raise UpstreamError(_BAD_GATEWAY, message) from None
        self._silent = 0.0
        return data

    async def read_document(self, limit: int = MAX_DOCUMENT) -> bytes:
        """Return the body. Raises `UpstreamError` like `read_chunk`, and if the body exceeds `limit`."""
        body = bytearray()
        while data := await self.read_chunk():
            body += data
            if len(body) > limit:
                raise UpstreamError(_BAD_GATEWAY, f"the upstream sent more than {limit} bytes")
        return bytes(body)


class UpstreamClient:
    """Sends requests to one server, inside `async with`."""

    def __init__(self, base_url: str, timeouts: UpstreamTimeouts | None = None) -> None:
        """Store the settings; no connection is opened yet."""
        self.base_url = base_url
        self._timeouts = timeouts or UpstreamTimeouts()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Create the session."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True),  # `ProxyBounds.streams` is the limit
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._timeouts.connect),
            read_bufsize=_READ_AHEAD,
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def post(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncIterator[UpstreamResponse]:
        """Yield the response to a POST, regardless of its status; leaving the context closes its connection.

        Raises:
            UpstreamError: there is no response.
        """
        assert self._session is not None, "called between `async with`"
        all_headers = {"accept-encoding": "identity", **headers}
        try:
            async with asyncio.timeout(self._timeouts.answer):
                response = await self._session.post(
                    f"{self.base_url}{path}",
                    data=io.BytesIO(body),
                    headers=all_headers,
                    allow_redirects=False,
                )
        except TimeoutError as error:
            raise UpstreamError(_GATEWAY_TIMEOUT, self._describe_no_response(error)) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise UpstreamError(_BAD_GATEWAY, self._describe_no_response(error)) from None
        try:
            lower_headers = {name.lower(): value for name, value in response.headers.items()}
            yield UpstreamResponse(response.status, lower_headers, response, self._timeouts.idle)
        finally:
            # Closing immediately stops the upstream from generating an answer that is no longer needed.
            response.close()

    def _describe_no_response(self, error: Exception) -> str:
        if isinstance(error, aiohttp.ServerTimeoutError):
            return f"cannot reach the upstream {self.base_url} within {self._timeouts.connect:g} s"
        if isinstance(error, TimeoutError):
            return f"the upstream {self.base_url} did not answer within {self._timeouts.answer:g} s"
        if isinstance(error, aiohttp.ClientConnectorError):
            return f"cannot reach the upstream {self.base_url} ({_describe_cause(error)})"
        return f"the upstream {self.base_url} did not answer ({_describe_cause(error)})"


def _describe_cause(error: Exception) -> str:
    """Return the system's error text, or else the exception's class name.

    The exception's own text is not used: it may contain the request, which is private.
    """
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
