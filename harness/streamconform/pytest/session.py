"""What the plugin for pytest judges with: settings as in `conform run`, and a bench each implementation."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

import pytest

from streamconform import __version__
from streamconform.adapters.connect import Connection, connect, get_python_target
from streamconform.adapters.in_process import InProcessAdapter
from streamconform.adapters.program import Program
from streamconform.cli import options
from streamconform.errors import ConformError
from streamconform.known_failures.context import KnownFailuresContext, get_checked_paths
from streamconform.known_failures.match import Settler
from streamconform.model.result import Header, TrialResult
from streamconform.model.trial import AnyTrial
from streamconform.pytest.plugin import ROOT
from streamconform.reports.trial import lines
from streamconform.run.blame import Blame, load_snapshots
from streamconform.run.plan import ImplementationPlan, Settings
from streamconform.run.single import BlockingLoop, SingleRunner

KNOWN: Final = "known-failures"
"""What the node ids of files of known failures begin with, where others have the implementation."""


class Benches:
    """What is judged in a run, and how; the programs of implementations are kept to its end."""

    def __init__(self, config: pytest.Config, given: Mapping[str, Any], asked: tuple[str, ...]) -> None:
        """Read the settings; raises `pytest.UsageError`. Where node ids are `asked`, nothing else is run."""
        self.asked = tuple(each.removeprefix(f"{ROOT}::").removesuffix("::") for each in asked)
        try:
            self.chosen = options.settings(dict(given))
            impls = tuple(self.chosen.get("impl") or _impls(self.asked) or ("reference",))
            self.connections = tuple(connect(impl) for impl in dict.fromkeys(impls))
            self.inside = bool(config.getoption("conform_in_process"))
            others = [each.impl for each in self.connections if get_python_target(each) is None]
        except ConformError as error:
            raise pytest.UsageError(str(error)) from error
        if self.inside and others:
            words = f"--conform-in-process: `{others[0]}` is a program, only adapters in Python can be called"
            raise pytest.UsageError(words)
        self.inside = self.inside or bool(config.getoption("usepdb", default=False))
        self.singles: list[SingleRunner] = []
        self._blocking: BlockingLoop | None = None

    @property
    def blocking(self) -> BlockingLoop:
        """Return what waits for coroutines, started on first use."""
        if self._blocking is None:
            self._blocking = BlockingLoop()
        return self._blocking

    def single(self, connection: Connection) -> SingleRunner:
        """Return a bench for one implementation; its program goes on to the end of the session."""
        how = Settings(
            workers=1,
            timeout=float(self.chosen.get("timeout", 10)),
            seed=self.chosen.get("seed", 0),
            strict=self.strict,
            input=self.chosen.get("input"),
        )
        inside = self.inside and get_python_target(connection) is not None
        single = SingleRunner(connection, how, self.blame, self._inside if inside else Program)
        self.singles.append(single)
        return single

    @cached_property
    def blame(self) -> Blame:
        """Return what tells frames; it is costly to load, and only needed where something is judged."""
        return Blame(load_snapshots())

    def _inside(self, connection: Connection) -> InProcessAdapter:
        return InProcessAdapter(connection, self.blocking.perform, (pytest.exit.Exception,))

    @property
    def strict(self) -> bool:
        """Return whether warnings fail: where the config file says so, and of mutants."""
        mutants = any(each.impl.startswith("mutant:") for each in self.connections)
        return mutants or bool(self.chosen.get("strict", False))

    def selected(self) -> options.Selected:
        """Return what is selected; of node ids that are whole, only these."""
        ids = frozenset(each.rpartition("::")[2] for each in self.asked)
        whole = bool(ids) and all("@" in each for each in ids)
        with _uncollected():
            return options.selected(self.chosen, ids if whole else None)

    def wants(self, path: str) -> bool:
        """Return whether `path`, a node id behind `conform::`, is asked for, or lies above what is."""
        return not self.asked or any(_within(path, each) or _within(each, path) for each in self.asked)

    def close(self) -> None:
        """End the programs that were started."""
        if self._blocking is None:
            return
        try:
            for single in self.singles:
                self._blocking.run(single.end())
        finally:
            self._blocking.close()
            self._blocking = None


class Bench:
    """Where the trials of one implementation are judged, and what reports need of it."""

    def __init__(
        self,
        benches: Benches,
        single: SingleRunner,
        judged: ImplementationPlan,
        listed: tuple[KnownFailuresContext, ...],
        trials: tuple[AnyTrial, ...],
    ) -> None:
        """Hold what was collected; known failures are told apart by `listed`."""
        self.benches, self.single, self.judged = benches, single, judged
        names = ("specs", "cassettes", "input")
        self.header = Header(
            version=__version__,
            cases=0,
            trials=len(trials),
            implementations=(judged.info,),
            selection={name: benches.chosen.get(name) for name in names},
            seed=benches.chosen.get("seed", 0),
        )
        by_id = {trial.id: trial for trial in trials}
        files = [each.known for each in listed if each.known.applies_to(judged.connection.impl)]
        self.settle = Settler(
            files,
            lambda result: get_checked_paths(
                judged.apply_proxy_view(by_id[result.id]), judged.greeting.claims(by_id[result.id].case.api)
            ),
            strict=benches.strict,
        )

    def judge(self, trial: AnyTrial) -> TrialResult:
        """Return what comes of `trial`, known failures told apart."""
        return self.settle(self.benches.blocking.run(self.single.judge(trial)))

    def words(self, result: TrialResult) -> str:
        """Return what a report says of `result`."""
        return "\n".join(lines(result, self.header))


def _impls(asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the implementations that node ids name, where nothing else does."""
    named = (each.rpartition("::")[0] or each for each in asked if each and not _within(each, KNOWN))
    return tuple(dict.fromkeys(named))


def _within(path: str, above: str) -> bool:
    """Return whether an id is `above`, or below it."""
    return path.startswith(above) and (not above or path[len(above) :][:1] in ("", ":", "/", "@"))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave the garbage collector out while much is made that is kept."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
