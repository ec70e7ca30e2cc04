"""Group results by cause: the same kind of difference in many cases is one bug."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from streamconform.judge.compare import BLOCK_MISSING
from streamconform.model.result import Header, ImplementationInfo, TrialResult
from streamconform.model.trial import DELIVERY_SETS, FAULTS
from streamconform.model.verdict import Check, Culprit
from streamconform.printable import collapse_variables, escape_line, escape_unprintable
from streamconform.reports.cause_table import (
    CRASHES,
    HARMS,
    RAISED,
    RAISED_BEFORE_SENDING,
    RAISED_ON_BROKEN,
    RAISED_ON_REFUSABLE,
    Harm,
    Row,
    find_roots,
    find_row,
    format_row,
)
from streamconform.reports.difference_kinds import Difference, classify_check, generalize_path
from streamconform.reports.raised import ExceptionRecord, read_raised
from streamconform.run.refusal import CRASHED, REFUSED

MAX_REASON: Final = 200
"""The number of leading characters of a reason that distinguish one adapter error from another."""
MAX_EXIT_ERROR: Final = 80
"""The number of characters of a program's last error that distinguish one exit from another."""
GIVEN_UP: Final = re.compile(
    r"gave-up: not run: the program ended \d+ times in a row \((?P<last>.*)\)", re.DOTALL
)
EXITED: Final = re.compile(r"exited: the program ended \((?P<how>[^)]*)\)(: (?P<error>.*))?", re.DOTALL)
"""Matches the reasons of trials whose program exited, and of trials not run afterwards."""
RAISED_KINDS: Final = (RAISED, RAISED_BEFORE_SENDING, RAISED_ON_BROKEN, RAISED_ON_REFUSABLE)
_FRAME: Final = re.compile(
    r'^ *File "(?P<file>[^"]+)", line (?P<line>[0-9]+), in (?P<function>.+)$', re.MULTILINE
)
_STANDARD_LIBRARY: Final = re.compile(r"^<|[/\\]lib[/\\]python3\.[0-9]+[/\\](?!site-packages)")
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


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that failed in the same way in one or more deliveries."""

    first: TrialResult
    check: Check | None
    """The check that is the cause; None if there was no answer to check."""
    deliveries: tuple[str, ...]
    also: tuple[str, ...]
    """Paths of the other checks that failed."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A kind of difference (or the reason why there is no answer), and the cases in which it occurred."""

    implementation: int
    title: str
    """The headline: one line of escaped text."""
    harm: Harm | None
    """The effect on the library's users; None if it is unknown because the adapter is at fault."""
    culprit: Culprit | None
    failures: tuple[Failure, ...]
    also: tuple[tuple[str, int], ...] = ()
    """The other checks that failed in these trials, as pairs of a generalized path and a trial count."""

    @property
    def trials(self) -> int:
        """Return the number of trials with this cause."""
        return sum(len(failure.deliveries) for failure in self.failures)

    @property
    def cases(self) -> int:
        """Return the number of cases with this cause."""
        return len({failure.first.case for failure in self.failures})


@dataclass(frozen=True, slots=True)
class _Root:
    """Why one trial did not pass: the root check, and its headline."""

    check: Check | None
    title: str
    harm: Harm | None
    culprit: Culprit | None
    raised: tuple[str, str] | None = None
    """The key of the exception, if the exception is the cause."""
    path: str = ""


def group_by_cause(results: Iterable[TrialResult]) -> tuple[Cause, ...]:
    """Return the causes in `results` for all implementations, sorted by worst harm, then by most cases.

    Adapter errors come first, because nothing else is known about their trials. Among warnings, crashes come
    first.
    """
    groups: dict[tuple[int, str, object, object], dict[tuple[str, str], list[TrialResult]]] = {}
    judged = list(results)
    # By identity: results hold mappings, which have no hash.
    roots = _fold_crashes(judged, {id(result): _find_root_or_bug(result) for result in judged})
    for result in judged:
        root = roots[id(result)]
        # The exception is part of the key: two exceptions of one type that are raised in different places are
        # two bugs.
        key = (result.implementation, root.title, root.raised, root.culprit)
        failures = groups.setdefault(key, {})
        failures.setdefault((result.case, _difference_key(root.check)), []).append(result)
    causes = [_make_cause(list(failures.values()), roots) for failures in groups.values()]
    return tuple(sorted(causes, key=_sort_key))


def describe_harm(cause: Cause) -> str:
    """Return how a cause harms a user, and who is at fault."""
    culprit = f"at fault: {CULPRITS[cause.culprit]}"
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


def list_guarded_bugs(results: Iterable[TrialResult]) -> tuple[str, ...]:
    """Return the real bugs that the cases in `results` guard against, each once, in order."""
    return tuple(dict.fromkeys(bug for result in results for bug in result.guards))


def _fold_crashes(results: Sequence[TrialResult], roots: Mapping[int, _Root]) -> dict[int, _Root]:
    """Return the root of each trial; trials that crash on valid streams with the same exception share a root.

    The same exception also ends broken streams, where it appears as a wrong message or as lost content.
    """
    crashes = {
        (result.implementation, root.raised): root
        for result in results
        if (root := roots[id(result)]).raised is not None and root.harm == CRASHES
    }
    folded = dict(roots)
    for result in results:
        root, raised = roots[id(result)], read_raised(result)
        crash = crashes.get((result.implementation, raised.key)) if raised else None
        if crash is not None and root.raised is None and root.culprit == crash.culprit:
            folded[id(result)] = replace(crash, check=root.check, path=root.path)
    return folded


def _find_root_or_bug(result: TrialResult) -> _Root:
    """Return the cause of one trial; an exception in our own code becomes that trial's cause."""
    try:
        return _find_root(result)
    # A report on twenty thousand trials must not be lost because one of them has an answer nobody foresaw.
    except Exception as error:  # noqa: BLE001 - whatever it is, it is shown
        bug = escape_line(f"{type(error).__name__}: {error}", MAX_EXIT_ERROR)
        return _Root(None, f"Could not be grouped, a bug in streamconform ({bug})", None, "harness")


def _find_root(result: TrialResult) -> _Root:
    """Return the cause of one trial: the worst failed check that is not a consequence of another."""
    worst = min((check.verdict for check in result.checks), key=("fail", "warn", "may").index, default=None)
    if result.verdict == "stale":
        return _Root(None, "Passes, but is listed as a known failure", None, None)
    if worst is None:
        return _explain_missing_answer(result)
    raised = read_raised(result)
    # Only the checks with the worst verdict: what only warns is never the cause of a failure.
    roots = _list_roots(result, [check for check in result.checks if check.verdict == worst])
    check, difference, row = min(roots, key=lambda root: HARMS.index(root[2].harm))
    is_raised = difference.kind in RAISED_KINDS
    title = format_row(row, difference, raised.type if raised else "")
    if raised and is_raised and raised.where:
        title += f" ({escape_line(raised.where, 120)})"
    culprit = result.culprit or "implementation"
    return _Root(
        check,
        title,
        row.harm if culprit == "implementation" else None,
        culprit,
        raised.key if raised and is_raised else None,
        difference.path,
    )


def explain_checks(result: TrialResult) -> tuple[tuple[Check, str, Harm], ...]:
    """Return the failed checks that are not consequences of others, each with its headline and harm."""
    return tuple(
        (check, format_row(row, difference), row.harm)
        for check, difference, row in _list_roots(result, result.checks)
    )


def _list_roots(result: TrialResult, checks: Iterable[Check]) -> list[tuple[Check, Difference, Row]]:
    """Return the `checks` that are not consequences of others."""
    raised = read_raised(result)
    is_before_sending = (result.reason or "").startswith((CRASHED, REFUSED))
    differences = ((check, classify_check(check, result)) for check in checks)
    candidates = [
        (check, _add_exception(check, difference, raised, is_before_sending=is_before_sending))
        for check, difference in differences
    ]
    roots = find_roots([difference for _, difference in candidates])
    return [
        (check, difference, find_row(difference))
        for (check, difference), is_root in zip(candidates, roots, strict=True)
        if is_root
    ]


def _add_exception(
    check: Check, difference: Difference, raised: ExceptionRecord | None, *, is_before_sending: bool
) -> Difference:
    """Return the difference, attributed to the exception if that explains it."""
    # Kinds with `-instead-of-` have headlines of their own, which say that only the end marker is missing.
    if raised is None or check.got == "complete" or "-instead-of-" in difference.kind:
        return difference
    if difference.path == "status":
        kinds = {
            "complete": RAISED_BEFORE_SENDING if is_before_sending else RAISED,
            "refusable": RAISED_ON_REFUSABLE,
        }
        return replace(difference, kind=kinds.get(difference.kind.rpartition("-for-")[2], RAISED_ON_BROKEN))
    if difference.path == "body" or difference.path.startswith("output."):
        return replace(difference, path=difference.path.partition(".")[0], kind=RAISED)
    return difference


def _explain_missing_answer(result: TrialResult) -> _Root:
    if result.culprit == "implementation" or result.verdict == "hang":
        broken = (result.delivery or "").partition(".")[0] in FAULTS
        difference = Difference("status", "timeout-on-broken" if broken else "timeout")
        row = find_row(difference)
        return _Root(None, format_row(row, difference), row.harm, "implementation")
    exited = _summarize_exit(result.reason or "")
    if exited is not None:
        return _Root(None, exited, None, result.culprit or "adapter")
    label = "Suite error" if result.culprit == "harness" else "Adapter error"
    place = _locate_error((result.observation or {}).get("traceback"))
    if place is not None:
        # Messages vary with the bytes that were parsed, but one failing line is one bug.
        error_type = escape_line((result.reason or "").partition(":")[0], MAX_EXIT_ERROR)
        return _Root(None, f"{label}: {error_type} ({place})", None, result.culprit or "adapter")
    reason = escape_line(collapse_variables(result.reason or ""), MAX_REASON)
    return _Root(None, f"{label}: {reason}" if reason else label, None, result.culprit or "adapter")


def _locate_error(traceback: object) -> str | None:
    """Return the innermost traceback line that is outside the standard library: `adapter.py:19 in read`."""
    if not isinstance(traceback, str):
        return None
    frames = [frame for frame in _FRAME.finditer(traceback) if not _STANDARD_LIBRARY.search(frame["file"])]
    if not frames:
        return None
    last = frames[-1]
    return escape_line(f"{PurePath(last['file']).name}:{last['line']} in {last['function']}", 120)


def _summarize_exit(reason: str) -> str | None:
    """Return the headline if the program exited or the trial was not run because of that; otherwise None."""
    last = GIVEN_UP.fullmatch(reason)
    exited = EXITED.match(last["last"] if last else reason)
    if exited is None:
        return None
    # Drop the part that varies between messages of the same error, so that all its exits form one cause.
    error = collapse_variables(exited["error"] or "").partition("…")[0].rstrip(" {[(<:=,'\"`")
    return f"Adapter error: the program ended: {escape_line(error or exited['how'], MAX_EXIT_ERROR)}"


def _make_cause(groups: Sequence[Sequence[TrialResult]], roots: Mapping[int, _Root]) -> Cause:
    """Return the cause shared by `groups`, which are trials grouped by case and difference."""
    # Only the trial in which a program exited contains its stderr; those skipped afterwards do not.
    groups = sorted(groups, key=lambda trials: "stderr" not in (trials[0].observation or {}))
    root = roots[id(groups[0][0])]
    also = Counter(path for trials in groups for trial in trials for path in _list_others(trial, roots))
    return Cause(
        groups[0][0].implementation,
        root.title,
        root.harm,
        root.culprit,
        tuple(_make_failure(trials, roots[id(trials[0])].check) for trials in groups),
        tuple(sorted(also.items(), key=lambda item: (-item[1], item[0]))),
    )


def _list_others(result: TrialResult, roots: Mapping[int, _Root]) -> set[str]:
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


def _sort_key(cause: Cause) -> tuple[int, int, int, int, str]:
    if cause.culprit in ("adapter", "harness"):
        rank = -2
    elif cause.harm is None:
        rank = len(HARMS)
    # The documentation allows a client to raise here, but the user still gets an exception.
    elif cause.harm == CRASHES and all(failure.first.verdict == "warn" for failure in cause.failures):
        rank = -1
    else:
        rank = HARMS.index(cause.harm)
    return rank, -cause.cases, -cause.trials, cause.implementation, cause.title


def _format_selection_options(result: TrialResult) -> str:
    """Return the options that make a run include the trial."""
    name = result.delivery or ""
    if name.partition(".")[0] in FAULTS:
        return " --faults all"
    return "" if name in ("", *DELIVERY_SETS["standard"]) else " --deliver full"
