"""A whole run: greet the implementations, judge them one after the other, write results as they come."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamconform import __version__
from streamconform.adapters.connect import Connection
from streamconform.model.result import Footer, Header, ImplementationInfo, TrialResult
from streamconform.model.trial import Trial
from streamconform.model.verdict import VERDICTS
from streamconform.run.blame import Blame, installed
from streamconform.run.exits import Exit, worst
from streamconform.run.plan import Judged, Settings, divide
from streamconform.run.pool import Bench, Stopped, Tally, Watch, greet, is_unexpected, judge_all
from streamconform.run.results import Results, ResultsWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be judged against what."""

    connections: tuple[Connection, ...]
    trials: tuple[Trial, ...]
    settings: Settings
    selection: Mapping[str, Any]
    blame: bool = True
    """Whether failing checks get their frames; working them out costs time."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run tells while it goes on."""

    begun: Callable[[Header], None]
    ended: Callable[[TrialResult], None]
    answered: Watch | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """A run's results, sorted, and what to exit with."""

    results: Results
    exit: Exit


def conduct(order: Order, path: Path, progress: Progress) -> Finished:
    """Run `order`, write `path` line by line, and return the results.

    Raises `ImplementationError` before anything is judged where an implementation cannot be reached.
    Ctrl-C ends every program, writes the footer and gives exit code 130.
    """
    runner = _Runner(order, path, progress)
    try:
        asyncio.run(runner.run())
    except KeyboardInterrupt:
        runner.interrupted = True
        if runner.header is None:
            raise
    return runner.finish()


class _Runner:
    """The state of one run: what has ended so far."""

    def __init__(self, order: Order, path: Path, progress: Progress) -> None:
        self.order = order
        self.path = path
        self.progress = progress
        self.header: Header | None = None
        self.interrupted = False
        self.cut_short = False
        self._writer: ResultsWriter | None = None
        self._tally = Tally()
        self._ended: list[TrialResult] = []
        self._judged: list[Judged] = []

    async def run(self) -> None:
        order = self.order
        greetings = [await greet(connection) for connection in order.connections]
        self._judged = [
            divide(i, connection, greeting, order.trials)
            for i, (connection, greeting) in enumerate(zip(order.connections, greetings, strict=True))
        ]
        self.header = Header(
            version=__version__,
            cases=len({trial.case.id for trial in order.trials}),
            trials=len(order.trials) * len(self._judged),
            implementations=tuple(_info(each) for each in self._judged),
            selection=order.selection,
            seed=order.settings.seed,
        )
        self._writer = ResultsWriter(self.path)
        self._writer.write(self.header)
        self.progress.begun(self.header)
        blame = Blame(installed() if order.blame else None)
        bench = Bench(order.settings, blame, self._emit, self._tally, self.progress.answered)
        try:
            for judged in self._judged:
                await judge_all(judged, bench)
        except Stopped:
            self.cut_short = True

    def _emit(self, result: TrialResult) -> None:
        assert self._writer is not None, "results are written after the header"
        self._writer.write(result)
        self._ended.append(result)
        self.progress.ended(result)

    def finish(self) -> Finished:
        assert self.header is not None, "a run that never began has raised"
        assert self._writer is not None, "the header was written"
        exit_ = self._exit()
        counts = Counter(result.verdict for result in self._ended)
        footer = Footer(
            counts={verdict: counts[verdict] for verdict in VERDICTS},
            exit=exit_,
            complete=not self.interrupted and not self.cut_short,
        )
        with self._writer:
            self._writer.write(footer)
        place = {trial.id: i for i, trial in enumerate(self.order.trials)}
        ended = sorted(self._ended, key=lambda each: (each.implementation, place[each.id]))
        return Finished(Results(self.header, tuple(ended), footer), exit_)

    def _exit(self) -> Exit:
        codes = [Exit.EXPECTED]
        if self.interrupted:
            codes.append(Exit.INTERRUPTED)
        if any(is_unexpected(each, strict=self.order.settings.strict) for each in self._ended):
            codes.append(Exit.UNEXPECTED)
        asked = {each.implementation for each in self._ended if each.verdict != "skipped"}
        if not asked:
            codes.append(Exit.NOTHING)
        if asked - self._tally.answered and not self.interrupted:
            codes.append(Exit.UNUSABLE)
        return worst(*codes)


def _info(judged: Judged) -> ImplementationInfo:
    greeting = judged.greeting
    return ImplementationInfo(
        name=greeting.name,
        version=greeting.version,
        language=greeting.language,
        issues=greeting.issues,
        impl=judged.connection.impl,
        input="bytes",
    )
