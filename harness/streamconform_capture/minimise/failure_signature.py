"""Failure signatures: a signature is a failing check without its indices and values. Pure.

A smaller stream must fail with the same signature; otherwise the search would drift to a different bug.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from streamconform.judge.compare import UNCACHED
from streamconform.judge.judge import Judgement
from streamconform.model.verdict import Check

WORST_FIRST: Final = ("fail", "warn", "may")
ENUMERATED: Final = ("status", "stop.reason", "stop.raw", "error.type")
"""Fields with few possible values; each wrong value counts as a separate failure."""


@dataclass(frozen=True, slots=True)
class FailureSignature:
    """The place and the kind of a failure; equal signatures mean the same failure."""

    what: str
    """A check's path without block indices, or the verdict of a trial without checks."""
    how: str

    def __str__(self) -> str:
        """Return `content.*.tool_call.arguments (null)`."""
        return f"{self.what} ({self.how})" if self.how else self.what


def collect_signatures(judgement: Judgement) -> dict[FailureSignature, Check | None]:
    """Return the failures, worst first, each with its first failing check; empty for a pass."""
    if not judgement.checks:
        if judgement.verdict in ("pass", "skipped"):
            return {}
        # The text after the colon may quote the stream, which changes as it gets smaller.
        kind = "" if judgement.verdict == "hang" else (judgement.reason or "").partition(":")[0]
        return {FailureSignature(judgement.verdict, kind[:80]): None}
    signatures: dict[FailureSignature, Check | None] = {}
    for check in sorted(judgement.checks, key=lambda check: WORST_FIRST.index(check.verdict)):
        signatures.setdefault(make_signature(check), check)
    return signatures


def make_signature(check: Check) -> FailureSignature:
    """Return the signature of a failed check."""
    return FailureSignature(generalise_path(check.path), _describe_change(check))


def generalise_path(path: str) -> str:
    """Return a check's path with `*` for each index."""
    return re.sub(r"\.\d+(?=\.|$)", ".*", path)


def parse_content_path(path: str) -> tuple[str, str]:
    """Return the block type and field of a path in `content`; two empty strings for any other path."""
    steps = path.split(".")
    if steps[0] != "content" or len(steps) < 3:
        return "", ""
    return steps[2], steps[-1] if len(steps) > 3 else "text"


def _describe_change(check: Check) -> str:
    if check.path.startswith("invariant."):
        return ""
    if check.path == "content.length":
        return "fewer" if _count_size(check.got) < _count_size(check.expected) else "more"
    if check.path in ENUMERATED:
        return f"{check.expected} as {check.got}"
    if (check.message or "").endswith(UNCACHED):
        return "uncached"
    if check.message is not None:
        return "missing"
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
