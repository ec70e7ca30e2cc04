"""Parse one line of JSON, using msgspec wherever it agrees with the standard library.

msgspec rejects lone surrogates, numbers beyond the range of a double, and deep nesting. Adapters do send all
of these, and each has its own verdict or error message.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

_loads: Callable[[bytes], Any] = json.loads
_REJECTED: tuple[type[Exception], ...] = (ValueError, RecursionError)
with contextlib.suppress(ModuleNotFoundError):  # a peer's environment holds only its library's dependencies
    import msgspec

    _loads = msgspec.json.Decoder().decode
    _REJECTED = (*_REJECTED, msgspec.DecodeError)


def loads(line: bytes, fallback: Callable[[bytes], Any] = json.loads) -> Any:
    """Return the JSON value in `line`; `fallback` parses it if msgspec rejects it."""
    try:
        return _loads(line)
    except _REJECTED:
        return fallback(line)
