"""One line of JSON to a value, by orjson wherever it agrees with the standard library.

orjson rounds whole numbers beyond 64 bits, and refuses halves of surrogate pairs, numbers beyond a double
and nesting beyond 1024 levels. Adapters send all of these, and each is judged, or told, for what it is.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any, Final

_loads: Callable[[bytes], Any] = json.loads
with contextlib.suppress(ModuleNotFoundError):  # the environment of a peer has what the library needs only
    from orjson import loads as _loads

# 19 digits in a row may be more than 64 bits; as zeros they are found faster than by an expression.
_TO_ZERO: Final = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_NUMBER: Final = b"0" * 19


def loads(line: bytes, otherwise: Callable[[bytes], Any] = json.loads) -> Any:
    """Return the value of `line`: what `otherwise` returns, or raises, where orjson is not to be trusted."""
    if _LONG_NUMBER not in line.translate(_TO_ZERO):
        try:
            return _loads(line)
        except ValueError:
            pass
    return otherwise(line)
