"""Parse and write JSON text, with msgspec where it agrees with RFC 8259, otherwise with the standard library.

msgspec rejects lone surrogates in both directions, which providers send, and invalid UTF-8. Integers of any
size are exact in both. If a key is repeated, its last value wins.

orjson is not used, because it rounds integers beyond 64 bits: searching each text for long numbers took as
long as parsing it. Typed decoding is not used either. It saves a fifth of the time for the chunks of Chat
Completions and nothing elsewhere, and it rejects a payload in which any member has an unexpected type
(docs/benchmarks/changes.md).
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

import msgspec

MAX_DEPTH: Final = 128
"""The maximum nesting depth; RFC 8259 section 9 allows such a limit. No recorded answer nests deeper than 20
levels, and parsers and writers stop at the interpreter's recursion limit.
"""

_SHORTEST_DEEP: Final = 2 * MAX_DEPTH  # a shorter text cannot nest deeper

_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode
_REJECTED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What msgspec raises for a text that it rejects."""


class NotJsonError(ValueError):
    """The text is not JSON, nests too deeply, or contains a number beyond the range of a double."""


def loads(data: bytes) -> Any:
    """Return the value of UTF-8 JSON text; invalid UTF-8 becomes U+FFFD.

    Raises:
        NotJsonError: the text is invalid.
    """
    try:
        value = _decode(data)
    except _REJECTED:
        value = _load_tolerantly(data.decode("utf-8", "replace"))
    if len(data) > _SHORTEST_DEEP and data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        _refuse_deep(value)
    return value


def loads_text(text: str) -> Any:
    """Return the value of JSON text, which may contain lone surrogates.

    Raises:
        NotJsonError: the text is invalid.
    """
    try:
        value = _decode(text)
    except _REJECTED:
        value = _load_tolerantly(text)
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
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _load_tolerantly(text: str) -> Any:
    try:
        return _TOLERANT.decode(text)
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


# Made once, because making it takes longer than reading a short text.
_TOLERANT: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_read_finite_float)


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
