r"""Parse JSON text that arrives in pieces, with a best-effort value at any time.

Every piece is read once; nothing is parsed again from the start. The value depends only on the text,
not on where it was split, and nothing in it is invented:

- An open object or array contains its members or elements so far. A key without a value and a truncated key
  are omitted; if the key occurred before, its earlier value stays until the new one starts.
- The value of an open string is its decoded part: a truncated escape is omitted, as is a high surrogate whose
  low surrogate may still come.
- The value of a truncated number is its longest prefix that is a number: `12.` and `12.5e` give 12 and 12.5,
  and `-` gives nothing. A truncated literal gives nothing.
- If a key is repeated, its last value wins. Whitespace gives nothing.
- A syntax error ends the parsing, and the value stays as it was. Nesting beyond `MAX_DEPTH`, a raw control
  character in a string, a second value, and a number of more than `MAX_NUMBER` characters are errors too; a
  number beyond the range of a double yields no value.

For complete text, the value equals the result of an ordinary parser. As text arrives, the value only grows:
members and elements are added and strings get longer. However, a number may still change, and a duplicate key
replaces the earlier value.

Source: https://www.rfc-editor.org/rfc/rfc8259 sections 2 to 7.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from streamconform_reference.json_text.codec import MAX_DEPTH

__all__ = ["MAX_DEPTH", "MAX_NUMBER", "JsonStream", "partial_value"]

MAX_NUMBER: Final = 4000
"""The maximum length of a number; the interpreter converts no more than 4300 digits."""

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]+')
_PAIR: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_ESCAPE: Final = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_CUT_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CUT_PAIR: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z"
)
# Letters, digits, signs and points; a run of them is one token or a syntax error.
_TOKEN: Final = re.compile(r"[-+.0-9A-Za-z]+")
_SCALAR: Final = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


class _Awaits(Enum):
    """The tokens that may come next, apart from whitespace."""

    VALUE = auto()
    ELEMENT_OR_END = auto()
    KEY_OR_END = auto()
    KEY = auto()
    COLON = auto()
    COMMA_OR_END = auto()
    NOTHING = auto()


_MAY_CLOSE: Final = (_Awaits.ELEMENT_OR_END, _Awaits.KEY_OR_END, _Awaits.COMMA_OR_END)


class _Nothing:
    """The type of `_NOTHING`, which means that no value is known yet; null, in contrast, is a value."""


_NOTHING: Final = _Nothing()


@dataclass(slots=True)
class _Open:
    """An open object or array, and the key whose value comes next."""

    value: dict[str, Any] | list[Any]
    key: str = ""

    def add(self, member: Any) -> None:
        """Set the key's value, or append the next element."""
        if isinstance(self.value, dict):
            self.value[self.key] = member
        else:
            self.value.append(member)


class JsonStream:
    """Parses one JSON text in pieces; `value` is available at any time."""

    __slots__ = ("_awaits", "_broken", "_held", "_inside", "_open", "_root", "_string", "_token")

    def __init__(self) -> None:
        """Start with no text."""
        self._open: list[_Open] = []
        self._root: Any = _NOTHING
        self._awaits = _Awaits.VALUE
        self._inside = False  # a string, key or value
        self._string: list[str] = []
        self._held = ""  # a truncated escape of the open string
        self._token = ""  # a number or literal that may continue
        self._broken = False

    @property
    def broken(self) -> bool:
        """Whether the text can no longer become JSON."""
        return self._broken

    @property
    def begun(self) -> bool:
        """Whether a value has started."""
        return bool(self._open or self._inside or self._token) or self._awaits is not _Awaits.VALUE

    @property
    def complete(self) -> bool:
        """Whether the text so far is JSON; a number at its end may still continue."""
        if self._broken or self._open or self._inside:
            return False
        return self._awaits is _Awaits.NOTHING or (bool(self._token) and self._whole_token())

    def add(self, piece: str) -> None:
        """Add the next piece of the text, which may be split anywhere."""
        text, position = self._held + piece, 0
        self._held = ""
        while position < len(text) and not self._broken:
            if self._inside:
                position = self._read_string(text, position)
            elif self._token or _TOKEN.match(text, position):
                position = self._read_token(text, position)
            else:
                position = self._read_mark(text, position)

    def value(self) -> Any:
        """Return the value so far, or None if there is none.

        Open objects and arrays are copies, but closed values in them are shared: do not modify them.
        """
        inner = self._read_open_scalar()
        for container in reversed(self._open):
            # Copies, because the next piece changes the containers, while a caller may keep the value.
            outer = _Open(container.value.copy(), container.key)
            if inner is not _NOTHING:
                outer.add(inner)
            inner = outer.value
        if inner is _NOTHING:
            inner = self._root
        return None if inner is _NOTHING else inner

    # Each method reads one token and returns the position after it.

    def _read_mark(self, text: str, position: int) -> int:
        space = _SPACE.match(text, position)
        position = space.end() if space else position
        if position == len(text) or _TOKEN.match(text, position):
            return position
        mark = text[position]
        if mark == '"' and self._expects_text():
            self._inside, self._string = True, []
        elif mark in "{[" and self._expects_value() and len(self._open) < MAX_DEPTH:
            self._open.append(_Open({} if mark == "{" else []))
            self._awaits = _Awaits.KEY_OR_END if mark == "{" else _Awaits.ELEMENT_OR_END
        elif mark in "}]" and self._can_close(mark):
            self._store(self._open.pop().value)
        elif mark == ":" and self._awaits is _Awaits.COLON:
            self._awaits = _Awaits.VALUE
        elif mark == "," and self._awaits is _Awaits.COMMA_OR_END:
            self._awaits = _Awaits.KEY if isinstance(self._open[-1].value, dict) else _Awaits.VALUE
        else:
            self._broken = True
        return position + 1

    def _read_token(self, text: str, position: int) -> int:
        if not self._expects_value():
            self._broken = True
            return position
        match = _TOKEN.match(text, position)
        if match:
            self._token += match[0]
            position = match.end()
        if len(self._token) > MAX_NUMBER:
            self._broken = True
        elif position < len(text):
            if self._whole_token():
                value, self._token = _read_scalar(self._token), ""
                self._store(value)
            else:
                self._broken = True
        return position

    def _read_string(self, text: str, position: int) -> int:
        plain = _PLAIN.match(text, position)
        if plain:
            self._string.append(plain[0])
            return plain.end()
        if text[position] == '"':
            self._end_string()
            return position + 1
        escape = _PAIR.match(text, position)
        if escape is None and (_CUT_PAIR.match(text, position) or _CUT_ESCAPE.match(text, position)):
            self._held = text[position:]
            return len(text)
        escape = escape or _ESCAPE.match(text, position)
        if escape is None:
            self._broken = True
            return position
        self._string.append(json.loads(f'"{escape[0]}"'))
        return escape.end()

    # Transitions between states.

    def _expects_value(self) -> bool:
        return self._awaits in (_Awaits.VALUE, _Awaits.ELEMENT_OR_END)

    def _expects_text(self) -> bool:
        return self._expects_value() or self._awaits in (_Awaits.KEY, _Awaits.KEY_OR_END)

    def _can_close(self, mark: str) -> bool:
        container = self._open and isinstance(self._open[-1].value, dict if mark == "}" else list)
        return bool(container) and self._awaits in _MAY_CLOSE

    def _store(self, value: Any) -> None:
        """Store a value that has ended."""
        if self._open:
            self._open[-1].add(value)
            self._awaits = _Awaits.COMMA_OR_END
        else:
            self._root = value
            self._awaits = _Awaits.NOTHING

    def _end_string(self) -> None:
        self._inside = False
        if self._expects_value():
            self._store("".join(self._string))
        else:
            self._open[-1].key = "".join(self._string)
            self._awaits = _Awaits.COLON

    def _read_open_scalar(self) -> Any:
        """Return the known part of the open string, number or literal."""
        if self._inside and self._expects_value():
            self._string = ["".join(self._string)]
            return self._string[0]
        return _read_scalar(self._token)

    def _whole_token(self) -> bool:
        return _SCALAR.fullmatch(self._token) is not None and _read_scalar(self._token) is not _NOTHING


def partial_value(text: str) -> Any:
    """Return the best-effort value of truncated JSON text."""
    stream = JsonStream()
    stream.add(text)
    return stream.value()


def _read_scalar(token: str) -> Any:
    """Return the value of the token's longest prefix that is a number or literal."""
    match = _SCALAR.match(token)
    if match is None or len(token) > MAX_NUMBER:
        return _NOTHING
    value = json.loads(match[0])
    return _NOTHING if isinstance(value, float) and math.isinf(value) else value
