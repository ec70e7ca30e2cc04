"""Group results by cause: the same check failing in many cases is one thing to fix."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from streamconform.model.result import Header, ImplementationInfo, TrialResult
from streamconform.model.trial import DELIVERY_SETS, FAULTS
from streamconform.model.verdict import Check
from streamconform.reports.describe import VERDICT_LABELS

NUMBER: Final = re.compile(r"0x[0-9a-f]+|\d+")
"""Offsets, line numbers and byte values: two messages that differ only there have one cause."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that failed in the same way in one or more deliveries."""

    first: TrialResult
    check: Check | None
    """The first check that failed; None if there was no answer to check."""
    deliveries: tuple[str, ...]
    also: tuple[str, ...]
    """Paths of the other checks that failed."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A failed check (or the reason why there is no answer), and the cases in which it failed."""

    implementation: int
    title: str
    """The check's path with indices replaced by `*`, or the verdict with its reason."""
    failures: tuple[Failure, ...]

    @property
    def trials(self) -> int:
        """Return the number of trials with this cause."""
        return sum(len(failure.deliveries) for failure in self.failures)


def group_by_cause(results: Iterable[TrialResult]) -> tuple[Cause, ...]:
    """Return the causes of `results`, by implementation, the cause with the most trials last.

    On a terminal the end of the output stays visible, so the most frequent cause comes last.
    """
    groups: dict[tuple[int, str], dict[tuple[str, str], list[TrialResult]]] = {}
    for result in results:
        cases = groups.setdefault((result.implementation, _title(result)), {})
        cases.setdefault((result.case, _difference_key(result)), []).append(result)
    causes = [
        Cause(implementation, title, tuple(_make_failure(trials) for trials in cases.values()))
        for (implementation, title), cases in groups.items()
    ]
    return tuple(sorted(causes, key=lambda cause: (cause.implementation, cause.trials)))


def group_by_frequency(results: Iterable[TrialResult]) -> list[Cause]:
    """Return the causes of `results`, the one with the most trials first, over all implementations."""
    return sorted(group_by_cause(results), key=lambda cause: -cause.trials)


def format_source_options(header: Header) -> str:
    """Return the `--specs` and `--cassettes` options of the run, or `""` for the bundled folders."""
    folders = {name: header.selection.get(name) for name in ("specs", "cassettes")}
    return "".join(f" --{name} {shlex.quote(folder)}" for name, folder in folders.items() if folder)


def format_run_command(info: ImplementationInfo, result: TrialResult, header: Header) -> str:
    """Return the command that runs this one trial again."""
    probe = header.selection.get("probe")
    if isinstance(probe, str):
        return f"{probe} -k {shlex.quote(result.id)}"
    options = (f" --seed {header.seed}" if header.seed else "") + format_source_options(header)
    options += f" --input {info.input}" if header.selection.get("input") else ""
    selection = _format_selection_options(result)
    return f"conform run -i {shlex.quote(info.impl)} -k {shlex.quote(result.id)}{selection}{options}"


def format_explain_command(info: ImplementationInfo, result: TrialResult, header: Header) -> str:
    """Return the command that shows this one trial in full, with the same implementation."""
    sources = format_source_options(header)
    return f"conform explain {shlex.quote(result.id)} -i {shlex.quote(info.impl)}{sources}"


def list_guarded_bugs(results: Iterable[TrialResult]) -> tuple[str, ...]:
    """Return the real bugs that the cases of `results` guard against, each once, in order."""
    return tuple(dict.fromkeys(bug for result in results for bug in result.guards))


def _format_selection_options(result: TrialResult) -> str:
    """Return the options without which a run does not include the trial."""
    name = result.delivery or ""
    if name.partition(".")[0] in FAULTS:
        return " --faults all"
    return "" if name in ("", *DELIVERY_SETS["standard"]) else " --deliver full"


def _pick_check(result: TrialResult) -> Check | None:
    """Return the check to show: the first one with the worst verdict."""
    worst = min((check.verdict for check in result.checks), key=("fail", "warn", "may").index, default=None)
    return next((check for check in result.checks if check.verdict == worst), None)


def _title(result: TrialResult) -> str:
    check = _pick_check(result)
    if check is not None:
        return re.sub(r"\.\d+\.", ".*.", check.path)
    label = VERDICT_LABELS[result.verdict]
    return f"{label}: {NUMBER.sub('#', result.reason)}" if result.reason else label


def _difference_key(result: TrialResult) -> str:
    check = _pick_check(result)
    return "" if check is None else repr((check.path, check.expected, check.got, check.message))


def _make_failure(trials: list[TrialResult]) -> Failure:
    """Return the failure that `trials` of one case share."""
    first = trials[0]
    check = _pick_check(first)
    also = tuple(dict.fromkeys(other.path for other in first.checks if other is not check))
    return Failure(first, check, tuple(trial.delivery or "" for trial in trials), also)
