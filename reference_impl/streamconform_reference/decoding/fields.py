"""Fields of a payload, read by their type: null and absent are one, any other type is broken."""

from __future__ import annotations

from typing import Any, Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload

LARGEST_COUNT: Final = 2**53
"""A larger number of tokens is no count, and JavaScript could not hold it."""


def text(holder: Payload, key: str) -> str:
    """Return the text under the key, empty where it is null or absent."""
    value = holder.get(key)
    if isinstance(value, str):
        return value
    if value is not None:
        raise BrokenPayloadError(f"`{key}` is not text")
    return ""


def part(payload: Payload, key: str) -> Payload:
    """Return the object under the key, which has to be there."""
    value = payload.get(key)
    if not isinstance(value, dict):
        raise BrokenPayloadError(f"`{payload.get('type')}` has no `{key}`")
    return value


def parts(holder: Payload, key: str) -> list[Payload]:
    """Return the objects of the list under the key, none where there is no list."""
    value = holder.get(key)
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []


def index(payload: Payload, key: str) -> int | None:
    """Return the whole number under the key, None where there is none: some servers leave it out."""
    value = payload.get(key)
    return value if type(value) is int else None


def count(holder: Payload, *path: str) -> int | None:
    """Return the number of tokens or requests under a path of keys, None where it is no count."""
    value: Any = holder
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if type(value) is int and 0 <= value < LARGEST_COUNT else None
