"""A difference in words: where two values part, in one or a few short lines. Never the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from streamconform.model.verdict import Check

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
        parts = list(_parts(check.expected, check.got, sides))
        if parts:
            return parts
    return [f"{sides[0]} {value(check.expected)}, {sides[1]} {value(check.got)}"]


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
    """Return `text` with control, bidirectional and other unprintable characters spelled out, cut."""
    cut = text if len(text) <= width else f"{text[: width - 12]}…{text[-10:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def counted(number: int, word: str) -> str:
    """Return `1 case`, `2 cases`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


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
