"""The proxy as a server: what it listens to, whom it serves, how many at a time, and how it stops."""

from __future__ import annotations

import asyncio
import re
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from streamconform_reference.requests.errors import INVALID, RequestError

from streamconform_proxy.access_log import Account, Say, logger_to
from streamconform_proxy.bounds import MAX_HEADER_FIELD, Bounds
from streamconform_proxy.exchange import ClientStalledError, Exchange, reading, response_of
from streamconform_proxy.failures import counted, refused, type_of
from streamconform_proxy.listing import LOCAL
from streamconform_proxy.translate import ENDPOINTS, Route, ask
from streamconform_proxy.upstream import Upstream, UpstreamError

CLIENT_LEFT: Final = 499
STOPPING: Final = "the proxy is being stopped"
LOOPBACK: Final = re.compile(r"localhost|127(\.[0-9]+){3}|::1")
_LAST_WORDS: Final = 1.0
"""Seconds for the error events of the streams that a stop ends."""


class Proxy:
    """Serves from `start` to `close`; `stop` between them lets running streams come to their end."""

    def __init__(
        self,
        route: Route,
        upstream: Upstream,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        pass_keys: bool = True,
        bounds: Bounds | None = None,
        say: Say | None = None,
    ) -> None:
        """Hold the settings. Without a key in `route`, clients' own keys go upstream where `pass_keys`."""
        self.url = ""
        """Where it listens, without a slash at the end."""
        self._route = route
        self._upstream = upstream
        self._place = (host, port)
        self._pass_keys = pass_keys
        self._bounds = bounds or Bounds()
        self._say = say or (lambda _: None)
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._count = 0
        """Requests that are being answered."""
        self._deadlines: set[asyncio.Timeout] = set()
        self._idle = asyncio.Event()
        self._stopping = False

    async def start(self) -> None:
        """Begin to listen; raises `OSError` where that is not possible."""
        self._idle.set()
        app = web.Application(client_max_size=self._bounds.body)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=logger_to(self._say),
            handler_cancellation=True,  # a client that goes away ends its request upstream
            keepalive_timeout=self._bounds.receive,
            max_line_size=MAX_HEADER_FIELD,
            max_field_size=MAX_HEADER_FIELD,
            shutdown_timeout=_LAST_WORDS,
        )
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, *self._place, backlog=1024)
        try:
            await self._site.start()
        except OSError:
            await self._runner.cleanup()
            raise
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def close(self) -> None:
        """Cut what is still on."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def stop(self) -> None:
        """Take no more requests; let streams end, and after the grace end them with an error event."""
        assert self._site is not None, "stopped after it was started"
        self._stopping = True
        await self._site.stop()
        if await self._is_idle_within(self._bounds.grace):
            return
        for deadline in self._deadlines:
            deadline.reschedule(asyncio.get_running_loop().time())
        await self._is_idle_within(_LAST_WORDS)

    async def _is_idle_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        account = Account(request.method, request.path)
        began = time.monotonic()
        try:
            response = await self._answer(request, account)
            account.status = response.status
            if isinstance(response, web.Response) and isinstance(response.body, bytes):
                account.sent = len(response.body)
            if self._stopping:
                response.force_close()
            async with reading(self._bounds.stalled):
                await response.prepare(request)
                await response.write_eof()
        except asyncio.CancelledError:
            account.notes.append(STOPPING if self._stopping else "the client left")
            raise
        except ConnectionError as error:
            said = str(error) if isinstance(error, ClientStalledError) else "the client left"
            account.notes.append(said)
            if request.transport is not None:
                request.transport.abort()
            response = web.Response(status=CLIENT_LEFT)  # nobody gets it
        finally:
            self._say(account.line((time.monotonic() - began) * 1000))
        return response

    async def _answer(self, request: web.Request, account: Account) -> web.StreamResponse:
        try:
            return await self._dispatch(request, account)
        except RequestError as error:
            account.notes.append(error.message)
            return response_of(refused(self._route.client, error))
        except (ConnectionError, web.HTTPException):
            raise
        except Exception:  # noqa: BLE001 - whatever is left is our own mistake, and the next request is served
            self._say(traceback.format_exc().rstrip())
            account.notes.append("a mistake of the proxy")
            words = "the proxy made a mistake; what it was stands in its log"
            return response_of(refused(self._route.client, RequestError(500, type_of(500), words)))

    async def _dispatch(self, request: web.Request, account: Account) -> web.StreamResponse:
        """Return the response; raises `RequestError` where the request is not served."""
        _must_not_come_from_a_page(request)
        served = ENDPOINTS[self._route.client]
        methods = ("POST",) if request.path in served else ("GET", "HEAD") if request.path in LOCAL else ()
        if not methods:
            known = ", ".join(f"POST {path}" for path in served)
            raise RequestError(
                404, "not_found_error", f"there is no `{request.path[:200]}` here; there is {known}"
            )
        if request.method not in methods:
            error = RequestError(405, INVALID, f"`{request.path}` takes {methods[0]}")
            account.notes.append(error.message)
            return response_of(refused(self._route.client, error, {"allow": ", ".join(methods)}))
        if request.path in LOCAL:
            return web.json_response(LOCAL[request.path](self._route, self._count))
        with self._slot():
            return await self._converse(request, account)

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Count a request; raises `RequestError` where there are too many."""
        if self._stopping:
            raise RequestError(503, type_of(503), STOPPING)
        if self._count >= self._bounds.streams:
            words = f"the proxy serves {self._bounds.streams} requests at a time"
            raise RequestError(503, type_of(503), words)
        self._count += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()

    async def _converse(self, request: web.Request, account: Account) -> web.StreamResponse:
        exchange = None
        deadline = asyncio.timeout(self._bounds.longest)
        try:
            async with deadline:
                self._deadlines.add(deadline)
                body = await self._body(request)
                if ENDPOINTS[self._route.client][request.path] == "count":
                    return response_of(counted(body))
                headers = {name.lower(): value for name, value in request.headers.items()}
                asked = ask(self._route_for(headers), body, headers)
                exchange = Exchange(asked, self._upstream, request, self._bounds, account)
                return await exchange.run()
        except UpstreamError as error:
            status, words = error.status, str(error)
        except TimeoutError:
            if not deadline.expired():
                raise
            longest = f"the answer took longer than {self._bounds.longest:g} s"
            status, words = (503, STOPPING) if self._stopping else (504, longest)
        finally:
            self._deadlines.discard(deadline)
        if exchange is None:
            raise RequestError(status, type_of(status), words)
        return await exchange.break_off(status, words)

    async def _body(self, request: web.Request) -> bytes:
        """Return the body; raises `RequestError` where it is too large, or too slow."""
        too_large = RequestError(413, "request_too_large", f"a request has at most {self._bounds.body} bytes")
        if (request.content_length or 0) > self._bounds.body:
            raise too_large
        try:
            async with asyncio.timeout(self._bounds.receive):
                return await request.read()
        except web.HTTPRequestEntityTooLarge:
            raise too_large from None
        except TimeoutError:
            words = f"the request did not come within {self._bounds.receive:g} s"
            raise RequestError(408, "timeout_error", words) from None

    def _route_for(self, headers: Mapping[str, str]) -> Route:
        """Return the route with the key that is the client's, where it has none of its own."""
        if self._route.key is not None or not self._pass_keys:
            return self._route
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        key = headers.get("x-api-key") or (bearer.strip() if scheme.lower() == "bearer" else "")
        return replace(self._route, key=key or None)


def _must_not_come_from_a_page(request: web.Request) -> None:
    """Raise `RequestError` for what a browser sends for a page of another site: it would use the keys."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        host = None
    if host is None or not LOOPBACK.fullmatch(host):
        raise RequestError(403, "permission_error", "pages of other sites may not use this proxy")
