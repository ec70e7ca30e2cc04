"""Arguments that come value by value: `partialArgs` in, one object out.

Each names a place by a JSON path and the value there. Text is appended to the text at that place as
long as its last piece said `willContinue`; any other value replaces what was there. Objects and
arrays are made as the paths need them.

Source: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling and
the paths of https://www.rfc-editor.org/rfc/rfc9535 with names and indices only.
"""

from __future__ import annotations

import re
from typing import Any, Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload

Place = tuple[str | int, ...]

_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]]+) | \[(?P<index>[0-9]{1,9})\]
    | \['(?P<single>(?:[^'\\]|\\.)*)'\] | \["(?P<double>(?:[^"\\]|\\.)*)"\]""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_CONTROLS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEEPEST: Final = 64
# Elements without a value are left out, such as empty objects, so an index may run ahead; but a short
# path must not make a long array.
_FURTHEST_AHEAD: Final = 256

_PLAIN: Final = ("numberValue", "boolValue", "listValue", "structValue")


class PartialArgs:
    """The values of one call so far, by their places."""

    def __init__(self) -> None:
        """Begin with no values."""
        self._values: dict[Place, Any] = {}
        self._pieces: dict[Place, list[str]] = {}
        self._open: set[Place] = set()

    @property
    def begun(self) -> bool:
        """Whether there is any value."""
        return bool(self._values)

    @property
    def continues(self) -> bool:
        """Whether the text at some place goes on."""
        return bool(self._open)

    def add(self, part: Payload) -> None:
        """Take one entry of `partialArgs`; one without a value changes nothing.

        Raises:
            BrokenPayloadError: it names no place.
        """
        place = read_path(part.get("jsonPath"))
        text = part.get("stringValue")
        if isinstance(text, str):
            if place not in self._open:
                self._pieces[place] = []
                self._values[place] = None
            self._pieces[place].append(text)
        elif "nullValue" in part:
            self._set(place, None)
        else:
            for key in _PLAIN:
                if key in part:
                    self._set(place, part[key])
        if part.get("willContinue") is True and place in self._pieces:
            self._open.add(place)
        else:
            self._open.discard(place)

    def value(self) -> Any:
        """Return the arguments so far.

        Raises:
            BrokenPayloadError: places contradict each other, or lie too far ahead.
        """
        root: Any = {}
        for place, value in self._values.items():
            pieces = self._pieces.get(place)
            root = _put(root, place, value if pieces is None else "".join(pieces))
        return root

    def _set(self, place: Place, value: Any) -> None:
        self._pieces.pop(place, None)
        self._values[place] = value


def read_path(path: Any) -> Place:
    """Return the steps of a JSON path: names, and indices of arrays.

    Raises:
        BrokenPayloadError: it is no such path, or a very deep one.
    """
    if not isinstance(path, str) or not path.startswith("$"):
        raise BrokenPayloadError("a partial argument has no `jsonPath`")
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or len(steps) == _DEEPEST:
            problem = f"`jsonPath` is not understood at character {at}"
            raise BrokenPayloadError(problem)
        at = step.end()
        quoted = step["single"] if step["single"] is not None else step["double"]
        if step["index"] is not None:
            steps.append(int(step["index"]))
        else:
            steps.append(step["name"] if quoted is None else _ESCAPE.sub(_unescape, quoted))
    return tuple(steps)


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _CONTROLS.get(code, code)


def _put(root: Any, place: Place, value: Any) -> Any:
    """Return the root with the value at its place; what is missing on the way is made."""
    if not place:
        return value
    node = root
    for step, following in zip(place, (*place[1:], None), strict=True):
        if isinstance(node, list) and isinstance(step, int):
            if step > len(node) + _FURTHEST_AHEAD:
                raise BrokenPayloadError("the index of a partial argument is far beyond its array")
            node += [None] * (step + 1 - len(node))
            child = node[step]
        elif isinstance(node, dict) and isinstance(step, str):
            child = node.get(step)
        else:
            raise BrokenPayloadError("the paths of partial arguments contradict each other")
        if following is None:
            child = value
        elif child is None:
            child = [] if isinstance(following, int) else {}
        node[step] = child
        node = child
    return root
