"""JSON lines: one recording per line, plain or compressed with gzip or zstandard.

A line is `{"api", "body"}`, with `body_base64` instead of `body` for binary frames; `status`, `content_type`
and `request` are optional. A recording's name contains the byte offset of its line.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from streamconform.adapters import json_line
from streamconform.apis import find_api
from streamconform.files import TooLargeError
from streamconform.files.json_text import check_values
from streamconform.model.case import Case
from streamconform.suite.cassettes import MAX_BODY
from streamconform_capture.compare.inputs.partition import Partition
from streamconform_capture.compare.inputs.recording import (
    UNKNOWN,
    Entry,
    Recordings,
    UnreadRecording,
    name_api,
    read_case,
    read_status,
)
from streamconform_capture.compare.inputs.storage import measure_file, open_unpacked

MAX_LINE: Final = 2 * MAX_BODY
"""The maximum size of a line; escapes and base64 need more space than the body itself."""


def split_lines(url: str, size: int) -> Iterator[Partition]:
    """Yield partitions of `size` bytes; a compressed file is one partition."""
    length = measure_file(url)
    if posixpath.splitext(url)[1] != ".jsonl":
        yield Partition(url=url, format="jsonl", size=length)
        return
    for start in range(0, length, size):
        stop = min(start + size, length)
        yield Partition(url=url, format="jsonl", start=start, stop=stop, size=stop - start)


def read_lines(partition: Partition) -> Recordings:
    """Yield the recordings whose lines start in `partition`."""
    name = posixpath.basename(partition.url)
    listed = 0
    with open_unpacked(partition.url) as file:
        try:
            for start, line in _iterate_lines(file, partition):
                if line.strip():
                    listed += 1
                    yield _read_line(f"{name}#{start}", line)
        except OSError as error:
            yield UnreadRecording(name, UNKNOWN, f"{error} after recording {listed}")
            listed += 1  # the rest
    return listed


def build_entry(file: str, given: Mapping[str, Any]) -> Entry:
    """Return the metadata of the recording in a row or line, excluding the body."""
    media_type, request = given.get("content_type"), given.get("request")
    return Entry(
        file=file,
        api=name_api(str(given.get("api") or UNKNOWN)),
        status=read_status(given.get("status")),
        media_type=media_type if isinstance(media_type, str) else None,
        request=request if isinstance(request, dict) else {},
        suffix=".sse" if isinstance(media_type, str) else _guess_suffix(str(given.get("api"))),
    )


def _guess_suffix(api: str) -> str:
    """Return the file suffix for a body in the API's usual framing."""
    found = find_api(api)
    framing = found.framing if found is not None else "sse"
    return {"ndjson": ".ndjson", "eventstream": ".eventstream", "invoke_stream": ".eventstream"}.get(
        framing, ".sse"
    )


def _read_line(file: str, line: bytes) -> Case | UnreadRecording:
    if len(line) > MAX_LINE:
        return UnreadRecording(file, UNKNOWN, f"its line is longer than {MAX_LINE} bytes")
    try:
        check_values(line)
        given = json_line.loads(line)
        body = read_body(given)
    except TooLargeError as error:
        return UnreadRecording(file, UNKNOWN, f"its line has {error}")
    except (ValueError, TypeError, AttributeError, RecursionError):
        return UnreadRecording(file, UNKNOWN, "expected a JSON object with `api` and `body`")
    return read_case(build_entry(file, given), body)


def read_body(given: Mapping[str, Any]) -> bytes:
    """Return the bytes that `body` or `body_base64` contains.

    Raises `ValueError` or `TypeError` if neither is valid.
    """
    body = given.get("body")
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(given["body_base64"], validate=True)
    except (KeyError, binascii.Error) as error:
        raise ValueError("no body") from error


def _iterate_lines(file: IO[bytes], partition: Partition) -> Iterator[tuple[int, bytes]]:
    """Yield the position and bytes of each line; a line that is too long is truncated."""
    position = partition.start
    if position:
        # A line that starts before the partition belongs to the previous one.
        # From one byte earlier, so that a line that starts exactly at the partition is not skipped.
        file.seek(position - 1)
        position -= 1
        position += _skip_line(file)
    while partition.stop is None or position < partition.stop:
        line = file.readline(MAX_LINE + 1)
        more = 0 if line.endswith(b"\n") or len(line) <= MAX_LINE else _skip_line(file)
        if not line:
            return
        yield position, line
        position += len(line) + more


def _skip_line(file: IO[bytes]) -> int:
    """Read to the end of the line, and return the number of bytes read."""
    skipped = 0
    while part := file.readline(1024 * 1024):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped
