"""Parse JSON, rejecting NaN, infinity and deep nesting, so that every value can be reported as JSON. Pure."""

from __future__ import annotations

import json
import math
from typing import Any, Final

MAX_DEPTH: Final = 200
"""Maximum nesting depth of a value; the judge and the reports walk values recursively."""


class InvalidNumberError(ValueError):
    """`NaN`, `Infinity`, or a number beyond the range of a double."""


def parse_strict(line: bytes) -> Any:
    """Return the JSON value in `line`. Raises `ValueError`, `InvalidNumberError` and `RecursionError`."""
    text = line.decode("utf-8-sig")  # some runtimes begin their output with a byte order mark
    return json.loads(text, parse_constant=_reject_constant, parse_float=_parse_finite)


def is_too_deep(value: Any) -> bool:
    """Return whether `value` is nested deeper than `MAX_DEPTH` levels."""
    # Level by level instead of recursively: the value may be nested deeper than Python's stack allows.
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


def _reject_constant(constant: str) -> Any:
    raise InvalidNumberError(constant)


def _parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise InvalidNumberError(text)  # JSON has no infinity, so no report could contain it
    return number
