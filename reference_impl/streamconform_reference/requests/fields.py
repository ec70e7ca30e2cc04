"""Read the fields of a request body by kind; errors name the field, and its expected and actual values.

Null counts as absent. Paths look like those in the providers' own messages: `messages.0.content.1.text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.grammars.fields import fits, format_value
from streamconform_reference.outcome import Json
from streamconform_reference.requests.errors import RequestError, invalid_request

_KIND_NAMES: Final[Mapping[str, str]] = {
    "text": "text",
    "name": "text that is not empty",
    "count": "a whole number",
    "number": "a number",
    "object": "an object",
    "list": "a list",
}
"""The names of the kinds in error messages."""


def require_field(holder: Mapping[str, Any], key: str, kind: str, parent: str = "") -> Any:
    """Return a required field; `kind` is one of `grammars.fields.KINDS`.

    Raises:
        RequestError: the field is absent or of another kind.
    """
    if holder.get(key) is None:
        raise invalid_request(f"{join_path(parent, key)}: this field is required")
    return read_field(holder, key, kind, parent)


def read_field(holder: Mapping[str, Any], key: str, kind: str, parent: str = "") -> Any:
    """Return a field, or None if it is absent.

    Raises:
        RequestError: the field is of another kind.
    """
    value = holder.get(key)
    if value is not None and not fits(kind, value):
        raise invalid_request(
            f"{join_path(parent, key)}: expected {_KIND_NAMES.get(kind, kind)}, got {format_value(value)}"
        )
    return value


def read_positive(holder: Mapping[str, Any], key: str, parent: str = "") -> int | None:
    """Return a positive integer, or None if it is absent. Raises like `read_field`."""
    number: int | None = read_field(holder, key, "count", parent)
    if number == 0:
        raise invalid_request(f"{join_path(parent, key)}: expected 1 or more, got 0")
    return number


def read_choice(holder: Mapping[str, Any], key: str, options: Mapping[str, Any], parent: str = "") -> Any:
    """Look up a field's value in the table; return None if the field is absent. Raises like `read_field`."""
    word = read_field(holder, key, "text", parent)
    if word is None:
        return None
    if word not in options:
        raise unknown_value(join_path(parent, key), word, *options)
    return options[word]


def read_objects(holder: Mapping[str, Any], key: str, parent: str = "") -> Iterator[tuple[str, Json]]:
    """Yield a list's objects, each with its path; none if the list is absent. Raises like `read_field`."""
    for number, value in enumerate(read_field(holder, key, "list", parent) or ()):
        path = join_path(join_path(parent, key), str(number))
        if not isinstance(value, dict):
            raise invalid_request(f"{path}: expected an object, got {format_value(value)}")
        yield path, value


def join_path(parent: str, key: str) -> str:
    """Return a field's path."""
    return f"{parent}.{key}" if parent else key


def unknown_value(parent: str, value: Any, *options: str) -> RequestError:
    """Return the error for an unknown value of a field."""
    expected = ", ".join(f"`{option}`" for option in options)
    return invalid_request(f"{parent}: expected one of {expected}, got {format_value(value)}")


def unsupported(parent: str, feature: str) -> RequestError:
    """Return the error for a feature that a conversation cannot represent."""
    return invalid_request(f"{parent}: {feature} cannot be passed on to another API")
