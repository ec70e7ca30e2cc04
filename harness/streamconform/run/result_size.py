"""Limit the size of answers in results: a run has tens of thousands of answers, each up to 64 MiB.

The verdict never depends on these limits, because judging comes first. A result lists the members that were
left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from streamconform.model.result import TrialResult
from streamconform.model.verdict import Check

MAX_OBSERVATION: Final = 1024 * 1024
"""The maximum number of bytes to keep in a result from its answer."""
MAX_VALUE: Final = 64 * 1024
"""The maximum size in bytes of an expected value, received value or message in a check."""
MAX_RUN: Final = 256 * 1024 * 1024
"""The maximum total size in bytes of answers and checks in a run's results. Beyond it, answers are
dropped, and each value in a check is shortened to `MAX_LATE_VALUE` bytes.
"""
MAX_LATE_VALUE: Final = 1024

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


class ResultBounds:
    """Shortens the results of one run, and counts the bytes that are kept."""

    def __init__(self, limit: int = MAX_RUN) -> None:
        """Keep at most `limit` bytes in total."""
        self._left = limit

    def shorten(self, result: TrialResult) -> TrialResult:
        """Return `result`, shortened to fit the limits."""
        if not result.checks and not result.observation:
            return result
        is_late = self._left <= 0
        limit = MAX_LATE_VALUE if is_late else MAX_VALUE
        checks, size = [], 0
        for check in result.checks:
            shortened, length = _shorten_check(check, limit)
            checks.append(shortened)
            size += length
        observation, kept = _shorten_observation(result.observation, 0 if is_late else MAX_OBSERVATION)
        self._left -= size + kept
        return replace(result, checks=tuple(checks), observation=observation)


def _shorten_observation(
    observation: Mapping[str, Any] | None, limit: int
) -> tuple[Mapping[str, Any] | None, int]:
    """Return the observation without its largest members, and the number of bytes kept.

    Its member `left_out` contains the sizes of the missing members.
    """
    if not observation:
        return observation, 0
    sizes = {name: len(_encode(value)) for name, value in observation.items()}
    total = sum(sizes.values())
    left_out = {}
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if total <= limit:
            break
        total -= sizes[name]
        left_out[name] = sizes[name]
    if not left_out:
        return observation, total
    kept = {name: value for name, value in observation.items() if name not in left_out}
    return kept | {"left_out": left_out}, total


def _shorten_check(check: Check, limit: int) -> tuple[Check, int]:
    expected, expected_size = _shorten_value(check.expected, limit)
    got, got_size = _shorten_value(check.got, limit)
    message, message_size = _shorten_value(check.message, limit)
    size = expected_size + got_size + message_size
    if expected is check.expected and got is check.got and message is check.message:
        return check, size
    return replace(check, expected=expected, got=got, message=message), size


def _shorten_value(value: Any, limit: int) -> tuple[Any, int]:
    """Return a JSON value (or the beginning of its text if it is too long), and the size of the result."""
    encoded = _encode(value)
    if len(encoded) <= limit:
        return value, len(encoded)
    beginning = value[:limit] if isinstance(value, str) else encoded[:limit]
    return f"{beginning}… (shortened from {len(encoded)} bytes)", limit
