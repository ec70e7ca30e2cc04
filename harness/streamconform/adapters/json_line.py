"""Parse one line of JSON, using orjson wherever it agrees with the standard library.

orjson rounds integers beyond 64 bits, and rejects lone surrogates, numbers beyond the range of a double, and
nesting deeper than 1024 levels. Adapters do send all of these, and each has its own verdict or error message.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any, Final

_loads: Callable[[bytes], Any] = json.loads
with contextlib.suppress(ModuleNotFoundError):  # a peer's environment holds only its library's dependencies
    from orjson import loads as _loads

# 19 digits in a row may exceed 64 bits; mapping digits to zeros finds them faster than a regular expression.
_TO_ZERO: Final = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_NUMBER: Final = b"0" * 19


def loads(line: bytes, fallback: Callable[[bytes], Any] = json.loads) -> Any:
    """Return the JSON value in `line`; `fallback` parses it if orjson fails or might round a number."""
    if _LONG_NUMBER not in line.translate(_TO_ZERO):
        try:
            return _loads(line)
        except ValueError:
            pass
    return fallback(line)
