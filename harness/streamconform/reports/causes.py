"""Group trials by cause: the same kind of difference in many cases of an API is one bug. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from streamconform.causes.difference_kinds import classify_check, generalize_path
from streamconform.causes.raised import read_raised
from streamconform.causes.roots import Root, fold_crashes, get_api
from streamconform.causes.table import CRASHES, HARMS, Harm
from streamconform.judge.compare import BLOCK_MISSING
from streamconform.model.result import Header, ImplementationInfo, TrialResult
from streamconform.model.trial import DELIVERY_SETS, is_fault
from streamconform.model.verdict import UNEXPECTED, Check, Culprit
from streamconform.plural import format_count
from streamconform.printable import escape_line, escape_unprintable
from streamconform.run.results import Results

UNFINISHED_CALL: Final = ("content.complete_calls", ".tool_call.complete")
"""The ends of the paths of checks whose messages quote a call."""
MAX_ALSO: Final = 6
CULPRITS: Final[Mapping[Culprit | None, str]] = {
    "implementation": "the implementation",
    "adapter": "the adapter, not the library",
    "harness": "the test suite",
    None: "the known-failures file",
}
"""Names for the party at fault, in human-readable reports."""


class Failure(Struct, frozen=True):
    """A case that failed, or only warned, in the same way in one or more deliveries."""

    first: TrialResult
    check: Check | None
    """The check that is the cause; None if there was no answer to check."""
    deliveries: tuple[str, ...]
    also: tuple[str, ...]
    """Paths of the other checks that failed."""


class Cause(Struct, frozen=True):
    """A kind of difference (or why there is no answer), and the cases of an API in which it occurred."""

    implementation: int
    api: str
    id: str
    """Names the cause within the API; it is the same in every run."""
    title: str
    """The headline: one line of escaped text."""
    harm: Harm | None
    """The effect on the library's users; None if it is unknown because the adapter is at fault."""
    culprit: Culprit | None
    failures: tuple[Failure, ...]
    """The cases that failed, then those that only warned."""
    warnings: int = 0
    """The number of trials that only warned; under `--strict`, none."""
    also: tuple[tuple[str, int], ...] = ()
    """The other checks that failed in these trials, as pairs of a generalized path and a trial count."""

    @property
    def trials(self) -> int:
        """Return the number of trials with this cause, including those that only warned."""
        return sum(len(failure.deliveries) for failure in self.failures)

    @property
    def failed(self) -> int:
        """Return the number of trials that this cause fails."""
        return self.trials - self.warnings

    @property
    def cases(self) -> int:
        """Return the number of cases with this cause."""
        return len({failure.first.case for failure in self.failures})


class CauseLists(Struct, frozen=True):
    """The causes in a run, each in one list, the worst harm first."""

    failed: tuple[Cause, ...]
    """Those that fail at least one trial."""
    warned: tuple[Cause, ...]
    """Those with only warnings, about the library: the provider's documentation does not settle them."""
    adapter: tuple[Cause, ...]
    """Those with only warnings that the adapter causes, such as an outcome that is not in the normal form."""


def group_by_cause(results: Iterable[TrialResult], *, strict: bool = False) -> tuple[Cause, ...]:
    """Return the causes in `results` for all implementations, sorted by worst harm, then by most cases.

    What an adapter does wrong comes first, because nothing else is known about its trials; causes with only
    warnings come last. If `strict`, warnings are failures.
    """
    judged = list(results)
    # By identity: results hold mappings, which have no hash.
    roots = dict(zip(map(id, judged), fold_crashes(judged), strict=True))
    groups: dict[tuple[int, str, str, Culprit | None], dict[tuple[str, str, bool], list[TrialResult]]] = {}
    for result in judged:
        root = roots[id(result)]
        failures = groups.setdefault((result.implementation, get_api(result), root.id, root.culprit), {})
        is_warning = result.verdict == "warn" and not strict
        failures.setdefault((result.case, _difference_key(root.check), is_warning), []).append(result)
    causes = [_make_cause(list(failures.values()), roots, strict=strict) for failures in groups.values()]
    return tuple(sorted(causes, key=_sort_key))


def list_causes(results: Results) -> CauseLists:
    """Return the causes of a run's failures and warnings, without known failures."""
    strict = bool(results.header.selection.get("strict"))
    verdicts = (*UNEXPECTED, "warn")
    # A known failure that passes is an outdated entry, which is reported with its file and line.
    judged = [trial for trial in results.trials if trial.verdict in verdicts and trial.verdict != "stale"]
    causes = group_by_cause(judged, strict=strict)
    warned = [cause for cause in causes if not cause.failed]
    return CauseLists(
        tuple(cause for cause in causes if cause.failed),
        tuple(cause for cause in warned if cause.culprit != "adapter"),
        tuple(cause for cause in warned if cause.culprit == "adapter"),
    )


def describe_size(cause: Cause) -> str:
    """Return `49 cases, 129 trials and 3 as warnings`."""
    size = f"{format_count(cause.cases, 'case')}, {format_count(cause.failed or cause.warnings, 'trial')}"
    if cause.failed and cause.warnings:
        size += f" and {cause.warnings:,} as {'a warning' if cause.warnings == 1 else 'warnings'}"
    return size


def describe_harm(cause: Cause) -> str:
    """Return how a cause harms a user, and who is at fault."""
    culprit = f"at fault: {CULPRITS[cause.culprit]}"
    raised = read_raised(cause.failures[0].first)
    if cause.id.startswith("raises-") and raised is not None and not raised.where:
        culprit += ", unless the adapter itself raised this: no frame of the library is known"
    return f"harm: {cause.harm}; {culprit}" if cause.harm else culprit


def describe_also(cause: Cause) -> str:
    """Return `also failed: stop.reason in all 20 trials, cost in 14`, or `""` if no other check failed."""
    if not cause.also:
        return ""
    total = cause.trials
    parts = [escape_line(path, 120) for path, _ in cause.also[:MAX_ALSO]]
    if total > 1:
        counts = [f"all {total:,} trials" if count == total else f"{count:,}" for _, count in cause.also]
        # Name the unit only once.
        counts = [count.removesuffix(" trials") if n else count for n, count in enumerate(counts)]
        parts = [f"{path} in {count}" for path, count in zip(parts, counts, strict=False)]
        if cause.also[0][1] != total:
            parts[0] += f" of {total:,} trials"
    hidden = len(cause.also) - len(parts)
    return f"also failed: {', '.join(parts)}{f' and {hidden} more' if hidden else ''}"


def format_source_options(header: Header) -> str:
    """Return the `--specs` and `--cassettes` options of the run, or `""` for the bundled folders."""
    folders = {name: header.selection.get(name) for name in ("specs", "cassettes")}
    return "".join(f" --{name} {shlex.quote(folder)}" for name, folder in folders.items() if folder)


def format_run_command(info: ImplementationInfo, result: TrialResult, header: Header) -> str:
    """Return the command that runs this one trial again, as one line of escaped text."""
    # A probe's questions are not cases of the suite, so `conform run` cannot repeat them.
    probe = header.selection.get("probe")
    if isinstance(probe, str):
        return escape_unprintable(f"{probe} -k {shlex.quote(result.id)}")
    options = (f" --seed {header.seed}" if header.seed else "") + format_source_options(header)
    options += f" --input {info.input}" if header.selection.get("input") else ""
    selection = _format_selection_options(result)
    names = f"-i {shlex.quote(info.impl)} -k {shlex.quote(result.id)}"
    return escape_unprintable(f"conform run {names}{selection}{options}")


def format_explain_command(info: ImplementationInfo, result: TrialResult, header: Header) -> str:
    """Return the command that shows this one trial in full, with the same implementation, escaped."""
    sources = format_source_options(header)
    names = f"{shlex.quote(result.id)} -i {shlex.quote(info.impl)}"
    return escape_unprintable(f"conform explain {names}{sources}")


def list_guarded_bugs(causes: Iterable[Cause]) -> tuple[str, ...]:
    """Return the real bugs that the cases of `causes` guard against, each once, in order."""
    failures = (failure for cause in causes for failure in cause.failures)
    return tuple(dict.fromkeys(bug for failure in failures for bug in failure.first.guards))


def _make_cause(groups: Sequence[Sequence[TrialResult]], roots: Mapping[int, Root], *, strict: bool) -> Cause:
    """Return the cause shared by `groups`, which are trials grouped by case and difference."""
    # Only the trial in which a program exited contains its stderr; those skipped afterwards do not.
    # The worst comes first: it names the cause.
    groups = sorted(
        groups,
        key=lambda trials: (
            trials[0].verdict == "warn" and not strict,
            _rank_harm(roots[id(trials[0])].harm),
            # A whole stream is the better example, because it needs no explanation of the fault.
            is_fault(trials[0].delivery),
            "stderr" not in (trials[0].observation or {}),
        ),
    )
    first = groups[0][0]
    root = roots[id(first)]
    also = Counter(path for trials in groups for trial in trials for path in _list_others(trial, roots))
    warned = [len(trials) for trials in groups if trials[0].verdict == "warn" and not strict]
    return Cause(
        first.implementation,
        get_api(first),
        root.id,
        root.title,
        root.harm,
        root.culprit,
        tuple(_make_failure(trials, roots[id(trials[0])].check) for trials in groups),
        sum(warned),
        tuple(sorted(also.items(), key=lambda item: (-item[1], item[0]))),
    )


def _list_others(result: TrialResult, roots: Mapping[int, Root]) -> set[str]:
    """Return the generalized paths of the checks that failed with the cause."""
    root = roots[id(result)]
    paths = {
        classify_check(check, result).path if check.message == BLOCK_MISSING else generalize_path(check.path)
        for check in result.checks
        if check is not root.check and check.verdict != "may"
    }
    # A missing or extra block also fails `content.length`, which says nothing more.
    return paths - {root.path, "content.length" if root.path.startswith("content.*.") else ""}


def _make_failure(trials: Sequence[TrialResult], check: Check | None) -> Failure:
    """Return the failure shared by `trials`, which all belong to one case."""
    first = trials[0]
    also = tuple(dict.fromkeys(other.path for other in first.checks if other is not check))
    return Failure(first, check, tuple(trial.delivery or "" for trial in trials), also)


def _difference_key(check: Check | None) -> str:
    # `repr`, because values may be lists or objects, which have no hash.
    if check is None:
        return ""
    # Where the stream was cut decides which arguments an unfinished call has, but it is the same difference.
    message = None if check.path.endswith(UNFINISHED_CALL) else check.message
    return repr((check.path, check.expected, check.got, message))


def _sort_key(cause: Cause) -> tuple[bool, int, int, int, int, str, str]:
    rank = -2 if cause.culprit in ("adapter", "harness") else _rank_harm(cause.harm)
    # The documentation allows a client to raise here, but the user still gets an exception.
    if not cause.failed and cause.harm == CRASHES:
        rank = -1
    size = (-(cause.failed or cause.warnings), cause.implementation)
    return not cause.failed, rank, -cause.cases, *size, cause.api, cause.id


def _rank_harm(harm: Harm | None) -> int:
    return len(HARMS) if harm is None else HARMS.index(harm)


def _format_selection_options(result: TrialResult) -> str:
    """Return the options that make a run include the trial."""
    name = result.delivery or ""
    if is_fault(name):
        return " --faults all"
    return "" if name in ("", *DELIVERY_SETS["standard"]) else " --deliver full"
