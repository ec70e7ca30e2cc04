"""A damaged or hostile recording is unread, with a plain reason; the others are read in bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
import zipfile

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

from streamconform.errors import SourceError
from streamconform.model.case import Case
from streamconform_capture.compare.inputs import folder, lines, read_partition, split_input, warc
from streamconform_capture.compare.inputs import parquet as rows

from .collections import FORMS, encode_lines, make_streams

STREAMS = make_streams(20)
MAX_MEMORY = 256
"""The maximum memory that reading an input may take, in MiB."""


def read(path, size=2**22):
    """Return the number of recordings that are read, and the reasons of the others."""
    found = [recording for part in split_input(str(path), size) for recording in read_partition(part)]
    unread = [each for each in found if not isinstance(each, Case)]
    return len(found) - len(unread), [each.reason for each in unread]


def test_a_cut_zstandard_file_is_told_with_the_last_recording(tmp_path):
    frames = [zstandard.compress(encode_lines(STREAMS[start : start + 4])) for start in range(0, 20, 4)]
    (tmp_path / "a.jsonl.zst").write_bytes(b"".join(frames)[:-200])
    assert read(tmp_path / "a.jsonl.zst") == (16, ["it ends inside a zstd frame after recording 16"])
    (tmp_path / "b.jsonl.zst").write_bytes(frames[0] + b"garbage")
    assert read(tmp_path / "b.jsonl.zst") == (
        4,
        ["its zstandard data is damaged: Unknown frame descriptor after recording 4"],
    )


ADDRESS = b"https://gateway.example/v1/chat/completions"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
BODY = b'data: {"object":"chat.completion.chunk","choices":[]}\n\ndata: [DONE]\n\n'


def make_record(block=HEAD + BODY, address=ADDRESS, length=None):
    size = len(block) if length is None else length
    head = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: %b\r\nContent-Length: %d\r\n\r\n"
    return head % (address, size) + block + b"\r\n\r\n"


GOOD = make_record()
CODED = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: %b\r\n\r\n")
RECORDS = {
    "address": (make_record(address=b"http://[bad/v1/chat/completions"), "its address is malformed"),
    "no address": (make_record(address=b""), "it has no `warc-target-uri`"),
    "no type": (make_record().replace(b"WARC-Type: response\r\n", b""), "it has no `warc-type`"),
    "status": (make_record(HEAD.replace(b"200", b"\xb2") + BODY), "its status line is malformed"),
    "digits": (make_record(HEAD.replace(b"200", b"2" * 5_000) + BODY), "its status line is malformed"),
    "coding": (make_record(CODED % b"br" + b"\xff\xfe"), "its body is neither text nor br"),
    "cut coding": (make_record(CODED % b"gzip" + gzip.compress(BODY)[:-9]), "The gzip data is truncated"),
    "chunks": (
        make_record(
            HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n9\r\n: [")
        ),
        "its chunked transfer encoding is cut",
    ),
    "headers": (make_record(HEAD[:-2] + b"x: y\r\n" * 20_000 + b"\r\n" + BODY), "its HTTP headers"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_bad_record_of_a_warc_file_does_not_lose_the_others(tmp_path, name):
    record, reason = RECORDS[name]
    for path, data in (
        (tmp_path / "a.warc", GOOD + record + GOOD),
        (tmp_path / "a.warc.gz", b"".join(map(gzip.compress, (GOOD, record, GOOD)))),
    ):
        path.write_bytes(data)
        count, reasons = read(path)
        assert count == 2
        assert len(reasons) == 1
        assert reasons[0].startswith(reason)


WARCS = {
    "cut": (GOOD + GOOD[:-30], f"the archive ends inside the record at byte {len(GOOD)}"),
    "cut headers": (GOOD + GOOD[:60], f"the archive ends inside the headers at byte {len(GOOD)}"),
    "length": (GOOD + make_record(length=10**9), f"the archive ends inside the record at byte {len(GOOD)}"),
    "short": (GOOD + make_record(length=len(HEAD) + 9) + GOOD, "has a wrong length"),
    "no length": (GOOD + b"WARC/1.1\r\nWARC-Type: response\r\n\r\n" + GOOD, "has no length"),
    "garbage": (GOOD + b"garbage\r\n", f"no record begins at byte {len(GOOD)}"),
    "headers": (GOOD + b"WARC/1.1\r\n" + b"x: y\r\n" * 20_000, "has headers of more than 65536 bytes"),
    "line": (GOOD + b"WARC/1.1\r\nx: " + b"y" * 200_000, "has headers of more than 65536 bytes"),
}


@pytest.mark.parametrize("name", WARCS)
def test_the_place_where_a_warc_file_is_broken_is_told(tmp_path, name):
    data, reason = WARCS[name]
    (tmp_path / "a.warc").write_bytes(data)
    count, reasons = read(tmp_path / "a.warc")
    assert count == 1
    assert len(reasons) == 1
    assert reason in reasons[0]


def test_a_recording_in_a_warc_file_is_named_after_the_position_of_its_record(tmp_path):
    packed = gzip.compress(GOOD)
    (tmp_path / "a.warc").write_bytes(GOOD * 2)
    (tmp_path / "a.warc.gz").write_bytes(packed * 2 + gzip.compress(GOOD * 2))
    names = []
    for file in ("a.warc", "a.warc.gz"):
        (part,) = split_input(str(tmp_path / file))
        names += [case.id.partition("#")[2] for case in read_partition(part)]
    second, third = len(packed), 2 * len(packed)
    assert names == ["0", f"{len(GOOD)}", "0", f"{second}", f"{third}", f"{third}+{len(GOOD)}"]


def test_a_response_without_headers_or_with_transfer_encoding_is_read_like_another(tmp_path):
    chunked = HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    pieces = b"5;x=y\r\ndata:\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY) - 5, BODY[5:])
    (tmp_path / "a.warc").write_bytes(
        make_record(chunked + pieces)
        + make_record(CODED % b"gzip" + gzip.compress(BODY))
        + make_record(BODY, b"urn:x/v1/chat/completions")
        + make_record(b"a page", b"https://gateway.example/page")
    )
    (part,) = split_input(str(tmp_path / "a.warc"))
    assert [case.cassette.body for case in read_partition(part)] == [BODY] * 3


def test_a_damaged_header_of_a_tar_archive_is_told_once(tmp_path):
    FORMS["a.tar"](tmp_path / "a.tar", STREAMS)
    with tarfile.open(tmp_path / "a.tar") as archive:
        place = archive.getmembers()[10].offset
    data = bytearray((tmp_path / "a.tar").read_bytes())
    data[place + 100] ^= 0xFF
    (tmp_path / "a.tar").write_bytes(data)
    for size in (1_000, 2**22):
        assert read(tmp_path / "a.tar", size) == (10, [f"the archive has a damaged header at byte {place}"])
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(data)[:-500])
    count, reasons = read(tmp_path / "a.tar.gz")
    assert (count <= 10, len(reasons)) == (True, 1)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_of_a_zip_archive_does_not_lose_the_others(tmp_path, method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for number in range(3):
            archive.writestr(f"openai-chat/{number}.sse", BODY * 9)
        member = archive.infolist()[1]
    data = bytearray(file.getvalue())
    data[member.header_offset + 30 + len(member.filename) + member.compress_size - 9] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(data)
    count, reasons = read(tmp_path / "a.zip")
    assert count == 2
    assert len(reasons) == 1
    assert reasons[0].startswith("it cannot be unpacked: ")


def test_a_damaged_page_of_a_parquet_file_does_not_lose_the_other_row_groups(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"api": ["openai-chat"] * 20, "body": [f"data: {number}\n\n" for number in range(20)]})
    parquet.write_table(table, path, row_group_size=5, compression="gzip", use_dictionary=False)
    column = parquet.ParquetFile(path).metadata.row_group(1).column(1)
    data = bytearray(path.read_bytes())
    end = column.data_page_offset + column.total_compressed_size
    data[end - 30 : end - 10] = bytes(20)
    path.write_bytes(data)
    count, (reason,) = read(path)
    assert count == 15
    assert reason.startswith("rows 5 to 9 cannot be read: ")


def test_a_pipe_in_a_folder_is_unread(tmp_path):
    (tmp_path / "openai-chat").mkdir()
    (tmp_path / "openai-chat/a.sse").write_bytes(BODY)
    os.mkfifo(tmp_path / "openai-chat/pipe.sse")
    os.mkfifo(tmp_path / "openai-chat/a.request.json")
    assert read(tmp_path) == (1, ["it cannot be read: it is a named pipe, expected a regular file"])
    os.mkfifo(tmp_path / "a.jsonl")
    assert read(tmp_path / "a.jsonl") == (0, [])


NAMES = {
    "a\0b.sse": "embedded null byte",
    "x" * 5_000 + ".sse": "File name too long",
    "\ud800.sse": "surrogates not allowed",
    ".": "it is a folder, expected a regular file",
    "../a.sse": "it lies outside the folder",
}


def test_a_name_that_no_file_can_have_does_not_lose_the_others(tmp_path):
    (tmp_path / "a.sse").write_bytes(BODY)
    lines = [json.dumps({"file": name, "api": "openai-chat"}) + "\n" for name in ("a.sse", *NAMES, "a.sse")]
    (tmp_path / "manifest.jsonl").write_text("".join(lines))
    count, reasons = read(tmp_path)
    assert count == 2
    assert len(reasons) == len(NAMES)
    assert all(words in reason for words, reason in zip(NAMES.values(), reasons, strict=True))


def test_a_long_line_is_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE", 100)
    long, short = ({"api": "openai-chat", "body": "x" * size} for size in (100, 10))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (short, long, short)))
    assert read(tmp_path / "a.jsonl") == (2, ["its line is longer than 100 bytes"])


def test_a_long_line_of_a_manifest_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "MAX_LINE", 50)
    (tmp_path / "manifest.jsonl").write_text(json.dumps({"api": "openai-chat", "file": "x" * 50}))
    with pytest.raises(SourceError, match="expected a JSON object with"):
        read(tmp_path)


def test_a_long_row_is_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "MAX_LINE", 100)
    table = pa.table({"api": ["openai-chat"] * 3, "body": ["x", "x" * 100, None]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == (1, ["its row is larger than 100 bytes", "it has no body"])


def test_the_values_of_other_rows_do_not_make_a_row_long(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "MAX_LINE", 200)
    bodies = pa.array(["data: 1\n\n", "x" * 300, "data: 2\n\n", None]).dictionary_encode()
    parquet.write_table(pa.table({"api": ["openai-chat"] * 4, "body": bodies}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == (2, ["its row is larger than 200 bytes", "it has no body"])


def test_a_long_response_is_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(warc, "MAX_BLOCK", 500)
    (tmp_path / "a.warc").write_bytes(GOOD + make_record(HEAD + BODY * 9) + GOOD)
    assert read(tmp_path / "a.warc") == (2, ["it is larger than 500 bytes"])


def test_a_long_name_of_an_api_is_shortened(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"api": "x" * 10_000, "body": ""}))
    assert read(tmp_path / "a.jsonl") == (0, [f"the API {'x' * 100} is not known to this version"])


def write_pax(path):
    """Write an archive of 3 MB whose first header has 3 GiB."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 3 << 30
    path.write_bytes(gzip.compress(header.tobuf()) + gzip.compress(bytes(1 << 20)) * 3072)


def write_zip_of_bzip2(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("openai-chat/a.sse", bytes(10**8))


def write_dictionary(path, size, rows):
    values = pa.DictionaryArray.from_arrays(pa.array([0] * rows), pa.array(["x" * size]))
    table = pa.table({"api": ["openai-chat"] * rows, "body": values})
    # Without the schema, nothing tells that the column was a dictionary.
    parquet.write_table(table, path, compression="zstd", dictionary_pagesize_limit=2**30, store_schema=False)


def write_request(path):
    path.write_text('{"api": "openai-chat", "body": "", "request": {"a": [' + "[]," * 10_000_000 + "1]}}")


BOMBS = {
    "pax.tar.gz": (write_pax, "a header of more than 65536 bytes"),
    "a.jsonl.zst": (
        lambda path: path.write_bytes(zstandard.compress(bytes(1 << 26)) * 5),
        "it grows more than 1000 times",
    ),
    "a.tar.xz": (
        lambda path: path.write_bytes(lzma.compress(bytes(1 << 27), preset=0)),
        "grows more than 1000",
    ),
    "a.zip": (write_zip_of_bzip2, "it is larger than 16777216 bytes"),
    "a.parquet": (lambda path: write_dictionary(path, 60_000_000, 64), "grows more than 1000 times"),
    "small.parquet": (lambda path: write_dictionary(path, 20_000_000, 9), "it is larger than 16777216 bytes"),
    "a.jsonl": (write_request, "more than 1000000 values"),
    "headers.warc": (lambda path: path.write_bytes(b"WARC/1.1\r\n" + b"x: y\r\n" * 10**7), "headers of more"),
    "line.warc": (lambda path: path.write_bytes(b"WARC/1.1\r\nx: " + b"y" * 10**8), "headers of more"),
}
READ = """
import json, pathlib, re, sys
from streamconform_capture.compare.inputs import read_partition, split_input
found = [recording for part in split_input(sys.argv[1]) for recording in read_partition(part)]
# Not what `resource` says, which includes the memory of the process that started this one.
memory = re.search("VmHWM: *([0-9]+) kB", pathlib.Path("/proc/self/status").read_text().replace("\\t", ""))
print(json.dumps([int(memory[1]) // 1024, [each.reason for each in found]]))
"""


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little_memory(tmp_path, name):
    write, words = BOMBS[name]
    write(tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / name)], stdout=subprocess.PIPE, check=True, timeout=60
    )
    memory, reasons = json.loads(done.stdout)
    assert reasons
    assert all(words in reason for reason in reasons)
    assert memory < MAX_MEMORY
