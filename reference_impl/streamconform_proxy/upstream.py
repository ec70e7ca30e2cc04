"""The proxy as a client: one request to the upstream, its answer chunk by chunk, every failure in words.

Nothing is followed, retried or remembered: no redirects (a key would go astray), no cookies, no proxies of
the environment, and no connection that is used twice, since a server may close an idle one while a request is
on its way, and nobody may send a POST again on a guess.
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
"""Bytes of an answer in one piece; no answer is as long."""
_READ_AHEAD: Final = 64 * 1024
"""Bytes of an answer after which its sender has to wait, twice that at most."""
_BAD_GATEWAY: Final = 502
_GATEWAY_TIMEOUT: Final = 504


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the upstream may take, in seconds."""

    connect: float = 10.0
    answer: float = 600.0
    """To the head of the answer: a local server first loads the model and reads the prompt."""
    idle: float = 300.0
    """Between two chunks."""


class UpstreamError(Exception):
    """There is no answer, or no more of it."""

    def __init__(self, status: int, words: str) -> None:
        """Keep the words, and the HTTP status for a client that was sent nothing yet."""
        super().__init__(words)
        self.status = status


@dataclass(slots=True)
class Answer:
    """The answer to one request, open while the context of `ask` is."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    _response: aiohttp.ClientResponse
    _idle: float
    _silent: float = 0.0
    """Seconds that were waited since something came; those in which nobody waited do not count."""

    async def chunk(self, seconds: float | None = None) -> bytes | None:
        """Return what came next, empty at the end, None where nothing came within `seconds`.

        Raises:
            UpstreamError: the connection broke off, or there was nothing for too long.
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
            words = f"the upstream sent nothing for {self._idle:g} s"
            raise UpstreamError(_GATEWAY_TIMEOUT, words) from None
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamError(_BAD_GATEWAY, f"the upstream broke off ({_reason(error)})") from None
        self._silent = 0.0
        return data

    async def document(self, most: int = MAX_DOCUMENT) -> bytes:
        """Return the whole body; raises `UpstreamError` as `chunk`, and where it is longer than `most`."""
        body = bytearray()
        while data := await self.chunk():
            body += data
            if len(body) > most:
                raise UpstreamError(_BAD_GATEWAY, f"the upstream sent more than {most} bytes")
        return bytes(body)


class Upstream:
    """Asks one server, between `async with`."""

    def __init__(self, base_url: str, patience: Patience | None = None) -> None:
        """Hold the settings; no connection is made yet."""
        self.base_url = base_url
        self._patience = patience or Patience()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Make the session."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True),  # the proxy bounds its streams
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._patience.connect),
            read_bufsize=_READ_AHEAD,
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every connection."""
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def ask(self, path: str, headers: Mapping[str, str], body: bytes) -> AsyncIterator[Answer]:
        """Yield the answer to a POST, whatever its status; its connection ends with the context.

        Raises:
            UpstreamError: nobody answered.
        """
        assert self._session is not None, "asked between `async with`"
        sent = {"accept-encoding": "identity", **headers}
        try:
            async with asyncio.timeout(self._patience.answer):
                response = await self._session.post(
                    f"{self.base_url}{path}", data=io.BytesIO(body), headers=sent, allow_redirects=False
                )
        except TimeoutError as error:
            raise UpstreamError(_GATEWAY_TIMEOUT, self._unanswered(error)) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise UpstreamError(_BAD_GATEWAY, self._unanswered(error)) from None
        try:
            named = {name.lower(): value for name, value in response.headers.items()}
            yield Answer(response.status, named, response, self._patience.idle)
        finally:
            response.close()  # at once: an answer that nobody reads costs the upstream its time

    def _unanswered(self, error: Exception) -> str:
        if isinstance(error, aiohttp.ServerTimeoutError):
            return f"the upstream {self.base_url} cannot be reached within {self._patience.connect:g} s"
        if isinstance(error, TimeoutError):
            return f"the upstream {self.base_url} did not answer within {self._patience.answer:g} s"
        if isinstance(error, aiohttp.ClientConnectorError):
            return f"the upstream {self.base_url} cannot be reached ({_reason(error)})"
        return f"the upstream {self.base_url} did not answer ({_reason(error)})"


def _reason(error: Exception) -> str:
    """Return the words of the system, else of the error: some of them hold the request, which is private."""
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
