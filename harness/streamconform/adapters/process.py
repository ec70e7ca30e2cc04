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
from collections.abc import Callable, Iterable

from streamconform.adapters.environment import remove_secrets
from streamconform.adapters.idle_limit import Activity, read_activity, wait_while_busy
from streamconform.adapters.process_cleanup import (
    create_mark,
    find_marked,
    kill_marked,
    limit_process,
    list_descendants,
)
from streamconform.printable import escape_line
from streamconform.system import HAS_PROC, PROC, kill_group

STDERR_KEPT_LINES = 60
"""Number of stderr lines to keep: a stack trace may follow the line that contains the error."""
STDERR_LINES = 8
"""Number of stderr lines to quote in a message."""
STDERR_WIDTH = 300
"""The maximum number of characters to keep per stderr line."""
ERROR_LINE = re.compile(r"(Uncaught |Exception in thread |thread '|panic: |fatal|[\w.$]*(Error|Exception)\b)")
"""Matches the beginning of a stderr line that states why a program ended."""

# Source: https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html
RESET_PEAK = "5"
PEAK_LINE = re.compile(rb"^VmHWM:\s+(\d+) kB", re.MULTILINE)


OnLine = Callable[[bytes | None], None]
"""Receives a line of stdout, an empty one at its end, and None instead of a line that is too long."""


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
        self._transport: asyncio.SubprocessTransport | None = None
        self._pipes = _Pipes(0)
        self._mark = create_mark()
        self._is_gone = False

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, or None before the start and while the process is running."""
        return None if self._transport is None else self._transport.get_returncode()

    @property
    def unsent(self) -> int:
        """Return the number of bytes that wait until the process reads its stdin."""
        return self._stdin.get_write_buffer_size()

    async def start(self, *, max_line: int) -> None:
        """Start it. Raises `OSError` or `ValueError` if that fails."""
        # Its own protocol instead of asyncio's streams, whose tasks and locks took most of the time of a run.
        self._transport, self._pipes = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Pipes(max_line),
            *self.argv,
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
        )
        limit_process(self._transport.get_pid(), self._mark)

    def write(self, line: bytes) -> None:
        """Write `line` without waiting until the process reads it. Raises `OSError` if it no longer does."""
        if self._stdin.is_closing():
            raise BrokenPipeError
        self._stdin.write(line)

    async def send(self, line: bytes) -> None:
        """Write `line`, and wait while much is unread. Raises `OSError` if the process no longer reads."""
        self.write(line)
        await self._pipes.has_room.wait()

    async def read_line(self) -> bytes:
        """Return the next non-blank line, or an empty one at the end of stdout. Raises `LineTooLongError`."""
        return await self._pipes.read_line()

    def follow(self, on_line: OnLine) -> None:
        """Call `on_line` with each further line at once, instead of keeping it for `read_line`."""
        self._pipes.follow(on_line)

    async def wait_for_exit(self) -> None:
        """Wait for the exit code and the rest of stderr, so that messages can include them."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.stop_seconds):
                await self._pipes.exited.wait()
                await self._pipes.stderr_ended.wait()
        # Children may outlive it and keep its pipes open.
        self._kill_group()

    async def stop(self, last: bytes, *, while_busy: bool = False) -> bool:
        """Send `last`, close the process's stdin, and return whether it then exited in time.

        With `while_busy`, only the time in which it is idle counts.
        """
        if self._transport is None or self.exit_code is not None:
            return True
        exiting = self._send_last(last)
        with contextlib.suppress(OSError, TimeoutError):
            if while_busy:
                await wait_while_busy(exiting, self.stop_seconds, self.read_activity)
            else:
                await asyncio.wait_for(exiting, self.stop_seconds)
        return self.exit_code is not None

    async def _send_last(self, last: bytes) -> None:
        await self.send(last)
        self._stdin.close()
        await self._pipes.exited.wait()

    async def kill(self) -> None:
        """Kill the process and every process that it started."""
        if self._transport is None or self._is_gone:
            return
        pid = self._transport.get_pid()
        # Before the kill, because the orphans of a dead process get a new parent, so `ps` no longer shows
        # which process started them.
        descendants = frozenset() if HAS_PROC else list_descendants(pid)
        self._kill_group()
        try:
            self._is_gone = await kill_marked(self._mark, group=pid, descendants=descendants)
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.stop_seconds):
                    await self._pipes.exited.wait()
            self._transport.close()  # a child in another session may still hold the pipes

    def read_activity(self) -> Activity | None:
        """Return the activity of the process and of everything it started; None if the system hides it."""
        return read_activity(find_marked(self._mark)) if HAS_PROC else None

    def reset_peak(self) -> None:
        """Let `read_peak` count from now on, where the system can."""
        for pid in find_marked(self._mark):
            with contextlib.suppress(OSError):  # it has ended
                (PROC / str(pid) / "clear_refs").write_text(RESET_PEAK)

    def read_peak(self) -> int | None:
        """Return the sum of the most bytes that each process had in memory; None if the system hides it."""
        peaks = [peak for pid in find_marked(self._mark) if (peak := _read_peak(pid)) is not None]
        return sum(peaks) if peaks else None

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
        return self._pipes.stderr.text()

    def last_stderr_lines(self) -> tuple[str, ...]:
        """Return the last `STDERR_LINES` lines of the process's stderr, escaped."""
        lines = self.stderr_tail().splitlines()[-STDERR_LINES:]
        return tuple(escape_line(line, STDERR_WIDTH) for line in lines)

    @property
    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None, "`start` was awaited"
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        return stdin

    def _kill_group(self) -> None:
        if self._transport is not None and not kill_group(self._transport.get_pid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                self._transport.terminate()  # at once, on Windows


def _read_peak(pid: int) -> int | None:
    """Return the most bytes that a process had in memory, or None if it has ended or the system hides it."""
    try:
        status = (PROC / str(pid) / "status").read_bytes()
    except OSError:
        return None
    found = PEAK_LINE.search(status)
    return None if found is None else int(found[1]) * 1024


class _Pipes(asyncio.SubprocessProtocol):
    """What a process writes: its stdout as lines, and the tail of its stderr."""

    def __init__(self, max_line: int) -> None:
        self.stderr = _LineTail()
        self.exited = asyncio.Event()
        self.stderr_ended = asyncio.Event()
        self.has_room = asyncio.Event()
        """Set unless much of what was written to stdin is unread."""
        self.has_room.set()
        self._max_line = max_line
        self._lines: deque[bytes | None] = deque()
        """The lines for `read_line`: an empty one is the end of stdout, None a line that is too long."""
        self._rest = bytearray()
        """The beginning of a line that has not ended yet."""
        self._has_line = asyncio.Event()
        self._on_line: OnLine = self._keep
        # Incremental, since a read may end inside a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        stdout = transport.get_pipe_transport(1)
        assert isinstance(stdout, asyncio.ReadTransport)
        self._transport, self._stdout = transport, stdout

    def connection_lost(self, _: Exception | None) -> None:
        """Close the transport after the exit and the end of all pipes."""
        self._transport.close()

    async def read_line(self) -> bytes:
        """Return the next line that no function follows; see `Process`."""
        while not self._lines:
            self._has_line.clear()
            self._stdout.resume_reading()
            await self._has_line.wait()
        line = self._lines[0]
        if line is None:
            raise LineTooLongError
        if line:
            self._lines.popleft()
        return line

    def follow(self, on_line: OnLine) -> None:
        """Call `on_line` with each line from now on."""
        self._on_line = on_line
        while self._lines:
            on_line(self._lines.popleft())
        self._stdout.resume_reading()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Divide stdout into lines, and keep the end of stderr."""
        if fd != 1:
            self.stderr.add(self._decoder.decode(data))
            return
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._rest += piece
            if len(self._rest) > self._max_line:
                break
            self._rest += b"\n"
            if not self._rest.isspace():
                self._on_line(bytes(self._rest))
            self._rest.clear()
        else:
            self._rest += rest
        if len(self._rest) > self._max_line:
            self._stdout.pause_reading()
            self._on_line(None)

    def pipe_connection_lost(self, fd: int, _: Exception | None) -> None:
        """Note the end of stdout or stderr."""
        if fd == 1:
            if self._rest and not self._rest.isspace():
                self._on_line(bytes(self._rest))
            self._on_line(b"")
        elif fd == 2:
            self.stderr_ended.set()
        else:
            self.has_room.set()

    def process_exited(self) -> None:
        """Note the exit."""
        self.exited.set()

    def pause_writing(self) -> None:
        """Let senders wait."""
        self.has_room.clear()

    def resume_writing(self) -> None:
        """Let senders continue."""
        self.has_room.set()

    def _keep(self, line: bytes | None) -> None:
        """Keep `line` for `read_line`, and read no more until then."""
        self._lines.append(line)
        self._has_line.set()
        self._stdout.pause_reading()


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
