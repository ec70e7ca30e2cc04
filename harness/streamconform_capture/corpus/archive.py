"""Read selected files of an untrusted `.tar.gz` into memory, within limits and without unpacking it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from streamconform.errors import Problem, SourceError
from streamconform.files import open_regular
from streamconform.files.archives import TarMember, iterate_tar
from streamconform.files.compressed import GZIP, decompress

MAX_ARCHIVE: Final = 128 * 1024 * 1024
MAX_UNPACKED: Final = 512 * 1024 * 1024
"""The maximum size of the decompressed archive, headers included; the largest source is 40 MB."""
MAX_MEMBERS: Final = 50_000
MAX_MEMBER: Final = 64 * 1024 * 1024
MAX_SELECTED: Final = 256 * 1024 * 1024
"""The maximum total size of the selected files, which are held in memory."""


@dataclass(frozen=True, slots=True)
class Member:
    """A selected file; if it was not read, `data` is None and `why` gives the reason."""

    path: PurePosixPath
    """The path, relative to the archive's top-level folder."""
    data: bytes | None
    why: str | None = None


def compute_digest(path: Path) -> str:
    """Return the SHA-256 of the file at `path`. Raises `SourceError` if it exceeds `MAX_ARCHIVE`."""
    if path.stat().st_size > MAX_ARCHIVE:
        raise _make_error(path, f"larger than {MAX_ARCHIVE} bytes")
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read(path: Path, select: Collection[str]) -> tuple[Member, ...]:
    """Return the files in the archive whose paths match a glob in `select`, sorted by path.

    Links and devices are never followed, and files that are too large are not read. Raises `SourceError`
    if the file is not an archive, contains a path that leads outside it, or exceeds a limit.
    """
    try:
        with open_regular(path) as file:
            unpacked = iterate_tar(decompress(file, GZIP, MAX_UNPACKED))
            members = tuple(_iter_members(path, unpacked, select))
    except OSError as error:
        raise _make_error(path, f"not a source distribution (.tar.gz): {error}") from error
    return tuple(sorted(members, key=lambda each: each.path))


def _iter_members(path: Path, members: Iterator[TarMember], select: Collection[str]) -> Iterator[Member]:
    room = MAX_SELECTED
    for number, member in enumerate(members, start=1):
        info = member.info
        if number > MAX_MEMBERS:
            raise _make_error(path, f"more than {MAX_MEMBERS} files")
        name = PurePosixPath(info.name)
        # A backslash separates folders on Windows, so `..\x` leads outside there.
        if name.is_absolute() or ".." in name.parts or "\0" in info.name or "\\" in info.name:
            raise _make_error(path, f"unsafe: the path `{info.name[:100]!a}` leads outside the archive")
        # The top-level folder contains the version, which the globs of a source do not repeat.
        inside = PurePosixPath(*name.parts[1:])
        if info.isdir() or not any(fnmatchcase(str(inside), each) for each in select):
            continue
        if not info.isreg() or info.issparse():
            yield Member(inside, None, "not a regular file (it is a link, a device or a sparse file)")
            continue
        if info.size > MAX_MEMBER:
            yield Member(inside, None, f"larger than {MAX_MEMBER} bytes")
            continue
        room -= info.size
        if room < 0:
            raise _make_error(path, f"the files to read total more than {MAX_SELECTED} bytes")
        yield Member(inside, member.read(MAX_MEMBER))


def _make_error(path: Path, words: str) -> SourceError:
    return SourceError((Problem(path.name, None, words),))
