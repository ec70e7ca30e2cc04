"""A compressed file is read to its end, or the place where it is cut or damaged is told."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma

import pytest
import zstandard

from streamconform.files import CutError, DamagedError, TooLargeError
from streamconform.files import compressed as door
from streamconform.files.compressed import BZIP2, GZIP, XZ, ZSTANDARD, decompress, iterate_members

DATA = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(3_200))
COMPRESS = {GZIP: gzip.compress, BZIP2: bz2.compress, XZ: lzma.compress, ZSTANDARD: zstandard.compress}
CODECS = pytest.mark.parametrize("codec", COMPRESS, ids=[codec.name for codec in COMPRESS])


def read(data, codec, limit=None):
    """Return what is read, in pieces, and the error that ends it."""
    file, parts = decompress(io.BytesIO(data), codec, limit), []
    try:
        while part := file.read1():
            parts.append(part)
    except OSError as error:
        return b"".join(parts), error
    return b"".join(parts), None


@CODECS
def test_one_or_several_members_are_read_whole(codec):
    once, twice = COMPRESS[codec](DATA), COMPRESS[codec](DATA[:100]) + COMPRESS[codec](DATA[100:])
    assert read(once, codec) == read(twice, codec) == (DATA, None)
    assert read(once + bytes(1_000), codec) == (DATA, None)


@CODECS
def test_a_cut_is_told_wherever_it_is(codec):
    data = COMPRESS[codec](DATA[:60_000]) + COMPRESS[codec](DATA[60_000:])
    border = len(COMPRESS[codec](DATA[:60_000]))
    cuts = {1, 4, len(data) // 3, border - 1, border + 1, len(data) - 1, *range(7, len(data), 7_919)} - {
        border
    }
    for cut in sorted(cuts):
        given, error = read(data[:cut], codec)
        assert (type(error), str(error)) == (CutError, f"it ends inside {codec.member}"), cut
        assert DATA.startswith(given)


@CODECS
def test_an_empty_file_is_cut(codec):
    assert str(read(b"", codec)[1]) == "it is empty"


@CODECS
@pytest.mark.parametrize("data", [b"garbage" * 9, None], ids=["garbage", "after a member"])
def test_other_data_is_damage(codec, data):
    given, error = read(data or COMPRESS[codec](DATA) + b"\x01garbage" * 9, codec)
    assert isinstance(error, DamagedError)
    assert str(error).startswith(f"its {codec.name} data is damaged: ")
    assert given in (b"", DATA)


def test_a_wrong_checksum_is_damage():
    data = gzip.compress(DATA)
    assert read(data[:-8] + bytes(4) + data[-4:], GZIP)[1].strerror == (
        "its gzip data is damaged: incorrect data check"
    )


@CODECS
def test_what_grows_too_much_is_refused(codec, monkeypatch):
    monkeypatch.setattr(door, "SMALL", 100_000)
    monkeypatch.setattr(door, "MAX_RATIO", 20)
    given, error = read(COMPRESS[codec](bytes(3_000_000)), codec)
    assert isinstance(error, TooLargeError)
    assert "grows more than 20 times" in str(error)
    assert len(given) < 2_000_000


@CODECS
def test_many_small_members_are_refused(codec, monkeypatch):
    monkeypatch.setattr(door, "MAX_MEMBERS", 20)
    assert str(read(COMPRESS[codec](b"") * 100, codec)[1]) == "it has more than 20 small members"
    assert read(COMPRESS[codec](DATA[:100]) * 100, codec) == (DATA[:100] * 100, None)


def test_a_large_dictionary_is_not_allocated(monkeypatch):
    monkeypatch.setattr(door, "MAX_DICTIONARY", 2**20)
    assert str(read(lzma.compress(DATA), XZ)[1]) == "its xz data is damaged: Memory usage limit exceeded"


@CODECS
def test_a_limit_ends_what_is_longer(codec):
    assert read(COMPRESS[codec](DATA), codec, len(DATA)) == (DATA, None)
    _, error = read(COMPRESS[codec](DATA), codec, len(DATA) - 1)
    assert str(error) == f"larger than {len(DATA) - 1} bytes when decompressed"


@CODECS
def test_members_are_read_one_by_one_with_their_positions(codec):
    parts = [DATA[:1_000], b"", DATA[1_000:]]
    packed = [COMPRESS[codec](part) for part in parts]
    file = io.BytesIO(b"".join(packed))
    found = [(start, member.tell(), member.read()) for start, member in iterate_members(file, codec)]
    starts = [0, len(packed[0]), len(packed[0]) + len(packed[1])]
    assert found == list(zip(starts, (0, 0, 0), parts, strict=True))


def test_a_position_is_reached_by_reading_forward():
    file = decompress(io.BytesIO(gzip.compress(DATA)), GZIP)
    assert file.seek(50_000) == file.tell() == 50_000
    assert file.read(10) == DATA[50_000:50_010]
    file.seek(90_000)
    with pytest.raises(io.UnsupportedOperation, match="forward only"):
        file.seek(0)
