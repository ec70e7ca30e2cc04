"""A long-lived program that speaks protocol v1: started, greeted, asked, and ended with its children.

Whatever it does becomes an answer: nothing that a program prints, or fails to print, raises here, except
that it cannot be used at all (`ImplementationError`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import deque
from dataclasses import dataclass, field

from streamconform.adapters import protocol
from streamconform.adapters.connect import Connection
from streamconform.adapters.environment import stripped
from streamconform.adapters.interface import Answer, Fault, Greeting, Hang, Observation
from streamconform.errors import ImplementationError
from streamconform.model.trial import Trial

HELLO_SECONDS = 60.0
"""To import and answer the greeting: large libraries need several seconds on a cold disk."""
STOP_SECONDS = 2.0
MAX_EVENTS = 1_000_000
"""Events of one run: a body of the largest size, fed byte by byte, has fewer."""
STDERR_TAIL = 4000
"""Characters of stderr that are kept for messages."""


@dataclass(frozen=True, slots=True)
class Collateral:
    """No answer, because the program ended while it had several runs: ask again, alone."""


@dataclass(slots=True)
class Pending:
    """A run that was sent and not answered yet."""

    future: asyncio.Future[Answer | Collateral]
    events: list[object] = field(default_factory=list)


class Program:
    """One process. `ask` may be called by several tasks at once; `dead` says that it answers no more."""

    def __init__(self, connection: Connection) -> None:
        """Hold `connection`; nothing is started yet."""
        self.connection = connection
        self.dead = False
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._pending: dict[str, Pending] = {}
        self._answered: set[str] = set()
        self._stderr: deque[str] = deque(maxlen=200)
        self._count = 0
        self._left: Fault | None = None  # a fault that came while nothing was asked

    async def start(self) -> Greeting:
        """Start the process and return its greeting; raises `ImplementationError`."""
        argv = self.connection.argv
        try:
            self._process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                env=stripped(os.environ) | {"PYTHONUNBUFFERED": "1"},
                limit=protocol.MAX_LINE,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ImplementationError(
                f"`{self.connection.impl}` cannot be started: `{argv[0]}`: {reason}"
            ) from error
        self._tasks.append(asyncio.create_task(self._read_stderr()))
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                await self._send(protocol.hello())
                line = await self._process.stdout.readline() if self._process.stdout else b""
        except TimeoutError as error:
            await self.kill()
            raise ImplementationError(self._unusable(f"no greeting in {HELLO_SECONDS:g} s")) from error
        except (ValueError, OSError):
            line = b""
        if not line:
            await self._end_of_process()
            raise ImplementationError(self._unusable("it ended before it answered the greeting"))
        try:
            greeting = protocol.greeting(line, self.connection.impl)
        except protocol.ProtocolFault as fault:
            await self.kill()
            raise ImplementationError(self._unusable(f"its greeting is wrong: {fault.message}")) from fault
        self._tasks.append(asyncio.create_task(self._read_stdout()))
        return greeting

    async def ask(self, trial: Trial, seconds: float, *, events: bool) -> Answer | Collateral:
        """Return the answer to `trial`; after a `Hang`, a `Fault` or `Collateral` the process is gone."""
        if self.dead or self._left is not None:
            await self.kill()
            return self._left or Fault("exited", self._ending())
        self._count += 1
        id_ = str(self._count)
        pending = Pending(asyncio.get_running_loop().create_future())
        self._pending[id_] = pending
        answer: Answer | Collateral
        try:
            async with asyncio.timeout(seconds):
                with contextlib.suppress(OSError):  # the reader tells how it ended
                    await self._send(protocol.run(id_, trial, events=events))
                answer = await pending.future
        except TimeoutError:
            # a child of the program can hold its stdout open when it has ended
            ended = self._process is not None and self._process.returncode is not None
            answer = Fault("exited", self._ending()) if ended else Hang(seconds)
        finally:
            self._pending.pop(id_, None)
            self._answered.add(id_)
        if isinstance(answer, Hang | Fault | Collateral):
            await self.kill()
        if isinstance(answer, Observation) and answer.events is None and pending.events:
            return Observation(answer.outcome, pending.events, answer.taken)
        return answer

    async def stop(self) -> None:
        """End the process: ask it, then make it; its children go with it."""
        process = self._process
        try:
            if process is not None and process.returncode is None and not self.dead:
                with contextlib.suppress(OSError, TimeoutError):
                    async with asyncio.timeout(STOP_SECONDS):
                        await self._send(protocol.STOP)
                        if process.stdin:
                            process.stdin.close()
                        await process.wait()
        finally:
            await self.kill()  # even where this task is cancelled meanwhile

    async def kill(self) -> None:
        """End the process and whatever it started, at once."""
        self.dead = True
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        transport = getattr(process, "_transport")  # noqa: B009 - asyncio shows it by no other name
        stdout = transport.get_pipe_transport(1)
        if stdout is not None:
            stdout.close()  # asyncio waits for its end, which does not come where nobody reads on
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._fail_all(Fault("exited", "the program was ended"), collateral=True)
        transport.close()  # a child in a session of its own can hold the other pipes
        await asyncio.sleep(0)

    async def _send(self, line: bytes) -> None:
        stdin = self._process.stdin if self._process else None
        if stdin is None or stdin.is_closing():
            raise BrokenPipeError
        stdin.write(line)
        await stdin.drain()

    async def _read_stdout(self) -> None:
        stream = self._process.stdout if self._process else None
        while stream is not None:
            try:
                line = await stream.readline()
            except ValueError:
                self._fail_all(Fault("line-too-long", f"a line of more than {protocol.MAX_LINE} bytes"))
                return
            if not line:
                await self._end_of_process()
                self._fail_all(Fault("exited", self._ending()))
                return
            if line.strip():
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            said = protocol.reply(line)
        except protocol.ProtocolFault as fault:
            self._fail_all(Fault(fault.kind, fault.message))
            return
        pending = self._pending.get(said.id)
        if pending is None or pending.future.done():
            twice = said.id in self._answered
            words = (
                f"id `{said.id}` was {'answered before' if twice else 'never asked'}: {protocol.shown(line)}"
            )
            self._fail_all(Fault("answered-twice" if twice else "unknown-id", words))
        elif isinstance(said, protocol.LiveEvent):
            pending.events.append(said.event)
            if len(pending.events) > MAX_EVENTS:
                self._fail_all(Fault("too-many-events", f"more than {MAX_EVENTS} events for one run"))
        else:
            self._answered.add(said.id)
            pending.future.set_result(said.answer)

    def _fail_all(self, fault: Fault, *, collateral: bool = False) -> None:
        """Answer what is pending; with several in flight nobody knows whose fault it was.

        With none in flight the fault waits for the next run: it must not go unseen.
        """
        waiting = [each.future for each in self._pending.values() if not each.future.done()]
        for future in waiting:
            future.set_result(Collateral() if collateral or len(waiting) > 1 else fault)
        if not waiting and not collateral:
            self._left = self._left or fault

    async def _read_stderr(self) -> None:
        stream = self._process.stderr if self._process else None
        while stream is not None:
            data = await stream.read(65536)
            if not data:
                return
            self._stderr.append(data.decode("utf-8", "replace")[-STDERR_TAIL:])

    async def _end_of_process(self) -> None:
        """Wait until the process is gone and its stderr read, so that messages can tell how it ended."""
        if self._process is None:
            return
        self.dead = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
                await self._tasks[0]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _ending(self) -> str:
        code = self._process.returncode if self._process else None
        how = "its stdout was closed" if code is None else f"exit code {code}"
        if code is not None and code < 0:
            how = f"signal {signal.Signals(-code).name}"
        tail = "".join(self._stderr).strip().splitlines()
        return f"the program ended ({how})" + (f": {_printable(tail[-1])}" if tail else "")

    def _unusable(self, why: str) -> str:
        tail = "".join(self._stderr)[-STDERR_TAIL:].strip()
        if tail and "\n" not in tail:
            return f"`{self.connection.impl}` cannot be used: {_printable(tail)}"
        shown = "\n".join(f"  | {_printable(line)}" for line in tail.splitlines()[-8:])
        return f"`{self.connection.impl}` cannot be used: {why}" + (
            f"; its stderr ends:\n{shown}" if tail else ""
        )


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:500])
