"""Parse and write JSON text, with orjson where it agrees with RFC 8259, otherwise with the standard library.

orjson rounds integers beyond 64 bits to floats, rejects lone surrogates in both directions and
cannot write integers beyond 64 bits. Providers send all three. If a key is repeated, its last value wins.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

import orjson

MAX_DEPTH: Final = 128
"""The maximum nesting depth; RFC 8259 section 9 allows such a limit. No recorded answer nests deeper than 20
levels, and the writers stop at 254 (orjson) or at the interpreter's recursion limit (json).
"""

_SHORTEST_DEEP: Final = 2 * MAX_DEPTH  # a shorter text cannot nest deeper

# 19 digits in a row may exceed 64 bits. In bytes, mapping digits to zeros finds them eight times faster than
# a regular expression; in text, a pattern of one digit and then 18 more lets the regular expression engine
# skip quickly.
_DIGITS_TO_ZERO: Final = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_NUMBER_ZEROED: Final = b"0" * 19
_LONG_NUMBER_TEXT: Final = re.compile(r"[0-9][0-9]{18}")


class NotJsonError(ValueError):
    """The text is not JSON, nests too deeply, or contains a number beyond the range of a double."""


def loads(data: bytes) -> Any:
    """Return the value of UTF-8 JSON text; invalid UTF-8 becomes U+FFFD.

    Raises:
        NotJsonError: the text is invalid.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _load_exactly(data.decode("utf-8", "replace"))
    else:
        # orjson may have rounded such a number to a float.
        if _LONG_NUMBER_ZEROED in data.translate(_DIGITS_TO_ZERO):
            value = _load_exactly(data.decode("utf-8", "replace"))
    if len(data) > _SHORTEST_DEEP and data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        _refuse_deep(value)
    return value


def loads_text(text: str) -> Any:
    """Return the value of JSON text, which may contain lone surrogates.

    Raises:
        NotJsonError: the text is invalid.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = _load_exactly(text)
    else:
        if _LONG_NUMBER_TEXT.search(text):
            value = _load_exactly(text)
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _refuse_deep(value)
    return value


def is_json(data: bytes) -> bool:
    """Whether the bytes are one JSON value."""
    try:
        loads(data)
    except NotJsonError:
        return False
    return True


def dumps(value: Any) -> bytes:
    r"""Return compact JSON text as UTF-8; a lone surrogate is written as its `\udXXX` escape."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _load_exactly(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_read_finite_float)
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from None


def _refuse_constant(name: str) -> NoReturn:
    message = f"`{name}` is not JSON"
    raise NotJsonError(message)


def _read_finite_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        message = f"`{text[:40]}` is beyond the range of a double"
        raise NotJsonError(message)
    return number


def _refuse_deep(value: Any) -> None:
    # Level by level, because recursion would fail on exactly the values that are to be rejected here.
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return
    message = f"nested deeper than {MAX_DEPTH} levels"
    raise NotJsonError(message)
