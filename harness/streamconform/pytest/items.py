"""Trials as pytest items: collected under `conform`, judged one at a time, and reported."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from streamconform.errors import ConformError
from streamconform.known_failures.context import KnownFailuresContext
from streamconform.known_failures.match import CheckedPaths, find_outdated, to_problems
from streamconform.known_failures.reading import (
    KnownFailuresSettings,
    make_unmatched_finder,
    read_known_failures,
)
from streamconform.model.result import TrialResult, is_unexpected
from streamconform.model.trial import AnyTrial
from streamconform.plural import format_count
from streamconform.pytest import ROOT
from streamconform.pytest.session import KNOWN, ImplementationJudge, TrialSession
from streamconform.run.single import SingleRunner

VERDICT_PROPERTY: Final = "conform_verdict"
"""The property that contains the verdict, unless it is pass, in test reports and JUnit files."""


class ConformHooks:
    """The hooks of a session that judges trials."""

    def __init__(self, session: TrialSession) -> None:
        """Add the trials of `session`."""
        self.session = session

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add our collector after the file collectors."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            root = RootCollector.from_parent(collector, name=ROOT, nodeid=ROOT, trial_session=self.session)
            report.result = [*(report.result or ()), root]
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the number of warnings, which pytest counts as passed."""
        passed = terminalreporter.stats.get("passed", ())
        count = sum((VERDICT_PROPERTY, "warn") in report.user_properties for report in passed)
        if count:
            warnings = format_count(count, "warning")
            message = (
                f"conform: {warnings}: the provider's documentation does not settle these; -rP shows them"
            )
            terminalreporter.write_line(message, yellow=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Stop the programs that were started."""
        self.session.close()


class RootCollector(pytest.Collector):
    """Collects one collector per implementation and one item per known-failures file."""

    def __init__(self, *, trial_session: TrialSession, **node: Any) -> None:
        super().__init__(**node)
        self.trial_session = trial_session
        self.add_marker("conform")

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the requested collectors. Raises `CollectError` for a selection that matches nothing."""
        session = self.trial_session
        impls = [connection.impl for connection in session.connections]
        try:
            selection = session.select()
            settings = session.settings
            known_failures = KnownFailuresSettings(
                settings.known_failures, settings.selection, strict=settings.strict
            )
            find_unmatched = make_unmatched_finder(selection, settings.selection.seed)
            files = read_known_failures(known_failures, impls, find_unmatched)
        except ConformError as error:
            raise self.CollectError(str(error)) from error
        # With --runxfail, known failures are reported as failures, as pytest does with its own xfails.
        listed = () if self.config.option.runxfail else tuple(file.listed for file in files)
        count = 0
        for connection in session.connections:
            if session.includes(connection.impl):
                count += 1
                yield ImplementationCollector.from_parent(
                    self,
                    name=connection.impl,
                    single=session.make_single(connection),
                    trials=selection.trials,
                    listed=listed,
                )
        for file in listed:
            path = f"{KNOWN}::{file.known.path}"
            if session.includes(path):
                count += 1
                yield KnownFailuresItem.from_parent(self, name=path, listed=file)
        if not count:
            raise self.CollectError(f"not found: {', '.join(session.node_paths)}")


class ImplementationCollector(pytest.Collector):
    """Collects one implementation's trials, which requires starting its program."""

    parent: RootCollector

    def __init__(
        self,
        *,
        single: SingleRunner,
        trials: tuple[AnyTrial, ...],
        listed: tuple[KnownFailuresContext, ...],
        **node: Any,
    ) -> None:
        super().__init__(**node)
        self._session = self.parent.trial_session
        self._single, self._trials, self._listed = single, trials, listed

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item per trial. Raises `CollectError` if the implementation cannot be used."""
        session, impl = self._session, self._single.connection.impl
        try:
            judged = session.blocking.run(self._single.begin(self._trials))
        except ConformError as error:
            raise self.CollectError(str(error)) from error
        judge = ImplementationJudge(session, self._single, judged, self._listed, self._trials)
        skip_reasons = {trial.id: reason for trial, reason in judged.skipped}
        included = {trial.id for trial in judged.trials} | skip_reasons.keys()
        items = [
            TrialItem.from_parent(
                self,
                name=session.name_item(impl, trial.id),
                trial=trial,
                judge=judge,
                skip_reason=skip_reasons.get(trial.id),
            )
            for trial in self._trials
            if trial.id in included and session.includes(f"{impl}::{trial.id}")
        ]
        if not items and judged.unclaimed:
            reason = f"`{impl}` claims none of the selected APIs (its `apis`)"
            self.warn(pytest.PytestCollectionWarning(reason))
            return
        if not items:
            paths = session.node_paths
            problem = f"not found: {', '.join(paths)}" if paths else "no trial is selected"
            raise self.CollectError(f"`{impl}`: {problem}; trials over HTTP need --conform-input http")
        yield from items


class TrialItem(pytest.Item):
    """One trial of one implementation."""

    def __init__(
        self, *, trial: AnyTrial, judge: ImplementationJudge, skip_reason: str | None, **node: Any
    ) -> None:
        """Judge `trial` with `judge`, or skip it if there is a `skip_reason`."""
        super().__init__(**node)
        self._trial, self._judge = trial, judge
        self._adapter_error: tuple[BaseException, str] | None = None
        if skip_reason is not None:
            self.add_marker(pytest.mark.skip(reason=skip_reason))

    def runtest(self) -> None:
        """Judge the trial. Raises pytest's exceptions for a failure, a skip or an expected failure."""
        judge = self._judge
        result = judge.judge(self._trial)
        if result.verdict != "pass":
            self.user_properties.append((VERDICT_PROPERTY, result.verdict))
        if is_unexpected(result, strict=judge.session.is_strict):
            self._fail(result)
        match result.verdict:
            case "skipped":
                # With the item's location, because pytest would otherwise report this line as the place of
                # every skip.
                raise pytest.skip.Exception(result.reason or "", _use_item_location=True)
            case "known":
                pytest.xfail(result.known or "")
            case "warn":
                self.add_report_section("call", "conform warning", judge.describe(result))
            case _:
                pass

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """Return our own description of an adapter's exception; the debugger gets the original exception."""
        if self._adapter_error is not None and excinfo.value is self._adapter_error[0]:
            return self._adapter_error[1]
        return super().repr_failure(excinfo, *args, **kwargs)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return no source location, only a title."""
        return _make_location(self, f"{self._judge.judged.connection.impl} {self._trial.id}")

    def _fail(self, result: TrialResult) -> NoReturn:
        if result.verdict == "stale":
            # pytest begins its own message for a strict xfail that passes in the same way.
            pytest.fail(f"[XPASS(strict)] {result.reason}", pytrace=False)
        description = self._judge.describe(result)
        raised = self._judge.single.raised
        uses_debugger = self.config.getoption("usepdb", default=False)
        if raised is not None and result.verdict == "faulted" and uses_debugger:
            # Raised again, so that the debugger starts where the adapter raised.
            self._adapter_error = raised, description
            raise raised
        pytest.fail(description, pytrace=False)


class KnownFailuresItem(pytest.Item):
    """A known-failures file: fails if entries match nothing, have expired or are duplicates.

    If a trial that a pattern lists passes, the item of that trial fails. How many trials have a cause is not
    checked, because every item may run in a different process.
    """

    def __init__(self, *, listed: KnownFailuresContext, **node: Any) -> None:
        """Check the entries of `listed`."""
        super().__init__(**node)
        self._listed = listed

    def runtest(self) -> None:
        """Fail with a message that lists the outdated entries, one per line."""
        known = self._listed.known
        findings = find_outdated(
            known, (), _reject_result, unmatched=self._listed.unmatched, today=self._listed.today
        )
        if findings:
            pytest.fail("\n".join(map(str, to_problems(known, findings))), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return no source location, only a title."""
        return _make_location(self, f"{KNOWN} {self._listed.known.path}")


def _make_location(item: pytest.Item, title: str) -> tuple[Path, int, str]:
    """Return a location in a file called `conform`, so that pytest shows the node id unchanged."""
    return item.config.rootpath / ROOT, 0, title


def _reject_result(result: TrialResult) -> CheckedPaths:
    raise AssertionError(f"`audit` was given no results, but asks about {result.id}")
