"""An upstream on loopback that sends exactly what a test wants, and notices when its client disconnects."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

NDJSON = "application/x-ndjson"
SSE = "text/event-stream"


@dataclass(frozen=True)
class Received:
    """A request as received."""

    path: str
    headers: dict[str, str]
    body: Json


@dataclass
class Wire:
    """One connection, with methods to answer on it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    written: int = 0

    async def head(self, status: int = 200, kind: str = NDJSON, **headers: str) -> None:
        """Start a chunked response."""
        named = {"content-type": kind, "transfer-encoding": "chunked", **headers}
        lines = [
            f"HTTP/1.1 {status} X",
            *(f"{name.replace('_', '-')}: {value}" for name, value in named.items()),
        ]
        self.writer.write("\r\n".join([*lines, "", ""]).encode())
        await self.writer.drain()

    async def send(self, data: bytes) -> None:
        """Send a chunk, and wait until the system accepted it."""
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self.writer.drain()
        self.written += len(data)

    async def end(self) -> None:
        """End the chunked body properly."""
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def document(self, status: int, document: Json, **headers: str) -> None:
        """Answer with one document."""
        await self.head(status, "application/json", **headers)
        await self.send(json.dumps(document).encode())
        await self.end()

    def reset(self) -> None:
        """Reset the connection."""
        self.writer.transport.abort()

    async def until_gone(self) -> None:
        """Wait until the client has closed the connection."""
        with contextlib.suppress(ConnectionError):
            await self.reader.read(1)


Play = Callable[[Received, Wire], Awaitable[None]]
"""Answers one request."""


@dataclass
class Upstream:
    """Its address, the requests it received, and the number of open connections."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    open: int = 0
    _closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def closed(self) -> None:
        """Wait until no connection is open."""
        while self.open:
            self._closed.clear()
            await self._closed.wait()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[None]:
        """Count an open connection."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self._closed.set()


@asynccontextmanager
async def playing(play: Play) -> AsyncIterator[Upstream]:
    """Serve inside the context, one request per connection."""
    upstream = Upstream()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            async with upstream.connection():
                with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                    received = await _receive(reader)
                    upstream.received.append(received)
                    await play(received, Wire(reader, writer))
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield upstream
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _receive(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *rest = head.rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(first.split(" ")[1], headers, json.loads(body) if body else {})


# --- Ollama


def record(**fields: Any) -> bytes:
    """Return a record: `content`, `thinking` or `tool_calls` of the message, or others of the record."""
    message = {"role": "assistant", "content": ""}
    fields_of_message = {
        key: fields.pop(key) for key in ("content", "thinking", "tool_calls") if key in fields
    }
    base = {
        "model": "qwen3:8b",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {**message, **fields_of_message},
    }
    return json.dumps({**base, "done": False, **fields}).encode() + b"\n"


def last(**fields: Any) -> bytes:
    """Return the record that ends an answer."""
    counts = {"prompt_eval_count": 11, "eval_count": 7}
    return record(done=True, done_reason="stop", **{**counts, **fields})


def saying(*texts: str) -> Play:
    """Return a play that answers with these texts, streamed or not."""

    async def play(received: Received, wire: Wire) -> None:
        if not received.body.get("stream", True):
            await wire.document(200, json.loads(last(content="".join(texts))))
            return
        await wire.head()
        for text in texts:
            await wire.send(record(content=text))
        await wire.send(last())
        await wire.end()

    return play


# --- OpenAI's chat API


def chunk(delta: Json, finish: str | None = None, **fields: Any) -> bytes:
    """Return a frame of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    base = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }
    return b"data: " + json.dumps({**base, **fields}).encode() + b"\n\n"


# --- Anthropic's API


def event(kind: str, **fields: Any) -> bytes:
    """Return a frame of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
