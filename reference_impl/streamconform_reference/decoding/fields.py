"""Read payload fields by type; null counts as absent, and any other type is an error."""

from __future__ import annotations

from typing import Any, Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload

LARGEST_COUNT: Final = 2**53
"""The maximum token count: a larger one is not plausible, and JavaScript could not represent it exactly."""


def read_text(holder: Payload, key: str) -> str:
    """Return the text under the key; empty if it is null or absent."""
    value = holder.get(key)
    if isinstance(value, str):
        return value
    if value is not None:
        raise BrokenPayloadError(f"`{key}` is not text")
    return ""


def require_object(payload: Payload, key: str) -> Payload:
    """Return the object under the key, which must be present."""
    value = payload.get(key)
    if not isinstance(value, dict):
        raise BrokenPayloadError(f"`{payload.get('type')}` has no `{key}`")
    return value


def read_objects(holder: Payload, key: str) -> list[Payload]:
    """Return the objects in the list under the key; none if there is no list."""
    value = holder.get(key)
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []


def select(holder: Payload, keys: frozenset[str]) -> Payload:
    """Return the members with these keys that have a value."""
    return {key: value for key, value in holder.items() if key in keys and value is not None}


def read_index(payload: Payload, key: str) -> int | None:
    """Return the integer under the key, or None if there is none, since some servers omit it."""
    value = payload.get(key)
    # `type`, because `True` is an `int`.
    return value if type(value) is int else None


def read_count(holder: Payload, *path: str) -> int | None:
    """Return the token or request count under a path of keys, or None if it is not a valid count."""
    value: Any = holder
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if type(value) is int and 0 <= value < LARGEST_COUNT else None
