"""`conform proxy` as a user starts it, and what it costs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 100
"""After which a program hangs, on a machine that has other things to do."""
FROM_TO = ("--from", "anthropic-messages", "--to", "ollama-chat")


@dataclass
class Running:
    """A proxy in a process of its own."""

    process: Process
    log: asyncio.Task[bytes]
    """What it says on stderr, which is read all the time."""
    banner: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.banner[0].split()[0]

    def sockets(self) -> int:
        """How many sockets it has open."""
        found = 0
        for each in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed since
                found += str(each.readlink()).startswith("socket:")
        return found

    def kilobytes(self) -> int:
        """How much memory it has."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    async def ended(self, *signals: signal.Signals) -> tuple[int, str]:
        """Return what it ends with and what it logged, after these signals."""
        for each in signals:
            self.process.send_signal(each)
        code = await asyncio.wait_for(self.process.wait(), SECONDS)
        return code, (await self.log).decode()


@asynccontextmanager
async def started(url: str, *words: str, pair: tuple[str, ...] = FROM_TO) -> AsyncIterator[Running]:
    """Start `conform proxy` in front of `url`; it is killed if it still runs."""
    program = (sys.executable, "-m", "streamconform", "proxy", *pair, "--upstream", url, *words)
    environment = {**os.environ, "UPSTREAM_KEY": "key-of-the-upstream"}
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE, stderr=PIPE, env=environment)
    running = Running(process, asyncio.ensure_future(process.stderr.read()))
    try:
        while not running.banner or "bounds:" not in running.banner[-1]:
            line = await asyncio.wait_for(process.stdout.readline(), SECONDS)
            if not line:
                raise AssertionError((await running.log).decode())
            running.banner.append(line.decode().rstrip())
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await running.log
