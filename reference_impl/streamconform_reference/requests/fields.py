"""Read the fields of a request body by kind; an error names the field, the expected and the actual value.

Null equals absent. Paths have the form of the providers' own messages: `messages.0.content.1.text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamconform_reference.grammars.fields import fits, said
from streamconform_reference.outcome import Json
from streamconform_reference.requests.errors import RefusedError, invalid

_WORDS: Final[Mapping[str, str]] = {
    "text": "text",
    "name": "text that is not empty",
    "count": "a whole number",
    "number": "a number",
    "object": "an object",
    "list": "a list",
}
"""The names of the kinds in error messages."""


def need(holder: Mapping[str, Any], key: str, kind: str, where: str = "") -> Any:
    """Return a required field; `kind` is one of `grammars.fields.KINDS`.

    Raises:
        RefusedError: the field is absent or of another kind.
    """
    if holder.get(key) is None:
        raise invalid(f"{at(where, key)}: this field is required")
    return take(holder, key, kind, where)


def take(holder: Mapping[str, Any], key: str, kind: str, where: str = "") -> Any:
    """Return a field, None if it is absent.

    Raises:
        RefusedError: the field is of another kind.
    """
    value = holder.get(key)
    if value is not None and not fits(kind, value):
        raise invalid(f"{at(where, key)}: expected {_WORDS.get(kind, kind)}, got {said(value)}")
    return value


def positive(holder: Mapping[str, Any], key: str, where: str = "") -> int | None:
    """Return a positive integer, None if it is absent; raises as `take`."""
    number: int | None = take(holder, key, "count", where)
    if number == 0:
        raise invalid(f"{at(where, key)}: expected 1 or more, got 0")
    return number


def words(holder: Mapping[str, Any], key: str, known: Mapping[str, Any], where: str = "") -> Any:
    """Return the table's value for the word in a field, None if it is absent; raises as `take`."""
    word = take(holder, key, "text", where)
    if word is None:
        return None
    if word not in known:
        raise other(at(where, key), word, *known)
    return known[word]


def objects(holder: Mapping[str, Any], key: str, where: str = "") -> Iterator[tuple[str, Json]]:
    """Yield the objects in a list, each with its path; nothing if it is absent; raises as `take`."""
    for number, value in enumerate(take(holder, key, "list", where) or ()):
        path = at(at(where, key), str(number))
        if not isinstance(value, dict):
            raise invalid(f"{path}: expected an object, got {said(value)}")
        yield path, value


def at(where: str, key: str) -> str:
    """Return the path of a field."""
    return f"{where}.{key}" if where else key


def other(where: str, given: Any, *known: str) -> RefusedError:
    """Return the error for an unknown value of a field."""
    return invalid(f"{where}: expected one of {', '.join(f'`{each}`' for each in known)}, got {said(given)}")


def not_passed_on(where: str, what: str) -> RefusedError:
    """Return the error for a feature that a conversation cannot represent."""
    return invalid(f"{where}: {what} cannot be passed on to another api")
