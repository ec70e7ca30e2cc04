"""A proxy between a test's upstream and its clients, all in one event loop, and the responses of a client."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from streamconform_proxy import Route
from streamconform_proxy.bounds import ProxyBounds
from streamconform_proxy.server import ProxyServer
from streamconform_proxy.upstream import UpstreamClient, UpstreamTimeouts

from .upstreams import Json, Play, Upstream, playing

TO_OLLAMA = Route(client="anthropic-messages", upstream="ollama-chat")
TO_OPENAI = Route(client="anthropic-messages", upstream="openai-chat")
TO_ANTHROPIC = Route(client="openai-chat", upstream="anthropic-messages")

REQUEST: Json = {
    "model": "qwen3:8b",
    "max_tokens": 64,
    "stream": True,
    "messages": [{"role": "user", "content": "Say hello"}],
}
"""A request that is valid in both client APIs."""
SECONDS = 120
"""Timeout of a test, generous for a busy machine."""


@dataclass
class ClientResponse:
    """A response as a client receives it."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Json:
        """The body as one document."""
        document: Json = json.loads(self.body)
        return document

    @property
    def events(self) -> list[Json]:
        """The payloads of the body as a stream, `[DONE]` left out."""
        lines = [line[6:] for line in self.body.decode().split("\n") if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]

    @property
    def types(self) -> list[str]:
        """The types of the events."""
        return [event["type"] for event in self.events]

    @property
    def text(self) -> str:
        """The text of an Anthropic stream."""
        return "".join(event["delta"].get("text", "") for event in self.events if "delta" in event)


@dataclass
class ProxySetup:
    """The proxy, its log, its upstream, and an HTTP client."""

    proxy: ProxyServer
    upstream: Upstream
    client: aiohttp.ClientSession
    log: list[str] = field(default_factory=list)
    logged: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the log has a line."""

    async def post(self, body: Any = REQUEST, path: str = "/v1/messages", **headers: str) -> ClientResponse:
        """Return the response to a POST."""
        data = io.BytesIO(body) if isinstance(body, bytes) else json.dumps(body)
        return await self.send("POST", path, data=data, **headers)

    async def send(self, method: str, path: str, data: Any = None, **headers: str) -> ClientResponse:
        """Return the response to a request."""
        named = {"content-type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
        async with self.client.request(method, self.proxy.url + path, data=data, headers=named) as response:
            body = await response.read()
            return ClientResponse(response.status, {k.lower(): v for k, v in response.headers.items()}, body)

    async def connect(
        self, body: Json = REQUEST, path: str = "/v1/messages"
    ) -> tuple[Any, asyncio.StreamWriter]:
        """Return a connection on which a request was sent and nothing was read."""
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(self.proxy.url).port, limit=1024)
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        await writer.drain()
        return reader, writer


@asynccontextmanager
async def proxied(
    play: Play,
    route: Route = TO_OLLAMA,
    bounds: ProxyBounds | None = None,
    timeouts: UpstreamTimeouts | None = None,
    url: str = "",
    **options: Any,
) -> AsyncIterator[ProxySetup]:
    """Start an upstream that answers with `play`, and a proxy in front of it (or of `url`)."""
    log: list[str] = []
    async with playing(play) as upstream, UpstreamClient(url or upstream.url, timeouts) as upstream_client:
        logged = asyncio.Event()

        def write_log(line: str) -> None:
            log.append(line)
            logged.set()

        proxy = ProxyServer(route, upstream_client, bounds=bounds, write_log=write_log, **options)
        await proxy.start()
        try:
            async with aiohttp.ClientSession() as client:
                yield ProxySetup(proxy, upstream, client, log, logged)
        finally:
            await proxy.close()


def run(test: Coroutine[Any, Any, Any]) -> Any:
    """Run a test with a timeout."""
    return asyncio.run(asyncio.wait_for(test, SECONDS))
