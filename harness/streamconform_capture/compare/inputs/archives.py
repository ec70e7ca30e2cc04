"""Tar and zip archives, with members such as `<api>/<name>.sse` in any folder."""

from __future__ import annotations

import posixpath
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Final

from streamconform.errors import Problem, SourceError
from streamconform.model.case import Case
from streamconform.suite.cassettes import MAX_BODY
from streamconform_capture.compare.inputs.folder import is_recording
from streamconform_capture.compare.inputs.partition import Partition
from streamconform_capture.compare.inputs.recording import (
    Entry,
    Recordings,
    UnreadRecording,
    name_api,
    read_case,
)
from streamconform_capture.compare.inputs.storage import measure_file, open_file

BLOCK: Final = 512
"""The size of a tar header."""


def split_tar(url: str, size: int) -> Iterator[Partition]:
    """Yield partitions of about `size` bytes; a compressed archive is one partition.

    Only the headers are read. Raises `SourceError` for a broken archive.
    """
    if posixpath.splitext(url)[1] != ".tar":
        yield Partition(url=url, format="tar", size=measure_file(url))
        return
    start = end = 0
    with open_file(url) as file:
        # `r:` seeks over the contents, which a stream mode would have to read.
        for member in _iterate_members(url, file, "r:"):
            end = member.offset_data + -(-member.size // BLOCK) * BLOCK
            if end - start >= size:
                yield Partition(url=url, format="tar", start=start, stop=end, size=end - start)
                start = end
    if end > start:
        yield Partition(url=url, format="tar", start=start, stop=end, size=end - start)


def read_tar(partition: Partition) -> Recordings:
    """Yield the recordings of `partition`."""
    url = partition.url
    listed = 0
    with open_file(url) as file:
        file.seek(partition.start)
        whole = partition.stop is None
        with _open_tar(url, file, "r|*" if whole else "r:") as archive:
            for member in _list_members(url, archive):
                if partition.stop is not None and member.offset >= partition.stop:
                    break
                if not (member.isfile() and is_recording(posixpath.basename(member.name))):
                    continue
                listed += 1
                entry = _make_entry(url, member.name)
                opened = archive.extractfile(member)
                assert opened is not None, "a regular file has contents"
                yield _read_member(entry, opened)
    return listed


def split_zip(url: str, size: int) -> Iterator[Partition]:
    """Yield partitions of about `size` bytes. Raises `SourceError` for a broken archive."""
    with open_file(url) as file, _open_zip(url, file) as archive:
        members = archive.infolist()
    start = total = 0
    for number, member in enumerate(members):
        total += member.compress_size
        if total >= size:
            yield Partition(url=url, format="zip", start=start, stop=number + 1, size=total)
            start, total = number + 1, 0
    if start < len(members):
        yield Partition(url=url, format="zip", start=start, stop=len(members), size=total)


def read_zip(partition: Partition) -> Recordings:
    """Yield the recordings of `partition`."""
    with open_file(partition.url) as file, _open_zip(partition.url, file) as archive:
        members = [
            member
            for member in archive.infolist()[partition.start : partition.stop]
            if not member.is_dir() and is_recording(posixpath.basename(member.filename))
        ]
        for member in members:
            entry = _make_entry(partition.url, member.filename)
            try:
                opened = archive.open(member)
            # Python raises the last two for an unknown compression and for an encrypted member.
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
                yield UnreadRecording(entry.file, entry.api, f"it cannot be unpacked: {error}")
                continue
            with opened:
                yield _read_member(entry, opened)
    return len(members)


def _make_entry(url: str, member: str) -> Entry:
    folder, name = posixpath.split(member)
    suffix = posixpath.splitext(name)[1]
    api = name_api(posixpath.basename(folder))
    return Entry(file=f"{posixpath.basename(url)}#{member}", api=api, suffix=suffix)


def _read_member(entry: Entry, file: IO[bytes]) -> Case | UnreadRecording:
    try:
        # A member may unpack to any size, regardless of its header.
        body = file.read(MAX_BODY + 1)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, tarfile.TarError) as error:
        return UnreadRecording(entry.file, entry.api, f"it cannot be unpacked: {error}")
    return read_case(entry, body)


def _iterate_members(url: str, file: IO[bytes], mode: str) -> Iterator[tarfile.TarInfo]:
    with _open_tar(url, file, mode) as archive:
        yield from _list_members(url, archive)


def _list_members(url: str, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    try:
        while (member := archive.next()) is not None:
            yield member
            archive.members = []  # type: ignore[attr-defined]  # otherwise it keeps every member that it has seen
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise _broken(url, error) from error


def _open_tar(url: str, file: IO[bytes], mode: str) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=file, mode=mode)  # type: ignore[call-overload,no-any-return]
    except (tarfile.TarError, EOFError, OSError) as error:
        raise _broken(url, error) from error


def _open_zip(url: str, file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError) as error:
        raise _broken(url, error) from error


def _broken(url: str, error: Exception) -> SourceError:
    return SourceError((Problem(url, None, f"the archive is broken: {error}"),))
