"""A Python adapter in this very process, asked as a program is: so that a debugger reaches it.

Nothing ends one that hangs or takes the process with it, and it has the environment of the process.
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
from streamconform.adapters.connect import Connection, target
from streamconform.adapters.feed import WITH_THE_RUN, Feed
from streamconform.adapters.interface import Answer, Errored, Fault, Greeting, Observation
from streamconform.adapters.process import unusable
from streamconform.errors import ImplementationError
from streamconform.model.trial import AnyTrial

ID: Final = "1"

Perform = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls something in the thread that a debugger can take, and returns what it returned or raised."""


class Inside:
    """What a `Program` is, without a process; its adapter is called through `perform`."""

    def __init__(
        self, connection: Connection, perform: Perform, let_out: tuple[type[BaseException], ...]
    ) -> None:
        """Hold `connection`, which is to be of a Python adapter; exceptions in `let_out` end everything."""
        self.connection = connection
        self.dead = False
        self.raised: BaseException | None = None
        """What the adapter raised last."""
        self._perform = perform
        self._let_out: tuple[type[BaseException], ...] = (bdb.BdbQuit, KeyboardInterrupt, *let_out)
        self._adapter: Callable[[Any], Any] | None = None

    async def start(self) -> Greeting:
        """Import the adapter and return its greeting; raises `ImplementationError`."""
        named = target(self.connection)
        assert named is not None, "only adapters in Python are called here"
        greeting: Greeting = await self._perform(lambda: self._greeting(named))
        return greeting

    async def ask(
        self, trial: AnyTrial, seconds: float, *, events: bool, feed: Feed = WITH_THE_RUN
    ) -> Answer:
        """Return the answer to `trial`, however long it takes: who debugs takes his time."""
        del seconds
        self.raised = None
        message = json.loads(protocol.question(ID, trial, events=events, feed=feed))
        loop, told, taken = asyncio.get_running_loop(), list[Any](), list[int]()

        def tell(event: Any) -> None:
            told.append(event)
            if feed.gate is not None:
                taken.append(feed.gate.handed)
                loop.call_soon_threadsafe(feed.gate.saw, event)

        answer: Answer = await self._perform(
            lambda: self._answer(message, tell, of_run=message["op"] == "run")
        )
        if isinstance(answer, Observation) and answer.events is None and told:
            return replace(answer, events=told, taken=tuple(taken) if feed.gate is not None else answer.taken)
        return answer

    async def stop(self) -> None:
        """Do nothing: there is no process."""

    def _greeting(self, named: str) -> Greeting:
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)  # as the program that hosts adapters does
        impl = self.connection.impl
        try:
            self._adapter = host.resolve(named)
            line = json.dumps(host.greeting(self._adapter, named)).encode()
            return protocol.greeting(line, impl)
        except host.Missing as error:
            raise ImplementationError(f"`{impl}` cannot be used: {error}") from error
        except protocol.ProtocolFault as fault:
            words = f"`{impl}` cannot be used: its greeting is wrong: {fault.message}"
            raise ImplementationError(words) from fault
        except self._let_out:
            raise
        except BaseException as error:  # importing somebody's module can raise anything
            text = "".join(traceback.format_exception(error, limit=-8))
            raise ImplementationError(unusable(impl, "it cannot be imported", text)) from error

    def _answer(self, message: dict[str, Any], tell: host.Tell, *, of_run: bool) -> Answer:
        assert self._adapter is not None, "it was started"
        try:
            made = (
                host.answer(self._adapter, message, tell) if of_run else host.output(self._adapter, message)
            )
            line = json.dumps({"op": "result", "id": ID} | made, allow_nan=False).encode()
        except self._let_out:
            raise
        except BaseException as error:  # noqa: BLE001 - anything, sys.exit included; it is told, not hidden
            self.raised = error
            words = f"{type(error).__name__}: {error}"
            return Errored(words, "".join(traceback.format_exception(error, limit=-12)))
        try:
            reply = protocol.reply(line)
        except protocol.ProtocolFault as fault:
            return Fault(fault.kind, fault.message)
        assert isinstance(reply, protocol.Reply), "a result was written"
        return reply.answer
