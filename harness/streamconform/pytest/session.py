"""One pytest session: the same settings as `conform run`, and one program per implementation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import pytest

from streamconform._version import __version__
from streamconform.adapters.connect import BROKEN, Connection, connect, get_python_target
from streamconform.adapters.in_process import InProcessAdapter
from streamconform.adapters.program import Program
from streamconform.config import read_settings
from streamconform.errors import ConformError
from streamconform.known_failures.context import KnownFailuresContext, get_checked_paths
from streamconform.known_failures.match import Settler
from streamconform.model.result import Header, TrialResult
from streamconform.model.trial import AnyTrial, update_id
from streamconform.pytest import ROOT
from streamconform.reports.trial import describe_trial
from streamconform.run.blame import Blame, load_snapshots
from streamconform.run.plan import ImplementationPlan, Settings
from streamconform.run.single import BlockingLoop, SingleRunner
from streamconform.suite.selection import Selection, select

KNOWN: Final = "known-failures"
"""The name used instead of an implementation in the node ids of known-failures files."""


class TrialSession:
    """A session's settings and implementations; the programs run until the session ends."""

    def __init__(
        self, config: pytest.Config, arguments: Mapping[str, Any], node_ids: tuple[str, ...]
    ) -> None:
        """Read the settings; if `node_ids` is not empty, only those ids run. Raises `pytest.UsageError`."""
        self.node_paths = tuple(node_id.removeprefix(f"{ROOT}::").removesuffix("::") for node_id in node_ids)
        """The requested node ids without `conform::`."""
        try:
            self.settings = read_settings(arguments)
            impls = self.settings.impl or _list_impls(self.node_paths) or ("reference",)
            # Each one once, because the name of an implementation is part of its node ids, which must be
            # unique.
            self.connections = tuple(connect(impl) for impl in dict.fromkeys(impls))
            self.in_process = bool(config.getoption("conform_in_process"))
            programs = [
                connection.impl for connection in self.connections if get_python_target(connection) is None
            ]
        except ConformError as error:
            raise pytest.UsageError(str(error)) from error
        if self.in_process and programs:
            raise pytest.UsageError(
                f"--conform-in-process: `{programs[0]}` is a program; only Python adapters can be called"
                " in-process"
            )
        # `breakpoint()` works only in pytest's own process. Programs still run separately under --pdb.
        self.in_process = self.in_process or bool(config.getoption("usepdb", default=False))
        self._singles: list[SingleRunner] = []
        self._blocking: BlockingLoop | None = None

    @property
    def blocking(self) -> BlockingLoop:
        """Return the event loop that runs coroutines for pytest; it is started on first use."""
        if self._blocking is None:
            self._blocking = BlockingLoop()
        return self._blocking

    def make_single(self, connection: Connection) -> SingleRunner:
        """Return one implementation's judge, which judges one trial at a time until the session ends."""
        settings = Settings(
            workers=1,
            timeout=self.settings.timeout or 10.0,
            start_timeout=self.settings.start_timeout,
            seed=self.settings.selection.seed,
            strict=self.is_strict,
            input=self.settings.selection.input,
        )
        in_process = self.in_process and get_python_target(connection) is not None
        single = SingleRunner(connection, settings, self.blame, self._make_inside if in_process else Program)
        self._singles.append(single)
        return single

    @cached_property
    def blame(self) -> Blame:
        """Return the function that finds relevant frames; it is slow to load and needed only for judging."""
        return Blame(load_snapshots())

    def _make_inside(self, connection: Connection) -> InProcessAdapter:
        # pytest raises this when the user quits the debugger. It must end the session, not count as an
        # adapter error.
        return InProcessAdapter(connection, self.blocking.perform, (pytest.exit.Exception,))

    @property
    def is_strict(self) -> bool:
        """Return whether warnings count as failures: for mutants, or if the config file says so."""
        is_broken = any(connection.impl.startswith(BROKEN) for connection in self.connections)
        return is_broken or self.settings.strict

    def select(self) -> Selection:
        """Return the selected trials, or only the requested ones if every requested node id is a trial."""
        ids = frozenset(path.rpartition("::")[2] for path in self.node_paths)
        are_trials = bool(ids) and all("@" in id_ for id_ in ids)
        return select(self.settings.selection, ids if are_trials else None)

    def includes(self, path: str) -> bool:
        """Return whether `path` (without `conform::`) is a requested id, contains one, or is inside one."""
        return not self.node_paths or any(
            _is_within(path, requested) or _is_within(requested, path)
            for requested in map(update_id, self.node_paths)
        )

    def name_item(self, impl: str, trial_id: str) -> str:
        """Return a trial's id as spelled on the command line, possibly with an old name for its delivery."""
        spelled = (path for path in self.node_paths if update_id(path) == f"{impl}::{trial_id}")
        return next((path.rpartition("::")[2] for path in spelled), trial_id)

    def close(self) -> None:
        """Stop the programs that were started."""
        if self._blocking is None:
            return
        try:
            for single in self._singles:
                self._blocking.run(single.end())
        finally:
            self._blocking.close()
            self._blocking = None


class ImplementationJudge:
    """Judges the trials of one implementation, and describes their results."""

    def __init__(
        self,
        session: TrialSession,
        single: SingleRunner,
        judged: ImplementationPlan,
        listed: tuple[KnownFailuresContext, ...],
        trials: tuple[AnyTrial, ...],
    ) -> None:
        """Judge `trials` with `single`; `listed` contains the known-failures files."""
        self.session, self.single, self.judged = session, single, judged
        names = ("specs", "cassettes", "input")
        self.header = Header(
            version=__version__,
            cases=0,
            trials=len(trials),
            implementations=(judged.info,),
            selection={name: getattr(session.settings.selection, name) for name in names},
            seed=session.settings.selection.seed,
        )
        trials_by_id = {trial.id: trial for trial in trials}
        files = [file.known for file in listed if file.known.applies_to(judged.connection.impl)]
        self._settle = Settler(
            files,
            lambda result: get_checked_paths(
                judged.apply_proxy_view(trials_by_id[result.id]),
                judged.greeting.claims(trials_by_id[result.id].case.api),
            ),
            strict=session.is_strict,
        )

    def judge(self, trial: AnyTrial) -> TrialResult:
        """Return the result of `trial`, matched against the known failures."""
        return self._settle(self.session.blocking.run(self.single.judge(trial)))

    def describe(self, result: TrialResult) -> str:
        """Return the text that a report shows for `result`."""
        return "\n".join(describe_trial(result, self.header))


def _list_impls(node_paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the implementations named in node ids, for a run without `--conform-impl`."""
    impls = (path.rpartition("::")[0] or path for path in node_paths if path and not _is_within(path, KNOWN))
    return tuple(dict.fromkeys(impls))


def _is_within(path: str, prefix: str) -> bool:
    """Return whether the id `path` is equal to `prefix` or below it: `a::b` is below `a`, but `ab` is not."""
    return path.startswith(prefix) and (not prefix or path[len(prefix) :][:1] in ("", ":", "/", "@"))
