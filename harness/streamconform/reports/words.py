"""Differences in words, where two values part in one or a few short lines; and what every report says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from streamconform.model.cassette import Authored, Cassette, Derived, Recorded
from streamconform.model.result import Header, TrialResult
from streamconform.model.verdict import Check
from streamconform.printable import legible
from streamconform.run.pool import is_unexpected
from streamconform.run.results import Results

AROUND = 24
"""Characters shown before the place where two texts part."""
SHOWN = 60
"""Characters of a value that are shown in a line."""
MAX_PARTS = 4
"""Differences inside one JSON value that are listed."""


def difference(check: Check, sides: tuple[str, str] = ("expected", "got")) -> list[str]:
    """Return what was expected and what was got, narrowed to where they part; `sides` names the two."""
    if check.message is not None:
        return [printable(check.message, 400)]
    if isinstance(check.expected, str) and isinstance(check.got, str):
        return list(_texts(check.expected, check.got, sides))
    if _nested(check.expected) and _nested(check.got) and not check.path.startswith(("cost", "error")):
        try:
            parts = list(_parts(check.expected, check.got, sides))
        except RecursionError:  # what is judged may answer with anything that JSON holds
            parts = []
        if parts:
            return parts
    return [f"{sides[0]} {value(check.expected)}, {sides[1]} {value(check.got)}"]


def told(check: Check) -> list[str]:
    """Return a check that did not pass in lines: its path and the difference."""
    first, *more = difference(check)
    return [f"{printable(check.path, 200)}: {first}", *(f"  {each}" for each in more)]


def value(given: Any, width: int = SHOWN) -> str:
    """Return `given` as JSON in at most about `width` characters; matchers in words."""
    if isinstance(given, dict) and len(given) == 1:
        match given:
            case {"matches": pattern}:
                return f"text that matches {printable(pattern, width)}"
            case {"present": present}:
                return "anything" if present else "nothing"
            case {"any_of": list(values)}:
                return "one of " + ", ".join(value(each) for each in values)
            case {"prefix_of": text}:
                return f"a beginning of {value(text)}"
            case _:
                pass
    return printable(json.dumps(given, ensure_ascii=False), width)


def printable(text: str, width: int = SHOWN) -> str:
    r"""Return `text` in one line with whatever does not print spelled out, cut to about `width` characters.

    That is everything but what Unicode calls graphic, and the space: controls, line ends, marks that turn
    the direction of text, lone surrogates and what XML forbids are escapes such as `\u202e` in every report.
    """
    cut = text if len(text) <= width else f"{text[: width - 12]}…{text[-10:]}"
    return legible(cut)


def counted(number: int, word: str) -> str:
    """Return `1 case`, `2 cases`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def cut(results: Results) -> str | None:
    """Return in words that the run did not end, or that trials are missing; None where it is whole."""
    planned, ended = results.header.trials, len(results.trials)
    so_far = f"{ended} of {counted(planned, 'trial')} ended"
    if results.footer is None:
        return f"the run was killed: {so_far}"
    if not results.footer.complete:
        return f"the run was stopped before its end: {so_far}"
    missing = sum(results.footer.counts.values()) - ended
    return f"{counted(missing, 'trial')} that ended are not in the results" if missing > 0 else None


def unexpected(results: Results) -> list[TrialResult]:
    """Return the trials that make the run end with 1; warnings are among them where it was strict."""
    strict = bool(results.header.selection.get("strict"))
    return [each for each in results.trials if is_unexpected(each, strict=strict)]


def warned(results: Results) -> list[TrialResult]:
    """Return the trials that only warn."""
    strict = bool(results.header.selection.get("strict"))
    return [each for each in results.trials if each.verdict == "warn" and not strict]


def briefly(trial: TrialResult, check: Check | None) -> list[str]:
    """Return why a trial is not as it should be in lines; `check` is the one that is shown, if any."""
    if check is not None:
        return told(check)
    if trial.verdict == "stale":
        return [printable(f"listed as a known failure, but it passes: {trial.known or ''}", 400)]
    return [printable(trial.reason or trial.verdict, 400)]


def called(header: Header) -> tuple[str, ...]:
    """Return a name for each implementation, with version or how it was given where names are the same."""
    names = [info.name for info in header.implementations]
    with_version = [f"{info.name} {info.version or ''}".rstrip() for info in header.implementations]
    with_impl = [f"{info.name} ({info.impl})" for info in header.implementations]
    for chosen in (names, with_version, with_impl):
        if max(Counter(chosen).values(), default=1) == 1:
            return tuple(printable(each, 120) for each in chosen)
    return tuple(printable(f"{each} {i}", 130) for i, each in enumerate(with_impl, start=1))


def _nested(given: Any) -> bool:
    return isinstance(given, dict | list)


def _texts(expected: str, got: str, sides: tuple[str, str]) -> Iterator[str]:
    at = next((i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), None)
    if at is None:
        at = min(len(expected), len(got))
    if max(len(expected), len(got)) <= SHOWN:
        yield f"{sides[0]} {value(expected)}, {sides[1]} {value(got)}"
        return
    yield f"they part at character {at} of {len(expected)} ({sides[1]} {len(got)})"
    start = max(0, at - AROUND)
    lead = "…" if start else ""
    width = max(map(len, sides))
    yield f"{sides[0]:>{width}} {lead}{value(expected[start : at + AROUND])}"
    yield f"{sides[1]:>{width}} {lead}{value(got[start : at + AROUND])}"


def _parts(expected: Any, got: Any, sides: tuple[str, str]) -> Iterator[str]:
    from deepdiff import DeepDiff  # on first use: it takes longer to import than a run of many cases

    found = DeepDiff(expected, got, verbose_level=2, view="tree", ignore_order=False)
    parts = sorted((item for items in found.values() for item in items), key=lambda item: item.path())
    for item in parts[:MAX_PARTS]:
        where = printable(item.path().removeprefix("root"), 80)
        wanted = value(item.t1) if _there(item.t1) else "nothing"
        came = value(item.t2) if _there(item.t2) else "nothing"
        yield f"{where}: {sides[0]} {wanted}, {sides[1]} {came}".removeprefix(": ")
    if len(parts) > MAX_PARTS:
        yield f"… and {len(parts) - MAX_PARTS} more"


def _there(given: Any) -> bool:
    return type(given).__name__ != "NotPresent"


def provenance(cassette: Cassette) -> str:
    """Return where the recording is from, in words."""
    match cassette.provenance:
        case Recorded(server=server, model=model, date=date):
            return f"recorded {date} from {server}, model {model}"
        case Derived(source=source, recipe=recipe):
            return f"derived from {source}: {recipe}"
        case Authored(source=source):
            return f"authored from {source}"
