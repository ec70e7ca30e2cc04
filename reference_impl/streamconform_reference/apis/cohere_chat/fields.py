"""Readers for Cohere payload fields, where they differ from those in `decoding.fields`."""

from __future__ import annotations

from typing import Any

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import LARGEST_COUNT


def require_object(holder: Payload, *path: str) -> Payload:
    """Return the object under a path of keys; each of them is required."""
    value: Any = holder
    for key in path:
        value = value.get(key)
        if not isinstance(value, dict):
            raise BrokenPayloadError(f"`{'.'.join(path)}` is not an object")
    result: Payload = value
    return result


def read_count(holder: Payload, *path: str) -> int | None:
    """Return the token count under a path of keys; Cohere's types allow floats."""
    value: Any = holder
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < LARGEST_COUNT else None
