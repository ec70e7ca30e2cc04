"""A whole run: greet the implementations, judge them one after the other, write results as they come."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamconform import __version__
from streamconform.adapters.connect import Connection
from streamconform.adapters.program import Program
from streamconform.errors import SelectionError
from streamconform.known_failures.context import Listed, checked, untrue
from streamconform.known_failures.match import Checked, Finding, Settler, audit
from streamconform.model.result import Footer, Header, TrialResult
from streamconform.model.trial import AnyTrial
from streamconform.model.verdict import VERDICTS
from streamconform.run.blame import Blame, installed
from streamconform.run.exits import Exit, Happened, of_run
from streamconform.run.interruptible import run
from streamconform.run.merge import ordered
from streamconform.run.plan import Judged, Settings, divide
from streamconform.run.pool import Bench, Stopped, Tally, Watch, is_unexpected, judge_all
from streamconform.run.results import Results, ResultsWriter

if TYPE_CHECKING:
    from streamconform.replay.server import ReplayServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be judged against what."""

    connections: tuple[Connection, ...]
    trials: tuple[AnyTrial, ...]
    settings: Settings
    selection: Mapping[str, Any]
    blame: bool = True
    """Whether failing checks get their frames; working them out costs time."""
    listed: tuple[Listed, ...] = ()
    """The files of known failures that are about what is judged."""


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
    plain: tuple[TrialResult, ...]
    """The trials as they were judged, before known failures were told apart."""
    findings: tuple[tuple[Finding, ...], ...]
    """What is not true any more in each of the order's known-failures files."""
    checked: Callable[[TrialResult], Checked]
    """The paths that a trial was judged on."""


def conduct(order: Order, path: Path, progress: Progress) -> Finished:
    """Run `order`, write `path` line by line, and return the results.

    Raises `ImplementationError` before anything is judged where an implementation cannot be reached.
    Ctrl-C, or SIGTERM as CI systems send it, ends every program, writes the footer and gives exit code 130.
    """
    runner = _Runner(order, path, progress)
    try:
        run(runner.run())
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
        self._plain: list[TrialResult] = []
        self._judged: list[Judged] = []
        self._trials = {trial.id: trial for trial in order.trials}
        known, strict = [each.known for each in order.listed], order.settings.strict
        self._settle = [
            Settler((file for file in known if file.about(each.impl)), self._checked, strict=strict)
            for each in order.connections
        ]

    async def run(self) -> None:
        order = self.order
        async with contextlib.AsyncExitStack() as programs:
            await self._run(order, programs)

    async def _run(self, order: Order, programs: contextlib.AsyncExitStack) -> None:
        # the program that is greeted is also the first worker's: starting one can take a second
        started = [Program(connection) for connection in order.connections]
        greetings = []
        for program in started:
            programs.push_async_callback(program.stop)
            greetings.append(await program.start())
        self._judged = [
            divide(i, connection, greeting, order.trials, order.settings.input)
            for i, (connection, greeting) in enumerate(zip(order.connections, greetings, strict=True))
        ]
        planned = [
            trial for each in self._judged for trial in (*each.trials, *(left for left, _ in each.skipped))
        ]
        if order.trials and not planned:
            raise SelectionError("what is selected is there over HTTP only: `--input http`")
        self.header = Header(
            version=__version__,
            cases=len({trial.case.id for trial in planned}),
            trials=len(planned),
            implementations=tuple(each.info for each in self._judged),
            selection=order.selection,
            seed=order.settings.seed,
            date=datetime.now(UTC).date().isoformat(),
        )
        self._writer = ResultsWriter(self.path)
        self._writer.write(self.header)
        self.progress.begun(self.header)
        blame = Blame(installed() if order.blame else None)
        over_http = any(each.input == "http" for each in self._judged)
        async with _replay_server() if over_http else contextlib.nullcontext() as server:
            bench = Bench(order.settings, blame, self._emit, self._tally, self.progress.answered, server)
            try:
                for judged, program in zip(self._judged, started, strict=True):
                    await judge_all(judged, bench, program)
            except Stopped:
                self.cut_short = True

    def _emit(self, result: TrialResult) -> TrialResult:
        assert self._writer is not None, "results are written after the header"
        settled = self._settle[result.implementation](result)
        self._writer.write(settled)
        self._plain.append(result)
        self._ended.append(settled)
        self.progress.ended(settled)
        return settled

    def finish(self) -> Finished:
        assert self.header is not None, "a run that never began has raised"
        assert self._writer is not None, "the header was written"
        findings = self._findings()
        exit_ = self._exit(findings)
        counts = Counter(result.verdict for result in self._ended)
        footer = Footer(
            counts={verdict: counts[verdict] for verdict in VERDICTS},
            exit=exit_,
            complete=not self.interrupted and not self.cut_short,
            problems=untrue(self.order.listed, findings),
        )
        with self._writer:
            self._writer.write(footer)
        place = {id_: i for i, id_ in enumerate(self._trials)}
        plain = sorted(self._plain, key=lambda each: (each.implementation, place[each.id]))
        results = ordered(Results(self.header, tuple(self._ended), footer))
        return Finished(results, exit_, tuple(plain), findings, self._checked)

    def _checked(self, result: TrialResult) -> Checked:
        judged = self._judged[result.implementation]
        trial = judged.seen(self._trials[result.id])
        return checked(trial, judged.greeting.claims(trial.case.api))

    def _findings(self) -> tuple[tuple[Finding, ...], ...]:
        """Return what is wrong with each file; of a run that was interrupted nobody can say."""
        if self.interrupted:
            return tuple(() for _ in self.order.listed)
        impls = [each.impl for each in self.order.connections]
        return tuple(
            audit(
                listed.known,
                [each for each in self._plain if listed.known.about(impls[each.implementation])],
                self._checked,
                unmatched=listed.unmatched,
                today=listed.today,
            )
            for listed in self.order.listed
        )

    def _exit(self, findings: Sequence[Sequence[Finding]]) -> Exit:
        strict = self.order.settings.strict
        return of_run(
            Happened(
                interrupted=self.interrupted,
                unexpected=any(findings) or any(is_unexpected(each, strict=strict) for each in self._ended),
                asked=frozenset(each.implementation for each in self._ended if each.verdict != "skipped"),
                answered=frozenset(self._tally.answered),
            )
        )


def _replay_server() -> ReplayServer:
    # imported here: only a run over HTTP needs it
    from streamconform.replay.server import ReplayServer

    return ReplayServer()
