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
class FailureSignature:
    """Where an answer is wrong and in which way; equal ones are the same failure."""

    what: str
    """A check's path without the numbers of blocks, or the verdict of an answer that was not judged."""
    how: str

    def __str__(self) -> str:
        """Return `content.*.tool_call.arguments (null)`."""
        return f"{self.what} ({self.how})" if self.how else self.what


def collect_signatures(judgement: Judgement) -> dict[FailureSignature, Check | None]:
    """Return what is wrong, the worst first, each with the first check that says so; nothing for a pass."""
    if not judgement.checks:
        if judgement.verdict in ("pass", "skipped"):
            return {}
        kind = "" if judgement.verdict == "hang" else (judgement.reason or "").partition(":")[0]
        return {FailureSignature(judgement.verdict, kind[:80]): None}
    found: dict[FailureSignature, Check | None] = {}
    for check in sorted(judgement.checks, key=lambda each: WORTH.index(each.verdict)):
        found.setdefault(make_signature(check), check)
    return found


def make_signature(check: Check) -> FailureSignature:
    """Return in which way a check that did not pass differs."""
    return FailureSignature(generalise_path(check.path), _describe_change(check))


def generalise_path(path: str) -> str:
    """Return a check's path with `*` for each number."""
    return re.sub(r"\.\d+(?=\.|$)", ".*", path)


def leaf(path: str) -> tuple[str, str]:
    """Return the type of block and the field in it that a path of the content means; else empty ones."""
    words = path.split(".")
    if words[0] != "content" or len(words) < 3:
        return "", ""
    return words[2], words[-1] if len(words) > 3 else "text"


def _describe_change(check: Check) -> str:
    if check.path.startswith("invariant."):
        return ""
    if check.path == "content.length":
        return "fewer" if _count_size(check.got) < _count_size(check.expected) else "more"
    if check.path in BY_VALUE:
        return f"{check.expected} as {check.got}"
    if check.message is not None:
        return "not there"
    return _name_type(check.got)


def _count_size(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _name_type(value: Any) -> str:
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
