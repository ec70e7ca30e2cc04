"""Fields of a payload, read by their type: null and absent are one, any other type is broken."""

from __future__ import annotations

from typing import Any, Final

from streamconform_reference.decoder import BrokenPayloadError, Payload

# A larger number of tokens is no count, and JavaScript could not hold it.
_LARGEST_COUNT: Final = 2**53


def text(holder: Payload, key: str) -> str:
    """Return the text under the key, empty where it is null or absent."""
    value = holder.get(key)
    if isinstance(value, str):
        return value
    if value is not None:
        raise BrokenPayloadError(f"`{key}` is not text")
    return ""


def part(holder: Payload, key: str) -> Payload:
    """Return the object under the key, empty where it is null or absent."""
    value = holder.get(key)
    if isinstance(value, dict):
        return value
    if value is not None:
        raise BrokenPayloadError(f"`{key}` is no object")
    return {}


def index(payload: Payload) -> int:
    """Return the number of the block that the payload is about."""
    value = payload.get("contentBlockIndex")
    if type(value) is not int:
        raise BrokenPayloadError("an event of a block has no `contentBlockIndex`")
    return value


def count(usage: Payload, key: str) -> int | None:
    """Return the number of tokens under the key."""
    value: Any = usage.get(key)
    return value if type(value) is int and 0 <= value < _LARGEST_COUNT else None
