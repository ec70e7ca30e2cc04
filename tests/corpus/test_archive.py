"""Untrusted archives: which members are read, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import tarfile

import pytest

from streamconform.errors import SourceError
from streamconform_capture.corpus import archive

from .sdists import packed, special

SELECT = ("tests/*/cassettes/*.yaml", "tests/cassettes/*.yaml")
BIG = b"x" * 200_000


def written(tmp_path, data):
    path = tmp_path / "a-1.tar.gz"
    path.write_bytes(data)
    return path


def read(tmp_path, *members):
    return archive.read(written(tmp_path, packed(members)), SELECT)


def test_the_files_that_are_selected_are_read_in_the_order_of_their_paths(tmp_path):
    found = read(
        tmp_path,
        (special("a-1/tests", tarfile.DIRTYPE), b""),
        ("a-1/tests/x/cassettes/deep/er/two.yaml", b"2"),
        ("a-1/tests/cassettes/one.yaml", b"1"),
        ("a-1/tests/cassettes/one.txt", b"-"),
        ("a-1/src/a.py", b"-"),
    )
    assert [(str(each.path), each.data) for each in found] == [
        ("tests/cassettes/one.yaml", b"1"),
        ("tests/x/cassettes/deep/er/two.yaml", b"2"),
    ]


def test_the_digest_is_that_of_the_file(tmp_path):
    path = written(tmp_path, b"anything")
    assert archive.compute_digest(path) == hashlib.sha256(b"anything").hexdigest()


@pytest.mark.parametrize(
    "name",
    ["../../etc/cron.d/x", "/etc/passwd", "a-1/tests/cassettes/../../../x.yaml", "a-1\\..\\x.yaml"],
)
def test_a_path_that_leads_out_of_the_archive_is_refused_with_all_of_it(tmp_path, name):
    with pytest.raises(SourceError, match="unsafe: the path"):
        read(tmp_path, ("a-1/tests/cassettes/good.yaml", b"1"), (name, b"2"))


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.LNKTYPE, "../../x"),
        (tarfile.FIFOTYPE, ""),
        (tarfile.CHRTYPE, ""),
        (tarfile.GNUTYPE_SPARSE, ""),
    ],
)
def test_what_is_no_plain_file_is_never_opened(tmp_path, kind, target):
    made = read(tmp_path, (special("a-1/tests/cassettes/link.yaml", kind, target), b""))
    assert [(each.data, each.why) for each in made] == [
        (None, "not a regular file (it is a link, a device or a sparse file)")
    ]


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBER", 10)
    small, large = ("a-1/tests/cassettes/a.yaml", b"1"), ("a-1/tests/cassettes/b.yaml", b"x" * 11)
    assert [each.why for each in read(tmp_path, small, large)] == [None, "larger than 10 bytes"]


def pax_bomb():
    """A header that claims to be long, which a reader would load into memory completely."""
    info = tarfile.TarInfo("a-1/x")
    info.pax_headers = {"comment": "x" * 200_000}
    return info


@pytest.mark.parametrize(
    ("bound", "members", "words"),
    [
        ("MAX_UNPACKED", [("a-1/other.bin", BIG)], "larger than 100 bytes when decompressed"),
        ("MAX_UNPACKED", [(pax_bomb(), b"")], "larger than 100 bytes when decompressed"),
        ("MAX_SELECTED", [("a-1/tests/cassettes/a.yaml", BIG)], "the files to read total more than 100"),
        ("MAX_MEMBERS", [(f"a-1/{n}", b"") for n in range(101)], "more than 100 files"),
    ],
    ids=["unpacked", "header", "selected", "members"],
)
def test_a_bomb_ends_at_its_bound(tmp_path, monkeypatch, bound, members, words):
    monkeypatch.setattr(archive, bound, 100)
    with pytest.raises(SourceError, match=words):
        read(tmp_path, *members)


def test_an_archive_that_is_too_large_is_not_even_hashed(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_ARCHIVE", 5)
    with pytest.raises(SourceError, match="larger than 5 bytes"):
        archive.compute_digest(written(tmp_path, b"123456"))


WHOLE = packed([("a-1/tests/cassettes/a.yaml", bytes(range(256)) * 400)])


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x03\x04", gzip.compress(b"no tar" * 200), WHOLE[: len(WHOLE) // 2], WHOLE[:-20] + b"\0" * 20],
    ids=["empty", "zip", "no-tar", "cut", "damaged"],
)
def test_what_is_no_archive_is_reported_as_none(tmp_path, data):
    with pytest.raises(SourceError, match=r"a-1\.tar\.gz: not a source distribution"):
        archive.read(written(tmp_path, data), SELECT)
