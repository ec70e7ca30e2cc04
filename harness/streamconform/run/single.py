"""An implementation judged one trial at a time, for who is not async and decides himself what comes next.

`conform run` asks many at once (`pool`); here one program is kept between trials, and started anew when it
ended. Nothing of an implementation gets out but its results.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from streamconform.adapters.connect import Connection
from streamconform.adapters.in_process import Inside, Perform
from streamconform.adapters.interface import Answer, Fault, Hang
from streamconform.adapters.program import Collateral, Program
from streamconform.errors import ImplementationError
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial
from streamconform.replay.exchange import TrialExchange
from streamconform.replay.server import ReplayServer
from streamconform.run.blame import Blame
from streamconform.run.dispatch import Asker
from streamconform.run.plan import Judged, Settings, divide
from streamconform.run.pool import Tally, result_of

T = TypeVar("T")
Make = Callable[[Connection], Program | Inside]


class Single:
    """One implementation; `begin`, then `judge` as often as wanted, one after the other, then `end`."""

    def __init__(
        self, connection: Connection, settings: Settings, blame: Blame, make: Make = Program
    ) -> None:
        """Hold how it is reached and judged; nothing is started yet."""
        self.connection = connection
        self._settings, self._blame, self._make = settings, blame, make
        self._program: Program | Inside | None = None
        self._asker: Asker | None = None
        self._tally = Tally()
        self._last_fault = ""
        self._stack = contextlib.AsyncExitStack()

    async def begin(self, trials: Sequence[AnyTrial]) -> Judged:
        """Return what it is judged on of `trials`; raises `ImplementationError` and `UsageError`."""
        program = self._make(self.connection)
        self._program = program
        greeting = await program.start()
        judged = divide(0, self.connection, greeting, trials, self._settings.input)
        over_http = judged.input == "http"
        server = await self._stack.enter_async_context(ReplayServer()) if over_http else None
        self._asker = Asker(judged, self._blame.first_delta, server)
        return judged

    async def judge(self, trial: AnyTrial) -> TrialResult:
        """Return what comes of `trial`; after a hang or a crash the next one gets a new program."""
        assert self._asker is not None, "it has begun"
        started = time.perf_counter()
        answer, exchange = await self._answer(self._asker, trial)
        ms = (time.perf_counter() - started) * 1000
        return result_of(self._asker.judged, trial, answer, exchange, ms, self._blame)

    async def end(self) -> None:
        """End the program and the server."""
        program, self._program = self._program, None
        try:
            if program is not None:
                await program.stop()
        finally:
            await self._stack.aclose()

    @property
    def raised(self) -> BaseException | None:
        """Return what an adapter in this process raised in the last trial."""
        return self._program.raised if isinstance(self._program, Inside) else None

    async def _answer(self, asker: Asker, trial: AnyTrial) -> tuple[Answer, TrialExchange | None]:
        tally, index = self._tally, asker.judged.index
        if tally.gave_up(index):
            words = f"not asked: the program ended {tally.barren} times in a row ({self._last_fault})"
            return Fault("gave-up", words), None
        exchange: TrialExchange | None = None
        answer: Answer | Collateral
        try:
            program = await self._alive()
        except ImplementationError as error:
            answer = Fault("exited", str(error))
        else:
            try:
                answer, exchange = await asker.ask(program, trial, self._settings.timeout)
            except asyncio.CancelledError:
                await program.stop()  # whoever asked waits no more: what still comes must not go to the next
                raise
        if isinstance(answer, Collateral):
            answer = Fault("exited", "the program was ended")
        match answer:
            case Fault(message=message):
                self._last_fault = message
                tally.barren += 1
            case Hang(seconds):
                self._last_fault = f"no answer in {seconds:g} s"
                tally.barren += 1
            case _:
                tally.answered.add(index)
                tally.barren = 0
        return answer, exchange

    async def _alive(self) -> Program | Inside:
        program = self._program
        if program is not None and not program.dead:
            return program
        if program is not None:
            await program.stop()
        self._program = self._make(self.connection)
        await self._program.start()
        return self._program


class Blocking:
    """A loop in a thread of its own; `run` waits for a coroutine, and meanwhile does what it asks for."""

    def __init__(self) -> None:
        """Start the thread."""
        self._loop = asyncio.new_event_loop()
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._loop.run_forever, name="streamconform", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what `coroutine` returns, or raise what it raises; an interrupt ends it."""
        jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._jobs = jobs  # a new one: what was interrupted may have left something in the last
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        future.add_done_callback(lambda _: jobs.put(None))
        try:
            while (job := jobs.get()) is not None:
                job()
        except BaseException:
            future.cancel()
            raise
        return future.result()

    @property
    def perform(self) -> Perform:
        """Return what calls a function in the thread that waits in `run`."""

        async def performed(function: Callable[[], Any]) -> Any:
            done: asyncio.Future[tuple[Any, ImplementationError | None]] = self._loop.create_future()

            def job() -> None:
                told: tuple[Any, ImplementationError | None]
                try:
                    told = function(), None
                except ImplementationError as error:
                    told = None, error
                self._loop.call_soon_threadsafe(done.set_result, told)

            self._jobs.put(job)
            value, error = await done
            if error is not None:
                raise error
            return value

        return performed

    def close(self) -> None:
        """End the thread, and what still runs in it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(_ended())
        self._loop.close()


async def _ended() -> None:
    """End every other task of the loop."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
