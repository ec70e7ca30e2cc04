"""Describe a difference, a check or a failed trial in one or a few short lines, for every report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform.model.cassette import Authored, Cassette, Derived, Pulled, Recorded
from streamconform.model.result import Header, TrialResult
from streamconform.model.verdict import Check, Verdict
from streamconform.plural import format_count
from streamconform.printable import LINE_WIDTH, escape_line
from streamconform.reports.server_log import describe_log

VERDICT_LABELS: Final[Mapping[Verdict, str]] = {
    "pass": "pass",
    "fail": "fail",
    "warn": "warn",
    "known": "known",
    "stale": "fixed (remove from list)",
    "skipped": "skipped",
    "faulted": "adapter error",
    "hang": "timed out",
}
"""Names for verdicts in human-readable reports; results, JSON and JUnit use the verdict itself."""
FAILURES_TITLE: Final = "Failures by cause"
WARNINGS_TITLE: Final = "Warnings: the provider's documentation does not settle these"
ADAPTER_WARNINGS_TITLE: Final = "Adapter errors: fix the adapter so that these can be judged"
CLAIMS_TITLE: Final = "Claims that were never compared (the adapter is at fault)"
OUT_OF_DATE_TITLE: Final = "Known-failures entries that are out of date"
UPDATE_HINT: Final = "`conform run --update-known-failures` fixes the entries, except for expired ones"
CONTEXT_WIDTH: Final = 24
"""The number of characters shown before and after the first difference between two texts."""
MAX_PARTS: Final = 4
"""The maximum number of differences listed per JSON value."""


def describe_difference(check: Check, sides: tuple[str, str] = ("expected", "got")) -> list[str]:
    """Return the lines that compare the two values of `check`, narrowed to their differences.

    `sides` are the names of the expected and the actual value.
    """
    if check.message is not None:
        return [escape_line(check.message, 400)]
    if isinstance(check.expected, str) and isinstance(check.got, str):
        return list(_compare_texts(check.expected, check.got, sides))
    # `cost` and `error` have only a few short values, which are easier to read together.
    if _is_nested(check.expected) and _is_nested(check.got) and not check.path.startswith(("cost", "error")):
        try:
            lines = list(_compare_json(check.expected, check.got, sides))
        except RecursionError:  # an implementation may answer with any JSON, however deep
            lines = []
        if lines:
            return lines
    return [f"{sides[0]} {format_value(check.expected)}, {sides[1]} {format_value(check.got)}"]


def describe_check(check: Check) -> list[str]:
    """Return the lines for a check that did not pass: its path, then the difference."""
    first, *rest = describe_difference(check)
    return [f"{escape_line(check.path, 200)}: {first}", *(f"  {line}" for line in rest)]


def describe_failure(trial: TrialResult, check: Check | None) -> list[str]:
    """Return the lines that say why `trial` did not pass; `check` is the failed check to show, if any."""
    if check is not None:
        return [*describe_check(check), *describe_log(trial.observation)]
    if trial.verdict == "stale":
        return [escape_line(f"listed as a known failure, but passes: {trial.known or ''}", 400)]
    return [escape_line(trial.reason or VERDICT_LABELS[trial.verdict], 400)]


def describe_provenance(cassette: Cassette) -> str:
    """Return a description of where the recording comes from."""
    match cassette.provenance:
        case Recorded(server=server, model=model, date=date):
            return f"recorded {date} from {server}, model {model}"
        case Derived(source=source, recipe=recipe):
            return f"derived from {source}: {recipe}"
        case Authored(source=source):
            return f"authored from documentation: {source}"
        case Pulled(source=source, file=file, entry=entry):
            return f"pulled from {source}: {file}, entry {entry}"


_MATCHERS_OF_TWO_KEYS: Final = ({"any_of", "prefer"}, {"length", "sha256"})


def format_value(value: Any, width: int = LINE_WIDTH) -> str:
    """Return `value` as JSON, shortened to about `width` characters; matchers are described in words."""
    # Matchers have one key or one of these pairs; any other object is a plain value.
    if isinstance(value, dict) and (len(value) == 1 or value.keys() in _MATCHERS_OF_TWO_KEYS):
        match value:
            case {"length": int(length), "sha256": str(digest)}:
                return f"{format_count(length, 'character')} with the SHA-256 {digest[:12]}…"
            case {"any_of": list(values), "prefer": list(preferred)}:
                others = [item for item in values if item not in preferred]
                return f"{_join_values(preferred)} (or, with a warning, {_join_values(others)})"
            case {"matches": pattern}:
                return f"text that matches {escape_line(pattern, width)}"
            case {"present": present}:
                return "any value except null" if present else "null"
            case {"any_of": list(values)}:
                return f"one of {_join_values(values)}"
            case {"prefix_of": text}:
                return f"a prefix of {format_value(text)}"
            case _:
                pass
    return escape_line(json.dumps(value, ensure_ascii=False), width)


def _join_values(values: list[Any]) -> str:
    return ", ".join(format_value(item) for item in values)


def name_implementations(header: Header) -> tuple[str, ...]:
    """Return distinct names for the implementations, with the version or `--impl` value where needed."""
    names = [info.name for info in header.implementations]
    with_version = [f"{info.name} {info.version or ''}".rstrip() for info in header.implementations]
    with_impl = [f"{info.name} ({info.impl})" for info in header.implementations]
    # The shortest form that distinguishes all implementations of the run.
    for candidates in (names, with_version, with_impl):
        if max(Counter(candidates).values(), default=1) == 1:
            return tuple(escape_line(name, 120) for name in candidates)
    return tuple(escape_line(f"{name} {number}", 130) for number, name in enumerate(with_impl, start=1))


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def _compare_texts(expected: str, got: str, sides: tuple[str, str]) -> Iterator[str]:
    position = next((i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), None)
    if position is None:
        # One text is the beginning of the other.
        position = min(len(expected), len(got))
    if max(len(expected), len(got)) <= LINE_WIDTH:
        yield f"{sides[0]} {format_value(expected)}, {sides[1]} {format_value(got)}"
        return
    lengths = f"{sides[0]} {len(expected):,} characters, {sides[1]} {len(got):,}"
    yield f"first difference at character {position:,} ({lengths})"
    start = max(0, position - CONTEXT_WIDTH)
    lead = "…" if start else ""
    width = max(map(len, sides))
    yield f"{sides[0]:>{width}} {lead}{format_value(expected[start : position + CONTEXT_WIDTH])}"
    yield f"{sides[1]:>{width}} {lead}{format_value(got[start : position + CONTEXT_WIDTH])}"


def _compare_json(expected: Any, got: Any, sides: tuple[str, str]) -> Iterator[str]:
    from deepdiff import DeepDiff  # Imported on first use, because importing it takes longer than many runs.

    tree = DeepDiff(expected, got, verbose_level=2, view="tree", ignore_order=False)
    # By path, because DeepDiff groups the differences by kind.
    differences = sorted((item for items in tree.values() for item in items), key=lambda item: item.path())
    for item in differences[:MAX_PARTS]:
        path = escape_line(item.path().removeprefix("root"), 80)
        expected_value = "nothing" if _is_absent(item.t1) else format_value(item.t1)
        got_value = "nothing" if _is_absent(item.t2) else format_value(item.t2)
        yield f"{path}: {sides[0]} {expected_value}, {sides[1]} {got_value}".removeprefix(": ")
    if len(differences) > MAX_PARTS:
        yield f"… and {len(differences) - MAX_PARTS} more differences"


def _is_absent(value: Any) -> bool:
    # The class that deepdiff uses for a missing value is not public.
    return type(value).__name__ == "NotPresent"
