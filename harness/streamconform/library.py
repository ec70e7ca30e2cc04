"""The Python API: load cases, run implementations, judge an outcome, write a report.

    >>> from streamconform import load_cases, run_suite, write_report
    >>> len(load_cases(["openai-chat/tool-calls/**"])) > 0
    True
    >>> results = run_suite("mypkg", select=["openai-chat/**"], deliver="fast")   # doctest: +SKIP
    >>> write_report("html", "report.html", results)                              # doctest: +SKIP

These four functions, the values that they return, the exceptions in `streamconform.errors` and the functions
of `streamconform.normal`, which adapters may import, follow semantic versioning: within a major version, they
only gain members. Every other module is internal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streamconform import reports
from streamconform.adapters.interface import Answer, Observation, Output
from streamconform.adapters.preflight import make_connections
from streamconform.adapters.program import START_SECONDS
from streamconform.errors import SelectionError
from streamconform.judge.judge import Judgement, judge
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import AnyCase, BehaviorCase, Case, RoundTripCase
from streamconform.model.trial import AS_IS, Call
from streamconform.run.plan import Settings
from streamconform.run.results import Results
from streamconform.run.run_folders import create_run_folder
from streamconform.run.session import SILENT, Progress, RunRequest, execute_run
from streamconform.run.workers import count_default_workers
from streamconform.suite.expand import make_trial
from streamconform.suite.selection import SelectionSettings
from streamconform.suite.selection import select as make_selection

__all__ = ["judge_outcome", "load_cases", "run_suite", "write_report"]


def load_cases(
    select: Sequence[str] = (), *, specs: str | None = None, cassettes: str | None = None
) -> tuple[AnyCase, ...]:
    """Return the cases whose ids match any of the patterns (as in `conform run -k`); by default, all cases.

    `specs` and `cassettes` are folders, by default the bundled ones. Raises `SourceError` if a spec or a
    cassette is invalid, and `SelectionError` if a pattern matches nothing.
    """
    # The smallest set of deliveries, because only the cases of the trials are returned.
    settings = SelectionSettings(select=tuple(select), deliver="fast", specs=specs, cassettes=cassettes)
    trials = make_selection(settings).trials
    return tuple({trial.case.id: trial.case for trial in trials}.values())


def run_suite(
    *impls: str,
    select: Sequence[str] = (),
    deliver: str = "standard",
    workers: int | None = None,
    timeout: float = 10.0,
    start_timeout: float = START_SECONDS,
    strict: bool = False,
    path: str | Path | None = None,
) -> Results:
    """Judge implementations, named as in `conform run --impl`, and return the results.

    The results are written to `path` line by line during the run; by default, `path` is in a new folder under
    `.conform/runs`, as with `conform run`. Raises `ImplementationError` if an implementation cannot be
    reached, `SelectionError` if nothing is selected, and `SourceError` if a spec is invalid.
    """
    connections = make_connections(impls)
    selection = make_selection(SelectionSettings.from_values({"select": tuple(select), "deliver": deliver}))
    request = RunRequest(
        connections=connections,
        trials=selection.trials,
        settings=Settings(
            workers=workers or count_default_workers(),
            timeout=timeout,
            start_timeout=start_timeout,
            strict=strict,
        ),
        selection={"select": tuple(select) or None, "deliver": deliver, "strict": strict or None},
    )
    if path is not None:
        return execute_run(request, Path(path), SILENT).results
    with create_run_folder() as folder:
        progress = Progress(lambda _: folder.mark_latest(), lambda _: None)
        return execute_run(request, folder.results, progress).results


def judge_outcome(
    case: AnyCase,
    outcome: Any,
    *,
    events: Sequence[Mapping[str, Any]] | None = None,
    delivery: str = AS_IS,
) -> Judgement:
    """Return the checks and the verdict for an outcome that was produced elsewhere.

    `outcome` and `events` are in the normal form (docs/outcome.md), as JSON values; for a case that tests a
    function, `outcome` is the function's output. Raises `SelectionError` for a round trip or
    a behavior, which can be judged only in a run over HTTP.
    """
    if isinstance(case, BehaviorCase | RoundTripCase):
        raise SelectionError(f"`{case.id}` tests requests, which only a server sees; use `run_suite`")
    answer: Answer
    if isinstance(case, Case):
        trial: Any = make_trial(case, delivery, 0)
        answer = Observation(outcome, None if events is None else list(events))
    else:
        trial = Call(case)
        answer = Output(outcome)
    # An answer without events fails if `events` is claimed.
    claims = CAPABILITIES if events is not None else CAPABILITIES - {"events"}
    return judge(trial, answer, claims, lambda _: None)


def write_report(kind: str, path: str | Path, results: Results) -> None:
    """Write `results` as a json, junit, markdown, github, badge or html report. Raises `ReportError`."""
    if kind == "html":
        reports.write_report(kind, str(path), results, _no_page)
        return
    reports.write_text(str(path), reports.render(kind, results))


def _no_page(path: str) -> Any:
    raise AssertionError(f"only the matrix takes the path to its page: {path}")
