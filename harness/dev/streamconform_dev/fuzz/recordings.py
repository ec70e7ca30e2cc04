"""Collections of recordings of which it is known what they contain, and what reading one must find."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform.apis import APIS
from streamconform.errors import SourceError, UsageError
from streamconform.model.case import Case
from streamconform_capture.compare.inputs import read_partition, split_input
from streamconform_dev.fuzz.damage import BOMBS, Damaged, Ending, Loss, check_kept, check_refused, damage_file

PARTITION_SIZES: Final = (60, 700, 4 * 1024 * 1024)


@dataclass(frozen=True, slots=True)
class Recording:
    """A short recording, which no other one equals."""

    api: str
    body: bytes
    name: str


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the name of its files, and how recordings are written."""

    name: str
    write: Callable[[list[Recording], random.Random], list[bytes]]
    """Returns the pieces of a file: one per recording, or the whole file."""
    make_odd: Callable[[list[Recording], random.Random], Damaged]
    """Returns a file with odd values."""
    share: int
    tail: bytes = b""
    """The bytes at the end of a recording without which it is whole."""
    is_marked: bool = True
    """Whether the end of a file is marked."""
    is_apart: bool = False
    """Whether a damaged recording never concerns others."""
    fragile: Callable[[bytes], object] | None = None
    """Returns what makes some bytes a recording."""
    bombs: tuple[Callable[[], bytes], ...] = ()
    """Files that need much more memory or time than others of their size."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A file of recordings, and how it is divided."""

    file: Damaged
    whole: frozenset[bytes] | None
    """The only bodies that may be read, if the others are incomplete."""
    size: int


def make_recordings(rng: random.Random) -> list[Recording]:
    """Return one to four recordings."""
    apis = rng.choices([*APIS], k=rng.choice((1, 2, 3, 4)))
    return [
        Recording(api, b'data: {"n":%d,"r":"%x"}\n\n' % (number, rng.getrandbits(size)), f"r{number}")
        for number, (api, size) in enumerate(zip(apis, rng.choices((32, 800), k=4), strict=False))
    ]


def make_input(form: Format, rng: random.Random) -> Collection:
    """Return a damaged file."""
    size = rng.choice(PARTITION_SIZES)
    if form.bombs and rng.random() < BOMBS:
        return Collection(Damaged(data=rng.choice(form.bombs)(), count=0), None, size)
    recordings = make_recordings(rng)
    if rng.random() < 0.4:
        return Collection(form.make_odd(recordings, rng), None, size)
    pieces = form.write(recordings, rng)
    file = damage_file(
        pieces, len(recordings), rng,
        tail=form.tail, is_marked=form.is_marked, is_apart=form.is_apart, fragile=form.fragile,
    )  # fmt: skip
    is_cut = b"".join(pieces).startswith(file.data)
    return Collection(file, frozenset(each.body for each in recordings) if is_cut else None, size)


def check_input(form: Format, made: Collection, folder: Path) -> Ending:
    """Read a file. Raises for everything that must not happen."""
    path = folder / form.name
    path.write_bytes(made.file.data)
    return check_path(path, made)


def check_path(path: Path, made: Collection) -> Ending:
    """Read the recordings at a path, one partition after the other."""
    used: list[Case] = []
    named = 0
    try:
        for partition in split_input(str(path), made.size):
            for recording in read_partition(partition):
                if isinstance(recording, Case):
                    used.append(recording)
                else:
                    named += 1
    except (SourceError, UsageError) as error:
        return check_refused(made.file, error)
    for case in used:
        if made.whole is not None and case.cassette.body not in made.whole:
            raise Loss(f"{case.id} is cut, but read as whole")
    return check_kept(made.file, len(used), named)


def count_lines(data: bytes) -> object:
    """Return the number of lines: two that are joined may be one in JSON too."""
    return data.count(b"\n")
