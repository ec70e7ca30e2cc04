"""Parquet files with the columns `api` and `body`, and optionally `status`, `content_type` and `request`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any, Final

from streamconform.errors import Problem, SourceError, UsageError
from streamconform_capture.compare.inputs.lines import build_entry, read_body
from streamconform_capture.compare.inputs.partition import Partition
from streamconform_capture.compare.inputs.recording import Recordings, UnreadRecording, read_case
from streamconform_capture.compare.inputs.storage import open_file

COLUMNS: Final = ("api", "body", "status", "content_type", "request")
BATCH: Final = 64
"""The number of rows in memory at a time."""


def split_parquet(url: str, size: int) -> Iterator[Partition]:
    """Yield partitions of complete row groups, each of about `size` bytes."""
    with open_file(url) as file:
        metadata = _open(url, file).metadata
        sizes = [metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups)]
    start = total = 0
    for number, length in enumerate(sizes):
        total += length
        if total >= size or number == len(sizes) - 1:
            yield Partition(url=url, format="parquet", start=start, stop=number + 1, size=total)
            start, total = number + 1, 0


def read_parquet(partition: Partition) -> Recordings:
    """Yield the recordings of `partition`, named after their rows."""
    name = posixpath.basename(partition.url)
    with open_file(partition.url) as file:
        opened = _open(partition.url, file)
        assert partition.stop is not None, "a Parquet partition has the indexes of its row groups"
        known = [column for column in COLUMNS if column in opened.schema_arrow.names]
        groups = range(partition.start, partition.stop)
        row = sum(opened.metadata.row_group(number).num_rows for number in range(partition.start))
        for batch in opened.iter_batches(BATCH, row_groups=list(groups), columns=known):
            for given in batch.to_pylist():
                entry = build_entry(f"{name}#{row}", given)
                row += 1
                try:
                    body = read_body(given)
                except (ValueError, TypeError):
                    yield UnreadRecording(entry.file, entry.api, "it has no body")
                    continue
                yield read_case(entry, body)
        return sum(opened.metadata.row_group(number).num_rows for number in groups)


def _open(url: str, file: Any) -> Any:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise UsageError(f"`{url}` needs pyarrow: pip install 'streamconform[corpora]'") from error
    try:
        opened = ParquetFile(file)
    except (ArrowException, OSError) as error:
        raise SourceError((Problem(url, None, f"it is not a Parquet file: {error}"),)) from error
    if not {"api", "body"} <= set(opened.schema_arrow.names):
        columns = ", ".join(opened.schema_arrow.names)
        message = f"expected the columns `api` and `body`, found {columns}"
        raise SourceError((Problem(url, None, message),))
    return opened
