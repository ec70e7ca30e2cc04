"""Detect in linear time whether a call's arguments are a complete JSON value.

Parsing the text again at each fragment would take quadratic time. Instead, brackets and quotes are counted as
the text grows, and the text is parsed only when none of them is open, which happens once.
"""

from __future__ import annotations

import re
from typing import Final

from streamconform_reference.json_text import codec

_MARKS: Final = re.compile(r'\\(?:.|\Z)|["{}\[\]]', re.DOTALL)
_HALF: Final = "\\"  # an escape whose second half has not arrived
_ENCLOSED: Final = ("{", "[", '"')


class ValueTracker:
    """Tracks one growing text."""

    __slots__ = ("_broken", "_depth", "_quoted", "_seen")

    def __init__(self) -> None:
        """Start with no text."""
        self._seen = 0
        self._depth = 0
        self._quoted = False
        self._broken = False

    def is_whole(self, text: str) -> bool:
        """Return whether the text so far is one JSON value; `text` must extend the text passed before."""
        self._follow(text)
        if self._broken or self._quoted or self._depth > 0:
            return False
        whole = codec.is_json(text.encode("utf-8", "replace"))
        # A closed value that is not JSON cannot become JSON with more text.
        self._broken = not whole and text.lstrip().startswith(_ENCLOSED)
        return whole

    def _follow(self, text: str) -> None:
        for match in _MARKS.finditer(text, self._seen):
            mark = match[0]
            if mark == _HALF:
                self._seen = match.start()
                return
            if mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted and len(mark) == 1:
                self._depth += 1 if mark in "{[" else -1
        self._seen = len(text)
