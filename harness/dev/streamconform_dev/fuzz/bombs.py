"""Files that could need much more memory or time than others of their size."""

from __future__ import annotations

import base64
import io
import json
import tarfile
import zipfile
import zlib
from functools import cache

import pyarrow as pa
import zstandard
from pyarrow import parquet

from streamconform_dev.fuzz.archives import pack_gzip


@cache
def make_deep_line() -> bytes:
    """Return a line of nested lists."""
    return zstandard.compress(b"[" * 200 * 1024 * 1024)


@cache
def make_zeros() -> bytes:
    """Return zeros."""
    return pack_gzip(bytes(300 * 1024 * 1024))


@cache
def make_long_header() -> bytes:
    """Return a tar archive with a header of 400 MiB."""
    info = tarfile.TarInfo("openai-chat/a.sse")
    info.size, info.type = 400 * 1024 * 1024, b"x"
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    blocks = [packer.compress(info.tobuf(tarfile.USTAR_FORMAT))]
    blocks += [packer.compress(bytes(1024 * 1024)) for _ in range(400)]
    return b"".join([*blocks, packer.flush()])


@cache
def make_large_member() -> bytes:
    """Return a zip archive with a member of 300 MiB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        made.writestr("openai-chat/a.sse", bytes(300 * 1024 * 1024))
    return file.getvalue()


@cache
def make_dictionary() -> bytes:
    """Return a Parquet file with the same 60 MB in 64 rows."""
    body = pa.DictionaryArray.from_arrays(pa.array([0] * 64), pa.array([b"x" * 60_000_000]))
    file = io.BytesIO()
    table = pa.table({"api": ["openai-chat"] * 64, "body": body})
    parquet.write_table(table, file, compression="zstd")
    return file.getvalue()


@cache
def make_long_line() -> bytes:
    """Return a WARC record with a header of 100 MiB."""
    head = b"WARC/1.0\r\nWARC-Type: response\r\n"
    return pack_gzip(head + b"x: " + b"y" * 100 * 1024 * 1024 + b"\r\n\r\n")


@cache
def make_headers() -> bytes:
    """Return a WARC record with a million headers."""
    return pack_gzip(b"WARC/1.0\r\nWARC-Type: response\r\n" + b"x: y\r\n" * 1_000_000 + b"\r\n")


@cache
def make_aliases() -> bytes:
    """Return a vcrpy cassette with a header whose text would be exponentially large."""
    levels = [f"  - &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 10)]
    head = [
        "x:",
        "  - &a0 [y, y]",
        *levels,
        "interactions:",
        "- request: {uri: 'http://x/v1/messages', method: POST}",
    ]
    return "\n".join(
        [*head, "  response: {status: {code: 200}, headers: {a: *a9}, body: {string: x}}"]
    ).encode()


@cache
def make_nulls() -> bytes:
    """Return a mitmproxy flow with three million values."""
    values = b"0:~" * 3_000_000
    flow = b"4:type,%d:%b]" % (len(values), values)
    return b"%d:%b}" % (len(flow), flow)


@cache
def make_entries() -> bytes:
    """Return a HAR with many entries."""
    return b'{"log":{"entries":[%b0]}}' % (b"0," * 990_000)


@cache
def make_interactions() -> bytes:
    """Return a vcrpy cassette with many interactions."""
    return b"interactions:\n" + b"- 0\n" * 290_000


@cache
def make_exchanges() -> bytes:
    """Return an httprr trace with many exchanges."""
    return b"httprr trace v1\n" + b"0 0\n" * 1_000_000


@cache
def make_nesting() -> bytes:
    """Return a HAR that is nested a million times."""
    return b'{"log":{"entries":' + b"[" * 1_000_000


@cache
def make_codings() -> bytes:
    """Return an interaction of LiteLLM whose body is compressed twice, and much larger than 16 MiB."""
    body = pack_gzip(pack_gzip(bytes(200 * 1024 * 1024)))
    response = {
        "status_code": 200, "chunks_b64": [base64.b64encode(body).decode()],
        "headers": {"content-encoding": ", ".join(["gzip"] * 2000)},
    }  # fmt: skip
    request = {"method": "POST", "path": "/v1/messages", "body": {}}
    return json.dumps({"request": request, "response": response}).encode()
