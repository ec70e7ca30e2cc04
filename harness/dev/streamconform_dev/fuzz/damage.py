"""Damage files of which it is known what they contain, and check that nothing of it is lost in silence. Pure.

The same random numbers cause the same damage.
"""

from __future__ import annotations

import copy
import enum
import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

BOMBS: Final = 0.0003
"""The part of the inputs that could need much more memory or time than others of their size."""
HALF: Final = "\ud800"
"""Half of a surrogate pair, which YAML cannot represent even escaped."""
HOSTILE: Final[tuple[Any, ...]] = (
    None, True, -1, 0, 10**30, 1e999, float("nan"), 0.5, "", "\x00\x1b", HALF, "\u202e", "http://[bad",
    "http://a\u2100b", "9" * 5000, [], {}, [[]], [None], {"a": {}}, ["x"] * 100, {"": ""}, "2020-99-99",
    "²", "../../x", "gzip, br, zstd", [{"name": "a"}], "data: {}\n\n", "\U0001f600" * 20, 2**63, -0.0,
)  # fmt: skip
"""Values that no recorder writes in most places."""


class Ending(enum.Enum):
    """What became of an input."""

    WHOLE = "whole"
    PART = "in part"
    REFUSED = "refused"


class Loss(AssertionError):
    """Something that the input contains is neither used nor named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A damaged file, and what must be found in it."""

    data: bytes
    count: int
    """The number of records before the damage."""
    exact: bool = False
    """Whether only values were damaged, so that each record must be used or named, and the file not refused.
    """
    intact: int = 0
    """The number of records that the damage does not concern, which must be used."""
    told: bool = False
    """Whether something is missing in any case, so that something must be named."""


def check_kept(file: Damaged, used: int, named: int) -> Ending:
    """Return what became of a file that is not refused. Raises `Loss`."""
    found = f"{file.count} in the file, {used} used, {named} named"
    if file.exact and used + named != file.count:
        raise Loss(found)
    if used < file.intact:
        raise Loss(f"{found}; {file.intact} are intact")
    if not named and (file.told or used < file.count):
        raise Loss(f"{found}; the damage is not mentioned")
    return Ending.PART if named else Ending.WHOLE


def check_refused(file: Damaged, error: Exception) -> Ending:
    """Return what became of a file that is refused. Raises `Loss`."""
    if file.exact:
        raise Loss(f"the whole file is refused: {error}")
    return Ending.REFUSED


def damage_file(
    pieces: Sequence[bytes],
    count: int,
    rng: random.Random,
    *,
    tail: bytes = b"",
    is_marked: bool = True,
    is_apart: bool = False,
    fragile: Callable[[bytes], object] | None = None,
) -> Damaged:
    """Return a file of `pieces`, which have `count` records, cut or with some bytes changed.

    A piece is a record, or the whole file. A piece is whole without its `tail`. With `is_marked`, the format
    marks the end of a file. With `is_apart`, a damaged record leaves those behind it readable. `fragile`
    returns the bytes without which no reader can know that there is a record; None means that no byte is.
    """
    data = b"".join(pieces)
    ends = [*accumulate(map(len, pieces))]
    each = count // len(pieces)
    if rng.random() < 0.4:
        end = rng.randrange(1, len(data) + 1)
        whole = sum(stop - len(tail) <= end for stop in ends)
        start = ends[whole - 1] if whole else 0
        cut = end < len(data) - len(tail) if is_marked else end > start
        return Damaged(data=data[:end], count=whole * each, intact=max(whole - cut, 0) * each, told=cut)
    damaged = damage_bytes(data, rng)
    first = _count_equal(data, damaged)
    intact = sum(stop <= first for stop in ends) if len(pieces) > 1 else 0
    if is_apart:
        last = len(data) - _count_equal(data[::-1], damaged[::-1])
        # A damaged end of a line concerns the next one.
        intact += sum(start > max(last, first) for start in [0, *ends[:-1]])
    known = damaged == data or (fragile is None or fragile(data) == fragile(damaged))
    return Damaged(data=damaged, count=count if known else intact * each, intact=intact * each)


def damage_value(value: Any, rng: random.Random) -> Any:
    """Return a copy of `value` with one value in its structure replaced or removed, or its bytes damaged."""
    value = copy.deepcopy(value)
    parent, key = rng.choice([*_iter_places(value)])
    if rng.random() < 0.2 and isinstance(parent, dict):
        del parent[key]
    elif isinstance(parent[key], str | bytes) and parent[key] and rng.random() < 0.5:
        whole = parent[key]
        data = rng.choice((cut_bytes, damage_bytes))(
            whole if isinstance(whole, bytes) else whole.encode("utf-8", "replace"), rng
        )
        parent[key] = data if isinstance(whole, bytes) else data.decode("utf-8", "replace")
    else:
        parent[key] = copy.deepcopy(rng.choice(HOSTILE))
    return value


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return `data` with one to four pieces removed, repeated or replaced by random bytes."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(data))
        end = min(start + rng.choice((1, 1, 2, 5, 40)), len(data))
        piece = rng.choice((b"", data[start:end] * 2, rng.randbytes(end - start)))
        data = data[:start] + piece + data[end:]
    return data


def cut_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return the beginning of `data`."""
    return data[: rng.randint(0, len(data))]


def _iter_places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _iter_places(value[key])


def _count_equal(one: bytes, other: bytes) -> int:
    """Return the number of bytes at the beginning that are the same."""
    size = min(len(one), len(other))
    return bisect_left(range(size), True, key=lambda at: one[: at + 1] != other[: at + 1])
