"""Judge one trial at a time, for a synchronous caller (such as pytest) that chooses the next trial.

`conform run` runs many trials in parallel (`pool`). Here, one program is kept between trials and restarted
when it ends.
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
from streamconform.adapters.in_process import InProcessAdapter, Perform
from streamconform.adapters.interface import Answer, ProtocolFault, ServerRecord
from streamconform.adapters.program import Collateral, Program
from streamconform.errors import ImplementationError
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial
from streamconform.replay.server import ReplayServer
from streamconform.run.blame import Blame
from streamconform.run.dispatch import Dispatcher
from streamconform.run.grown import get_time_limit
from streamconform.run.plan import ImplementationPlan, Settings, plan_implementation
from streamconform.run.pool import Tally, build_result
from streamconform.run.refusals import skip_refusal
from streamconform.run.result_size import ResultBounds

T = TypeVar("T")
ProgramFactory = Callable[[Connection], Program | InProcessAdapter]


class SingleRunner:
    """One implementation: call `begin`, then `judge` for each trial, then `end`."""

    def __init__(
        self, connection: Connection, settings: Settings, blame: Blame, make: ProgramFactory = Program
    ) -> None:
        """Store the settings without starting anything."""
        self.connection = connection
        self._settings, self._blame, self._make = settings, blame, make
        self._program: Program | InProcessAdapter | None = None
        self._dispatcher: Dispatcher | None = None
        self._tally = Tally()
        self._bounds = ResultBounds()
        self._stack = contextlib.AsyncExitStack()

    async def begin(self, trials: Sequence[AnyTrial]) -> ImplementationPlan:
        """Start the program and plan `trials`. Raises `ImplementationError` and `UsageError`."""
        program = self._make(self.connection)
        self._program = program
        greeting = await program.start(self._settings.start_timeout)
        plan = plan_implementation(0, self.connection, greeting, trials, self._settings.input)
        over_http = plan.input == "http"
        server = await self._stack.enter_async_context(ReplayServer()) if over_http else None
        self._dispatcher = Dispatcher(plan, self._blame.find_first_delta, server)
        return plan

    async def judge(self, trial: AnyTrial) -> TrialResult:
        """Run and judge `trial`; after a timeout or a crash, the next trial gets a new program."""
        assert self._dispatcher is not None, "`begin` was awaited"
        started = time.perf_counter()
        answer, server = await self._answer(self._dispatcher, trial)
        ms = (time.perf_counter() - started) * 1000
        result = build_result(self._dispatcher.plan, trial, answer, server, ms, self._blame)
        return self._bounds.shorten(skip_refusal(result))

    async def end(self) -> None:
        """Stop the program and the server."""
        program, self._program = self._program, None
        try:
            if program is not None:
                await program.stop()
        finally:
            await self._stack.aclose()

    @property
    def raised(self) -> BaseException | None:
        """Return the exception that an adapter in this process raised during the last trial."""
        return self._program.raised if isinstance(self._program, InProcessAdapter) else None

    async def _answer(self, dispatcher: Dispatcher, trial: AnyTrial) -> tuple[Answer, ServerRecord | None]:
        tally, index = self._tally, dispatcher.plan.index
        if tally.gave_up(index):
            return tally.create_fault(index), None
        server: ServerRecord | None = None
        answer: Answer | Collateral
        try:
            program = await self._ensure_program()
        except ImplementationError as error:
            answer = ProtocolFault("exited", str(error))
        else:
            try:
                answer, server = await dispatcher.dispatch(
                    program, trial, get_time_limit(trial, self._settings.timeout)
                )
            except asyncio.CancelledError:
                await program.stop()  # a late answer must not be mistaken for the answer to the next trial
                raise
        if isinstance(answer, Collateral):
            answer = ProtocolFault("exited", "the program was ended")
        tally.record_answer(index, answer)
        return answer, server

    async def _ensure_program(self) -> Program | InProcessAdapter:
        """Return the running program, or start a new one."""
        program = self._program
        if program is not None and not program.dead:
            return program
        if program is not None:
            await program.stop()
        self._program = self._make(self.connection)
        await self._program.start(self._settings.start_timeout)
        return self._program


class BlockingLoop:
    """An event loop in its own thread; while `run` waits for a coroutine, it runs the jobs from `perform`."""

    def __init__(self) -> None:
        """Start the thread."""
        self._loop = asyncio.new_event_loop()
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._loop.run_forever, name="streamconform", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of `coroutine` or raise its exception; an interrupt cancels it."""
        jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._jobs = jobs  # a new queue: an interrupted coroutine may have left jobs in the previous one
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
        """Return a function that calls a given function in the thread that waits in `run`.

        That is the caller's thread, which a debugger controls.
        """

        async def perform_job(function: Callable[[], Any]) -> Any:
            done: asyncio.Future[tuple[Any, ImplementationError | None]] = self._loop.create_future()

            def job() -> None:
                result: tuple[Any, ImplementationError | None]
                try:
                    result = function(), None
                except ImplementationError as error:
                    result = None, error
                self._loop.call_soon_threadsafe(done.set_result, result)

            self._jobs.put(job)
            value, error = await done
            if error is not None:
                raise error
            return value

        return perform_job

    def close(self) -> None:
        """Stop the thread and cancel the tasks that are still running in it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(_cancel_tasks())
        self._loop.close()


async def _cancel_tasks() -> None:
    """Cancel all other tasks in the loop and wait for them."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
