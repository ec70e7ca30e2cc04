"""JSON text with members left out or values replaced; everything else keeps its bytes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from streamconform.wire import json_text
from streamconform.wire.json_text import Node

Path = tuple[str | int, ...]

UNIT: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
    rb"|[\xc2-\xf4][\x80-\xbf]+|.",
    re.DOTALL,
)
"""A character of a string, as it is written there: an escape, half a pair of them, or its UTF-8."""


@lru_cache(maxsize=1024)
def nodes(text: bytes) -> Mapping[Path, Node]:
    """Return every value of `text` below its root by path, in order; nothing where it is no object or array.

    Of members with one name the last one is there.
    """
    root = json_text.parse(text)
    return {} if root is None else dict(_below(text, root, ()))


def forget() -> None:
    """Forget what is remembered of texts: every candidate has texts of its own."""
    nodes.cache_clear()
    json_text.parse.cache_clear()
    json_text.find_tokens.cache_clear()


def edit_members(text: bytes, changes: Mapping[Path, bytes | None]) -> bytes:
    """Return `text` with the values at some paths replaced, or left out where the change is None."""
    root = json_text.parse(text)
    return text if root is None or not changes else _edit_node(text, root, (), changes)


def units(text: bytes, node: Node) -> tuple[bytes, ...]:
    """Return the characters of the string `node` as they are written in `text`."""
    return tuple(UNIT.findall(text, node.start + 1, node.end - 1))


def quoted(characters: Iterable[bytes]) -> bytes:
    """Return the string that consists of these characters."""
    return b'"' + b"".join(characters) + b'"'


def is_string(text: bytes, node: Node) -> bool:
    """Return whether `node` is a string."""
    return text[node.start : node.start + 1] == b'"'


def string(text: bytes, node: Node) -> str:
    """Return the value of the string `node`."""
    value: str = json.loads(text[node.start : node.end])
    return value


def literal(value: str, like: bytes) -> bytes:
    """Return `value` as a JSON string, with characters beyond ASCII as they are in the string `like`."""
    try:
        return json.dumps(value, ensure_ascii=like.isascii()).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can say
        return json.dumps(value).encode()


def shape(value: Any, at: Path = ()) -> tuple[object, dict[Path, str]]:
    """Return what is left of `value` without its strings, and the strings by path."""
    match value:
        case str():
            return "text", {at: value}
        case dict():
            parts = {key: shape(each, (*at, key)) for key, each in value.items()}
            strings = {path: text for _, found in parts.values() for path, text in found.items()}
            return tuple((key, part) for key, (part, _) in parts.items()), strings
        case list():
            items = [shape(each, (*at, i)) for i, each in enumerate(value)]
            strings = {path: text for _, found in items for path, text in found.items()}
            return ("list", *(part for part, _ in items)), strings
        case _:
            return repr(value), {}


def leaves(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every scalar in `value`, and every object and list that is empty, with its path."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [*steps]
    if not below:
        yield at, value
    for step, child in below:
        yield from leaves(child, (*at, step))


def _below(text: bytes, node: Node, at: Path) -> Iterator[tuple[Path, Node]]:
    for step, child in _steps(text, node):
        yield (*at, step), child
        yield from _below(text, child, (*at, step))


def _steps(text: bytes, node: Node) -> Iterator[tuple[str | int, Node]]:
    if node.kind == "object":
        for key, item in zip(node.keys, node.items, strict=True):
            yield json.loads(text[slice(*key)]), item
    else:
        yield from enumerate(node.items)


def _edit_node(text: bytes, node: Node, at: Path, changes: Mapping[Path, bytes | None]) -> bytes:
    if at in changes:
        return changes[at] or b""
    if not node.items or not any(path[: len(at)] == at for path in changes):
        return text[node.start : node.end]
    out = bytearray()
    end = node.start + 1
    for i, (step, child) in enumerate(_steps(text, node)):
        begin = node.keys[i][0] if node.keys else child.start
        between, end = text[end:begin], child.end
        path = (*at, step)
        if path in changes and changes[path] is None:
            continue
        # the comma before the first one that stays goes, and the white space that is there stays
        out += between if out else between.replace(b",", b"")
        out += text[begin : child.start] + _edit_node(text, child, path, changes)
    return text[node.start : node.start + 1] + bytes(out) + text[end : node.end]
