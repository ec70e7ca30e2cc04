"""A long-lived program that speaks protocol v1: started, greeted, asked, and ended with its children.

Whatever it does becomes an answer: nothing that a program prints, or fails to print, raises here, except
that it cannot be used at all (`ImplementationError`).
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace

from streamconform.adapters import protocol
from streamconform.adapters.connect import Connection
from streamconform.adapters.feed import WITH_THE_RUN, Feed, Gate
from streamconform.adapters.interface import Answer, Fault, Greeting, Hang, Observation
from streamconform.adapters.process import LineTooLongError, Process, unusable
from streamconform.errors import ImplementationError
from streamconform.model.trial import AnyTrial, Trial

HELLO_SECONDS = 60.0
"""To import and answer the greeting: large libraries need several seconds on a cold disk."""
STOP_SECONDS = 2.0
MAX_EVENTS = 1_000_000
"""Events of one run: a body of the largest size, fed byte by byte, has fewer."""


@dataclass(frozen=True, slots=True)
class Collateral:
    """No answer, because the program ended while it had several runs: ask again, alone."""


@dataclass(slots=True)
class Pending:
    """A run that was sent and not answered yet."""

    future: asyncio.Future[Answer | Collateral]
    events: list[object] = field(default_factory=list)
    size: int = 0
    """Bytes of the lines that brought its events."""
    gate: Gate | None = None
    taken: list[int] = field(default_factory=list)
    """For each event the chunks that had gone through the gate when it came."""


class Program:
    """One process. `ask` may be called by several tasks at once; `dead` says that it answers no more."""

    def __init__(self, connection: Connection) -> None:
        """Hold `connection`; nothing is started yet."""
        self.connection = connection
        self.dead = False
        self._process = Process(connection.argv, stop_seconds=STOP_SECONDS)
        self._reader: asyncio.Task[None] | None = None
        self._pending: dict[str, Pending] = {}
        self._answered: set[str] = set()
        self._count = 0
        self._left: Fault | None = None  # a fault that came while nothing was asked

    async def start(self) -> Greeting:
        """Start the process and return its greeting; raises `ImplementationError`."""
        try:
            await self._process.start(max_line=protocol.MAX_LINE)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            words = f"cannot be started: `{self.connection.argv[0]}`: {reason}"
            raise ImplementationError(f"`{self.connection.impl}` {words}") from error
        try:
            line = await self._greeted()
            if not line:
                self.dead = True
                await self._process.ended()
                raise self._unusable("it ended before it answered the greeting")
            greeting = protocol.greeting(line, self.connection.impl)
        except TimeoutError as error:
            await self.kill()
            raise self._unusable(f"no greeting in {HELLO_SECONDS:g} s") from error
        except LineTooLongError as error:
            await self.kill()
            words = f"its greeting is a line of more than {protocol.MAX_LINE} bytes"
            raise self._unusable(words) from error
        except protocol.ProtocolFault as fault:
            await self.kill()
            raise self._unusable(f"its greeting is wrong: {fault.message}") from fault
        self._reader = asyncio.create_task(self._read_stdout())
        return greeting

    async def ask(
        self, trial: AnyTrial, seconds: float, *, events: bool, feed: Feed = WITH_THE_RUN
    ) -> Answer | Collateral:
        """Return the answer to `trial`; after a `Hang`, a `Fault` or `Collateral` the process is gone."""
        if self.dead or self._left is not None:
            await self.kill()
            return self._left or self._exited()
        self._count += 1
        id_ = str(self._count)
        pending = Pending(asyncio.get_running_loop().create_future(), gate=feed.gate)
        self._pending[id_] = pending
        answer: Answer | Collateral
        try:
            async with asyncio.timeout(seconds):
                with contextlib.suppress(OSError):  # the reader tells how it ended
                    await self._process.send(protocol.question(id_, trial, events=events, feed=feed))
                    if feed.input == "push" and isinstance(trial, Trial):
                        await self._push(id_, trial, pending)
                answer = await pending.future
        except TimeoutError:
            # a child of the program can hold its stdout open when it has ended
            answer = Hang(seconds) if self._process.code is None else self._exited()
        finally:
            self._pending.pop(id_, None)
            self._answered.add(id_)
        if isinstance(answer, Hang | Fault | Collateral):
            await self.kill()
        if isinstance(answer, Observation) and answer.events is None and pending.events:
            taken = answer.taken if pending.gate is None else tuple(pending.taken)
            return replace(answer, events=pending.events, taken=taken)
        return answer

    async def stop(self) -> None:
        """End the process: ask it, then make it; its children go with it."""
        try:
            if not self.dead:
                await self._process.stop(protocol.STOP)
        finally:
            await self.kill()  # even where this task is cancelled meanwhile

    async def kill(self) -> None:
        """End the process and whatever it started, at once."""
        self.dead = True
        try:
            await self._process.kill()
        finally:
            if self._reader is not None and self._reader is not asyncio.current_task():
                self._reader.cancel()
            self._fail_all(Fault("exited", "the program was ended"), collateral=True)
        await asyncio.sleep(0)

    async def _push(self, id_: str, trial: Trial, pending: Pending) -> None:
        """Send the chunks one by one, and the end; whoever has answered already gets no more of them."""
        for chunk in trial.chunks:
            if pending.gate is not None:
                await pending.gate.passes()
            if pending.future.done():
                return
            await self._process.send(protocol.chunk(id_, chunk))
        await self._process.send(protocol.eof(id_))

    async def _greeted(self) -> bytes:
        """Return the line that answers the greeting, empty where it ended before."""
        async with asyncio.timeout(HELLO_SECONDS):
            with contextlib.suppress(OSError):  # its end is seen when it is read
                await self._process.send(protocol.hello())
            return await self._process.line()

    async def _read_stdout(self) -> None:
        while True:
            try:
                line = await self._process.line()
            except LineTooLongError:
                words = f"a line of more than {protocol.MAX_LINE} bytes; one answer is one line of JSON"
                self._fail_all(Fault("line-too-long", words))
                return
            if not line:
                self.dead = True
                await self._process.ended()
                self._fail_all(self._exited())
                return
            fault = self._take(line)
            if fault is not None and not line.endswith(b"\n"):  # how it ended tells more than half a line
                self.dead = True
                await self._process.ended()
                words = f"{self._process.ending()}, in the middle of {protocol.shown(line)}"
                fault = Fault("exited", words)
            if fault is not None:
                self._fail_all(fault)

    def _take(self, line: bytes) -> Fault | None:
        """Give what `line` says to the run that it is about; return what is wrong with it."""
        try:
            said = protocol.reply(line)
        except protocol.ProtocolFault as fault:
            return Fault(fault.kind, fault.message)
        pending = self._pending.get(said.id)
        if pending is None or pending.future.done():
            return _stray(said.id, line, twice=said.id in self._answered)
        if isinstance(said, protocol.LiveEvent):
            pending.events.append(said.event)
            if pending.gate is not None:
                pending.taken.append(pending.gate.handed)
                pending.gate.saw(said.event)
            pending.size += len(line)
            if len(pending.events) > MAX_EVENTS or pending.size > protocol.MAX_LINE:
                words = f"more than {MAX_EVENTS} events, or {protocol.MAX_LINE} bytes of them, for one run"
                return Fault("too-many-events", f"{words}; `result` ends a run")
        else:
            self._answered.add(said.id)
            pending.future.set_result(said.answer)
        return None

    def _fail_all(self, fault: Fault, *, collateral: bool = False) -> None:
        """Answer what is pending; with several in flight nobody knows whose fault it was.

        With none in flight the fault waits for the next run: it must not go unseen.
        """
        waiting = [each.future for each in self._pending.values() if not each.future.done()]
        for future in waiting:
            future.set_result(Collateral() if collateral or len(waiting) > 1 else fault)
        if not waiting and not collateral:
            self._left = self._left or fault

    def _exited(self) -> Fault:
        return Fault("exited", self._process.ending())

    def _unusable(self, why: str) -> ImplementationError:
        return ImplementationError(unusable(self.connection.impl, why, self._process.stderr()))


def _stray(id_: str, line: bytes, *, twice: bool) -> Fault:
    """Return the fault of a message for a run that does not wait for one."""
    if twice:
        words = f"id `{id_}` was answered before: {protocol.shown(line)}; answer a run once, events first"
        return Fault("answered-twice", words)
    words = f"id `{id_}` was never asked: {protocol.shown(line)}; send back the id of the run"
    return Fault("unknown-id", words)
