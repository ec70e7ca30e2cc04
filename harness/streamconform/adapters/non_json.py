"""Replace values in a result that JSON cannot represent, such as NaN, so that they can be reported. Pure.

If a call's arguments or usage contain such a value, the library is at fault, not the adapter.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from streamconform.adapters.strict_json import MAX_DEPTH, InvalidNumberError, is_too_deep, parse_strict

MAX_VALUES: Final = 20
"""The maximum number of values listed per result."""
MAX_TEXT: Final = 80
"""Maximum characters quoted per value."""
BODIES: Final = ("outcome", "first", "events", "event", "output")
"""Members of a message that contain values from the library."""
ARGUMENTS: Final = re.compile(
    r"((outcome|first)\.content\.\d+|(events\.\d+|event)\.tool_call)\.arguments(\.|$)"
)
USAGE: Final = re.compile(r"((outcome|first)|(events\.\d+|event))\.usage\.\w+$")

NonJson = list[dict[str, str]]
"""`{"path", "value"}` per replaced value: `outcome.content.0.arguments.x`, `NaN`."""


class NonJsonError(ValueError):
    """A value that JSON cannot represent, in a field that the adapter itself fills in."""


def replace_non_json(message: dict[str, Any]) -> dict[str, Any]:
    """Return `message` with such values replaced and listed in its `not_json` field. Raises `NonJsonError`.

    In arguments and in a function's output, the replacement is the value's text; in usage, it is null. An
    object whose type JSON does not have is replaced only inside arguments or an output. Anywhere else, the
    adapter should have converted it, even if the object is the whole value.
    """
    found: NonJson = []
    replaced = {
        name: _replace(value, name, found, 0) if name in BODIES else value for name, value in message.items()
    }
    return replaced | ({"not_json": found[:MAX_VALUES]} if found else {})


def parse_with_nan(line: bytes) -> Any:
    """Return the JSON value in `line`, with NaN and Infinity replaced and listed if a library returned them.

    Raises the same exceptions as `parse_strict`, plus `NonJsonError` for such a number anywhere else.
    """
    try:
        return parse_strict(line)
    except InvalidNumberError:
        message = json.loads(line.decode("utf-8-sig"))
        if is_too_deep(message) or not isinstance(message, dict):
            raise
        return replace_non_json(message)


def _replace(value: Any, path: str, found: NonJson, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise NonJsonError(f"{path[:MAX_TEXT]}… is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {
            key: _replace(item, f"{path}.{key}", found, depth + 1)
            for key, item in _iterate_items(value, path, found)
        }
    if isinstance(value, list | tuple):
        return [_replace(item, f"{path}.{i}", found, depth + 1) for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        text = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        if USAGE.fullmatch(path):
            found.append({"path": path, "value": text})
            return None
        if ARGUMENTS.match(path) or path.startswith("output"):
            found.append({"path": path, "value": text})
            return text
        raise NonJsonError(f"{path} is {text}, which JSON cannot represent; send null or a string instead")
    if value is None or isinstance(value, str | int | float):
        return value
    return _replace_object(value, path, found)


def _replace_object(value: Any, path: str, found: NonJson) -> str:
    kind = type(value).__name__
    inside = ARGUMENTS.match(path)
    if (inside is None or inside.end() == len(path)) and not path.startswith("output."):
        raise NonJsonError(f"{path} is a `{kind}`, which JSON cannot represent; convert it in the adapter")
    text = f"{kind}: {_shorten(value)}"
    found.append({"path": path, "value": text})
    return text


def _iterate_items(value: dict[Any, Any], path: str, found: NonJson) -> Iterator[tuple[Any, Any]]:
    """Yield the members whose keys JSON can represent."""
    for key, item in value.items():
        if key is None or isinstance(key, str | int | float):
            yield key, item
        elif ARGUMENTS.match(f"{path}."):
            found.append({"path": path, "value": f"key {_shorten(key)}"})
        else:
            raise NonJsonError(f"{path} has the key {_shorten(key)}, which is not text")


def _shorten(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a library's `__repr__` can raise anything
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
