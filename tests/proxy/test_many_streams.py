"""Two hundred streams at a time, in several rounds; most break off, and none leaks anything."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from urllib.parse import urlsplit

import pytest

from streamconform_proxy.bounds import ProxyBounds

from .program import started
from .started import REQUEST, proxied, run
from .upstreams import last, playing, record

STREAMS = 200
RECORDS = 8
TEXT = "Grüße an alle " * 8
BAD_ENDS = ("leave", "leave", "reset", "error", "end of file")
"""`leave` is up to the client, the others to the upstream."""
GROWTH = 6 * 1024
"""Kilobytes by which a process may grow between rounds, because the allocator keeps memory."""


class Rounds:
    """An upstream that answers a round's requests only when all have arrived."""

    def __init__(self):
        self.arrived = 0
        self.all_arrived = asyncio.Event()

    def begin(self):
        self.arrived = 0
        self.all_arrived = asyncio.Event()

    async def __call__(self, received, wire):
        how = received.body["messages"][0]["content"]
        await wire.head()
        await wire.send(record(content=TEXT))
        self.arrived += 1
        if self.arrived == STREAMS:
            self.all_arrived.set()
        await self.all_arrived.wait()
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
    """Return how the stream ended for its client."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    body = json.dumps({**REQUEST, "messages": [{"role": "user", "content": how}]}).encode()
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
    """Run one round until no upstream connection is open; return how its streams ended."""
    rounds.begin()
    results = await asyncio.gather(*(client(url, ends[i % len(ends)]) for i in range(STREAMS)))
    await upstream.closed()
    return Counter(results)


WARM = ("whole", *BAD_ENDS)
ROUNDS = (BAD_ENDS, ("whole",))


def count_expected(ends):
    """Return how the streams of a round must end."""
    results = {"whole": "whole", "leave": "left"}
    return Counter(results.get(ends[i % len(ends)], "error") for i in range(STREAMS))


@pytest.mark.slow
def test_many_streams_leak_no_sockets_and_no_memory():
    async def test():
        rounds = Rounds()
        async with playing(rounds) as upstream, started(upstream.url, "-q") as proxy:
            sockets = proxy.count_sockets()
            assert await one_round(proxy.url, upstream, rounds, WARM) == count_expected(WARM)
            before = proxy.measure_kilobytes()
            for ends in ROUNDS:
                assert await one_round(proxy.url, upstream, rounds, ends) == count_expected(ends)
            while proxy.count_sockets() > sockets:  # noqa: ASYNC110 - another process, which does not notify us
                await asyncio.sleep(0.01)
            assert proxy.measure_kilobytes() - before < GROWTH
            code, log = await proxy.wait_for_exit(signal.SIGTERM)
            assert (code, log.count("\n")) == (0, 1), log  # the line about stopping

    run(test())


@pytest.mark.slow
def test_many_streams_leak_no_tasks():
    async def test():
        rounds = Rounds()
        async with proxied(rounds, bounds=ProxyBounds(streams=STREAMS)) as setup:
            before = asyncio.all_tasks()
            assert await one_round(setup.proxy.url, setup.upstream, rounds, WARM) == count_expected(WARM)
            while asyncio.all_tasks() - before:  # noqa: ASYNC110 - the tasks are those of a server
                await asyncio.sleep(0)
            assert len(setup.log) == STREAMS

    run(test())
