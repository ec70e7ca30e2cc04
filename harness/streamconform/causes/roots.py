"""Find why a trial did not pass: the worst failed check that is not a consequence of another. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from streamconform.causes.difference_kinds import Difference, classify_check
from streamconform.causes.raised import ExceptionRecord, read_raised
from streamconform.causes.table import (
    CRASHES,
    HARMS,
    RAISED,
    RAISED_BEFORE_SENDING,
    RAISED_ON_BROKEN,
    RAISED_ON_REFUSABLE,
    ROWS,
    Harm,
    Row,
    find_roots,
    find_row,
    format_id,
    format_row,
    slugify,
)
from streamconform.model.result import CRASHED, REFUSED, TrialResult
from streamconform.model.trial import is_fault
from streamconform.model.verdict import Check, Culprit
from streamconform.printable import collapse_variables, escape_line

RAISED_KINDS: Final = (RAISED, RAISED_BEFORE_SENDING, RAISED_ON_BROKEN, RAISED_ON_REFUSABLE)
CRASH_IDS: Final = tuple(row.id for row in ROWS if row.harm == CRASHES and row.kinds in RAISED_KINDS)
"""The ids, up to the exception, of causes that are an exception on a valid stream."""
PROBE: Final = "probe"
"""The first part of the ids of a probe's questions."""
MAX_REASON: Final = 200
"""The number of leading characters of a reason that distinguish one adapter error from another."""
MAX_EXIT_ERROR: Final = 80
"""The number of characters of a program's last error that distinguish one exit from another."""
MAX_MESSAGE: Final = 40
"""The number of characters of a message in the id of an exception whose location is unknown."""
GIVEN_UP: Final = re.compile(
    r"gave-up: not run: the program ended \d+ times in a row \((?P<last>.*)\)", re.DOTALL
)
EXITED: Final = re.compile(r"exited: the program ended \((?P<how>[^)]*)\)(: (?P<error>.*))?", re.DOTALL)
"""Matches the reasons of trials whose program exited, and of trials not run afterwards."""
GENERAL_ERRORS: Final = frozenset({"Error", "TypeError", "SyntaxError", "RangeError", "ReferenceError"})
"""The errors of JavaScript itself, which say nothing about where in a library they were raised."""
_FRAME: Final = re.compile(
    r'^ *File "(?P<file>[^"]+)", line (?P<line>[0-9]+), in (?P<function>.+)$', re.MULTILINE
)
STANDARD_LIBRARY: Final = re.compile(r"^<|[/\\]lib[/\\]python3\.[0-9]+[/\\](?!site-packages)")
_PLACE: Final = re.compile(
    r"(?:at )?"
    r"(?:(?P<caller>[^()]+) \((?P<of>[^()]*?)(?::\d+)*\)|(?P<file>.*?)(?::\d+)*(?: in (?P<function>.*))?)",
    re.DOTALL,
)
"""Matches where an exception was raised: `mylib/stream.py:12 in read`, `at read (mylib/stream.mjs:12:3)`."""
_BUNDLE: Final = re.compile(r"(.*[/\\])?(index|main|bundle)\.[a-z]+")
"""Matches files that may be a whole library."""


class Root(Struct, frozen=True):
    """Why one trial did not pass: the root check, and its headline."""

    id: str
    """Names the cause within an API; it is the same in every run and for every implementation."""
    title: str
    """The headline: one line of escaped text."""
    harm: Harm | None
    """The effect on the library's users; None if it is unknown because the adapter is at fault."""
    culprit: Culprit | None
    check: Check | None = None
    """The check that is the cause; None if there was no answer to check."""
    path: str = ""
    exception: str | None = None
    """The exception, if it is the cause: its type and location, without line numbers."""


def find_root(result: TrialResult) -> Root:
    """Return the cause of one trial; an exception in our own code becomes that trial's cause."""
    try:
        return _find_root(result)
    # One unforeseen answer must not cost the report on twenty thousand trials.
    except Exception as error:  # noqa: BLE001 - whatever it is, it is shown
        bug = escape_line(f"{type(error).__name__}: {error}", MAX_EXIT_ERROR)
        return Root("unknown", f"Could not be grouped, a bug in streamconform ({bug})", None, "harness")


def fold_crashes(results: Sequence[TrialResult]) -> list[Root]:
    """Return the root of each trial; an exception that ends a valid stream is also the root of its faults.

    When that stream is broken, the same exception appears as a wrong message or as lost content. In the
    faults of other streams it is a consequence of the fault: many libraries raise one exception for all.
    """
    roots = [find_root(result) for result in results]
    crashes: dict[tuple[int, str, str | None], Root] = {
        (result.implementation, result.case, root.exception): root
        for result, root in zip(results, roots, strict=True)
        if root.exception is not None and root.harm == CRASHES
    }
    folded = []
    for result, root in zip(results, roots, strict=True):
        raised = read_raised(result)
        exception = None if raised is None else format_exception(raised)
        crash = crashes.get((result.implementation, result.case, exception))
        if crash is not None and _may_follow_crash(root) and root.culprit == crash.culprit:
            folded.append(replace(crash, check=root.check, path=root.path))
        else:
            folded.append(root)
    return folded


def list_ids(result: TrialResult) -> tuple[str, ...]:
    """Return the ids of the causes that may explain one trial, its own first.

    The others are those of the crashes that `fold_crashes` may find to be its cause, which depends on the
    other trials of its case.
    """
    root, raised = find_root(result), read_raised(result)
    if raised is None or not _may_follow_crash(root):
        return (root.id,)
    exception = format_exception(raised)
    return tuple(dict.fromkeys((root.id, *(f"{id_}:{exception}" for id_ in CRASH_IDS))))


def _may_follow_crash(root: Root) -> bool:
    """Return whether an exception explains `root`: it does not, if the harm is worse than a crash."""
    return root.harm is not None and HARMS.index(root.harm) >= HARMS.index(CRASHES)


def get_api(result: TrialResult) -> str:
    """Return the API of a result: the first part of its case's id, or the second one in a probe."""
    first, _, rest = result.case.partition("/")
    return rest.partition("/")[0] if first == PROBE else first


def format_exception(raised: ExceptionRecord) -> str:
    """Return `TypeError:mylib/stream.py:read`, which stays the same when lines of the library move."""
    match = _PLACE.fullmatch(raised.where)
    file, function = "", None
    if match is not None:
        file, function = match["of"] or match["file"] or "", match["caller"] or match["function"]
    place = [file, function]
    if not function and (not file or (_BUNDLE.fullmatch(file) and raised.type in GENERAL_ERRORS)):
        place.append(slugify(collapse_variables(raised.message)[:MAX_MESSAGE]))
    return escape_line(":".join(part for part in (raised.type, *place) if part), 160).replace(" ", "-")


def explain_checks(result: TrialResult) -> tuple[tuple[Check, str, Harm], ...]:
    """Return the failed checks that are not consequences of others, each with its headline and harm."""
    return tuple(
        (check, format_row(row, difference), row.harm)
        for check, difference, row in _list_roots(result, result.checks)
    )


def _find_root(result: TrialResult) -> Root:
    """Return the cause of one trial: the worst failed check that is not a consequence of another."""
    worst = min((check.verdict for check in result.checks), key=("fail", "warn", "may").index, default=None)
    if result.verdict == "stale":
        return Root("stale", "Passes, but is listed as a known failure", None, None)
    if worst is None:
        return _explain_missing_answer(result)
    raised = read_raised(result)
    # Only the checks with the worst verdict: what only warns is never the cause of a failure.
    roots = _list_roots(result, [check for check in result.checks if check.verdict == worst])
    check, difference, row = min(roots, key=lambda root: HARMS.index(root[2].harm))
    id_, title = format_id(row, difference), format_row(row, difference, raised.type if raised else "")
    exception = format_exception(raised) if raised and difference.kind in RAISED_KINDS else None
    if raised and exception is not None:
        id_ = f"{id_}:{exception}"
        # Without a place, only the message tells two exceptions of one type apart.
        place = f" ({escape_line(raised.where, 120)})" if raised.where else ""
        title += place or f": {escape_line(collapse_variables(raised.message), MAX_EXIT_ERROR)}"
    culprit = result.culprit or "implementation"
    harm = row.harm if culprit == "implementation" else None
    return Root(id_, title, harm, culprit, check, difference.path, exception)


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


def _explain_missing_answer(result: TrialResult) -> Root:
    if result.culprit == "implementation" or result.verdict == "hang":
        kind = "timeout-on-broken" if is_fault(result.delivery) else "timeout"
        difference = Difference("status", "timeout-on-error" if _got_http_error(result) else kind)
        row = find_row(difference)
        title = format_row(row, difference)
        return Root(format_id(row, difference), title, row.harm, "implementation")
    culprit = result.culprit or "adapter"
    label, kind = "Adapter error", "adapter-error"
    if culprit == "harness":
        label, kind = "Suite error", "suite-error"
    error, place = _summarize_exit(result.reason or ""), None
    if error is None:
        place = _locate_error((result.observation or {}).get("traceback"))
        if place is None:
            error = escape_line(collapse_variables(result.reason or ""), MAX_REASON)
        else:
            # Messages vary with the bytes that were parsed, but one failing line is one bug.
            error = escape_line((result.reason or "").partition(":")[0], MAX_EXIT_ERROR)
    title = ": ".join(text for text in (label, error) if text) + (f" ({place})" if place else "")
    where = slugify(re.sub(r":[0-9]+ ", " ", place)) if place else None
    id_ = ":".join(text for text in (kind, slugify(error), where) if text)
    return Root(id_, title, None, culprit)


def _got_http_error(result: TrialResult) -> bool:
    """Return whether the server answered the trial's last request with an HTTP error."""
    requests = (result.observation or {}).get("requests")
    last = requests[-1] if isinstance(requests, list) and requests else None
    status = last.get("status") if isinstance(last, dict) else None
    return isinstance(status, int) and status >= 400


def _locate_error(traceback: object) -> str | None:
    """Return the innermost traceback line that is outside the standard library: `adapter.py:19 in read`."""
    if not isinstance(traceback, str):
        return None
    frames = [frame for frame in _FRAME.finditer(traceback) if not STANDARD_LIBRARY.search(frame["file"])]
    if not frames:
        return None
    last = frames[-1]
    file = re.split(r"[/\\]", last["file"])[-1]
    return escape_line(f"{file}:{last['line']} in {last['function']}", 120)


def _summarize_exit(reason: str) -> str | None:
    """Return how the program ended, if that is why the trial has no answer; otherwise None."""
    last = GIVEN_UP.fullmatch(reason)
    exited = EXITED.match(last["last"] if last else reason)
    if exited is None:
        return None
    # Drop the part that varies between messages of the same error, so that all its exits form one cause.
    error = collapse_variables(exited["error"] or "").partition("…")[0].rstrip(" {[(<:=,'\"`")
    return f"the program ended: {escape_line(error or exited['how'], MAX_EXIT_ERROR)}"
