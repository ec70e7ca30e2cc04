"""Two hundred streams at a time, round after round, most of which end badly: nothing is left of them."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from urllib.parse import urlsplit

import pytest
from streamconform_proxy.bounds import ProxyBounds

from .program import started
from .started import ASKED, proxied, run
from .upstreams import last, playing, record

STREAMS = 200
RECORDS = 8
TEXT = "Grüße an alle " * 8
BAD_ENDS = ("leave", "leave", "reset", "error", "end of file")
"""`leave` is the client's, the others are the upstream's."""
GROWTH = 6 * 1024
"""Kilobytes that a process may have more after rounds than before: what the allocator keeps."""


class Rounds:
    """An upstream that answers none of a round before all of it is there."""

    def __init__(self):
        self.here = 0
        self.all_here = asyncio.Event()

    def begin(self):
        self.here = 0
        self.all_here = asyncio.Event()

    async def __call__(self, received, wire):
        how = received.body["messages"][0]["content"]
        await wire.head()
        await wire.send(record(content=TEXT))
        self.here += 1
        if self.here == STREAMS:
            self.all_here.set()
        await self.all_here.wait()
        for _ in range(RECORDS):
            await wire.send(record(content=TEXT))
            await asyncio.sleep(0)
        match how:
            case "leave":
                await wire.until_gone()
            case "reset":
                wire.reset()
            case "error":
                await wire.send(b'{"error": "out of memory"}\n')
            case "whole":
                await wire.send(last())
        if how != "reset":
            await wire.end()


async def client(url, how):
    """Return how a stream ended for its client."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    body = json.dumps({**ASKED, "messages": [{"role": "user", "content": how}]}).encode()
    head = (
        f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    try:
        seen = await reader.readuntil(b"text_delta")
        if how == "leave":
            for _ in range(RECORDS // 2):
                await reader.readuntil(b"text_delta")
            writer.transport.abort()
            return "left"
        seen += await reader.read()
        while data := await reader.read():
            seen += data
        return (
            "whole" if b"event: message_stop" in seen else "error" if b"event: error" in seen else "neither"
        )
    finally:
        writer.close()


async def one_round(url, upstream, rounds, ends):
    """Have every stream of a round end, and be gone upstream too; return how many ended in which way."""
    rounds.begin()
    told = await asyncio.gather(*(client(url, ends[i % len(ends)]) for i in range(STREAMS)))
    await upstream.closed()
    return Counter(told)


WARM = ("whole", *BAD_ENDS)
ROUNDS = (BAD_ENDS, ("whole",))


def due(ends):
    """Return how the streams of a round have to end."""
    words = {"whole": "whole", "leave": "left"}
    return Counter(words.get(ends[i % len(ends)], "error") for i in range(STREAMS))


@pytest.mark.slow
def test_of_many_streams_no_socket_and_no_memory_is_left():
    async def test():
        rounds = Rounds()
        async with playing(rounds) as upstream, started(upstream.url, "-q") as proxy:
            sockets = proxy.sockets()
            assert await one_round(proxy.url, upstream, rounds, WARM) == due(WARM)
            before = proxy.kilobytes()
            for ends in ROUNDS:
                assert await one_round(proxy.url, upstream, rounds, ends) == due(ends)
            while proxy.sockets() > sockets:  # noqa: ASYNC110 - it is another process, and tells nobody
                await asyncio.sleep(0.01)
            assert proxy.kilobytes() - before < GROWTH
            code, log = await proxy.ended(signal.SIGTERM)
            assert (code, log.count("\n")) == (0, 1), log  # that it stops

    run(test())


@pytest.mark.slow
def test_of_many_streams_no_task_is_left():
    async def test():
        rounds = Rounds()
        async with proxied(rounds, bounds=ProxyBounds(streams=STREAMS)) as between:
            before = asyncio.all_tasks()
            assert await one_round(between.proxy.url, between.upstream, rounds, WARM) == due(WARM)
            while asyncio.all_tasks() - before:  # noqa: ASYNC110 - the tasks are those of a server
                await asyncio.sleep(0)
            assert len(between.log) == STREAMS

    run(test())
