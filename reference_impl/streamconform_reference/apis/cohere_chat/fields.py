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


def part(holder: Payload, *path: str) -> Payload:
    """Return the object under a path of keys, each of which has to be there."""
    value: Any = holder
    for key in path:
        value = value.get(key)
        if not isinstance(value, dict):
            raise BrokenPayloadError(f"there is no object at `{'.'.join(path)}`")
    found: Payload = value
    return found


def parts(holder: Payload, key: str) -> list[Payload]:
    """Return the objects of the list under the key, none where there is no list."""
    value = holder.get(key)
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []


def count(holder: Payload, *path: str) -> int | None:
    """Return the number of tokens under a path of keys; Cohere's types say that it may be a float."""
    value: Any = holder
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < _LARGEST_COUNT else None
