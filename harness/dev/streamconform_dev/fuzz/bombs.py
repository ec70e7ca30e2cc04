"""Files that could need much more memory or time than others of their size."""

from __future__ import annotations

import io
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
