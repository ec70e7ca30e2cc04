"""Parquet files with the columns `api` and `body`, and optionally `status`, `content_type` and `request`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any, Final

from streamconform.errors import Problem, SourceError, UsageError
from streamconform.files.compressed import check_growth
from streamconform.install import format_install
from streamconform.model.case import Case
from streamconform_capture.compare.inputs.lines import MAX_LINE, build_entry, read_body
from streamconform_capture.compare.inputs.partition import Partition
from streamconform_capture.compare.inputs.recording import UNKNOWN, Recordings, UnreadRecording, read_case
from streamconform_capture.compare.inputs.storage import open_file

COLUMNS: Final = ("api", "body", "status", "content_type", "request")
BATCH: Final = 1
"""The number of rows in memory at a time. A file of a few kilobytes may hold many rows of many megabytes."""
_BROKEN: Final = (OSError, ValueError, LookupError, TypeError, RuntimeError, MemoryError)
"""What pyarrow raises for a damaged file: classes of its own, which are subclasses of these."""


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
    """Yield the recordings of `partition`, named after their rows.

    The rest of a row group after a damaged page is one unread recording.
    """
    name = posixpath.basename(partition.url)
    with open_file(partition.url) as file:
        opened = _open(partition.url, file)
        assert partition.stop is not None, "a Parquet partition has the indexes of its row groups"
        known = [column for column in COLUMNS if column in opened.schema_arrow.names]
        groups = [opened.metadata.row_group(number) for number in range(partition.stop)]
        listed: int = sum(group.num_rows for group in groups[partition.start :])
        row = sum(group.num_rows for group in groups[: partition.start])
        for number in range(partition.start, partition.stop):
            end = row + groups[number].num_rows
            try:
                _check_growth(groups[number])
                for batch in opened.iter_batches(BATCH, row_groups=[number], columns=known):
                    yield _read_row(f"{name}#{row}", batch)
                    row += 1
                if row != end:
                    raise ValueError("their number is wrong")
            except _BROKEN as error:
                rows = f"row {row}" if end - row == 1 else f"rows {row} to {end - 1}"
                reason = str(error).partition("\n")[0]
                yield UnreadRecording(f"{name}#{row}", UNKNOWN, f"{rows} cannot be read: {reason}")
                listed -= end - row - 1  # these rows are one unread recording
            row = end
    return listed


def _check_growth(group: Any) -> None:
    """Raise `TooLargeError` if a column of the row group grows too much when decompressed."""
    if group.total_byte_size <= MAX_LINE:
        return  # pyarrow ends the process if the metadata of a column is damaged
    for column in map(group.column, range(group.num_columns)):
        check_growth(column.total_compressed_size, column.total_uncompressed_size, MAX_LINE)


def _read_row(file: str, batch: Any) -> Case | UnreadRecording:
    # Asked before anything is copied. A dictionary has the values of other rows, too.
    if batch.nbytes > MAX_LINE and sum(map(_measure_value, batch.columns)) > MAX_LINE:
        return UnreadRecording(file, UNKNOWN, f"its row is larger than {MAX_LINE} bytes")
    try:
        (given,) = batch.to_pylist()
    except (ValueError, ArithmeticError) as error:  # such as a date after the year 9999
        return UnreadRecording(file, UNKNOWN, f"its row cannot be read: {error}")
    entry = build_entry(file, given)
    try:
        return read_case(entry, read_body(given))
    except (ValueError, TypeError):
        return UnreadRecording(entry.file, entry.api, "it has no body")


def _measure_value(column: Any) -> int:
    """Return the size of the only value in a column."""
    value: Any = getattr(column[0], "value", column[0])  # that of a dictionary
    if not column[0].is_valid:
        return 0
    return int(value.as_buffer().size if hasattr(value, "as_buffer") else column.nbytes)


def _open(url: str, file: Any) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise UsageError(f"`{url}` needs pyarrow: {format_install('corpora')}") from error
    try:
        opened = ParquetFile(file)
    except _BROKEN as error:
        raise SourceError((Problem(url, None, f"it is not a Parquet file: {error}"),)) from error
    if not {"api", "body"} <= set(opened.schema_arrow.names):
        columns = ", ".join(opened.schema_arrow.names)
        message = f"expected the columns `api` and `body`, found {columns}"
        raise SourceError((Problem(url, None, message),))
    return opened
