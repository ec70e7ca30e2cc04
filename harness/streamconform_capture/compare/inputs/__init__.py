"""Read recordings from local or remote folders and files, with bounded memory.

To add a format:

1. Write a module with `split_NAME(url, size)`, which yields the partitions of a file, and
   `read_NAME(partition)`, which yields cases and unread recordings, one at a time, and returns how many it
   should yield, counted before they are read.
2. Add both to `READERS`, with the suffixes of such files.
3. Add a file in the format to `tests/compare/test_inputs.py`.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform.conservation import Balance, require_balance
from streamconform.errors import SourceError, UsageError
from streamconform.model.case import Case
from streamconform_capture.compare.inputs.archives import read_tar, read_zip, split_tar, split_zip
from streamconform_capture.compare.inputs.folder import read_folder, split_folder
from streamconform_capture.compare.inputs.lines import read_lines, split_lines
from streamconform_capture.compare.inputs.parquet import read_parquet, split_parquet
from streamconform_capture.compare.inputs.partition import PARTITION_BYTES, Partition
from streamconform_capture.compare.inputs.recording import UNKNOWN, Recordings, UnreadRecording, is_wanted
from streamconform_capture.compare.inputs.storage import is_folder, is_local, measure_file
from streamconform_capture.compare.inputs.warc import read_warc, split_warc


@dataclass(frozen=True, slots=True)
class Reader:
    """The functions that divide and read the files of one format."""

    suffixes: tuple[str, ...]
    split: Callable[[str, int], Iterator[Partition]]
    read: Callable[[Partition], Recordings]


READERS: Final[Mapping[str, Reader]] = {
    "folder": Reader((), split_folder, read_folder),
    "tar": Reader((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"), split_tar, read_tar),
    "zip": Reader((".zip",), split_zip, read_zip),
    "jsonl": Reader((".jsonl", ".jsonl.gz", ".jsonl.zst"), split_lines, read_lines),
    "parquet": Reader((".parquet",), split_parquet, read_parquet),
    "warc": Reader((".warc", ".warc.gz"), split_warc, read_warc),
}


@dataclass(frozen=True, slots=True)
class RecordingFolder:
    """All recordings in an input that fits in memory; every file is in exactly one of the two lists."""

    cases: tuple[Case, ...]
    unread: tuple[UnreadRecording, ...]


def split_input(url: str, size: int = PARTITION_BYTES) -> Iterator[Partition]:
    """Yield the partitions of the input `url`. Raises `UsageError` if it is not a valid input."""
    yield from READERS[find_format(url)].split(url, size)


def find_format(url: str) -> str:
    """Return the format of the input `url`. Raises `UsageError` if it is missing or has an unknown format."""
    suffixes = {end: name for name, reader in READERS.items() for end in reader.suffixes}
    found = next((name for end, name in suffixes.items() if url.lower().endswith(end)), None)
    try:
        # Asking a web server whether a URL is a folder would request the entire file.
        if (found is None or is_local(url)) and is_folder(url):
            return "folder"
        if found is None:
            raise UsageError(
                f"`{url}` is neither a folder nor a file with one of the suffixes {', '.join(suffixes)}"
            )
        measure_file(url)
    except (OSError, ImportError, ValueError) as error:
        raise UsageError(f"`{url}` cannot be read: {str(error) or type(error).__name__}") from error
    return found


def read_partition(partition: Partition, apis: Collection[str] = ()) -> Iterator[Case | UnreadRecording]:
    """Yield the recordings of `partition`; an empty `apis` selects every API.

    A broken file ends with an unread recording. Raises `LostError` at the end if a listed recording was
    neither read nor unread.
    """
    if partition.unreadable is not None:
        where = f"{posixpath.basename(partition.url)}#{partition.start}-{partition.stop or 'end'}"
        yield UnreadRecording(where, UNKNOWN, partition.unreadable)
        return
    without = dict(partition.without)
    for recording in _read_listed(partition):
        file = recording.id if isinstance(recording, Case) else recording.file
        if not is_wanted(recording, apis) or (partition.only is not None and file not in partition.only):
            continue
        if file in without:
            yield UnreadRecording(file, recording.api, without[file])
        else:
            yield recording


def _read_listed(partition: Partition) -> Iterator[Case | UnreadRecording]:
    name = posixpath.basename(partition.url)
    recordings = READERS[partition.format].read(partition)
    count = 0
    while True:
        try:
            recording = next(recordings)
        except StopIteration as end:
            arrival = f"listed in {name}"
            require_balance(Balance("recording", arrival, end.value, {"read or refused": count}))
            return
        except (SourceError, OSError) as error:
            reason = error.problems[0].message if isinstance(error, SourceError) else str(error)
            yield UnreadRecording(name, UNKNOWN, reason)
            return
        count += 1
        yield recording


def measure_input(url: str) -> int:
    """Return the size of the input `url` in bytes: the sum of its partitions' sizes."""
    if find_format(url) == "folder":
        return sum(partition.size for partition in split_folder(url, PARTITION_BYTES))
    return measure_file(url)


def read(location: str | Path, apis: Collection[str] = (), limit: int | None = None) -> RecordingFolder:
    """Return the recordings at a path or URL, at most `limit` per API; an empty `apis` selects every API.

    A recording that cannot be read, or whose API is unknown, is listed with the reason. Raises
    `SourceError` for an invalid file, and `UsageError` if there are no recordings.
    """
    url = str(location)
    cases: list[Case] = []
    unread: list[UnreadRecording] = []
    taken: Counter[str] = Counter()
    for partition in split_input(url):
        for recording in read_partition(partition, apis):
            if limit is not None and taken[recording.api] >= limit:
                continue
            taken[recording.api] += 1
            if isinstance(recording, Case):
                cases.append(recording)
            else:
                unread.append(recording)
    if not cases and not unread:
        raise UsageError(describe_nothing(url, apis))
    return RecordingFolder(tuple(cases), tuple(unread))


def describe_nothing(url: str, apis: Collection[str]) -> str:
    """Return the message for an input without recordings."""
    wanted = f" of {', '.join(apis)}" if apis else ""
    return f"`{url}` contains no recording{wanted}; expected `manifest.jsonl`, or <api>/<name>.sse in it"
