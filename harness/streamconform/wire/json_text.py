"""Find the tokens in JSON text and rearrange them without decoding.

Decoding and encoding a value would change numbers, escapes and duplicate keys; moving spans of text does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

# Not `*+`: see the note on possessive quantifiers in `json_array`.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|[^\s{}\[\],:"]+', re.DOTALL)
"""Matches tokens other than commas and colons, whose positions follow from the other tokens."""
# `_rewrite` recurses, and Python allows 1,000 frames in all.
_MAX_DEPTH = 200
"""The maximum nesting depth of payloads that are rearranged."""
_REJECTED = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What msgspec raises for a text that it rejects."""
_CACHE_SIZE = 512
"""The number of texts whose tokens are cached: about as many as one body has payloads."""


_KINDS = {ord("{"): "object", ord("["): "array"}


class Node(Struct):
    """A value and its span; an object has `keys` (spans) and `items`, but an array has only `items`."""

    start: int
    end: int
    kind: str
    keys: Sequence[tuple[int, int]] = ()
    items: Sequence[Node] = ()


@lru_cache(maxsize=_CACHE_SIZE)
def find_tokens(text: bytes) -> tuple[tuple[int, int], ...] | None:
    """Return the spans of the tokens in `text`, or None if it is not JSON."""
    # Invalid JSON and `[DONE]` must pass through unchanged, because deliveries do not alter a stream's
    # meaning.
    return tuple([token.span() for token in _TOKEN.finditer(text)]) if _is_json(text) else None


def is_json(text: bytes) -> bool:
    """Return whether `text` is one JSON value; invalid UTF-8 inside strings is tolerated."""
    try:
        json.loads(text.decode("utf-8", "replace"), parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return False
    return True


@lru_cache(maxsize=_CACHE_SIZE)
def parse(text: bytes) -> Node | None:
    """Return the spans of the value in `text`, or None if the text is not a single object or array.

    The value is cached and must not be changed.
    """
    if not _is_json(text):
        return None
    open_nodes: list[tuple[Node, list[tuple[int, int]], list[Node]]] = []
    keys: list[tuple[int, int]] = []
    items: list[Node] = []
    expects_key = False
    root: Node | None = None
    for token in _STRUCTURE.finditer(text):
        span = start, end = token.span()
        first = text[start]
        if first in b"}]":
            node, _, _ = open_nodes.pop()
            node.end = end
            if open_nodes:
                node, keys, items = open_nodes[-1]
                expects_key = node.kind == "object"
        elif expects_key:
            keys.append(span)
            expects_key = False
        elif first in b"{[":
            kind = _KINDS[first]
            inner_keys: list[tuple[int, int]] = []
            inner_items: list[Node] = []
            node = Node(start, end, kind, inner_keys, inner_items)
            items.append(node)
            root = root or node
            keys, items = inner_keys, inner_items
            open_nodes.append((node, keys, items))
            if len(open_nodes) > _MAX_DEPTH:
                return None
            expects_key = kind == "object"
        else:
            items.append(Node(start, end, "scalar"))
            expects_key = bool(open_nodes) and open_nodes[-1][0].kind == "object"
    return root


def reverse_keys(text: bytes) -> bytes:
    """Return `text` with the members of every object in reverse order.

    Objects with duplicate keys keep their order, because the last duplicate wins.
    """
    root = parse(text)
    return text if root is None else _rewrite(text, root, _reverse_order)


def add_member(text: bytes, member: bytes, paths: Sequence[tuple[str, ...]]) -> bytes:
    """Return `text` with `member` appended to each object at `paths`; in a path, `*` is every array item."""
    changed = _add_to_compact(text, member, paths)
    return _add_to_tokens(text, member, paths) if changed is None else changed


def _add_to_compact(text: bytes, member: bytes, paths: Sequence[tuple[str, ...]]) -> bytes | None:
    """Return what `add_member` returns, or None if msgspec would not write `text` as it is.

    Most providers write JSON without spaces, and then this takes a third of the time.
    """
    try:
        root = msgspec.json.decode(text)
        if not isinstance(root, dict) or msgspec.json.encode(root) != text:
            return None
    except _REJECTED:
        return None
    added: dict[str, Any] = msgspec.json.decode(b"{" + member + b"}")
    for node in [node for path in paths for node in _find_values(root, path)]:
        if not node.keys().isdisjoint(added):
            return None  # a second member with the same name, which a dictionary cannot have
        node.update(added)
    return msgspec.json.encode(root)


def _find_values(root: Any, path: tuple[str, ...]) -> list[dict[str, Any]]:
    nodes = [root]
    for name in path:
        lists = [item for node in nodes if isinstance(node, list) and name == "*" for item in node]
        nodes = [*lists, *(node[name] for node in nodes if isinstance(node, dict) and name in node)]
    return [node for node in nodes if isinstance(node, dict)]


def _add_to_tokens(text: bytes, member: bytes, paths: Sequence[tuple[str, ...]]) -> bytes:
    root = parse(text)
    if root is None or root.kind != "object":
        return text
    ends = sorted({node.end - 1 for path in paths for node in _find_objects(text, root, path)})
    out = bytearray(text)
    # Start at the end, so that the earlier offsets stay valid.
    for end in reversed(ends):
        separator = b"" if text[:end].rstrip().endswith(b"{") else b","
        out[end:end] = separator + member
    return bytes(out)


def pad(text: bytes, space: bytes) -> bytes:
    """Return `text` with `space` between all tokens."""
    spans = find_tokens(text)
    return text if not spans else space.join(text[start:end] for start, end in spans)


def break_after(text: bytes, every: int) -> list[bytes]:
    """Split `text` after every `every`-th token and return the pieces."""
    spans = find_tokens(text)
    if not spans:
        return [text]
    cuts = [0, *(end for _, end in spans[every - 1 : -1 : every]), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _is_json(text: bytes) -> bool:
    """Return whether `text` is JSON."""
    try:
        msgspec.json.decode(text)
    except _REJECTED:
        # msgspec is fast, but rejects lone surrogates, deep nesting and huge numbers.
        try:
            # `str`, because `int` rejects more than 4,300 digits, which are valid JSON.
            json.loads(text.decode(), parse_int=str, parse_constant=_reject_constant)
        except (ValueError, RecursionError):
            return False
    return True


def _find_objects(text: bytes, root: Node, path: tuple[str, ...]) -> list[Node]:
    nodes = [root]
    for name in path:
        nodes = [child for node in nodes for child in _find_children(text, node, name)]
    return [node for node in nodes if node.kind == "object"]


def _find_children(text: bytes, node: Node, name: str) -> Sequence[Node]:
    if node.kind == "array":
        return node.items if name == "*" else []
    quoted = b'"' + name.encode() + b'"'
    items = [item for key, item in zip(node.keys, node.items, strict=False) if text[slice(*key)] == quoted]
    return items[-1:]  # the last duplicate wins


def _rewrite(text: bytes, node: Node, arrange: Callable[[bytes, Node], list[int]]) -> bytes:
    if node.kind == "scalar":
        return text[node.start : node.end]
    values = [_rewrite(text, item, arrange) for item in node.items]
    if node.kind == "array":
        return b"[" + b",".join(values) + b"]"
    order = arrange(text, node)
    return b"{" + b",".join(text[slice(*node.keys[i])] + b":" + values[i] for i in order) + b"}"


def _reverse_order(text: bytes, node: Node) -> list[int]:
    order = list(range(len(node.items)))
    keys = [text[slice(*key)] for key in node.keys]
    # `"a"` and `"\u0061"` are the same key. Decoding is needed only if a key has an escape, which is rare.
    escaped = any(b"\\" in key for key in keys)
    names = set(map(json.loads, keys) if escaped else keys)
    return order[::-1] if len(names) == len(order) else order


def _reject_constant(constant: str) -> NoReturn:
    """Reject NaN and Infinity, which Python accepts although they are not JSON."""
    raise ValueError(constant)
