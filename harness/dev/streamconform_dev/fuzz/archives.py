"""Tar and zip archives with odd or damaged members, and archives of published recordings."""

from __future__ import annotations

import gzip
import io
import random
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from streamconform.errors import SourceError
from streamconform_capture.corpus import archive
from streamconform_dev.fuzz.damage import (
    Damaged,
    Ending,
    check_kept,
    check_refused,
    cut_bytes,
    damage_bytes,
)
from streamconform_dev.fuzz.recordings import Recording, make_recordings


def pack_gzip(data: bytes) -> bytes:
    """Return gzip data."""
    return gzip.compress(data, 1, mtime=0)


def _name_member(each: Recording) -> str:
    return f"captures/{each.api}/{each.name}.sse"


def write_tar(pack: Callable[[bytes], bytes], recordings: list[Recording], rng: random.Random) -> list[bytes]:
    """Return an archive, packed with `pack`."""
    members = [(tarfile.TarInfo(_name_member(each)), each.body) for each in recordings]
    return [pack(_join_tar(members, is_pax=rng.random() < 0.5))]


def _join_tar(members: list[tuple[tarfile.TarInfo, bytes]], *, is_pax: bool) -> bytes:
    blocks = []
    for info, body in members:
        info.size = len(body)
        blocks.append(
            info.tobuf(tarfile.PAX_FORMAT if is_pax else tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
            + body
            + bytes(-len(body) % 512)
        )
    return b"".join(blocks) + bytes(1024)


def find_headers(data: bytes) -> object:
    """Return the names of members and their places; headers have a checksum, but some changes keep it."""
    names = re.finditer(rb"captures/[a-z-]+/r\d\.sse(?=\0)", data)
    return [(match.start() % 512, match[0]) for match in names]


TYPES: Final = (b"0", b"1", b"2", b"3", b"5", b"6", b"7", b"S", b"x", b"g", b"L", b"K", b"V", b"z", b"\0")
NAMES: Final = (
    "/etc/passwd.sse", "../../x/openai-chat/a.sse", "openai-chat/\x1b[31m.sse", "openai-chat/\udcff.sse",
    ".sse", "a" * 300 + "/openai-chat/a.sse", "openai-chat//a.sse", "openai-chat/a.sse/",
    "x\\openai-chat\\a.sse", "", "openai-chat/a.request.json", "openai-chat/a.jsonl", "openai-chat/a.json",
    "openai-chat/a\n.sse", "PaxHeader",
)  # fmt: skip
PAX: Final = (
    {"size": "9" * 30}, {"size": "-1"}, {"size": "x"}, {"path": "x" * 5000}, {"mtime": "nan"},
    {"uid": "9" * 5000}, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "x"},
    {"hdrcharset": "BINARY"}, {"GNU.sparse.map": "0,1,x"}, {"GNU.sparse.size": "-5", "GNU.sparse.map": "1,2"},
    {"path": "\x00"},
)  # fmt: skip


def make_odd_tar(pack: Callable[[bytes], bytes], recordings: list[Recording], rng: random.Random) -> Damaged:
    """Return an archive with a member that has an odd type, name or PAX header."""
    members = [(tarfile.TarInfo(_name_member(each)), each.body) for each in recordings]
    at = rng.randrange(len(members))
    info = members[at][0]
    match rng.randrange(3):
        case 0:
            info.type = rng.choice(TYPES)
            info.linkname = rng.choice((_name_member(recordings[0]), "/dev/zero", "x"))
        case 1:
            info.name = rng.choice(NAMES)
        case _:
            info.pax_headers = dict(rng.choice(PAX))
    try:
        data = _join_tar(members, is_pax=True)
    except (ValueError, UnicodeError):
        data = b""
    return Damaged(data=pack(data), count=at)


METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def write_zip(recordings: list[Recording], rng: random.Random) -> list[bytes]:
    """Return an archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for each in recordings:
            made.writestr(zipfile.ZipInfo(_name_member(each)), each.body, rng.choice(METHODS))
    return [file.getvalue()]


def make_odd_zip(recordings: list[Recording], rng: random.Random) -> Damaged:
    """Return an archive with an odd name, or a wrong field in its directory."""
    at = rng.randrange(len(recordings))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for number, each in enumerate(recordings):
            info = zipfile.ZipInfo(_name_member(each))
            if number == at:
                info.filename = rng.choice((info.filename, *NAMES)).replace("\udcff", "\xff")
                info.external_attr = rng.choice((0, 0o120777 << 16, 0x10, 0o010644 << 16))
                info.extra = rng.choice((b"", b"\x01\x00\x04\x00abcd", b"\x75\x70\x05\x00\x01abcd", b"x"))
            made.writestr(info, each.body, rng.choice(METHODS))
        made.comment = rng.choice((b"", b"x" * 300, b"PK\x05\x06" + bytes(18)))
    data = bytearray(file.getvalue())
    if rng.random() < 0.7:
        # A field of the directory: flags, method, CRC, sizes, disk, attributes or offset.
        start = [match.start() for match in re.finditer(rb"PK\x01\x02", data)][at]
        field = start + rng.choice((8, 10, 16, 20, 24, 34, 42))
        data[field : field + 2] = rng.choice(
            (b"\x01\x00", b"\xff\xff", b"\x00\x08", b"\x63\x00", rng.randbytes(2))
        )
    return Damaged(data=bytes(data), count=0)


def find_names(data: bytes) -> object:
    """Return the names in the directory of a zip archive, and the record that says where it is."""
    return re.findall(rb"(?s)PK\x01\x02.{24}(..).{16}(captures/[a-z-]+/r\d\.sse)", data), data[-22:]


def make_archive(rng: random.Random) -> Damaged:
    """Return a source distribution with damaged files or bytes."""
    recordings = make_recordings(rng)
    if rng.random() < 0.5:
        odd = make_odd_tar(pack_gzip, recordings, rng)
        return Damaged(data=odd.data, count=0)
    (data,) = write_tar(pack_gzip, recordings, rng)
    change = rng.choice((cut_bytes, damage_bytes))
    damaged = change(data, rng)
    return Damaged(data=damaged, count=len(recordings), told=len(damaged) < len(data) and change is cut_bytes)


def check_archive(made: Damaged, folder: Path) -> Ending:
    """Read the recordings of an archive."""
    path = folder / "a.tar.gz"
    path.write_bytes(made.data)
    try:
        members = archive.read(path, ["*.sse"])
    except SourceError as error:
        return check_refused(made, error)
    read = sum(member.data is not None for member in members)
    return check_kept(made, read, len(members) - read)
