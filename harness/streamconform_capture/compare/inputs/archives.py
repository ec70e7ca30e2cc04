"""Tar and zip archives, with members such as `<api>/<name>.sse` in any folder."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from streamconform.errors import Problem, SourceError
from streamconform.files.archives import iterate_tar, list_zip, read_zip_member
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
from streamconform_capture.compare.inputs.storage import measure_file, open_file, open_unpacked


def split_tar(url: str, size: int) -> Iterator[Partition]:
    """Yield partitions of about `size` bytes; a compressed archive is one partition.

    Only the headers are read. From a place where the archive is damaged, its rest is one partition.
    """
    if posixpath.splitext(url)[1] != ".tar":
        yield Partition(url=url, format="tar", size=measure_file(url))
        return
    start = end = 0
    try:
        with open_file(url) as file:
            for member in iterate_tar(file):
                end = member.end
                if end - start >= size:
                    yield Partition(url=url, format="tar", start=start, stop=end, size=end - start)
                    start = end
    except OSError:  # reading reports it
        yield Partition(url=url, format="tar", start=start, size=measure_file(url) - start)
        return
    if end > start:
        yield Partition(url=url, format="tar", start=start, stop=end, size=end - start)


def read_tar(partition: Partition) -> Recordings:
    """Yield the recordings of `partition`. Raises `OSError` where the archive is cut or damaged."""
    url = partition.url
    listed = 0
    with open_unpacked(url) as file:
        if partition.start:
            file.seek(partition.start)
        for member in iterate_tar(file, partition.stop):
            if not (member.info.isreg() and is_recording(posixpath.basename(member.info.name))):
                continue
            listed += 1
            entry = _make_entry(url, member.info.name)
            if member.info.issparse():
                yield UnreadRecording(entry.file, entry.api, "it is a sparse file")
                continue
            try:
                body = member.read(MAX_BODY + 1)
            except OSError as error:
                reason = f"it cannot be unpacked, and neither can what follows: {error}"
                yield UnreadRecording(entry.file, entry.api, reason)
                break
            yield read_case(entry, body)
    return listed


def split_zip(url: str, size: int) -> Iterator[Partition]:
    """Yield partitions of about `size` bytes. Raises `SourceError` for a broken archive."""
    try:
        with open_file(url) as file:
            members = list_zip(file)
    except OSError as error:
        raise SourceError((Problem(url, None, str(error)),)) from error
    start = total = 0
    for number, member in enumerate(members):
        total += member.compress_size
        if total >= size:
            yield Partition(url=url, format="zip", start=start, stop=number + 1, size=total)
            start, total = number + 1, 0
    if start < len(members):
        yield Partition(url=url, format="zip", start=start, stop=len(members), size=total)


def read_zip(partition: Partition) -> Recordings:
    """Yield the recordings of `partition`. Raises `OSError` for a broken archive."""
    with open_file(partition.url) as file:
        members = [
            member
            for member in list_zip(file)[partition.start : partition.stop]
            if is_recording(posixpath.basename(member.filename))
        ]
        for member in members:
            entry = _make_entry(partition.url, member.filename)
            try:
                # A member may unpack to any size, regardless of its header.
                body = read_zip_member(file, member, MAX_BODY + 1)
            except OSError as error:
                yield UnreadRecording(entry.file, entry.api, f"it cannot be unpacked: {error}")
                continue
            yield read_case(entry, body)
    return len(members)


def _make_entry(url: str, member: str) -> Entry:
    # The name may hold bytes that are not UTF-8, which no report could write.
    member = member.encode("utf-8", "backslashreplace").decode()
    folder, name = posixpath.split(member)
    suffix = posixpath.splitext(name)[1]
    api = name_api(posixpath.basename(folder))
    return Entry(file=f"{posixpath.basename(url)}#{member}", api=api, suffix=suffix)
