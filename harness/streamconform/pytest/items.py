"""Trials as items of pytest: collected under `conform`, asked one at a time, and what is reported of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from streamconform.cli.known_failures import in_suite, known_failures
from streamconform.errors import ConformError
from streamconform.known_failures.context import KnownFailuresContext
from streamconform.known_failures.match import CheckedPaths, find_outdated, to_problems
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial
from streamconform.pytest.plugin import ROOT
from streamconform.pytest.session import KNOWN, Bench, Benches
from streamconform.run.pool import is_unexpected
from streamconform.run.single import SingleRunner

VERDICT: Final = "conform_verdict"
"""The property of reports that tells a verdict other than pass, in JUnit files too."""


class Conform:
    """The plugin of a run in which something is judged."""

    def __init__(self, benches: Benches) -> None:
        """Hold what is judged."""
        self.benches = benches

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Put our collector behind those of files."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            root = Root.from_parent(collector, name=ROOT, nodeid=ROOT, benches=self.benches)
            report.result = [*(report.result or ()), root]
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many trials only warn, and where that is shown."""
        passed = terminalreporter.stats.get("passed", ())
        count = sum((VERDICT, "warn") in report.user_properties for report in passed)
        if count:
            words = f"conform: {count} passed with warnings, which the provider's words leave room for; -rP"
            terminalreporter.write_line(f"{words} shows them", yellow=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """End the programs that were started."""
        self.benches.close()


class Root(pytest.Collector):
    """All that is judged: a collector each implementation, and the files of known failures."""

    def __init__(self, *, benches: Benches, **node: Any) -> None:
        super().__init__(**node)
        self.benches = benches
        self.add_marker("conform")

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield what there is of that; raises `CollectError` for a selection that matches nothing."""
        benches = self.benches
        impls = [each.impl for each in benches.connections]
        try:
            found = benches.selected()
            missing = in_suite(found, benches.chosen.get("seed", 0))
            files = [each.listed for each in known_failures(benches.chosen, impls, missing)]
        except ConformError as error:
            raise self.CollectError(str(error)) from error
        settled = () if self.config.option.runxfail else tuple(files)
        count = 0
        for connection in benches.connections:
            if benches.wants(connection.impl):
                count += 1
                single = benches.single(connection)
                yield Implementation.from_parent(
                    self,
                    name=connection.impl,
                    single=single,
                    trials=found.trials,
                    listed=settled,
                )
        for listed in settled:
            if benches.wants(f"{KNOWN}::{listed.known.path}"):
                count += 1
                yield KnownFile.from_parent(self, name=f"{KNOWN}::{listed.known.path}", listed=listed)
        if not count:
            raise self.CollectError(f"not found: {', '.join(benches.asked)}")


class Implementation(pytest.Collector):
    """One implementation and its trials; its program is started when they are collected."""

    parent: Root

    def __init__(
        self,
        *,
        single: SingleRunner,
        trials: tuple[AnyTrial, ...],
        listed: tuple[KnownFailuresContext, ...],
        **node: Any,
    ) -> None:
        super().__init__(**node)
        self.benches = self.parent.benches
        self.single, self._trials, self._listed = single, trials, listed

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item a trial; raises `CollectError` where the implementation cannot be used."""
        benches, impl = self.benches, self.single.connection.impl
        try:
            judged = benches.blocking.run(self.single.begin(self._trials))
        except ConformError as error:
            raise self.CollectError(str(error)) from error
        bench = Bench(benches, self.single, judged, self._listed, self._trials)
        skipped = {trial.id: reason for trial, reason in judged.skipped}
        asked = {trial.id for trial in judged.trials}
        items = [
            TrialItem.from_parent(self, name=trial.id, trial=trial, bench=bench, why=skipped.get(trial.id))
            for trial in self._trials
            if (trial.id in asked or trial.id in skipped) and benches.wants(f"{impl}::{trial.id}")
        ]
        if not items:
            of = f"not found: {', '.join(benches.asked)}" if benches.asked else "nothing is selected"
            raise self.CollectError(
                f"`{impl}`: {of}; what is there over HTTP only needs --conform-input http"
            )
        yield from items


class TrialItem(pytest.Item):
    """One trial of one implementation."""

    def __init__(self, *, trial: AnyTrial, bench: Bench, why: str | None, **node: Any) -> None:
        """Hold the trial; `why` is why it is not asked."""
        super().__init__(**node)
        self._trial, self._bench = trial, bench
        self._told: tuple[BaseException, str] | None = None
        if why is not None:
            self.add_marker(pytest.mark.skip(reason=why))

    def runtest(self) -> None:
        """Judge the trial; raises what pytest knows as a failure, a skip or an expected failure."""
        bench = self._bench
        result = bench.judge(self._trial)
        if result.verdict != "pass":
            self.user_properties.append((VERDICT, result.verdict))
        if is_unexpected(result, strict=bench.benches.strict):
            self._fail(result)
        match result.verdict:
            case "skipped":
                raise pytest.skip.Exception(result.reason or "", _use_item_location=True)
            case "known":
                pytest.xfail(result.known or "")
            case "warn":
                self.add_report_section("call", "conform warning", bench.words(result))
            case _:
                pass

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **named: Any) -> Any:
        """Return our words, also where a debugger gets what the adapter raised."""
        if self._told is not None and excinfo.value is self._told[0]:
            return self._told[1]
        return super().repr_failure(excinfo, *args, **named)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return no file: there is none; and a title."""
        return _nowhere(self, f"{self._bench.judged.connection.impl} {self._trial.id}")

    def _fail(self, result: TrialResult) -> NoReturn:
        if result.verdict == "stale":
            pytest.fail(f"[XPASS(strict)] {result.reason}", pytrace=False)
        words = self._bench.words(result)
        raised = self._bench.single.raised
        if (
            raised is not None
            and result.verdict == "faulted"
            and self.config.getoption("usepdb", default=False)
        ):
            self._told = raised, words
            raise raised
        pytest.fail(words, pytrace=False)


class KnownFile(pytest.Item):
    """A file of known failures: it fails where entries match nothing, have expired or stand twice.

    An entry whose trial passes fails that trial.
    """

    def __init__(self, *, listed: KnownFailuresContext, **node: Any) -> None:
        """Hold the file."""
        super().__init__(**node)
        self._listed = listed

    def runtest(self) -> None:
        """Fail with what is not true any more, a line an entry."""
        known = self._listed.known
        findings = find_outdated(
            known, (), _unasked, unmatched=self._listed.unmatched, today=self._listed.today
        )
        if findings:
            pytest.fail("\n".join(map(str, to_problems(known, findings))), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return no file: there is none; and a title."""
        return _nowhere(self, f"{KNOWN} {self._listed.known.path}")


def _nowhere(item: pytest.Item, title: str) -> tuple[Path, int, str]:
    """Return where an item stands, so that pytest shows its id as it is; not what its id ends with."""
    return item.config.rootpath / ROOT, 0, title


def _unasked(result: TrialResult) -> CheckedPaths:
    raise AssertionError(f"no result was given, but {result.id} is asked for")
