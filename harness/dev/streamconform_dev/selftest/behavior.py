"""Judge mutants of the HTTP client on scripts; the clients and the servers share an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from streamconform.adapters import host, json_line, protocol
from streamconform.adapters.feed import BYTES_WITH_RUN, Feed
from streamconform.adapters.interface import Answer, Hang, ServerRecord
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial, Behavior
from streamconform.replay.server import ReplayServer
from streamconform.run.blame import Blame
from streamconform.run.dispatch import Dispatcher
from streamconform.run.plan import ImplementationPlan
from streamconform.run.pool import build_result

if TYPE_CHECKING:
    from streamconform_dev.selftest.execute import Adapter, Group

_ID: Final = "1"
_SECONDS: Final = 10.0
"""The time limit for a trial; only a mutant that hangs, or reads on after an abort, takes that long."""

_MAX_CONNECTIONS: Final = 100
"""How many connections to have open at once; each has two ends in this process."""


class _LoopAdapter:
    """Stands in for a `Program`, and calls an asynchronous adapter in the loop of the server."""

    def __init__(self, adapter: Callable[[Any], Awaitable[dict[str, Any]]]) -> None:
        self._adapter = adapter

    async def run(
        self, trial: AnyTrial, seconds: float, *, events: bool, feed: Feed = BYTES_WITH_RUN
    ) -> Answer:
        """Return the answer to `trial`."""
        message = json_line.loads(protocol.encode_request(_ID, trial, events=events, feed=feed))
        try:
            async with asyncio.timeout(seconds):
                result = await self._adapter(host.build_input(message))
        except TimeoutError:
            return Hang(seconds)
        except Exception as error:  # noqa: BLE001 - a mutant may crash in any way
            line = host.encode_result(self._adapter, message, _make_raiser(error))
        else:
            line = host.encode_result(self._adapter, message, lambda: result)
        reply = protocol.parse_reply(line)
        assert isinstance(reply, protocol.ResultLine), "the line is a result"
        return reply.answer


def _make_raiser(error: Exception) -> Callable[[], dict[str, Any]]:
    def fail() -> dict[str, Any]:
        raise error

    return fail


def judge_behavior(
    group: Group, trial: Behavior, names: Container[str] | None = None
) -> Iterator[TrialResult]:
    """Yield the result of each mutant in `group` whose behavior differs, if only in a `may`.

    The mutants run at the same time, because a script has waits.
    """
    answers = asyncio.run(_perform_all(group, trial, names))
    for index, (answer, record) in answers.items():
        result = build_result(group.plan, trial, answer, record, 0.0, Blame(None))
        if result.verdict != "pass" or result.checks:
            yield replace(result, implementation=index)


async def _perform_all(
    group: Group, trial: Behavior, names: Container[str] | None
) -> dict[int, tuple[Answer, ServerRecord | None]]:
    selected = {
        index: adapter
        for index, (name, adapter) in enumerate(group.adapters.items())
        if names is None or name in names
    }
    free = asyncio.Semaphore(max(_MAX_CONNECTIONS // trial.case.control.answers, 1))

    async def perform_one(adapter: Adapter) -> tuple[Answer, ServerRecord | None]:
        async with free:
            return await perform(adapter, group.plan, trial)

    performed = await asyncio.gather(*map(perform_one, selected.values()))
    return dict(zip(selected, performed, strict=True))


async def perform(
    adapter: Any, plan: ImplementationPlan, trial: Behavior
) -> tuple[Answer, ServerRecord | None]:
    """Return an adapter's answer to a script, and what the server saw."""
    async with ReplayServer() as server:
        dispatcher = Dispatcher(plan, lambda _: None, server, patience=1)
        answer, record = await dispatcher.dispatch(_LoopAdapter(adapter), trial, _SECONDS)  # type: ignore[arg-type]
    return answer, record  # type: ignore[return-value]
