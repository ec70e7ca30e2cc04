"""A process that is spoken to line by line, and ended with whatever it started.

Nothing here knows the protocol: lines go in, lines come out, and how it ended can be told.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections import deque

from streamconform.adapters.environment import stripped
from streamconform.adapters.process_cleanup import kill_marked, new_mark
from streamconform.printable import escape_unprintable

STDERR_TAIL = 4000
"""Characters of stderr that are kept of each read, and shown at most."""
STDERR_READS = 200
STDERR_LINES = 8
"""Lines of stderr that a message shows."""
AN_ERROR = re.compile(r"(Uncaught |Exception in thread |thread '|panic: |fatal|[\w.$]*(Error|Exception)\b)")
"""How a line begins that says why a program ended."""


class LineTooLongError(ValueError):
    """A line from the process goes beyond the bound."""


class Process:
    """One child process in a session of its own, its environment without keys and proxies."""

    def __init__(self, argv: tuple[str, ...], *, stop_seconds: float) -> None:
        """Hold `argv`; nothing is started yet. `stop_seconds` is how long its end is waited for."""
        self.argv = argv
        self.stop_seconds = stop_seconds
        self._process: asyncio.subprocess.Process | None = None
        self._stderr: deque[str] = deque(maxlen=STDERR_READS)
        self._reader: asyncio.Task[None] | None = None
        self._mark = new_mark()

    @property
    def code(self) -> int | None:
        """Return what it ended with; None while it runs, and before it is started."""
        return None if self._process is None else self._process.returncode

    async def start(self, *, max_line: int) -> None:
        """Start it; raises `OSError` or `ValueError` where that is not possible."""
        self._process = await asyncio.create_subprocess_exec(
            *self.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=stripped(os.environ) | {"PYTHONUNBUFFERED": "1", self._mark: "1"},
            limit=max_line,
        )
        self._reader = asyncio.create_task(self._read_stderr())

    async def send(self, line: bytes) -> None:
        """Write `line`; raises `OSError` where it reads no more."""
        stdin = self._process.stdin if self._process else None
        if stdin is None or stdin.is_closing():
            raise BrokenPipeError
        stdin.write(line)
        await stdin.drain()

    async def line(self) -> bytes:
        """Return the next line that is not blank, empty at the end; raises `LineTooLongError`."""
        stream = self._process.stdout if self._process else None
        while stream is not None:
            try:
                line = await stream.readline()
            except ValueError as error:
                raise LineTooLongError from error
            except OSError:
                return b""
            if line.strip() or not line:
                return line
        return b""

    async def ended(self) -> None:
        """Wait until it is gone and its stderr read, so that messages can tell how it ended."""
        if self._process is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.stop_seconds):
                await self._process.wait()
                if self._reader is not None:
                    await self._reader
        self._kill_group()

    async def stop(self, last: bytes) -> bool:
        """Send `last`, close its input and return whether it then ended by itself in time."""
        process = self._process
        if process is None or process.returncode is not None:
            return True
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(self.stop_seconds):
                await self.send(last)
                if process.stdin:
                    process.stdin.close()
                await process.wait()
        return process.returncode is not None

    async def kill(self) -> None:
        """End it and whatever it started, at once."""
        process = self._process
        if process is None:
            return
        self._kill_group()
        transport = getattr(process, "_transport")  # noqa: B009 - asyncio shows it by no other name
        stdout = transport.get_pipe_transport(1)
        if stdout is not None:
            stdout.close()  # asyncio waits for its end, which does not come where nobody reads on
        try:
            await kill_marked(self._mark, group=process.pid)
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.stop_seconds):
                    await process.wait()
            if self._reader is not None:
                self._reader.cancel()
            transport.close()  # a child in a session of its own can hold the other pipes

    def ending(self) -> str:
        """Return how it ended, with its last words on stderr."""
        code = self.code
        how = "its stdout was closed" if code is None else f"exit code {code}"
        if code is not None and code < 0:
            how = f"signal {signal.Signals(-code).name}"
        tail = last_words(self.stderr())
        hint = "; it is to go on until `stop`" if code == 0 else ""
        return f"the program ended ({how}{hint})" + (f": {escape_unprintable(tail[:500])}" if tail else "")

    def stderr(self) -> str:
        """Return the end of what it wrote to stderr, as it came."""
        return "".join(self._stderr)[-STDERR_TAIL:].strip()

    def _kill_group(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _read_stderr(self) -> None:
        stream = self._process.stderr if self._process else None
        while stream is not None:
            data = await stream.read(65536)
            if not data:
                return
            self._stderr.append(data.decode("utf-8", "replace")[-STDERR_TAIL:])


def last_words(stderr: str) -> str:
    """Return the line that tells most: the last that names an error, else the last; empty without any.

    Below its error Node writes its version, Rust a note, Java and Go where it was.
    """
    lines = [line for line in stderr.splitlines() if line.strip()]
    named = (line for line in reversed(lines) if AN_ERROR.match(line))
    return next(named, lines[-1] if lines else "")


def unusable(impl: str, why: str, stderr: str) -> str:
    """Return the message for a program that cannot be used: its own last words where it has any."""
    if stderr and "\n" not in stderr:
        return f"`{impl}` cannot be used: {escape_unprintable(stderr[:500])}"
    lines = "\n".join(f"  | {escape_unprintable(line[:500])}" for line in stderr.splitlines()[-STDERR_LINES:])
    return f"`{impl}` cannot be used: {why}" + (f"; its stderr ends:\n{lines}" if stderr else "")
