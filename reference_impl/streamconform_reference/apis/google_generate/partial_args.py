"""Arguments that arrive value by value: `partialArgs` in, one object out.

Each entry has a JSON path and a value. Text is appended to the text at that path if the previous piece set
`willContinue`; any other value replaces the earlier one. Objects and arrays are created as the paths require.

Source: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling and the JSON
paths of https://www.rfc-editor.org/rfc/rfc9535, limited to names and indices.
"""

from __future__ import annotations

import re
from typing import Any, Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload

Path = tuple[str | int, ...]

_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]]+) | \[(?P<index>[0-9]{1,9})\]
    | \['(?P<single>(?:[^'\\]|\\.)*)'\] | \["(?P<double>(?:[^"\\]|\\.)*)"\]""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_CONTROLS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MAX_DEPTH: Final = 64
# Elements without a value are omitted, for example empty objects, so an index may be beyond the end of the
# array; the limit keeps a short path from creating a huge array.
_MAX_GAP: Final = 256

_VALUE_KEYS: Final = ("numberValue", "boolValue", "listValue", "structValue")


class PartialArgs:
    """The values of one call so far, by their paths."""

    def __init__(self) -> None:
        """Start with no values."""
        self._values: dict[Path, Any] = {}
        self._pieces: dict[Path, list[str]] = {}
        self._open: set[Path] = set()

    @property
    def has_values(self) -> bool:
        """Whether any value has arrived."""
        return bool(self._values)

    @property
    def is_open(self) -> bool:
        """Whether the text at any path is incomplete."""
        return bool(self._open)

    def add(self, part: Payload) -> None:
        """Add one entry of `partialArgs`; an entry without a value changes nothing.

        Raises:
            BrokenPayloadError: its path is invalid.
        """
        path = _read_path(part.get("jsonPath"))
        text = part.get("stringValue")
        if isinstance(text, str):
            if path not in self._open:
                self._pieces[path] = []
                self._values[path] = None
            self._pieces[path].append(text)
        elif "nullValue" in part:
            self._set(path, None)
        else:
            for key in _VALUE_KEYS:
                if key in part:
                    self._set(path, part[key])
        if part.get("willContinue") is True and path in self._pieces:
            self._open.add(path)
        else:
            self._open.discard(path)

    def value(self) -> Any:
        """Return the arguments so far.

        Raises:
            BrokenPayloadError: paths contradict each other, or an index is too large.
        """
        root: Any = {}
        for path, value in self._values.items():
            pieces = self._pieces.get(path)
            root = _set_value(root, path, value if pieces is None else "".join(pieces))
        return root

    def _set(self, path: Path, value: Any) -> None:
        self._pieces.pop(path, None)
        self._values[path] = value


def _read_path(path: Any) -> Path:
    """Return the steps of a JSON path: names, and array indices.

    Raises:
        BrokenPayloadError: the path is invalid or too deep.
    """
    if not isinstance(path, str) or not path.startswith("$"):
        raise BrokenPayloadError("a partial argument has no `jsonPath`")
    steps: list[str | int] = []
    position = 1
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None or len(steps) == _MAX_DEPTH:
            problem = f"`jsonPath` is invalid at character {position}"
            raise BrokenPayloadError(problem)
        position = step.end()
        quoted = step["single"] if step["single"] is not None else step["double"]
        if step["index"] is not None:
            steps.append(int(step["index"]))
        else:
            steps.append(step["name"] if quoted is None else _ESCAPE.sub(_decode_escape, quoted))
    return tuple(steps)


def _decode_escape(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _CONTROLS.get(code, code)


def _set_value(root: Any, path: Path, value: Any) -> Any:
    """Return the root with the value at the path; missing objects and arrays are created."""
    if not path:
        return value
    node = root
    for step, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(node, list) and isinstance(step, int):
            if step > len(node) + _MAX_GAP:
                raise BrokenPayloadError("the index of a partial argument is far beyond its array's end")
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
