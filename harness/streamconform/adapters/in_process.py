"""Run a Python adapter in this process, so that a debugger can reach it.

Used only for `pytest --pdb`, because `breakpoint()` works only in pytest's own process. There is no
protection against an adapter that hangs or exits, and the adapter sees the unfiltered environment.
"""

from __future__ import annotations

import asyncio
import bdb
import json
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from streamconform.adapters import host, protocol
from streamconform.adapters.connect import Connection, get_python_target
from streamconform.adapters.feed import BYTES_WITH_RUN, Feed
from streamconform.adapters.interface import Answer, Greeting, Observation, ProtocolFault
from streamconform.adapters.process import describe_unusable
from streamconform.errors import ImplementationError
from streamconform.model.trial import AnyTrial

REQUEST_ID: Final = "1"

Perform = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a function in a thread that can be debugged, and returns its result or raises its exception."""


class InProcessAdapter:
    """Stands in for a `Program` without using a process; calls the adapter through `perform`."""

    def __init__(
        self, connection: Connection, perform: Perform, let_out: tuple[type[BaseException], ...]
    ) -> None:
        """Store `connection`, which must be for a Python adapter; exceptions in `let_out` propagate."""
        self.connection = connection
        self.dead = False
        self.raised: BaseException | None = None
        """The exception that the adapter or its library raised in the last run."""
        self._perform = perform
        self._let_out: tuple[type[BaseException], ...] = (bdb.BdbQuit, KeyboardInterrupt, *let_out)
        self._adapter: Callable[[Any], Any] | None = None

    async def start(self, seconds: float = 0.0) -> Greeting:
        """Import the adapter and return its greeting. Raises `ImplementationError`."""
        del seconds  # a debugger session has no timeout
        target = get_python_target(self.connection)
        assert target is not None, "only Python adapters run in this process"
        greeting: Greeting = await self._perform(lambda: self._load(target))
        return greeting

    async def run(
        self, trial: AnyTrial, seconds: float, *, events: bool, feed: Feed = BYTES_WITH_RUN
    ) -> Answer:
        """Return the answer to `trial`."""
        del seconds  # a debugger session has no timeout
        self.raised = None
        # Passed through JSON, so that the adapter gets the same values as in a separate process.
        message = json.loads(protocol.encode_request(REQUEST_ID, trial, events=events, feed=feed))
        loop, events_sent, taken = asyncio.get_running_loop(), list[Any](), list[int]()

        def send_event(event: Any) -> None:
            events_sent.append(event)
            if feed.gate is not None:
                taken.append(feed.gate.chunks_passed)
                # The adapter runs in the debugger's thread, and an `asyncio.Event` belongs to its loop.
                loop.call_soon_threadsafe(feed.gate.record_event, event)

        answer: Answer = await self._perform(
            lambda: self._answer(message, send_event, is_run=message["op"] == "run")
        )
        if isinstance(answer, Observation) and protocol.lacks_events(answer) and events_sent:
            chunk_counts = answer.taken if feed.gate is None else tuple(taken)
            return replace(answer, events=events_sent, taken=chunk_counts)
        return answer

    async def stop(self) -> None:
        """Do nothing: there is no process."""

    def _load(self, target: str) -> Greeting:
        """Import the adapter `target` and return its greeting."""
        folder = str(Path.cwd())
        if folder not in sys.path:
            sys.path.insert(0, folder)  # as `host.main` does
        impl = self.connection.impl
        try:
            self._adapter = host.load_adapter(target)
            # the greeting goes through JSON, so that it is validated exactly as a program's is
            line = json.dumps(host.build_greeting(self._adapter, target)).encode()
            return protocol.parse_greeting(line, impl)
        except host.TargetError as error:
            raise ImplementationError(f"`{impl}` cannot be used: {error}") from error
        except protocol.ProtocolError as fault:
            raise ImplementationError(
                f"`{impl}` cannot be used: invalid greeting: {fault.message}"
            ) from fault
        except self._let_out:
            raise
        except BaseException as error:  # importing a user's module can raise any exception
            text = "".join(traceback.format_exception(error, limit=-8))
            raise ImplementationError(
                describe_unusable(impl, "the import failed", text, exit_code=None)
            ) from error

    def _answer(self, message: dict[str, Any], send_event: host.SendEvent, *, is_run: bool) -> Answer:
        """Return the answer to a run or call message."""
        adapter = self._adapter
        assert adapter is not None, "`start` was awaited"

        def build_result() -> dict[str, Any]:
            if is_run:
                return host.build_run_result(adapter, message, send_event)
            return host.build_call_result(adapter, message)

        def keep(error: BaseException) -> None:
            self.raised = error

        line = host.encode_result(adapter, message, build_result, self._let_out, keep)
        try:
            reply = protocol.parse_reply(line)
        except protocol.ProtocolError as fault:
            return ProtocolFault(fault.kind, fault.message)
        assert isinstance(reply, protocol.ResultLine), "the line is a result"
        return reply.answer
