"""WARC files; the recordings are the responses from known APIs' addresses.

One worker reads the entire file, because compressed files have no record index.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError, UsageError
from streamconform.model.case import Case
from streamconform.suite.cassettes import MAX_BODY
from streamconform_capture.compare.inputs.partition import Partition
from streamconform_capture.compare.inputs.recording import Entry, Recordings, UnreadRecording, read_case
from streamconform_capture.compare.inputs.storage import measure_file, open_file


def split_warc(url: str, size: int) -> Iterator[Partition]:
    """Yield one partition."""
    del size
    yield Partition(url=url, format="warc", size=measure_file(url))


def read_warc(partition: Partition) -> Recordings:
    """Yield the recordings of `partition`, named after the offsets of their records."""
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError as error:
        raise UsageError(f"`{partition.url}` needs warcio: pip install 'streamconform[corpora]'") from error
    name = posixpath.basename(partition.url)
    listed = 0
    with open_file(partition.url) as file:
        records = ArchiveIterator(file)
        try:
            for record in records:
                if record.rec_type != "response":
                    continue
                address = record.rec_headers.get_header("WARC-Target-URI") or ""
                path = urlsplit(address).path
                api = next((api for api, each in APIS.items() if each.importing.stream.search(path)), None)
                if api is None:
                    continue
                listed += 1
                body = record.content_stream().read(MAX_BODY + 1)
                # The iterator must read to the end of the record to know the offset.
                yield _make_recording(f"{name}#{records.get_record_offset()}", api, record, body)
        except (ArchiveLoadFailed, OSError, EOFError) as error:
            raise SourceError((Problem(partition.url, None, f"the archive is broken: {error}"),)) from error
    return listed


def _make_recording(file: str, api: str, record: Any, body: bytes) -> Case | UnreadRecording:
    headers = record.http_headers
    entry = Entry(
        file=file,
        api=api,
        status=int(headers.get_statuscode()) if headers and headers.get_statuscode().isdigit() else 200,
        media_type=headers.get_header("content-type") if headers else None,
    )
    return read_case(entry, body)
