"""Find the known names closest to an unknown name, for the message about it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Final

MAX_SUGGESTIONS: Final = 3
CHARACTERS_PER_EDIT: Final = 4
"""A name may have one typing error per this many characters, and at least one."""
_CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD: Final = re.compile(r"[^\W_]+")


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` with the names in `known` closest to `name`, or "" if none is close."""
    closest = find_similar(name, known)
    return f"; did you mean {', '.join(f'`{other}`' for other in closest)}?" if closest else ""


def find_similar(name: str, known: Iterable[str], limit: int = MAX_SUGGESTIONS) -> list[str]:
    """Return the names in `known` closest to `name`, at most `limit`.

    Names with words that begin with the words of `name` come first, such as `interleaved-fragments` for
    `inter-frag`. Then come names with a few typing errors, and names that contain such words.
    """
    names = list(dict.fromkeys(known))
    words = _split_words(name)
    same = [other for other in names if words and _split_words(other) == words]
    if same:  # only its spelling differs, such as `toolCalls`
        return same[:limit]
    ranked = (
        *sorted(_rank_by_words(name, names, str.startswith)),
        *sorted(_rank_by_edits(name, names)),
        *sorted(_rank_by_words(name, names, _is_misspelt)),
    )
    return list(dict.fromkeys(names[index] for *_, index in ranked))[:limit]


def _rank_by_words(
    name: str, names: Sequence[str], matches: Callable[[str, str], bool]
) -> Iterator[tuple[int, int, int]]:
    """Yield (number of other words, position, index) for each name that contains words like `name`'s."""
    words = _split_words(name)
    for index, other in enumerate(names if words else ()):
        others = _split_words(other)
        for position in range(len(others) - len(words) + 1):
            if all(map(matches, others[position:], words)):
                yield len(others) - len(words), position, index
                break


def _split_words(name: str) -> list[str]:
    return _WORD.findall(_CAMEL_CASE.sub(" ", name).lower())


def _rank_by_edits(name: str, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (number of typing errors, index) for each name that differs by few of them."""
    for index, other in enumerate(names):
        if _is_misspelt(other.lower(), name.lower()):
            yield _count_edits(other.lower(), name.lower()), index


@cache
def _is_misspelt(right: str, written: str) -> bool:
    """Return whether `written` may be `right` with a few typing errors."""
    limit = max(1, len(written) // CHARACTERS_PER_EDIT)
    # Most names are ruled out by their letters, which takes less time than to compare them in order.
    letters = Counter(right)
    letters.subtract(written)
    if sum(map(abs, letters.values())) > 2 * limit:
        return False
    return _count_edits(right, written) <= min(limit, len(written) - 1)


def _count_edits(one: str, other: str) -> int:
    """Return the number of inserted, deleted, replaced and swapped characters between two texts."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        before, last, row = row, before, [i]
        for j, b in enumerate(other, start=1):
            edits = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                edits = min(edits, last[j - 2] + 1)
            row.append(edits)
    return row[-1]
