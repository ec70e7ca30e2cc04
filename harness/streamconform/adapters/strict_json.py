"""JSON that can be told on: no number that is none, nothing deeper than what is judged and reported. Pure."""

from __future__ import annotations

import json
import math
from typing import Any, Final

MAX_DEPTH: Final = 200
"""Levels of nesting in one line: what is judged and reported is walked recursively."""


class NotANumber(ValueError):
    """`NaN`, `Infinity`, or a number that no double holds."""


def strict(line: bytes) -> Any:
    """Return the value of a line; raises `ValueError`, `NotANumber` and `RecursionError`."""
    text = line.decode("utf-8-sig")  # some runtimes begin their output with a byte order mark
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def deep(value: Any) -> bool:
    """Return whether a value is nested deeper than `MAX_DEPTH` levels."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


def _refuse(constant: str) -> Any:
    raise NotANumber(constant)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotANumber(text)  # nothing could be written about it in JSON
    return number
