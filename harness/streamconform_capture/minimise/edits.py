"""Drop members or replace values in JSON text; all other bytes stay the same. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from streamconform.wire import json_text
from streamconform.wire.json_text import Node

Path = tuple[str | int, ...]

CHARACTER: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
    rb"|[\xc2-\xf4][\x80-\xbf]+|.",
    re.DOTALL,
)
"""One character in the source of a string: an escape, a surrogate pair of escapes, or UTF-8."""


@lru_cache(maxsize=1024)
def find_nodes(text: bytes) -> Mapping[Path, Node]:
    """Return every value below the root, keyed by path, in order; empty if `text` is not an object or array.

    If several members have the same name, only the last is included.
    """
    root = json_text.parse(text)
    return {} if root is None else dict(_iter_nodes(text, root, ()))


def clear_caches() -> None:
    """Clear the caches of parsed texts, which grow because every candidate has new texts."""
    find_nodes.cache_clear()
    json_text.parse.cache_clear()
    json_text.find_tokens.cache_clear()


def edit_members(text: bytes, changes: Mapping[Path, bytes | None]) -> bytes:
    """Return `text` with the values at some paths replaced, or dropped if the change is None."""
    root = json_text.parse(text)
    return text if root is None or not changes else _edit_node(text, root, (), changes)


def split_characters(text: bytes, node: Node) -> tuple[bytes, ...]:
    """Return the source of each character in the string `node`."""
    return tuple(CHARACTER.findall(text, node.start + 1, node.end - 1))


def quote_characters(characters: Iterable[bytes]) -> bytes:
    """Return the JSON string that consists of these characters."""
    return b'"' + b"".join(characters) + b'"'


def is_string(text: bytes, node: Node) -> bool:
    """Return whether `node` is a string."""
    return text[node.start : node.start + 1] == b'"'


def read_string(text: bytes, node: Node) -> str:
    """Return the decoded value of the string `node`."""
    value: str = json.loads(text[node.start : node.end])
    return value


def write_string(value: str, like: bytes) -> bytes:
    """Return `value` as a JSON string, escaped in the same way as the string `like`."""
    try:
        return json.dumps(value, ensure_ascii=like.isascii()).encode()
    except UnicodeEncodeError:  # only an escape can represent half a surrogate pair
        return json.dumps(value).encode()


def split_shape(value: Any, at: Path = ()) -> tuple[object, dict[Path, str]]:
    """Return the shape of `value` (everything but its strings), and its strings by path."""
    match value:
        case str():
            return "text", {at: value}
        case dict():
            parts = {key: split_shape(child, (*at, key)) for key, child in value.items()}
            strings = {path: text for _, texts in parts.values() for path, text in texts.items()}
            return tuple((key, part) for key, (part, _) in parts.items()), strings
        case list():
            items = [split_shape(child, (*at, i)) for i, child in enumerate(value)]
            strings = {path: text for _, texts in items for path, text in texts.items()}
            return ("list", *(part for part, _ in items)), strings
        case _:
            return repr(value), {}


def iter_leaves(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every scalar, empty object and empty list in `value` with its path."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    children = [*steps]
    if not children:
        yield at, value
    for step, child in children:
        yield from iter_leaves(child, (*at, step))


def _iter_nodes(text: bytes, node: Node, at: Path) -> Iterator[tuple[Path, Node]]:
    for step, child in _iter_children(text, node):
        yield (*at, step), child
        yield from _iter_nodes(text, child, (*at, step))


def _iter_children(text: bytes, node: Node) -> Iterator[tuple[str | int, Node]]:
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
    for i, (step, child) in enumerate(_iter_children(text, node)):
        begin = node.keys[i][0] if node.keys else child.start
        between, end = text[end:begin], child.end
        path = (*at, step)
        if path in changes and changes[path] is None:
            continue
        # Drop the comma before the first remaining item, but keep the white space around it.
        out += between if out else between.replace(b",", b"")
        out += text[begin : child.start] + _edit_node(text, child, path, changes)
    return text[node.start : node.start + 1] + bytes(out) + text[end : node.end]
