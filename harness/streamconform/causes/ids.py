"""Read the id of a cause in a known-failures file: its harm, and the headlines that it can have. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from streamconform.causes.table import BLOCK_NAMES, CONTENT, ROWS, Harm, Row, slugify

_BLOCKS: Final = re.compile(CONTENT.replace(r"content\.\*\.", ""))
_PLACEHOLDER: Final = re.compile(r"\\\{(\w+)\\\}")


def find_harm(cause: str) -> Harm | None:
    """Return the harm of the cause with this id; None if the implementation is not at fault."""
    rows = _list_rows(cause.partition(":")[0])
    return rows[0].harm if rows else None


def can_be_headed(cause: str, headline: str) -> bool:
    """Return whether the cause with this id may have the headline.

    The headline has the words of the id, and for an exception where it was raised.
    """
    id_, _, exception = cause.partition(":")
    if exception and headline.endswith(")") and not all(part in headline for part in exception.split(":")):
        return False
    return any(_may_head(row, id_, headline) for row in _list_rows(id_))


def _may_head(row: Row, id_: str, headline: str) -> bool:
    match = re.match(_to_pattern(row.headline) + r"(?: \(|: |$)", headline)
    own = re.fullmatch(_to_pattern(row.id), id_)
    if match is None or own is None:
        return False
    words = {name: _slugify(word) for name, word in match.groupdict().items()}
    return all(words.get(name, word) == word for name, word in own.groupdict().items())


def _slugify(word: str) -> str:
    """Return a headline's word as ids have it."""
    return slugify(next((block for block, name in BLOCK_NAMES.items() if name == word), word))


def _to_pattern(template: str) -> str:
    return _PLACEHOLDER.sub(r"(?P<\1>.+?)", re.escape(template))


@cache
def _list_rows(id_: str) -> tuple[Row, ...]:
    """Return the rows that have the id for some difference: those of which it is the only id first."""
    return tuple(sorted((row for row in ROWS if _has_id(row, id_)), key=lambda row: row.id != id_))


def _has_id(row: Row, id_: str) -> bool:
    match = re.fullmatch(_to_pattern(row.id), id_)
    if match is None:
        return False
    words = match.groupdict()
    if "block" in words and not (_BLOCKS.fullmatch(words["block"]) or words["block"] in BLOCK_NAMES):
        return False
    path = words.get("path", words.get("part"))
    return path is None or any(re.fullmatch(row.path, each) for each in _list_paths(path))


def _list_paths(slug: str) -> list[str]:
    """Return the paths that may have this slug; a part is what follows the kind of comparison."""
    path = re.sub(r"^content-", "content.*.", slug)
    kinds = ("", "request.prefix.", "request.bytes.")
    return [kind + each for kind in kinds for each in (path, path.replace("-", "_"))]
