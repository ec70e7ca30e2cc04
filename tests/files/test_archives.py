"""Members of archives are read with bounded memory, and a damaged archive is never taken for a short one."""

from __future__ import annotations

import io
import tarfile
import zipfile

import pytest

from streamconform.files import CutError, DamagedError, TooLargeError
from streamconform.files import archives as door
from streamconform.files.archives import iterate_tar, list_zip, read_zip_member

FILES = {f"a/{number}.sse": b"data: %d\n\n" % number * 100 for number in range(5)}


def pack_tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


TAR = pack_tar()
STEP = 512 * 3
"""The size of a member with its header."""


def read_tar(data: bytes):
    """Return the members that are read, and the error that ends it."""
    found = {}
    try:
        for member in iterate_tar(io.BytesIO(data)):
            found[member.info.name] = member.read(2**20)
    except OSError as error:
        return found, error
    return found, None


def test_every_member_of_a_tar_archive_is_read():
    assert read_tar(TAR) == (FILES, None)


@pytest.mark.parametrize("cut", [STEP, STEP + 1, STEP + 300, STEP + 600, 2 * STEP - 1])
def test_a_cut_tar_archive_is_no_short_one(cut):
    found, error = read_tar(TAR[:cut])
    assert isinstance(error, DamagedError)
    assert len(found) in (1, 2)


@pytest.mark.parametrize("at", [100, 150, 200])
def test_a_damaged_header_does_not_end_a_tar_archive(at):
    data = bytearray(TAR)
    data[2 * STEP + at] ^= 0xFF
    found, error = read_tar(bytes(data))
    assert len(found) == 2
    assert str(error) == f"the archive has a damaged header at byte {2 * STEP}"


def test_a_second_tar_archive_behind_the_first_is_told():
    found, error = read_tar(TAR + TAR)
    assert found == FILES
    assert "but the file goes on" in str(error)


def make_header(**fields) -> bytes:
    info = tarfile.TarInfo("a/x.sse")
    for name, value in fields.items():
        setattr(info, name, value)
    return info.tobuf(tarfile.PAX_FORMAT)


def test_a_long_header_of_a_tar_archive_is_not_read():
    header = make_header(type=tarfile.XHDTYPE, size=door.MAX_HEADER)
    _, error = read_tar(header + bytes(door.MAX_HEADER))
    assert isinstance(error, TooLargeError)
    assert "a header of more than 65536 bytes" in str(error)


def test_a_map_of_a_sparse_file_is_a_header():
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1"}
    data = make_header(size=2**20, pax_headers=sparse) + b"900000\n" + b"0\n" * 2**19
    assert isinstance(read_tar(data)[1], TooLargeError)


def test_a_negative_size_does_not_lead_back():
    header = bytearray(make_header())
    header[124:136] = (2**96 - 512).to_bytes(12, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    _, error = read_tar(bytes(header) + bytes(1_024))
    assert isinstance(error, DamagedError)


METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "LZMA": zipfile.ZIP_LZMA,
}


def pack_zip(method: int, files=FILES) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


@pytest.mark.parametrize("method", METHODS)
def test_every_member_of_a_zip_archive_is_read(method):
    file = io.BytesIO(pack_zip(METHODS[method]))
    assert {each.filename: read_zip_member(file, each, 2**20) for each in list_zip(file)} == FILES


@pytest.mark.parametrize("method", METHODS)
def test_a_damaged_member_of_a_zip_archive_does_not_lose_the_others(method):
    data = bytearray(pack_zip(METHODS[method]))
    members = list_zip(io.BytesIO(data))
    data[members[2].header_offset + 30 + len(members[2].filename) + members[2].compress_size // 2] ^= 0xFF
    file, failed = io.BytesIO(data), []
    for each in members:
        try:
            assert read_zip_member(file, each, 2**20) == FILES[each.filename]
        except OSError as error:
            failed.append(str(error))
    assert len(failed) == 1
    assert "damaged" in failed[0] or "checksum is wrong" in failed[0]


@pytest.mark.parametrize("method", ["deflate", "bzip2", "LZMA"])
def test_a_member_is_unpacked_to_its_limit(method):
    file = io.BytesIO(pack_zip(METHODS[method], {"a": bytes(10**6)}))
    assert read_zip_member(file, list_zip(file)[0], 1_000) == bytes(1_000)


def test_members_that_overlap_are_refused():
    data = pack_zip(zipfile.ZIP_STORED, {"a": bytes(1_000)})
    directory = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[directory:end]
    tail = bytearray(data[end:])
    tail[8:12] = (50).to_bytes(2, "little") * 2
    tail[12:16] = (50 * len(entry)).to_bytes(4, "little")
    with pytest.raises(DamagedError, match="overlap"):
        list_zip(io.BytesIO(data[:directory] + entry * 50 + bytes(tail)))


def test_a_large_directory_of_a_zip_archive_is_not_read(monkeypatch):
    monkeypatch.setattr(door, "MAX_DIRECTORY", 100)
    with pytest.raises(TooLargeError, match="a directory of more than 100 bytes"):
        list_zip(io.BytesIO(pack_zip(zipfile.ZIP_STORED)))


@pytest.mark.parametrize("data", [b"", b"no archive" * 100, pack_zip(0)[:-30]], ids=["empty", "other", "cut"])
def test_what_is_no_archive_is_an_error(data):
    with pytest.raises(DamagedError, match="the archive is broken"):
        list_zip(io.BytesIO(data))
    with pytest.raises((DamagedError, CutError)):
        list(iterate_tar(io.BytesIO(data)))


def test_an_encrypted_member_is_an_error():
    data = bytearray(pack_zip(zipfile.ZIP_STORED))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    file = io.BytesIO(data)
    with pytest.raises(OSError, match="it is encrypted"):
        read_zip_member(file, list_zip(file)[0], 100)
