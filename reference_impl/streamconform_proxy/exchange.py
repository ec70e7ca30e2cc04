"""One request on its way: asked upstream, relayed to the client, ended, whatever happens meanwhile.

What goes wrong before the client was sent anything is a document with a status; later it is an event in the
stream, behind which nothing comes. A client that goes away cancels the task, and with it the request
upstream.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from streamconform_reference.requests.errors import RequestError

from streamconform_proxy.access_log import Account
from streamconform_proxy.bounds import Bounds
from streamconform_proxy.failures import Answer as Document
from streamconform_proxy.failures import failed, refused, type_of
from streamconform_proxy.model_capabilities import thinking_refused
from streamconform_proxy.relay import Relay, whole
from streamconform_proxy.translate import Asked, without_thinking
from streamconform_proxy.upstream import MAX_DOCUMENT, Answer, Upstream, UpstreamError

MAX_REFUSAL: Final = 1024 * 1024
"""Bytes of what a refusing upstream may say."""


class ClientStalledError(ConnectionError):
    """The client did not read for too long; its connection is gone."""


class Exchange:
    """Serves one request that was translated. `run` once, then `break_off` where it was interrupted."""

    def __init__(
        self, asked: Asked, upstream: Upstream, request: web.Request, bounds: Bounds, account: Account
    ) -> None:
        """Hold what is needed; nothing is asked yet."""
        self._asked = asked
        self._upstream = upstream
        self._request = request
        self._bounds = bounds
        self._account = account
        self._relay: Relay | None = None
        self._response: web.StreamResponse | None = None

    async def run(self) -> web.StreamResponse:
        """Return the response when the answer is over.

        Raises:
            UpstreamError: the upstream cannot be read.
            ConnectionError: the client cannot be written to.
        """
        refusal = await self._attempt(self._asked)
        if not isinstance(refusal, _Refusal):
            return refusal
        if self._asked.asks_thinking and thinking_refused(refusal.status, refusal.body):
            self._account.notes.append("asked again without thinking")
            self._asked = without_thinking(self._asked)
            refusal = await self._attempt(self._asked)
            if not isinstance(refusal, _Refusal):
                return refusal
        self._account.notes.append(f"the upstream said {refusal.status}")
        told = failed(self._asked, status=refusal.status, headers=refusal.headers, body=refusal.body)
        return response_of(told)

    async def _attempt(self, asked: Asked) -> web.StreamResponse | _Refusal:
        async with self._upstream.ask(asked.path, asked.headers, asked.content) as answer:
            if answer.status >= 400:
                return _Refusal(answer.status, answer.headers, await answer.document(MAX_REFUSAL))
            if answer.status >= 300:
                raise UpstreamError(
                    502, f"the upstream redirects (status {answer.status}); nothing is followed"
                )
            if not asked.stream:
                body = await answer.document()
                return response_of(whole(asked, headers=answer.headers, body=body, created=int(time.time())))
            self._relay = Relay(asked, headers=answer.headers, created=int(time.time()))
            return await self._stream(self._relay, answer)

    async def _stream(self, relay: Relay, answer: Answer) -> web.StreamResponse:
        unsent = 0  # bytes of the upstream's that came to nothing yet: it may be one document
        due = time.monotonic() + self._bounds.ping  # the upstream's own signs of life are not the client's
        while not relay.ended:
            data = await answer.chunk(max(0.0, due - time.monotonic()))
            unsent = 0 if self._response else unsent + len(data or b"")
            if unsent > MAX_DOCUMENT:
                raise UpstreamError(502, f"the upstream sent more than {MAX_DOCUMENT} bytes of no stream")
            match data:
                case None:
                    told = relay.ping()
                case b"":
                    told = relay.end()
                case _:
                    told = relay.receive(data)
            if told or data is None:
                due = time.monotonic() + self._bounds.ping
            await self._write(relay, told)
        return self._finish(relay)

    async def break_off(self, status: int, words: str) -> web.StreamResponse:
        """Return the response of an exchange that cannot go on, with an error at its end."""
        self._account.notes.append(words)
        kind = type_of(status)
        if self._relay is None or self._response is None:
            return response_of(refused(self._asked.route.client, RequestError(status, kind, words)))
        if not self._relay.ended:
            await self._write(self._relay, self._relay.break_off(words, type=kind))
        return self._finish(self._relay)

    def _finish(self, relay: Relay) -> web.StreamResponse:
        if self._response is None:
            if relay.early is None:
                raise UpstreamError(502, "the upstream sent nothing")
            return response_of(relay.early)
        return self._response

    async def _write(self, relay: Relay, data: bytes) -> None:
        """Send `data`, and wait where the client is slow: nothing is kept for it here."""
        if not data or (self._response is None and relay.early is not None):
            return
        async with reading(self._bounds.stalled):
            if self._response is None:
                response = web.StreamResponse(headers=relay.headers)
                await response.prepare(self._request)
                self._response, self._account.status = response, response.status
            await self._response.write(data)
        self._account.sent += len(data)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What an upstream said that does not answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@asynccontextmanager
async def reading(seconds: float) -> AsyncIterator[None]:
    """Raise `ClientStalledError` where what is written in the context is not read for so long."""
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            yield
    except TimeoutError:
        if not deadline.expired():
            raise
        raise ClientStalledError(f"the client read nothing for {seconds:g} s") from None


def response_of(answer: Document) -> web.Response:
    """Return a document as a response."""
    return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
