"""Damaged collections of recordings, in every format that `compare` reads, and archives that are pulled.

The structure gets values that no writer produces, or the bytes are damaged. Every recording must be read or
be named with a reason, and a recording that was cut must never be read as whole.
"""

from __future__ import annotations

import base64
import bz2
import io
import json
import lzma
import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pyarrow as pa
import zstandard
from pyarrow import parquet

from streamconform.apis import APIS
from streamconform_dev.fuzz import archives, bombs, folders
from streamconform_dev.fuzz.archives import pack_gzip
from streamconform_dev.fuzz.damage import HOSTILE, Damaged, damage_value
from streamconform_dev.fuzz.recordings import Format, Recording, check_input, count_lines, make_input
from streamconform_dev.fuzz.target import Target


def _make_row(each: Recording, rng: random.Random) -> dict[str, Any]:
    row: dict[str, Any] = {"api": each.api, "status": 200, "content_type": "text/event-stream", "request": {}}
    if rng.random() < 0.5:
        return row | {"body": each.body.decode()}
    return row | {"body_base64": base64.b64encode(each.body).decode()}


def _write_lines(recordings: list[Recording], rng: random.Random) -> list[bytes]:
    return [json.dumps(_make_row(each, rng)).encode() + b"\n" for each in recordings]


def _make_odd_lines(
    pack: Callable[[list[bytes]], bytes], recordings: list[Recording], rng: random.Random
) -> Damaged:
    rows: list[Any] = [_make_row(each, rng) for each in recordings]
    at = rng.randrange(len(rows))
    (rows[at],) = damage_value([rows[at]], rng)
    count = len(rows)
    data = pack([json.dumps(row).encode() + b"\n" for row in rows])
    return Damaged(data=data, count=count, exact=True, intact=count - 1)


def _pack_lines(suffix: str, pack: Callable[[bytes], bytes], bomb: Callable[[], bytes]) -> Format:
    def write(recordings: list[Recording], rng: random.Random) -> list[bytes]:
        lines = _write_lines(recordings, rng)
        # Several frames are a file too, as parallel compressors write it.
        return [*map(pack, lines)] if rng.random() < 0.5 else [pack(b"".join(lines))]

    return Format(
        f"a.jsonl{suffix}",
        write,
        partial(_make_odd_lines, lambda lines: pack(b"".join(lines))),
        15,
        is_marked=False,
        bombs=(bomb,),
    )


def _pack_zstandard(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1, write_checksum=True).compress(data)


def _same(data: bytes) -> bytes:
    return data


def _write_parquet(recordings: list[Recording], rng: random.Random) -> list[bytes]:
    columns = {
        "api": [each.api for each in recordings],
        "body": [each.body for each in recordings],
        "status": [200] * len(recordings),
    }
    return [_join_parquet(pa.table(columns), rng)]


def _join_parquet(table: pa.Table, rng: random.Random) -> bytes:
    file = io.BytesIO()
    parquet.write_table(
        table, file, row_group_size=rng.choice((1, 2, 100)), use_dictionary=rng.random() < 0.5,
        compression=rng.choice(("none", "snappy", "gzip", "zstd")), write_page_checksum=rng.random() < 0.5,
    )  # fmt: skip
    return file.getvalue()


def _find_footer(data: bytes) -> object:
    """Return the footer, which says how many rows there are."""
    return data[-8 - int.from_bytes(data[-8:-4], "little") :]


VALUES: Final = (
    pa.array([None]), pa.array([1.5]), pa.array([2**62]), pa.array([True]), pa.array([[b"x", None]]),
    pa.array([b"\xff"]), pa.array([{"a": 1, "b": [{"c": b"x"}]}]), pa.array(["x"]).dictionary_encode(),
    pa.array([b"y"], pa.large_binary()), pa.array([10**18], pa.timestamp("ns")),
    pa.array([2**62], pa.timestamp("us")), pa.array([b"ab"], pa.binary(2)),
    pa.array([-(2**62)], pa.duration("s")), pa.array([2**30], pa.date32()),
    pa.array([["a"]], pa.list_(pa.string(), 1)), pa.array([{"request": None}]),
    pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64())),
)  # fmt: skip


def _make_odd_parquet(recordings: list[Recording], rng: random.Random) -> Damaged:
    count = len(recordings)
    columns: dict[str, Any] = {
        "api": pa.array([each.api for each in recordings]),
        "body": pa.array([each.body for each in recordings]),
    }
    name = rng.choice(("api", "body", "status", "content_type", "request", "body_base64"))
    columns[name] = pa.concat_arrays([rng.choice(VALUES)] * count) if count > 1 else rng.choice(VALUES)
    names = [each if rng.random() < 0.97 else rng.choice(("api", "body")) for each in columns]
    exact = {"api", "body"} == {*names} and len(names) == 2
    data = _join_parquet(pa.Table.from_arrays([*columns.values()], names), rng)
    return Damaged(data=data, count=count if exact else 0, exact=exact)


def _write_record(fields: dict[str, Any]) -> bytes:
    http = b"%s\r\n%s\r\n\r\n%s" % tuple(
        map(_to_bytes, (fields["status"], fields["headers"], fields["body"]))
    )
    head = "WARC/1.0\r\nWARC-Type: {}\r\nWARC-Target-URI: {}\r\nContent-Type: application/http\r\n".format(
        fields["type"], fields["uri"]
    )
    return b"%sContent-Length: %d\r\n\r\n%s\r\n\r\n" % (_to_bytes(head), len(http), http)


def _to_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def _make_record(each: Recording) -> dict[str, Any]:
    return {
        "type": "response", "uri": f"https://gateway.example{APIS[each.api].importing.path}",
        "status": "HTTP/1.1 200 OK", "headers": "Content-Type: text/event-stream", "body": each.body,
    }  # fmt: skip


HTTP_HEADERS: Final = (
    "Content-Encoding: br", "Content-Encoding: gzip", "Content-Encoding: zstd, x",
    "Transfer-Encoding: chunked", "Content-Length: 5", "Content-Type: \x00", ": ", "x" * 5000, " folded: x",
    "Content-Encoding: deflate", "Transfer-Encoding: chunked\r\nContent-Encoding: gzip",
    "Content-Type: a\r\nContent-Type: b", "é: ²",
)  # fmt: skip


def _make_odd_warc(
    pack: Callable[[bytes], bytes], recordings: list[Recording], rng: random.Random
) -> Damaged:
    records = [_make_record(each) for each in recordings]
    at = rng.randrange(len(records))
    key = rng.choice([*records[at]])
    records[at][key] = rng.choice(HTTP_HEADERS if key == "headers" else HOSTILE)
    count = len(records)
    data = b"".join(pack(_write_record(record)) for record in records)
    if key not in ("type", "uri"):
        return Damaged(data=data, count=count, intact=count - 1)
    known = at if "\n" in str(records[at][key]) else count - 1
    return Damaged(data=data, count=known, intact=known)


def _write_warc(
    pack: Callable[[bytes], bytes], recordings: list[Recording], rng: random.Random
) -> list[bytes]:
    del rng
    return [pack(_write_record(_make_record(each))) for each in recordings]


def _find_heads(data: bytes) -> object:
    return re.findall(rb"WARC/1.0\r\n(?:[^\r\n]+\r\n)+\r\n", data)


_PACKERS: Final[tuple[tuple[str, Callable[[bytes], bytes], int], ...]] = (
    ("", _same, 5),
    (".gz", pack_gzip, 5),
    (".bz2", bz2.compress, 4),
    (".xz", partial(lzma.compress, preset=0), 1),
)
_TARS: Final = tuple(
    Format(
        f"a.tar{suffix}",
        partial(archives.write_tar, pack),
        partial(archives.make_odd_tar, pack),
        share,
        # One empty block is enough to mark the end, but two are written.
        tail=b"" if suffix else bytes(512),
        fragile=None if suffix else archives.find_headers,
        bombs=(bombs.make_long_header,) if suffix == ".gz" else (),
    )
    for suffix, pack, share in _PACKERS
)
FORMATS: Final = (
    Format(
        "a.jsonl",
        _write_lines,
        partial(_make_odd_lines, b"".join),
        20,
        b"\n",
        is_marked=False,
        is_apart=True,
        fragile=count_lines,
    ),
    _pack_lines(".gz", pack_gzip, bombs.make_zeros),
    _pack_lines(".zst", _pack_zstandard, bombs.make_deep_line),
    *_TARS,
    Format(
        "a.zip",
        archives.write_zip,
        archives.make_odd_zip,
        5,
        fragile=archives.find_names,
        bombs=(bombs.make_large_member,),
    ),
    Format(
        "a.parquet",
        _write_parquet,
        _make_odd_parquet,
        3,
        fragile=_find_footer,
        bombs=(bombs.make_dictionary,),
    ),
    Format(
        "a.warc",
        partial(_write_warc, _same),
        partial(_make_odd_warc, _same),
        6,
        b"\r\n\r\n",
        is_marked=False,
        fragile=_find_heads,
    ),
    Format(
        "a.warc.gz",
        partial(_write_warc, pack_gzip),
        partial(_make_odd_warc, pack_gzip),
        5,
        is_marked=False,
        bombs=(bombs.make_long_line, bombs.make_headers),
    ),
)
TARGETS: Final = (
    *(
        Target(f"read {form.name}", partial(make_input, form), partial(check_input, form), form.share)
        for form in FORMATS
    ),
    Target("read a folder", folders.make_folder, folders.check_folder, 4),
    Target("read a manifest", folders.make_manifest, folders.check_folder, 4),
    Target("read an archive to pull", archives.make_archive, archives.check_archive, 4),
)
