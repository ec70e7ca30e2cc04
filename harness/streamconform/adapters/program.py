"""A long-lived program that speaks protocol v1: start it, exchange greetings, run trials, stop it.

Whatever a program does becomes an answer. Only `start` raises an exception: `ImplementationError`, for a
program that cannot be used at all.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamconform.adapters import protocol
from streamconform.adapters.connect import Connection, get_python_target
from streamconform.adapters.feed import BYTES_WITH_RUN, Feed, Gate
from streamconform.adapters.idle_limit import IdleTooLongError, wait_while_busy
from streamconform.adapters.interface import Answer, Greeting, Hang, Observation, ProtocolFault
from streamconform.adapters.preflight import make_start_error
from streamconform.adapters.process import LineTooLongError, Process, describe_unusable
from streamconform.errors import ImplementationError
from streamconform.model.trial import AnyTrial, Trial

START_SECONDS: Final = 60.0
"""Default limit on the idle time before the greeting: large libraries load slowly from a cold disk, and
`npx` downloads packages. It is the same for every implementation, because `cmd:` programs may compile or
import as much as Python adapters do. A `cmd:` program that stays silent usually did not flush its stdout;
its author gets a notice with that advice after a few seconds, so the limit need not be short for it.
"""
FLUSH_HINT: Final = "end the `hello` line with a newline and flush stdout"
ENDED_EARLY: Final = "it ended before it answered the greeting"
BUSY_SECONDS = 0.1
"""If a timeout fires more than this after its deadline, this process was busy at the deadline."""
LATE_SECONDS = 1.0
"""Time to read an answer that arrived while this process was busy."""
STOP_SECONDS = 2.0
"""Time limit for each step of a shutdown: exiting after `stop`, and disappearing after a kill."""


@dataclass(frozen=True, slots=True)
class Collateral:
    """No answer, because the program ended while several runs were in flight: retry each one alone.

    It is unknown which of those runs made the program end.
    """


@dataclass(slots=True)
class PendingRun:
    """A run that has been sent but not yet answered."""

    future: asyncio.Future[Answer | Collateral]
    events: list[object] = field(default_factory=list)
    size: int = 0
    """The total size of its event lines in bytes."""
    gate: Gate | None = None
    taken: list[int] = field(default_factory=list)
    """For each event, the number of chunks that had passed the gate when the event arrived."""


class Program:
    """One process. Several tasks may call `run` at the same time."""

    def __init__(self, connection: Connection) -> None:
        """Store `connection` without starting the process."""
        self.connection = connection
        self.dead = False
        """Whether the process no longer answers."""
        self.hello: Mapping[str, Any] = {}
        """The greeting as the process sent it."""
        self.imported_reference = False
        """Whether a result said that the process has imported the bundled parser."""
        self._process = Process(
            connection.argv, stop_seconds=STOP_SECONDS, environment=connection.environment
        )
        self._reader: asyncio.Task[None] | None = None
        self._pending: dict[str, PendingRun] = {}
        self._answered: set[str] = set()
        self._count = 0
        self._unreported: ProtocolFault | None = None  # a fault that occurred while no run was pending

    async def start(
        self, seconds: float = START_SECONDS, on_long_wait: Callable[[str], None] | None = None
    ) -> Greeting:
        """Start the process and return its greeting. Raises `ImplementationError`.

        `seconds` limits the time in which the process and its children are idle. If the greeting takes long,
        `on_long_wait` is called once with a message for the user.
        """
        try:
            await self._process.start(max_line=protocol.MAX_LINE)
        except (OSError, ValueError) as error:
            raise make_start_error(self.connection, error) from error
        try:
            line = await exchange_greetings(self._process, self.connection, seconds, on_long_wait)
            if not line:
                self.dead = True
                await self._process.wait_for_exit()
                raise self._unusable(ENDED_EARLY, self._process.exit_code)
            greeting = protocol.parse_greeting(line, self.connection.impl)
            self.hello = protocol.parse_object(line)
        except IdleTooLongError as error:
            await self.kill()
            raise self._unusable(explain_silence(self.connection, error.seconds)) from error
        except LineTooLongError as error:
            await self.kill()
            raise self._unusable(f"its greeting line exceeds {protocol.MAX_LINE} bytes") from error
        except protocol.ProtocolError as error:
            await self.kill()
            raise self._unusable(f"invalid greeting: {error.message}") from error
        self._reader = asyncio.create_task(self._read_stdout())
        return greeting

    async def run(
        self, trial: AnyTrial, seconds: float, *, events: bool, feed: Feed = BYTES_WITH_RUN
    ) -> Answer | Collateral:
        """Return the answer to `trial`; a `Hang`, `ProtocolFault` or `Collateral` kills the process."""
        # A fault between two runs, such as a second answer, is reported for the next run: this one.
        if self.dead or self._unreported is not None:
            await self.kill()
            return self._unreported or self._exit_fault()
        self._count += 1
        id_ = str(self._count)
        loop = asyncio.get_running_loop()
        pending = PendingRun(loop.create_future(), gate=feed.gate)
        self._pending[id_] = pending
        deadline = loop.time() + seconds
        answer: Answer | Collateral
        try:
            async with asyncio.timeout_at(deadline):
                with contextlib.suppress(OSError):  # the reader of stdout reports the exit
                    await self._process.send(protocol.encode_request(id_, trial, events=events, feed=feed))
                    if feed.input == "push" and isinstance(trial, Trial):
                        await self._push(id_, trial, pending)
                answer = await asyncio.shield(pending.future)
        except TimeoutError:
            late_answer = await _read_late_answer(pending, loop.time() - deadline)
            if late_answer is not None:
                answer = late_answer
            else:
                # The program may have exited while one of its children holds stdout open.
                answer = Hang(seconds) if self._process.exit_code is None else self._exit_fault()
        finally:
            self._pending.pop(id_, None)
            self._answered.add(id_)
        if isinstance(answer, Hang | ProtocolFault | Collateral):
            await self.kill()
        if isinstance(answer, Observation) and protocol.lacks_events(answer) and pending.events:
            taken = answer.taken if pending.gate is None else tuple(pending.taken)
            return replace(answer, events=pending.events, taken=taken)
        return answer

    async def stop(self) -> None:
        """Ask the process to stop, then kill it together with its children."""
        try:
            if not self.dead:
                await self._process.stop(protocol.STOP)
        finally:
            await self.kill()  # even if this task was cancelled

    async def kill(self) -> None:
        """Kill the process and everything it started."""
        self.dead = True
        try:
            await self._process.kill()
        finally:
            if self._reader is not None and self._reader is not asyncio.current_task():
                self._reader.cancel()
            self._fail_all(ProtocolFault("exited", "the program was ended"), collateral=True)
        await asyncio.sleep(0)

    async def _push(self, id_: str, trial: Trial, pending: PendingRun) -> None:
        """Send the chunks one by one, then `eof`; stop as soon as the run is answered."""
        for chunk in trial.chunks:
            if pending.gate is not None:
                await pending.gate.wait_for_turn()
            if pending.future.done():
                return
            await self._process.send(protocol.encode_chunk(id_, chunk))
        await self._process.send(protocol.encode_eof(id_))

    async def _read_stdout(self) -> None:
        while True:
            try:
                line = await self._process.read_line()
            except LineTooLongError:
                message = f"a line exceeds {protocol.MAX_LINE} bytes; each answer must be one line of JSON"
                self._fail_all(ProtocolFault("line-too-long", message))
                return
            if not line:
                self.dead = True
                await self._process.wait_for_exit()
                self._fail_all(self._exit_fault())
                return
            fault = self._handle_line(line)
            # An incomplete line is a symptom of the exit, so the exit is reported.
            if fault is not None and not line.endswith(b"\n"):
                self.dead = True
                await self._process.wait_for_exit()
                message = f"{self._process.describe_exit()}, in the middle of {protocol.quote_line(line)}"
                fault = ProtocolFault("exited", message, self._process.last_stderr_lines())
            if fault is not None:
                self._fail_all(fault)

    def _handle_line(self, line: bytes) -> ProtocolFault | None:
        """Pass the message in `line` to its pending run; return a fault if the message is invalid."""
        try:
            reply = protocol.parse_reply(line)
        except protocol.ProtocolError as error:
            return ProtocolFault(error.kind, error.message)
        pending = self._pending.get(reply.id)
        if pending is None or pending.future.done():
            return _reject_stray(reply.id, line, answered=reply.id in self._answered)
        if isinstance(reply, protocol.LiveEvent):
            pending.events.append(reply.event)
            if pending.gate is not None:
                pending.taken.append(pending.gate.chunks_passed)
                pending.gate.record_event(reply.event)
            # The bytes are limited too, because a million events of 64 KiB each would fill the memory.
            pending.size += len(line)
            if len(pending.events) > protocol.MAX_EVENTS or pending.size > protocol.MAX_LINE:
                limit = f"{protocol.MAX_EVENTS} events, or {protocol.MAX_LINE} bytes of them, for one run"
                return ProtocolFault("too-many-events", f"more than {limit}; end each run with `result`")
        else:
            self._answered.add(reply.id)
            self.imported_reference |= reply.imported_reference
            pending.future.set_result(reply.answer)
        return None

    def _fail_all(self, fault: ProtocolFault, *, collateral: bool = False) -> None:
        """End the pending run with `fault`; end several pending runs with `Collateral`.

        If no run is pending, the next run reports the fault, so that it does not go unnoticed.
        """
        futures = [run.future for run in self._pending.values() if not run.future.done()]
        for future in futures:
            future.set_result(Collateral() if collateral or len(futures) > 1 else fault)
        if not futures and not collateral:
            self._unreported = self._unreported or fault

    def _exit_fault(self) -> ProtocolFault:
        return ProtocolFault("exited", self._process.describe_exit(), self._process.last_stderr_lines())

    def _unusable(self, why: str, exit_code: int | None = None) -> ImplementationError:
        stderr = self._process.stderr_tail()
        return ImplementationError(describe_unusable(self.connection.impl, why, stderr, exit_code=exit_code))


async def _read_late_answer(pending: PendingRun, late: float) -> Answer | Collateral | None:
    """Return the answer to a run whose timeout fired `late` seconds after its deadline, or None."""
    # A timeout fires late if this process was busy judging an answer. Meanwhile, it read nothing, so the
    # program may have answered in time.
    if late > BUSY_SECONDS:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LATE_SECONDS):
                return await pending.future
    return None


async def exchange_greetings(
    process: Process,
    connection: Connection,
    seconds: float,
    on_long_wait: Callable[[str], None] | None = None,
) -> bytes:
    """Send `hello` and return the answer line, which is empty if the program ended first.

    Raises `IdleTooLongError` and `LineTooLongError`; the other arguments are those of `Program.start`.
    """

    async def exchange() -> bytes:
        with contextlib.suppress(OSError):  # reading stdout detects the exit
            await process.send(protocol.encode_hello())
        return await process.read_line()

    def notify(state: str) -> None:
        if on_long_wait is not None:
            module = _get_import(connection)
            waiting = f"importing `{module}`" if module else f"waiting for the greeting; {FLUSH_HINT}"
            on_long_wait(f"`{connection.impl}` ({state}): {waiting}")

    return await wait_while_busy(exchange(), seconds, process.read_activity, notify)


def explain_silence(connection: Connection, seconds: float) -> str:
    """Return why a program is unusable that sent no greeting within `seconds`, and what to do."""
    module = _get_import(connection)
    if module is not None:  # our host answers the greeting, as soon as the import is finished
        return f"importing `{module}` took longer than {seconds:g} s; raise `--start-timeout`"
    return f"no greeting within {seconds:g} s; {FLUSH_HINT}, or raise `--start-timeout`"


def _get_import(connection: Connection) -> str | None:
    """Return what our own hosts import before they greet: a module or a library; None for other programs."""
    kind, _, name = connection.impl.partition(":")
    if kind == "peer":
        return name
    target = get_python_target(connection)
    return None if target is None else target.rpartition(":")[0] or target


def _reject_stray(id_: str, line: bytes, *, answered: bool) -> ProtocolFault:
    """Return the fault for a message whose id belongs to no pending run."""
    text = protocol.quote_line(line)
    if answered:
        message = f"id `{id_}` is already answered: {text}; answer each run once, after its events"
        return ProtocolFault("answered-twice", message)
    return ProtocolFault("unknown-id", f"unknown id `{id_}`: {text}; send back the id of the run")
