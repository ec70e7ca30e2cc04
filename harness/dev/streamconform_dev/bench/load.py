"""Load the replay server and the proxy: `python -m streamconform_dev.bench.load [--streams N] [--seconds N]`.

The replay server (`conform serve`) gets many requests at once and sends each answer at its recorded times.
Then the proxy (`conform proxy`) translates 200 streams at a time for ten minutes; its upstream sends a
piece every quarter of a second. Every answer is compared, and the memory of the server is sampled.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
import psutil
from aiohttp import web

from streamconform.resources import find_bundled
from streamconform.suite.cassettes import load
from streamconform_dev.bench.streams import chat_text, deltas_of_text

CONFORM: Final = str(Path(sys.executable).parent / "conform")
API: Final = "openai-chat"
CASE: Final = "llama-cpp/text"
"""A recording whose chunks have times."""
SERVED_SECONDS: Final = 20
"""How long the replay server takes for one answer, so that all are open at once."""
PIECES: Final = 20
"""Pieces of the upstream's answer."""
PAUSE: Final = 0.25
"""Seconds between two of them."""
PROXIED: Final = 200
"""Streams through the proxy at a time."""
MIB: Final = 1024 * 1024


@dataclass(slots=True)
class Load:
    """What a load test has found."""

    streams: int = 0
    failures: list[str] = field(default_factory=list)
    open: int = 0
    most_open: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)
    """Seconds since the start, and MiB of the process."""

    @contextlib.contextmanager
    def count(self) -> Iterator[None]:
        """Count a stream while it is open."""
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the others go on
            self.failures.append(f"{type(error).__name__}: {error}")
        finally:
            self.open -= 1
            self.streams += 1

    def describe(self, seconds: float) -> str:
        """Return the figures in one line."""
        mib = [memory for _, memory in self.memory]
        tenth = max(len(mib) // 10, 1)
        return (
            f"{self.streams:,} streams in {seconds:.0f} s, up to {self.most_open:,} at a time, "
            f"{len(self.failures)} failures; memory {mib[0]:.0f} MiB at first, at most {max(mib):.0f}; "
            f"on average {sum(mib[tenth : 2 * tenth]) / tenth:.0f} in the second tenth of the time and "
            f"{sum(mib[-tenth:]) / tenth:.0f} in the last"
        )


@contextlib.asynccontextmanager
async def sample(process: psutil.Process, found: Load, every: float) -> AsyncIterator[None]:
    """Record the memory of a process, now and until the end of the context."""
    start = time.monotonic()

    async def watch() -> None:
        while True:
            found.memory.append((time.monotonic() - start, process.memory_info().rss / MIB))
            await asyncio.sleep(every)

    task = asyncio.create_task(watch())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()


@contextlib.contextmanager
def run_command(*words: str) -> Iterator[tuple[psutil.Process, str]]:
    """Run `conform WORDS`; yield the process and the first URL in its output."""
    with subprocess.Popen([CONFORM, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = next(word for line in process.stdout for word in line.split() if word.startswith("http"))
            yield psutil.Process(process.pid), url
        finally:
            process.terminate()


async def load_server(count: int) -> Load:
    """Read `count` answers of the replay server at the same time."""
    cassette = load(find_bundled("cassettes"), API, CASE.replace("/", "-"))
    scale = SERVED_SECONDS * 1000 / cassette.marks[-1].ms
    found = Load()
    with run_command("serve", "-q", "-k", f"{API}/{CASE}", "--time-scale", f"{scale:.1f}") as (process, url):
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session, sample(process, found, 0.2):

            async def read() -> None:
                with found.count():
                    async with session.post(
                        f"{url}{cassette.request.path}", json=dict(cassette.request.body)
                    ) as reply:
                        body = await reply.read()
                    if body != cassette.body:
                        raise AssertionError(f"{len(body)} bytes, expected {len(cassette.body)}")

            await asyncio.gather(*(read() for _ in range(count)))
    return found


async def load_proxy(seconds: float) -> Load:
    """Translate `PROXIED` streams at a time for some time."""
    text = deltas_of_text(PIECES, 20)
    frames = list(chat_text(text))

    async def answer(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await reply.prepare(request)
        for frame in frames:
            await reply.write(frame)
            await asyncio.sleep(PAUSE)
        return reply

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    found, ask = Load(), {"model": "m", "max_tokens": 500, "stream": True}
    ask |= {"messages": [{"role": "user", "content": "Say something"}]}
    words = ("proxy", "--from", "anthropic-messages", "--to", API, "--upstream", f"http://127.0.0.1:{port}")
    with run_command(*words, "-q") as (process, url):
        connector = aiohttp.TCPConnector(limit=0)
        end = time.monotonic() + seconds
        async with aiohttp.ClientSession(connector=connector) as session, sample(process, found, 1):

            async def read_again() -> None:
                while time.monotonic() < end:
                    with found.count():
                        async with session.post(f"{url}/v1/messages", json=ask) as reply:
                            body = await reply.text()
                        if body.count("text_delta") != PIECES or "message_stop" not in body:
                            raise AssertionError(f"status {reply.status}: {body[-200:]}")

            await asyncio.gather(*(read_again() for _ in range(PROXIED)))
    await runner.cleanup()
    return found


def main(words: list[str]) -> int:
    """Run both tests and print their figures; returns 1 after a failure."""
    parser = argparse.ArgumentParser(prog="python -m streamconform_dev.bench.load", description=__doc__)
    parser.add_argument("--streams", type=int, default=1000, help="streams of the replay server")
    parser.add_argument("--seconds", type=float, default=600.0, help="time for the proxy")
    wanted = parser.parse_args(words)
    failures = []
    for name, work in (("replay server", load_server(wanted.streams)), ("proxy", load_proxy(wanted.seconds))):
        started = time.monotonic()
        found = asyncio.run(work)
        failures += found.failures
        sys.stdout.write(f"{name}: {found.describe(time.monotonic() - started)}\n")
        sys.stdout.flush()
    sys.stdout.writelines(f"{failure}\n" for failure in failures[:20])
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
