"""Reject JSON whose values would need far more memory than its text."""

from __future__ import annotations

import re
from typing import Final

from streamconform.files import TooLargeError

MAX_VALUES: Final = 1_000_000
"""The maximum number of values in a JSON text; each needs about 100 bytes, and the text only two."""
_SIGNS: Final = (b",", b"[", b"{")
"""Each value but the first follows one of them."""
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def check_values(text: bytes) -> None:
    """Raise `TooLargeError` if there are more than `MAX_VALUES` values in a JSON text, or one per line."""
    # Strings are removed only if need be: they may contain any number of signs.
    if count_signs(text) > MAX_VALUES and count_signs(_STRING.sub(b"", text)) > MAX_VALUES:
        raise TooLargeError(f"more than {MAX_VALUES} values")


def count_signs(text: bytes) -> int:
    """Return the number of signs before values, including those in strings."""
    return sum(map(text.count, _SIGNS))
