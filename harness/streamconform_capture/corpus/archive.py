"""Read selected files of an untrusted `.tar.gz` into memory, within limits and without unpacking it."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from streamconform.errors import Problem, SourceError

MAX_ARCHIVE: Final = 128 * 1024 * 1024
MAX_UNPACKED: Final = 512 * 1024 * 1024
"""The maximum size of the decompressed archive, headers included; the largest source is 40 MB."""
MAX_MEMBERS: Final = 50_000
MAX_MEMBER: Final = 64 * 1024 * 1024
MAX_SELECTED: Final = 256 * 1024 * 1024
"""The maximum total size of the selected files, which are held in memory."""
BROKEN: Final = (tarfile.TarError, EOFError, OSError, ValueError, zlib.error)
"""Exceptions that the standard library raises for broken archives."""


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
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read(path: Path, select: Collection[str]) -> tuple[Member, ...]:
    """Return the files in the archive whose paths match a glob in `select`, sorted by path.

    Links and devices are never followed, and files that are too large are not read. Raises `SourceError`
    if the file is not an archive, contains a path that leads outside it, or exceeds a limit.
    """
    try:
        # Decompressed here and not by `tarfile`, so that the limit also covers headers, which `tarfile` reads
        # into memory. `_LimitedFile` cannot seek, hence the stream mode.
        with gzip.open(path) as file, tarfile.open(fileobj=_LimitedFile(file), mode="r|") as archive:
            members = tuple(_iter_members(path, archive, select))
    except BROKEN as error:
        words = str(error).partition("\n")[0] or type(error).__name__
        raise _make_error(path, f"not a source distribution (.tar.gz): {words}") from error
    return tuple(sorted(members, key=lambda each: each.path))


class _LimitedFile(io.BufferedIOBase):
    """A decompressing reader that raises an error after `MAX_UNPACKED` bytes, to stop decompression bombs."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file, self._left = file, MAX_UNPACKED

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most `size` bytes."""
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(f"larger than {MAX_UNPACKED} bytes when decompressed")
        return data


def _iter_members(path: Path, archive: tarfile.TarFile, select: Collection[str]) -> Iterator[Member]:
    room = MAX_SELECTED
    for number, info in enumerate(archive, start=1):
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
        file = archive.extractfile(info)
        assert file is not None, "a regular file has content"
        yield Member(inside, file.read())


def _make_error(path: Path, words: str) -> SourceError:
    return SourceError((Problem(path.name, None, words),))
