"""WARC files; the recordings are the responses from known APIs' addresses.

One worker reads the entire file, because compressed files have no record index.
Source: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/
"""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import IO, Final
from urllib.parse import urlsplit

from streamconform.apis import APIS
from streamconform.files import CutError, DamagedError, TooLargeError
from streamconform.files.compressed import GZIP, find_codec, iterate_members
from streamconform.model.case import Case
from streamconform.suite.cassettes import MAX_BODY
from streamconform_capture.compare.inputs.partition import Partition
from streamconform_capture.compare.inputs.recording import (
    UNKNOWN,
    Entry,
    Recordings,
    UnreadableRecordingError,
    UnreadRecording,
    make_case,
)
from streamconform_capture.compare.inputs.storage import measure_file, open_file

MAX_HEAD: Final = 64 * 1024
"""The maximum size of a record's headers, and of the HTTP headers in it."""
MAX_BLOCK: Final = 2 * MAX_BODY
"""The maximum size of a response with its headers and its transfer encoding."""
REQUIRED: Final = ("warc-type", "warc-target-uri")
STATUS_LINE: Final = re.compile(rb"HTTP/[0-9.]+ ([1-5][0-9]{2})(?: [^\r\n]*)?\r?\n")
HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
LENGTH: Final = re.compile(r"[0-9]{1,15}")
CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\r\n]*)?\r\n")


def split_warc(url: str, size: int) -> Iterator[Partition]:
    """Yield one partition."""
    del size
    yield Partition(url=url, format="warc", size=measure_file(url))


def read_warc(partition: Partition) -> Recordings:
    """Yield the recordings of `partition`, named after the positions of their records in the file.

    Raises `OSError` where the file is cut or damaged.
    """
    name = posixpath.basename(partition.url)
    with open_file(partition.url) as file:
        if find_codec(partition.url) is None:
            return (yield from _read_records(f"{name}#", file))
        listed = 0
        for start, member in iterate_members(file, GZIP):
            # Normally, each record is compressed separately.
            listed += yield from _read_records(f"{name}#{start}+", member)
        return listed


def _read_records(prefix: str, file: IO[bytes]) -> Recordings:
    listed = 0
    while (head := _read_head(file)) is not None:
        position, headers = head
        name = f"{prefix}{position}".removesuffix("+0")
        length = headers.get("content-length", "")
        if not LENGTH.fullmatch(length):
            raise DamagedError(f"the archive is broken: the record at byte {position} has no length")
        block = file.read(min(int(length), MAX_BLOCK + 1))
        rest = int(length) - len(block)
        if rest:
            file.seek(rest - 1, io.SEEK_CUR)
        # Not only by the position, which may be beyond the end of a file.
        cut = len(block) < min(int(length), MAX_BLOCK + 1) or (rest and not file.read(1))
        if cut:
            raise CutError(f"the archive ends inside the record at byte {position}")
        if file.readline(3).strip():
            raise DamagedError(f"the archive is broken: the record at byte {position} has a wrong length")
        found = _read_record(name, headers, block)
        if found is not None:
            listed += 1
            yield found
    return listed


def _read_head(file: IO[bytes]) -> tuple[int, Mapping[str, str]] | None:
    """Return the position and the headers of the next record; None if there is none."""
    lines: list[bytes] = []
    position = file.tell()
    left = MAX_HEAD
    while line := file.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise TooLargeError(f"the record at byte {position} has headers of more than {MAX_HEAD} bytes")
        if line.strip():
            if not lines and not line.startswith(b"WARC/"):
                raise DamagedError(f"the archive is broken: no record begins at byte {position}")
            lines.append(line)
        elif lines:
            break
        else:
            position = file.tell()
    if not lines:
        return None
    if not line:
        raise CutError(f"the archive ends inside the headers at byte {position}")
    return position, _parse_headers(b"".join(lines[1:]))


def _parse_headers(block: bytes) -> dict[str, str]:
    """Return the headers by their names in lower case; the first one of a name counts."""
    headers: dict[str, str] = {}
    for line in re.sub(rb"\r?\n[ \t]+", b" ", block).split(b"\n"):
        name, _, value = line.decode("utf-8", "replace").partition(":")
        headers.setdefault(name.strip().lower(), value.strip())
    return headers


def _read_record(name: str, headers: Mapping[str, str], block: bytes) -> Case | UnreadRecording | None:
    """Return the recording in a record; None if it is not one."""
    missing = [field for field in REQUIRED if not headers.get(field)]
    if headers.get("warc-type", "response") != "response":
        return None
    if missing:
        return UnreadRecording(name, UNKNOWN, f"it has no `{missing[0]}`")
    address = headers.get("warc-target-uri", "").strip("<>")
    try:
        path = urlsplit(address).path
    except ValueError:
        return UnreadRecording(name, UNKNOWN, "its address is malformed")
    api = next((api for api, each in APIS.items() if each.importing.stream.search(path)), None)
    if api is None:
        return None
    try:
        return _read_response(name, api, address, block)
    # `UnreadableRecordingError` and what `decode_body` raises.
    except ValueError as error:
        return UnreadRecording(name, api, str(error))


def _read_response(name: str, api: str, address: str, block: bytes) -> Case:
    """Return the case of a response. Raises `ValueError` with the reason why there is none."""
    # Only here, because the package takes as long to import as this one.
    from streamconform_capture.importers.coding import decode_body

    if len(block) > MAX_BLOCK:
        raise UnreadableRecordingError(f"it is larger than {MAX_BLOCK} bytes")
    if not address.startswith(("http:", "https:")):
        return make_case(Entry(file=name, api=api), block)
    status = STATUS_LINE.match(block)
    if status is None:
        raise UnreadableRecordingError("its status line is malformed")
    end = HEAD_END.search(block, status.end() - 2, status.end() + MAX_HEAD)
    if end is None:
        raise UnreadableRecordingError(f"its HTTP headers do not end, or have more than {MAX_HEAD} bytes")
    headers = _parse_headers(block[status.end() : end.start()])
    body = block[end.end() :]
    if headers.get("transfer-encoding", "").lower() == "chunked" and CHUNK.match(body):
        body = _join_chunks(body)
    decoded = decode_body(body, headers.get("content-encoding", ""))
    if decoded.note is not None:
        raise UnreadableRecordingError(decoded.note)
    entry = Entry(file=name, api=api, status=int(status[1]), media_type=headers.get("content-type"))
    return make_case(entry, decoded.body)


def _join_chunks(body: bytes) -> bytes:
    """Return a body without HTTP's chunked transfer encoding."""
    parts: list[bytes] = []
    position = 0
    while chunk := CHUNK.match(body, position):
        size = int(chunk[1], 16)
        if not size:
            return b"".join(parts)
        parts.append(body[chunk.end() : chunk.end() + size])
        position = chunk.end() + size + 2
    raise UnreadableRecordingError("its chunked transfer encoding is cut or damaged")
