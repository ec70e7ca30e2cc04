"""A child process with line-based stdin and stdout that is killed together with every process it started.

This module does not know the protocol: it sends and receives lines and describes how the process exited.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import signal
from collections import deque
from collections.abc import Iterable

from streamconform.adapters.environment import remove_secrets
from streamconform.adapters.idle_limit import Activity, read_activity, wait_while_busy
from streamconform.adapters.process_cleanup import (
    HAS_PROC,
    create_mark,
    find_marked,
    kill_marked,
    limit_process,
    list_descendants,
)
from streamconform.printable import escape_line

STDERR_KEPT_LINES = 60
"""Number of stderr lines to keep: a stack trace may follow the line that contains the error."""
STDERR_LINES = 8
"""Number of stderr lines to quote in a message."""
STDERR_WIDTH = 300
"""The maximum number of characters to keep per stderr line."""
ERROR_LINE = re.compile(r"(Uncaught |Exception in thread |thread '|panic: |fatal|[\w.$]*(Error|Exception)\b)")
"""Matches the beginning of a stderr line that states why a program ended."""


class LineTooLongError(ValueError):
    """A line from the process exceeds the size limit."""


class Process:
    """One child process in its own session, with keys and proxies removed from its environment."""

    def __init__(
        self, argv: tuple[str, ...], *, stop_seconds: float, environment: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Store `argv` without starting it. `stop_seconds` limits the time to wait for its exit.

        `environment` is added to our environment, in which keys are removed.
        """
        self.argv = argv
        self._environment = dict(environment)
        self.stop_seconds = stop_seconds
        self._process: asyncio.subprocess.Process | None = None
        self._stderr = _LineTail()
        self._reader: asyncio.Task[None] | None = None
        self._mark = create_mark()
        self._is_gone = False

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, or None before the start and while the process is running."""
        return None if self._process is None else self._process.returncode

    async def start(self, *, max_line: int) -> None:
        """Start it. Raises `OSError` or `ValueError` if that fails."""
        self._process = await asyncio.create_subprocess_exec(
            *self.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # A new session: its group can be killed as a whole, and Ctrl-C in the terminal reaches only the
            # harness, which then shuts it down cleanly.
            start_new_session=True,
            # Unbuffered, so that a Python program that does not flush does not hang.
            env={
                **remove_secrets(os.environ),
                **self._environment,
                "PYTHONUNBUFFERED": "1",
                self._mark.variable: "1",
            },
            # asyncio's own limit is 64 KiB, less than the result of a long answer.
            limit=max_line,
        )
        limit_process(self._process.pid, self._mark)
        # Reading begins at the start, because a program that fills its stderr pipe would block.
        self._reader = asyncio.create_task(self._read_stderr())

    async def send(self, line: bytes) -> None:
        """Write `line`. Raises `OSError` if the process no longer reads its stdin."""
        stdin = self._process.stdin if self._process else None
        if stdin is None or stdin.is_closing():
            raise BrokenPipeError
        stdin.write(line)
        await stdin.drain()

    async def read_line(self) -> bytes:
        """Return the next non-blank line, or an empty one at the end of stdout. Raises `LineTooLongError`."""
        stream = self._process.stdout if self._process else None
        while stream is not None:
            try:
                line = await stream.readline()
            # asyncio raises `ValueError` if a line exceeds the limit.
            except ValueError as error:
                raise LineTooLongError from error
            except OSError:
                return b""
            if line.strip() or not line:
                return line
        return b""

    async def wait_for_exit(self) -> None:
        """Wait for the exit code and the rest of stderr, so that messages can include them."""
        if self._process is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.stop_seconds):
                await self._process.wait()
                if self._reader is not None:
                    await self._reader
        # Children may outlive it and keep its pipes open.
        self._kill_group()

    async def stop(self, last: bytes, *, while_busy: bool = False) -> bool:
        """Send `last`, close the process's stdin, and return whether it then exited in time.

        With `while_busy`, only the time in which it is idle counts.
        """
        process = self._process
        if process is None or process.returncode is not None:
            return True
        exiting = self._send_last(process, last)
        with contextlib.suppress(OSError, TimeoutError):
            if while_busy:
                await wait_while_busy(exiting, self.stop_seconds, self.read_activity)
            else:
                await asyncio.wait_for(exiting, self.stop_seconds)
        return process.returncode is not None

    async def _send_last(self, process: asyncio.subprocess.Process, last: bytes) -> None:
        await self.send(last)
        if process.stdin:
            process.stdin.close()
        await process.wait()

    async def kill(self) -> None:
        """Kill the process and every process that it started."""
        process = self._process
        if process is None or self._is_gone:
            return
        # Before the kill, because the orphans of a dead process get a new parent, so `ps` no longer shows
        # which process started them.
        descendants = frozenset() if HAS_PROC else list_descendants(process.pid)
        self._kill_group()
        transport = getattr(process, "_transport")  # noqa: B009 - asyncio exposes it under no other name
        stdout = transport.get_pipe_transport(1)
        if stdout is not None:
            stdout.close()  # asyncio waits for the end of stdout, which never comes if nothing reads it
        try:
            self._is_gone = await kill_marked(self._mark, group=process.pid, descendants=descendants)
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.stop_seconds):
                    await process.wait()
            if self._reader is not None:
                self._reader.cancel()
            transport.close()  # a child in another session may still hold the other pipes

    def read_activity(self) -> Activity | None:
        """Return the activity of the process and of everything it started; None if the system hides it."""
        return read_activity(find_marked(self._mark)) if HAS_PROC else None

    def describe_exit(self) -> str:
        """Return how the process exited, with the error line from its stderr."""
        code = self.exit_code
        cause = "it closed stdout" if code is None else f"exit code {code}"
        if code is not None and code < 0:
            cause = f"signal {signal.Signals(-code).name}"
        error_line = find_error_line(self.stderr_tail())
        hint = "; a program must run until `stop`" if code == 0 else ""
        return f"the program ended ({cause}{hint})" + (
            f": {escape_line(error_line, STDERR_WIDTH)}" if error_line else ""
        )

    def stderr_tail(self) -> str:
        """Return the last lines of the process's stderr."""
        return self._stderr.text()

    def last_stderr_lines(self) -> tuple[str, ...]:
        """Return the last `STDERR_LINES` lines of the process's stderr, escaped."""
        lines = self.stderr_tail().splitlines()[-STDERR_LINES:]
        return tuple(escape_line(line, STDERR_WIDTH) for line in lines)

    def _kill_group(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _read_stderr(self) -> None:
        stream = self._process.stderr if self._process else None
        # Incremental, since a read may end inside a character.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while stream is not None:
            data = await stream.read(65536)
            if not data:
                return
            self._stderr.add(decoder.decode(data))


class _LineTail:
    """The last lines of a text, each truncated to its first `STDERR_WIDTH` characters."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=STDERR_KEPT_LINES)
        self._last = ""

    def add(self, text: str) -> None:
        """Append text that may begin and end in the middle of a line."""
        *ended, rest = text.split("\n")
        for piece in ended:
            self._lines.append((self._last + piece)[:STDERR_WIDTH].rstrip())
            self._last = ""
        # Cut while the text grows, because a program may print megabytes without a newline.
        self._last = (self._last + rest)[:STDERR_WIDTH]

    def text(self) -> str:
        """Return the lines, without leading and trailing blank ones."""
        return "\n".join((*self._lines, self._last)).strip("\n")


def find_error_line(stderr: str) -> str:
    """Return the last line that names an error, or else the last line, or else an empty string."""
    # The last line alone is not enough: after the error, Node prints its version, Rust prints a note, and
    # Java and Go print a stack trace.
    lines = [line for line in stderr.splitlines() if line.strip()]
    errors = (line for line in reversed(lines) if ERROR_LINE.match(line))
    return next(errors, lines[-1] if lines else "")


def describe_unusable(impl: str, why: str, stderr: str, *, exit_code: int | None) -> str:
    """Return the message for a program that cannot be used, with the end of its stderr.

    `exit_code` is None if the program did not exit by itself. If it exited with an error, a single line on
    stderr replaces `why`: it says more, as from our own host. Otherwise, it may be no more than a warning.
    """
    if exit_code and stderr and "\n" not in stderr:
        return f"`{impl}` cannot be used: {escape_line(stderr, STDERR_WIDTH)}"
    tail = stderr.splitlines()[-STDERR_LINES:]
    lines = "\n".join(f"  | {escape_line(line, STDERR_WIDTH)}" for line in tail)
    return f"`{impl}` cannot be used: {why}" + (f"; its stderr ends with:\n{lines}" if stderr else "")
