"""A long-lived program that speaks protocol v1: start it, exchange greetings, run trials, stop it.

Whatever a program does becomes an answer. Only `start` raises an exception: `ImplementationError`, for a
program that cannot be used at all.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from msgspec import Struct, field

from streamconform.adapters import protocol
from streamconform.adapters.connect import Connection, get_python_target
from streamconform.adapters.feed import BYTES_WITH_RUN, Feed, Gate
from streamconform.adapters.idle_limit import Activity, IdleTooLongError, wait_while_busy
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
MAX_QUEUED: Final = 4
"""The number of runs that a program has at once if it answers in order, so that it never waits for this
process.
"""
MAX_UNSENT: Final = 1 << 20
"""The number of bytes that may wait for the program to read them before another run is sent."""
STOP_SECONDS = 2.0
"""Time limit for each step of a shutdown: exiting after `stop`, and disappearing after a kill."""


class Collateral(Struct, frozen=True):
    """No answer, because the program ended while it had several runs: retry each one.

    If the program answers in order, the first of these runs got the blame, and this one was not begun.
    Otherwise, any of them may have made the program end.
    """


class PendingRun(Struct):
    """A run that has been sent but not yet answered."""

    id: str
    future: asyncio.Future[Answer | Collateral]
    seconds: float
    """The time limit."""
    sent: float
    gate: Gate | None
    extended: float | None = None
    """The deadline that replaces the first one if this process was busy at that."""
    events: list[object] = field(default_factory=list)
    size: int = 0
    """The total size of its event lines in bytes."""
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
        self.answers_in_order = get_python_target(connection) is not None
        """Whether it reads a run when it has answered those before, as our own host does."""
        self._process = Process(
            connection.argv, stop_seconds=STOP_SECONDS, environment=connection.environment
        )
        self._pending: dict[str, PendingRun] = {}
        self._answered: set[str] = set()
        self._count = 0
        self._last_answer = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._exit: asyncio.Task[None] | None = None  # waits for the exit code
        self._unreported: ProtocolFault | None = None  # a fault that occurred while no run was pending
        self._is_blamed = False  # whether a run was answered with the reason for the end

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
        self._process.follow(self._receive_line)
        return greeting

    def can_queue(self) -> bool:
        """Return whether another run may be sent before the pending ones are answered."""
        has_room = len(self._pending) < MAX_QUEUED and self._process.unsent < MAX_UNSENT
        return self.answers_in_order and has_room and not self.dead

    def submit(
        self, trial: AnyTrial, seconds: float, *, events: bool, feed: Feed = BYTES_WITH_RUN
    ) -> asyncio.Future[Answer | Collateral]:
        """Send `trial` and return its future answer. After a fault, `Hang` or `Collateral`, call `stop`.

        In the mode `push`, only the first line is sent; `run` also sends the chunks.
        """
        return self._begin(trial, seconds, events=events, feed=feed).future

    async def run(
        self, trial: AnyTrial, seconds: float, *, events: bool, feed: Feed = BYTES_WITH_RUN
    ) -> Answer | Collateral:
        """Return the answer to `trial`; a `Hang`, `ProtocolFault` or `Collateral` kills the process."""
        if self.dead:
            await self.kill()  # the exit code is known afterwards
        run, chunks = self._begin(trial, seconds, events=events, feed=feed), None
        if feed.input == "push" and isinstance(trial, Trial):
            chunks = asyncio.create_task(self._push(trial, run))
        try:
            answer = await run.future
        finally:
            if chunks is not None:
                chunks.cancel()
            self._pending.pop(run.id, None)
            self._answered.add(run.id)
        if self.dead:
            await self.kill()
        return answer

    def reset_peak(self) -> None:
        """Let `read_peak` count from now on."""
        self._process.reset_peak()

    def read_peak(self) -> int | None:
        """Return the bytes that the processes had in memory at most; None if the system hides it."""
        return self._process.read_peak()

    def read_activity(self) -> Activity | None:
        """Return what the processes have done; None if the system hides it."""
        return self._process.read_activity()

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
            if self._timer is not None:
                self._timer.cancel()
            if self._exit is not None:
                self._exit.cancel()
            self._end(None)
        await asyncio.sleep(0)

    def _begin(self, trial: AnyTrial, seconds: float, *, events: bool, feed: Feed) -> PendingRun:
        loop = asyncio.get_running_loop()
        self._count += 1
        run = PendingRun(str(self._count), loop.create_future(), seconds, loop.time(), feed.gate)
        # A fault between two runs, such as a second answer, is reported for the next run: this one.
        if self.dead or self._unreported is not None:
            self.dead = True
            # A run that came while another one ended the program did nothing wrong.
            fault = self._unreported or self._exit_fault()
            run.future.set_result(Collateral() if self._is_blamed else fault)
            return run
        self._pending[run.id] = run
        with contextlib.suppress(OSError):  # the end of stdout reports the exit
            self._process.write(protocol.encode_request(run.id, trial, events=events, feed=feed))
        deadline = run.sent + seconds
        if self._timer is None or deadline < self._timer.when():
            self._set_timer(deadline)
        return run

    async def _push(self, trial: Trial, run: PendingRun) -> None:
        """Send the chunks one by one, then `eof`; stop as soon as the run is answered."""
        with contextlib.suppress(OSError):
            for chunk in trial.chunks:
                if run.gate is not None:
                    await run.gate.wait_for_turn()
                if run.future.done():
                    return
                await self._process.send(protocol.encode_chunk(run.id, chunk))
            await self._process.send(protocol.encode_eof(run.id))

    def _receive_line(self, line: bytes | None) -> None:
        """Handle a line of stdout, or its end."""
        if self.dead:
            return
        if line is None:
            message = f"a line exceeds {protocol.MAX_LINE} bytes; each answer must be one line of JSON"
            self._end(ProtocolFault("line-too-long", message))
            return
        fault = self._handle_line(line) if line and self._unreported is None else None
        # An incomplete line is a symptom of the exit, so the exit is reported.
        if not line or (fault is not None and not line.endswith(b"\n")):
            self.dead = True
            self._exit = asyncio.create_task(self._report_exit(line))
        elif fault is not None:
            self._end(fault)

    async def _report_exit(self, last: bytes) -> None:
        """Fail the pending runs; `last` is the incomplete line in which stdout ended, if any."""
        await self._process.wait_for_exit()
        self._end(self._exit_fault(f", in the middle of {protocol.quote_line(last)}" if last else ""))

    def _handle_line(self, line: bytes) -> ProtocolFault | None:
        """Pass the message in `line` to its pending run; return a fault if the message is invalid."""
        try:
            reply = protocol.parse_reply(line)
        except protocol.ProtocolError as error:
            return ProtocolFault(error.kind, error.message)
        run = self._pending.get(reply.id)
        if run is None or run.future.done():
            return _reject_stray(reply.id, line, answered=reply.id in self._answered)
        if isinstance(reply, protocol.LiveEvent):
            run.events.append(reply.event)
            if run.gate is not None:
                run.taken.append(run.gate.chunks_passed)
                run.gate.record_event(reply.event)
            # The bytes are limited too, because a million events of 64 KiB each would fill the memory.
            run.size += len(line)
            if len(run.events) > protocol.MAX_EVENTS or run.size > protocol.MAX_LINE:
                limit = f"{protocol.MAX_EVENTS} events, or {protocol.MAX_LINE} bytes of them, for one run"
                return ProtocolFault("too-many-events", f"more than {limit}; end each run with `result`")
            return None
        self.imported_reference |= reply.imported_reference
        answer = reply.answer
        if isinstance(answer, Observation) and run.events and protocol.lacks_events(answer):
            taken = answer.taken if run.gate is None else tuple(run.taken)
            answer = replace(answer, events=run.events, taken=taken)
        del self._pending[run.id]
        self._answered.add(run.id)
        self._last_answer = asyncio.get_running_loop().time()
        run.future.set_result(answer)
        if isinstance(answer, ProtocolFault):
            self._is_blamed = True
            self._end(None)
        return None

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._check_deadlines)

    def _get_deadline(self, run: PendingRun) -> float:
        if run.extended is not None:
            return run.extended
        # A program that answers in order has only begun the run after its last answer.
        return run.seconds + (max(run.sent, self._last_answer) if self.answers_in_order else run.sent)

    def _check_deadlines(self) -> None:
        """End the program if a run is not answered in time."""
        self._timer = None
        runs = [run for run in self._pending.values() if not run.future.done()]
        if not runs:
            return
        run, now = min(runs, key=self._get_deadline), asyncio.get_running_loop().time()
        late = now - self._get_deadline(run)
        if late < 0:
            self._set_timer(now - late)
        # The timer fires late if this process was busy judging an answer. Meanwhile, it read nothing, so the
        # program may have answered in time.
        elif late > BUSY_SECONDS and run.extended is None:
            run.extended = now + LATE_SECONDS
            self._set_timer(run.extended)
        else:
            # The program may have exited while one of its children holds stdout open.
            is_running = self._process.exit_code is None
            run.future.set_result(Hang(run.seconds) if is_running else self._exit_fault())
            self._is_blamed = True
            self._end(None)

    def _end(self, fault: ProtocolFault | None) -> None:
        """Answer all pending runs: the one to blame for `fault` with that, and the others with `Collateral`.

        If no run is pending, the next run reports the fault, so that it does not go unnoticed.
        """
        runs = [run for run in self._pending.values() if not run.future.done()]
        self._pending.clear()
        if fault is not None and not runs:
            self._unreported = self._unreported or fault
            return
        self.dead = True
        self._is_blamed |= bool(runs)
        if fault is not None and (self.answers_in_order or len(runs) == 1):
            runs.pop(0).future.set_result(fault)
        for run in runs:
            run.future.set_result(Collateral())

    def _exit_fault(self, place: str = "") -> ProtocolFault:
        message = self._process.describe_exit() + place
        return ProtocolFault("exited", message, self._process.last_stderr_lines())

    def _unusable(self, why: str, exit_code: int | None = None) -> ImplementationError:
        stderr = self._process.stderr_tail()
        return ImplementationError(describe_unusable(self.connection.impl, why, stderr, exit_code=exit_code))


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
