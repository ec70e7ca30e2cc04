r"""JSON text that arrives in pieces, and the best-effort value of what came so far.

Every piece is read once; nothing is parsed again from the start. The value depends on the text alone,
not on where it was cut, and never comes out of thin air:

- An open object or array shows the members or elements so far. A key without a value, and a key that
  is cut, are left out; where the key came before, its former value stays until the new one begins.
- An open string value shows what is decoded: an escape that is cut is left out, and so is the first
  half of a surrogate pair whose second half may still come.
- A cut number shows its longest beginning that is a number: `12.` and `12.5e` show 12 and 12.5, `-`
  nothing. A cut literal shows nothing.
- Of duplicate keys the last one wins. White space shows nothing.
- A mistake ends the reading: the value stays as the text before it left it. Mistakes are also nesting
  beyond `MAX_DEPTH`, a raw control character in a string, a second value, and a number of more than
  `MAX_NUMBER` characters; a number that no double can hold shows nothing.

Text that is whole shows what a parser of whole texts makes of it. So the value only grows: members and
elements come and texts get longer, but a number may still change, and a duplicate key replaces.

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
"""Characters of a number; the interpreter converts no more than 4300 digits."""

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]+')
_PAIR: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_ESCAPE: Final = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_CUT_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CUT_PAIR: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z"
)
# Letters, digits, signs and points: whatever of them stands together is one token, or a mistake.
_TOKEN: Final = re.compile(r"[-+.0-9A-Za-z]+")
_SCALAR: Final = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


class _Awaits(Enum):
    """What may come next, but white space."""

    VALUE = auto()
    ELEMENT_OR_END = auto()
    KEY_OR_END = auto()
    KEY = auto()
    COLON = auto()
    COMMA_OR_END = auto()
    NOTHING = auto()


_MAY_CLOSE: Final = (_Awaits.ELEMENT_OR_END, _Awaits.KEY_OR_END, _Awaits.COMMA_OR_END)


class _Nothing:
    """Stands where no value is known yet; null is a value."""


_NOTHING: Final = _Nothing()


@dataclass(slots=True)
class _Open:
    """An object or array that is not closed, and the key whose value comes."""

    value: dict[str, Any] | list[Any]
    key: str = ""

    def put(self, member: Any) -> None:
        """Take the value of the key, or the next element."""
        if isinstance(self.value, dict):
            self.value[self.key] = member
        else:
            self.value.append(member)


class JsonStream:
    """Reads one JSON text in pieces; `value` is known at any time."""

    __slots__ = ("_awaits", "_broken", "_held", "_inside", "_open", "_root", "_string", "_token")

    def __init__(self) -> None:
        """Begin with no text."""
        self._open: list[_Open] = []
        self._root: Any = _NOTHING
        self._awaits = _Awaits.VALUE
        self._inside = False  # of a string, key or value
        self._string: list[str] = []
        self._held = ""  # of a string: an escape that is cut
        self._token = ""  # a number or literal that may go on
        self._broken = False

    @property
    def broken(self) -> bool:
        """Whether the text cannot become JSON any more."""
        return self._broken

    @property
    def begun(self) -> bool:
        """Whether a value has begun."""
        return bool(self._open or self._inside or self._token) or self._awaits is not _Awaits.VALUE

    @property
    def complete(self) -> bool:
        """Whether the text so far is JSON; a number at its end may still go on."""
        if self._broken or self._open or self._inside:
            return False
        return self._awaits is _Awaits.NOTHING or (bool(self._token) and self._whole_token())

    def add(self, piece: str) -> None:
        """Take the next piece of the text, cut anywhere."""
        text, at = self._held + piece, 0
        self._held = ""
        while at < len(text) and not self._broken:
            if self._inside:
                at = self._read_string(text, at)
            elif self._token or _TOKEN.match(text, at):
                at = self._read_token(text, at)
            else:
                at = self._read_mark(text, at)

    def value(self) -> Any:
        """Return the value so far, None where there is none.

        Open objects and arrays are copies; what is closed in them is shared, so it is to be read only.
        """
        inner = self._open_scalar()
        for opened in reversed(self._open):
            outer = _Open(opened.value.copy(), opened.key)
            if inner is not _NOTHING:
                outer.put(inner)
            inner = outer.value
        if inner is _NOTHING:
            inner = self._root
        return None if inner is _NOTHING else inner

    # One token each: they return where the next one begins.

    def _read_mark(self, text: str, at: int) -> int:
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if at == len(text) or _TOKEN.match(text, at):
            return at
        mark = text[at]
        if mark == '"' and self._takes_text():
            self._inside, self._string = True, []
        elif mark in "{[" and self._takes_value() and len(self._open) < MAX_DEPTH:
            self._open.append(_Open({} if mark == "{" else []))
            self._awaits = _Awaits.KEY_OR_END if mark == "{" else _Awaits.ELEMENT_OR_END
        elif mark in "}]" and self._closes(mark):
            self._put(self._open.pop().value)
        elif mark == ":" and self._awaits is _Awaits.COLON:
            self._awaits = _Awaits.VALUE
        elif mark == "," and self._awaits is _Awaits.COMMA_OR_END:
            self._awaits = _Awaits.KEY if isinstance(self._open[-1].value, dict) else _Awaits.VALUE
        else:
            self._broken = True
        return at + 1

    def _read_token(self, text: str, at: int) -> int:
        if not self._takes_value():
            self._broken = True
            return at
        found = _TOKEN.match(text, at)
        if found:
            self._token += found[0]
            at = found.end()
        if len(self._token) > MAX_NUMBER:
            self._broken = True
        elif at < len(text):
            if self._whole_token():
                value, self._token = _scalar(self._token), ""
                self._put(value)
            else:
                self._broken = True
        return at

    def _read_string(self, text: str, at: int) -> int:
        plain = _PLAIN.match(text, at)
        if plain:
            self._string.append(plain[0])
            return plain.end()
        if text[at] == '"':
            self._end_string()
            return at + 1
        escape = _PAIR.match(text, at)
        if escape is None and (_CUT_PAIR.match(text, at) or _CUT_ESCAPE.match(text, at)):
            self._held = text[at:]
            return len(text)
        escape = escape or _ESCAPE.match(text, at)
        if escape is None:
            self._broken = True
            return at
        self._string.append(json.loads(f'"{escape[0]}"'))
        return escape.end()

    # What the marks mean.

    def _takes_value(self) -> bool:
        return self._awaits in (_Awaits.VALUE, _Awaits.ELEMENT_OR_END)

    def _takes_text(self) -> bool:
        return self._takes_value() or self._awaits in (_Awaits.KEY, _Awaits.KEY_OR_END)

    def _closes(self, mark: str) -> bool:
        opened = self._open and isinstance(self._open[-1].value, dict if mark == "}" else list)
        return bool(opened) and self._awaits in _MAY_CLOSE

    def _put(self, value: Any) -> None:
        """Take a value that has ended."""
        if self._open:
            self._open[-1].put(value)
            self._awaits = _Awaits.COMMA_OR_END
        else:
            self._root = value
            self._awaits = _Awaits.NOTHING

    def _end_string(self) -> None:
        self._inside = False
        if self._takes_value():
            self._put("".join(self._string))
        else:
            self._open[-1].key = "".join(self._string)
            self._awaits = _Awaits.COLON

    def _open_scalar(self) -> Any:
        """Return what is known of the string, number or literal that has begun."""
        if self._inside and self._takes_value():
            self._string = ["".join(self._string)]
            return self._string[0]
        return _scalar(self._token)

    def _whole_token(self) -> bool:
        return _SCALAR.fullmatch(self._token) is not None and _scalar(self._token) is not _NOTHING


def partial_value(text: str) -> Any:
    """Return the best-effort value of the beginning of a JSON text."""
    stream = JsonStream()
    stream.add(text)
    return stream.value()


def _scalar(token: str) -> Any:
    """Return the longest beginning of the token that is a number or literal, as a value."""
    found = _SCALAR.match(token)
    if found is None or len(token) > MAX_NUMBER:
        return _NOTHING
    value = json.loads(found[0])
    return _NOTHING if isinstance(value, float) and math.isinf(value) else value
