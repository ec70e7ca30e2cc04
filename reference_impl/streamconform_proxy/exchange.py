"""Serve one request: send it upstream, relay the answer to the client, and end it properly on failure.

A failure before the client has received anything is sent as a document with a status; a later failure is sent
as the stream's last event. If the client disconnects, the task is cancelled, and with it the upstream
request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from streamconform_proxy.access_log import AccessRecord
from streamconform_proxy.bounds import ProxyBounds
from streamconform_proxy.failures import (
    DocumentResponse,
    build_refusal,
    build_upstream_failure,
    get_error_type,
)
from streamconform_proxy.model_capabilities import is_thinking_refusal
from streamconform_proxy.relay import StreamRelay, relay_document
from streamconform_proxy.translate import UpstreamRequest, remove_thinking
from streamconform_proxy.upstream import MAX_DOCUMENT, UpstreamClient, UpstreamError, UpstreamResponse
from streamconform_reference.requests.errors import RequestError

MAX_REFUSAL: Final = 1024 * 1024
"""The maximum number of bytes read from an upstream's error response."""


class ClientStalledError(ConnectionError):
    """The client read nothing for too long, so its connection is closed."""


class ProxyExchange:
    """Serves one translated request. Call `run` once; if that raises, call `break_off`."""

    def __init__(
        self,
        request: UpstreamRequest,
        upstream: UpstreamClient,
        client_request: web.Request,
        bounds: ProxyBounds,
        record: AccessRecord,
    ) -> None:
        """Store the arguments; nothing is sent yet."""
        self._request = request
        self._upstream = upstream
        self._client_request = client_request
        self._bounds = bounds
        self._record = record
        self._relay: StreamRelay | None = None
        self._response: web.StreamResponse | None = None

    async def run(self) -> web.StreamResponse:
        """Serve the request, and return the response once the answer has ended.

        Raises:
            UpstreamError: the upstream cannot be read.
            ConnectionError: the client cannot be written to.
        """
        result = await self._attempt(self._request)
        if not isinstance(result, _UpstreamRefusal):
            return result
        if self._request.requests_thinking and is_thinking_refusal(result.status, result.body):
            self._record.notes.append("retried without thinking")
            self._request = remove_thinking(self._request)
            result = await self._attempt(self._request)
            if not isinstance(result, _UpstreamRefusal):
                return result
        self._record.notes.append(f"upstream status {result.status}")
        failure = build_upstream_failure(
            self._request, status=result.status, headers=result.headers, body=result.body
        )
        return to_web_response(failure)

    async def _attempt(self, request: UpstreamRequest) -> web.StreamResponse | _UpstreamRefusal:
        async with self._upstream.post(request.path, request.headers, request.content) as response:
            headers = response.headers
            if response.status >= 400:
                return _UpstreamRefusal(response.status, headers, await response.read_document(MAX_REFUSAL))
            if response.status >= 300:
                message = f"the upstream sent a redirect ({response.status}), which the proxy does not follow"
                raise UpstreamError(502, message)
            now = int(time.time())
            if not request.stream:
                body = await response.read_document()
                return to_web_response(relay_document(request, headers=headers, body=body, created=now))
            self._relay = StreamRelay(request, headers=headers, created=now)
            return await self._relay_stream(self._relay, response)

    async def _relay_stream(self, relay: StreamRelay, response: UpstreamResponse) -> web.StreamResponse:
        # The upstream may send one document in place of a stream. The client gets nothing until it is
        # complete, so the proxy has to buffer it.
        held = 0
        # The client needs a ping even if the upstream sends comments or blank lines, because those are not
        # relayed.
        ping_due = time.monotonic() + self._bounds.ping
        while not relay.ended:
            data = await response.read_chunk(max(0.0, ping_due - time.monotonic()))
            held = 0 if self._response else held + len(data or b"")
            if held > MAX_DOCUMENT:
                raise UpstreamError(502, f"the upstream sent more than {MAX_DOCUMENT} bytes, but no stream")
            match data:
                case None:
                    output = relay.ping()
                case b"":
                    output = relay.end()
                case _:
                    output = relay.receive(data)
            if output or data is None:
                ping_due = time.monotonic() + self._bounds.ping
            await self._write(relay, output)
        return self._finish(relay)

    async def break_off(self, status: int, message: str) -> web.StreamResponse:
        """Report this error to the client, end the exchange, and return the response."""
        self._record.notes.append(message)
        kind = get_error_type(status)
        if self._relay is None or self._response is None:
            error = RequestError(status, kind, message)
            return to_web_response(build_refusal(self._request.route.client, error))
        if not self._relay.ended:
            await self._write(self._relay, self._relay.break_off(message, type=kind))
        return self._finish(self._relay)

    def _finish(self, relay: StreamRelay) -> web.StreamResponse:
        if self._response is None:
            if relay.early_failure is None:
                raise UpstreamError(502, "the upstream sent an empty response")
            return to_web_response(relay.early_failure)
        return self._response

    async def _write(self, relay: StreamRelay, data: bytes) -> None:
        """Send `data`; wait for a slow client, so that the proxy never buffers for it."""
        if not data or (self._response is None and relay.early_failure is not None):
            return
        async with limit_write_time(self._bounds.stalled):
            if self._response is None:
                response = web.StreamResponse(headers=relay.headers)
                await response.prepare(self._client_request)
                self._response, self._record.status = response, response.status
            await self._response.write(data)
        self._record.sent += len(data)


@dataclass(frozen=True, slots=True)
class _UpstreamRefusal:
    """An upstream's response with an error status."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@asynccontextmanager
async def limit_write_time(seconds: float) -> AsyncIterator[None]:
    """Raise `ClientStalledError` if a write inside the context waits longer than this for the client."""
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            yield
    except TimeoutError:
        if not deadline.expired():
            raise
        raise ClientStalledError(f"the client read nothing for {seconds:g} s") from None


def to_web_response(response: DocumentResponse) -> web.Response:
    """Return a document as an aiohttp response."""
    return web.Response(status=response.status, headers=response.headers, body=response.body)
