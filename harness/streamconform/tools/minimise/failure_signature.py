"""What a failure is, without its places and values: a smaller stream has to fail in the same way. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from streamconform.judge.judge import Judgement
from streamconform.model.verdict import Check

WORTH: Final = ("fail", "warn", "may")
BY_VALUE: Final = ("status", "stop.reason", "stop.raw", "error.type")
"""Leaves of few values: another value is another failure."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """Where an answer is wrong and in which way; equal ones are the same failure."""

    what: str
    """A check's path without the numbers of blocks, or the verdict of an answer that was not judged."""
    how: str

    def __str__(self) -> str:
        """Return `content.*.tool_call.arguments (null)`."""
        return f"{self.what} ({self.how})" if self.how else self.what


def symptoms(judgement: Judgement) -> dict[Symptom, Check | None]:
    """Return what is wrong, the worst first, each with the first check that says so; nothing for a pass."""
    if not judgement.checks:
        if judgement.verdict in ("pass", "skipped"):
            return {}
        kind = "" if judgement.verdict == "hang" else (judgement.reason or "").partition(":")[0]
        return {Symptom(judgement.verdict, kind[:80]): None}
    found: dict[Symptom, Check | None] = {}
    for check in sorted(judgement.checks, key=lambda each: WORTH.index(each.verdict)):
        found.setdefault(symptom(check), check)
    return found


def symptom(check: Check) -> Symptom:
    """Return in which way a check that did not pass differs."""
    return Symptom(general(check.path), _how(check))


def general(path: str) -> str:
    """Return a check's path with `*` for each number."""
    return re.sub(r"\.\d+(?=\.|$)", ".*", path)


def leaf(path: str) -> tuple[str, str]:
    """Return the type of block and the field in it that a path of the content means; else empty ones."""
    words = path.split(".")
    if words[0] != "content" or len(words) < 3:
        return "", ""
    return words[2], words[-1] if len(words) > 3 else "text"


def _how(check: Check) -> str:
    if check.path.startswith("invariant."):
        return ""
    if check.path == "content.length":
        return "fewer" if _number(check.got) < _number(check.expected) else "more"
    if check.path in BY_VALUE:
        return f"{check.expected} as {check.got}"
    if check.message is not None:
        return "not there"
    return _kind(check.got)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case int() | float():
            return "number"
        case dict():
            return "object"
        case _:
            return "list"
