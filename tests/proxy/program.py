"""`conform proxy` in its own process, and the sockets and memory it uses."""

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
"""Timeout of a program, generous for a busy machine."""
FROM_TO = ("--from", "anthropic-messages", "--to", "ollama-chat")


@dataclass
class RunningProxy:
    """A proxy in its own process."""

    process: Process
    log: asyncio.Task[bytes]
    """Its stderr, which is read continuously so that it never blocks."""
    banner: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address."""
        return self.banner[0].split()[0]

    def count_sockets(self) -> int:
        """Return the number of open sockets."""
        count = 0
        for link in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed in the meantime
                count += str(link.readlink()).startswith("socket:")
        return count

    def measure_kilobytes(self) -> int:
        """Return its resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    async def wait_for_exit(self, *signals: signal.Signals) -> tuple[int, str]:
        """Send these signals; return the exit code and the log."""
        for number in signals:
            self.process.send_signal(number)
        code = await asyncio.wait_for(self.process.wait(), SECONDS)
        return code, (await self.log).decode()


@asynccontextmanager
async def started(url: str, *options: str, pair: tuple[str, ...] = FROM_TO) -> AsyncIterator[RunningProxy]:
    """Start `conform proxy` in front of `url`; it is killed at the end if it still runs."""
    program = (sys.executable, "-m", "streamconform", "proxy", *pair, "--upstream", url, *options)
    environment = {**os.environ, "UPSTREAM_KEY": "key-of-the-upstream"}
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE, stderr=PIPE, env=environment)
    running = RunningProxy(process, asyncio.ensure_future(process.stderr.read()))
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
