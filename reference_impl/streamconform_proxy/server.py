"""The HTTP server of the proxy: routes requests, limits how many run at a time, and stops gracefully."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from aiohttp import web

from streamconform.loopback import is_loopback
from streamconform_proxy.access_log import AccessRecord, WriteLine, build_logger
from streamconform_proxy.bounds import MAX_HEADER_FIELD, ProxyBounds
from streamconform_proxy.exchange import (
    ClientStalledError,
    ProxyExchange,
    limit_write_time,
    to_web_response,
)
from streamconform_proxy.failures import build_refusal, build_token_count, get_error_type
from streamconform_proxy.listing import LOCAL_DOCUMENTS
from streamconform_proxy.request_fields import describe_ignored_fields
from streamconform_proxy.translate import ENDPOINTS, Route, translate_request
from streamconform_proxy.upstream import UpstreamClient, UpstreamError
from streamconform_reference.requests.errors import INVALID, RequestError

CLIENT_DISCONNECTED: Final = 499
"""The status in the access log for a client that disconnected; nginx uses it too."""
STOPPING: Final = "the proxy is stopping"
DISCONNECTED: Final = "the client disconnected"
_ERROR_EVENT_SECONDS: Final = 1.0
"""The time, in seconds, for writing error events to the open streams when the proxy stops."""


class ProxyServer:
    """Serves requests from `start` to `close`; call `stop` in between to let answers in progress finish."""

    def __init__(
        self,
        route: Route,
        upstream: UpstreamClient,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        pass_keys: bool = True,
        bounds: ProxyBounds | None = None,
        write_log: WriteLine | None = None,
    ) -> None:
        """Store the settings; with `pass_keys`, a client's own key is used if `route` has none."""
        self.url = ""
        """The server's address, without a trailing slash."""
        self._route = route
        self._upstream = upstream
        self._address = (host, port)
        self._pass_keys = pass_keys
        self._bounds = bounds or ProxyBounds()
        self._write_log = write_log or (lambda _: None)
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._running = 0
        """The number of requests being answered."""
        self._deadlines: set[asyncio.Timeout] = set()
        self._idle = asyncio.Event()
        self._stopping = False

    async def start(self) -> None:
        """Start listening. Raises `OSError` if the address cannot be used."""
        self._idle.set()
        app = web.Application(client_max_size=self._bounds.body)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=build_logger(self._write_log),
            handler_cancellation=True,  # a client that disconnects cancels its upstream request
            keepalive_timeout=self._bounds.receive,
            max_line_size=MAX_HEADER_FIELD,
            max_field_size=MAX_HEADER_FIELD,
            shutdown_timeout=_ERROR_EVENT_SECONDS,
        )
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, *self._address, backlog=1024)
        try:
            await self._site.start()
        except OSError:
            await self._runner.cleanup()
            raise
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def close(self) -> None:
        """Close all connections."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def stop(self) -> None:
        """Accept no more requests; after the grace period, end open answers with an error event."""
        assert self._site is not None, "called after `start`"
        self._stopping = True
        await self._site.stop()
        if await self._is_idle_within(self._bounds.grace):
            return
        for deadline in self._deadlines:
            deadline.reschedule(asyncio.get_running_loop().time())
        await self._is_idle_within(_ERROR_EVENT_SECONDS)

    async def _is_idle_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        record = AccessRecord(request.method, request.path)
        start = time.monotonic()
        try:
            response = await self._answer(request, record)
            record.status = response.status
            if isinstance(response, web.Response) and isinstance(response.body, bytes):
                record.sent = len(response.body)
            if self._stopping:
                response.force_close()
            async with limit_write_time(self._bounds.stalled):
                await response.prepare(request)
                await response.write_eof()
        except asyncio.CancelledError:
            record.notes.append(STOPPING if self._stopping else DISCONNECTED)
            raise
        except ConnectionError as error:
            record.notes.append(str(error) if isinstance(error, ClientStalledError) else DISCONNECTED)
            if request.transport is not None:
                request.transport.abort()
            response = web.Response(status=CLIENT_DISCONNECTED)  # required by aiohttp, but never sent
        finally:
            self._write_log(record.format_line((time.monotonic() - start) * 1000))
        return response

    async def _answer(self, request: web.Request, record: AccessRecord) -> web.StreamResponse:
        try:
            return await self._dispatch(request, record)
        except RequestError as error:
            record.notes.append(error.message)
            return to_web_response(build_refusal(self._route.client, error))
        except (ConnectionError, web.HTTPException):
            raise
        except Exception:  # noqa: BLE001 - a bug in the proxy must not stop it from serving others
            self._write_log(traceback.format_exc().rstrip())
            record.notes.append("internal error")
            message = "internal error in the proxy; see its log"
            return to_web_response(
                build_refusal(self._route.client, RequestError(500, get_error_type(500), message))
            )

    async def _dispatch(self, request: web.Request, record: AccessRecord) -> web.StreamResponse:
        """Return the response. Raises `RequestError` if the request is not served."""
        _reject_foreign_origin(request)
        endpoints = ENDPOINTS[self._route.client]
        methods = (
            ("POST",)
            if request.path in endpoints
            else ("GET", "HEAD")
            if request.path in LOCAL_DOCUMENTS
            else ()
        )
        if not methods:
            available = ", ".join(f"POST {path}" for path in endpoints)
            raise RequestError(
                404, "not_found_error", f"Unknown path {request.path[:200]}; available: {available}"
            )
        if request.method not in methods:
            error = RequestError(
                405, INVALID, f"{request.path} does not accept {request.method}, only {', '.join(methods)}"
            )
            record.notes.append(error.message)
            return to_web_response(build_refusal(self._route.client, error, {"allow": ", ".join(methods)}))
        if request.path in LOCAL_DOCUMENTS:
            return web.json_response(LOCAL_DOCUMENTS[request.path](self._route, self._running))
        with self._occupy_slot():
            return await self._relay(request, record)

    @contextmanager
    def _occupy_slot(self) -> Iterator[None]:
        """Count a request as in progress. Raises `RequestError` if there are too many."""
        if self._stopping:
            raise RequestError(503, get_error_type(503), STOPPING)
        if self._running >= self._bounds.streams:
            message = f"too many requests: the proxy serves at most {self._bounds.streams} at a time"
            raise RequestError(503, get_error_type(503), message)
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _relay(self, request: web.Request, record: AccessRecord) -> web.StreamResponse:
        exchange = None
        deadline = asyncio.timeout(self._bounds.longest)
        try:
            async with deadline:
                self._deadlines.add(deadline)
                body = await self._read_body(request)
                if ENDPOINTS[self._route.client][request.path] == "count":
                    return to_web_response(build_token_count(body))
                headers = {name.lower(): value for name, value in request.headers.items()}
                upstream_request = translate_request(self._add_client_key(headers), body, headers)
                if upstream_request.ignored:
                    record.notes.append(describe_ignored_fields(upstream_request.ignored))
                exchange = ProxyExchange(upstream_request, self._upstream, request, self._bounds, record)
                return await exchange.run()
        except UpstreamError as error:
            status, message = error.status, str(error)
        except TimeoutError:
            if not deadline.expired():
                raise
            too_long = f"the answer took longer than {self._bounds.longest:g} s"
            status, message = (503, STOPPING) if self._stopping else (504, too_long)
        finally:
            self._deadlines.discard(deadline)
        if exchange is None:
            raise RequestError(status, get_error_type(status), message)
        return await exchange.break_off(status, message)

    async def _read_body(self, request: web.Request) -> bytes:
        """Return the body. Raises `RequestError` if the body is too large or arrives too slowly."""
        message = f"the request body is larger than {self._bounds.body} bytes"
        too_large = RequestError(413, "request_too_large", message)
        if (request.content_length or 0) > self._bounds.body:
            raise too_large
        try:
            async with asyncio.timeout(self._bounds.receive):
                return await request.read()
        except web.HTTPRequestEntityTooLarge:
            raise too_large from None
        except TimeoutError:
            message = f"the request body did not arrive within {self._bounds.receive:g} s"
            raise RequestError(408, "timeout_error", message) from None

    def _add_client_key(self, headers: Mapping[str, str]) -> Route:
        """Return the route, with the client's key if it has none and keys are passed on."""
        if self._route.key is not None or not self._pass_keys:
            return self._route
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        key = headers.get("x-api-key") or (bearer.strip() if scheme.lower() == "bearer" else "")
        return replace(self._route, key=key or None, has_client_key=True)


def _reject_foreign_origin(request: web.Request) -> None:
    """Raise `RequestError` for a request from another site's web page, which could use the proxy's keys."""
    origin = request.headers.get("origin")
    if origin is not None and not is_loopback(origin):
        raise RequestError(
            403, "permission_error", "requests from web pages on other machines are not allowed"
        )
