"""Small collections of varied streams, in every readable format."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import zstandard
from pyarrow import parquet
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from streamconform.apis import APIS
from streamconform_dev.bench.many_streams import BINARY, make_line

SUFFIXES = {"eventstream": "eventstream", "invoke_stream": "eventstream", "ndjson": "ndjson"}
Streams = list[tuple[str, bytes]]


def make_streams(count: int, start: int = 0) -> Streams:
    """Return API and body of some streams."""
    return [read_line(make_line(number)) for number in range(start, start + count)]


def read_line(line: bytes) -> tuple[str, bytes]:
    """Return API and body of a line."""
    given = json.loads(line)
    body = given["body"].encode() if "body" in given else base64.b64decode(given["body_base64"])
    return given["api"], body


def name_files(streams: Streams) -> dict[str, bytes]:
    """Return the bodies by the names of their files in a folder."""
    return {
        f"{api}/{number:04}.{SUFFIXES.get(APIS[api].framing, 'sse')}": body
        for number, (api, body) in enumerate(streams)
    }


def write_folder(path: Path, streams: Streams) -> None:
    for name, body in name_files(streams).items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)


def write_manifest(path: Path, streams: Streams) -> None:
    path.mkdir()
    lines = []
    for number, (api, body) in enumerate(streams):
        (path / f"{number}.bin").write_bytes(body)
        lines.append({"file": f"{number}.bin", "api": api, "content_type": BINARY.get(api)})
    (path / "manifest.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_tar(path: Path, streams: Streams, mode: str = "w") -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, body in name_files(streams).items():
            # A long name has a separate header, which partitions must not cut off.
            member = tarfile.TarInfo(f"{'long-' * 30}/{name}")
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))


def write_zip(path: Path, streams: Streams) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in name_files(streams).items():
            archive.writestr(f"captures/{name}", body)


def encode_lines(streams: Streams) -> bytes:
    """Return the lines of a JSONL file."""
    lines = (
        {"api": api, "body_base64": base64.b64encode(body).decode(), "content_type": BINARY.get(api)}
        for api, body in streams
    )
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def write_parquet(path: Path, streams: Streams) -> None:
    apis, bodies = zip(*streams, strict=True)
    columns = {"api": apis, "body": bodies, "content_type": [BINARY.get(api) for api in apis]}
    parquet.write_table(pa.table(columns), path, row_group_size=5)


def write_warc(path: Path, streams: Streams) -> None:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.suffix == ".gz")
        for api, body in streams:
            media_type = BINARY.get(api, "text/event-stream")
            head = StatusAndHeaders("200 OK", [("Content-Type", media_type)], protocol="HTTP/1.1")
            url = f"https://gateway.example{APIS[api].importing.path}"
            payload = io.BytesIO(body)
            record = writer.create_warc_record(url, "response", payload=payload, http_headers=head)
            writer.write_record(record)
            record.raw_stream.close()


FORMS: Mapping[str, Callable[[Path, Streams], None]] = {
    "folder": write_folder,
    "manifest": write_manifest,
    "a.tar": write_tar,
    "a.tar.gz": lambda path, streams: write_tar(path, streams, "w:gz"),
    "a.zip": write_zip,
    "a.jsonl": lambda path, streams: path.write_bytes(encode_lines(streams)),
    "a.jsonl.gz": lambda path, streams: path.write_bytes(gzip.compress(encode_lines(streams))),
    "a.jsonl.zst": lambda path, streams: path.write_bytes(zstandard.compress(encode_lines(streams))),
    "a.parquet": write_parquet,
    "a.warc": write_warc,
    "a.warc.gz": write_warc,
}
"""A function that writes a collection under a name."""
