"""Read tar and zip archives with bounded memory; what is cut or damaged is an `OSError`.

`tarfile` and `zipfile` read headers and unpack members without limits, and `tarfile` takes a damaged header
for the end of the archive.
"""

from __future__ import annotations

import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final, cast

from streamconform.files import BUFFER, CutError, DamagedError, TooLargeError, UnreadableError
from streamconform.files.compressed import BZIP2, DEFLATE, LZMA, Codec, decompress

MAX_HEADER: Final = 64 * 1024
"""The maximum size of the headers of a tar member, which include long names and PAX fields."""
MAX_DIRECTORY: Final = 16 * 1024 * 1024
"""The maximum size of a zip archive's directory: about 150,000 members."""
MAX_POSITION: Final = 2**63
BLOCK: Final = 512
"""The size of a tar header; contents are padded to a multiple of it."""
_DAMAGES: Final = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    LookupError,
    ArithmeticError,
    RuntimeError,
)
"""Exceptions that the standard library raises for damaged archives."""


@dataclass(frozen=True, slots=True)
class TarMember:
    """A member of a tar archive, which can be read until the next one is requested."""

    info: tarfile.TarInfo
    end: int
    """The position after the contents."""
    file: IO[bytes]

    def read(self, limit: int) -> bytes:
        """Return at most `limit` bytes of a regular file that is not sparse. Raises `OSError`."""
        size = min(self.info.size, limit)
        self.file.seek(self.info.offset_data)
        data = self.file.read(size)
        if len(data) < size:
            raise CutError("the archive ends inside it")
        return data


def iterate_tar(file: IO[bytes], stop: int | None = None) -> Iterator[TarMember]:
    """Yield the members from the position of `file`, which may only read forward, to the position `stop`.

    Raises `OSError` where the archive is cut or damaged, including after its last member.
    """
    limited = _HeaderReader(file)
    end = file.tell()
    with _name_damage():
        # `r:` seeks over the contents, which a stream mode would read.
        archive = tarfile.open(fileobj=cast("IO[bytes]", limited), mode="r:")  # noqa: SIM115 - nothing to close
    while stop is None or end < stop:
        limited.left = MAX_HEADER
        with _name_damage():
            info = archive.next()
        if info is None:
            break
        # Such a size would lead back, and so without end, or to where no file can be read.
        if info.size < 0 or not end < archive.offset < MAX_POSITION:
            raise DamagedError("the archive is broken: a size is negative or too large")
        end = archive.offset
        yield TarMember(info, end, file)
        archive.members = []  # type: ignore[attr-defined]  # otherwise it keeps every member that it has seen
    else:
        return
    if len(limited.last) < BLOCK:
        raise CutError(f"the archive ends at byte {end}, without the empty block that marks its end")
    if any(limited.last):
        raise DamagedError(f"the archive has a damaged header at byte {end}")
    # To the end of the file, where compressed data has its checksum.
    while rest := file.read(BUFFER):
        if any(rest):
            raise DamagedError(f"the archive ends at byte {end}, but the file goes on")


class _HeaderReader:
    """What `tarfile` reads from; it limits the headers."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.left = MAX_HEADER
        self.last = b""
        """What was read last."""

    def read(self, size: int) -> bytes:
        self.left -= size
        if size < 0 or self.left < 0:
            raise TooLargeError(f"the archive has a header of more than {MAX_HEADER} bytes")
        self.last = self._file.read(size)
        return self.last

    def seek(self, offset: int) -> int:
        return self._file.seek(offset)

    def tell(self) -> int:
        return self._file.tell()


def list_zip(file: IO[bytes]) -> list[zipfile.ZipInfo]:
    """Return the members of a zip archive. Raises `OSError`."""
    size = file.seek(0, io.SEEK_END)
    with _name_damage(), zipfile.ZipFile(_DirectoryReader(file)) as archive:
        members = archive.infolist()
    file.seek(max(0, size - _MAX_END))
    end = file.read()
    (count,) = struct.unpack_from("<H", end, end.rindex(b"PK\x05\x06") + 10)
    # A damaged length in the directory hides the members after it. An archive with more members is zip64.
    if count not in (len(members), 0xFFFF):
        raise DamagedError(f"the archive is broken: it has {count} members, but {len(members)} are listed")
    # Each byte is unpacked only once, so that a small archive cannot be the same bomb a thousand times.
    if sum(member.compress_size for member in members) > size:
        raise DamagedError("the archive is broken: its members overlap")
    return members


class _DirectoryReader(io.BufferedIOBase):
    """What `zipfile` reads from; it limits the directory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = MAX_DIRECTORY
        if size > MAX_DIRECTORY:
            raise TooLargeError(f"the archive has a directory of more than {MAX_DIRECTORY} bytes")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


def read_zip_member(file: IO[bytes], member: zipfile.ZipInfo, limit: int) -> bytes:
    """Return at most `limit` bytes of a member of the archive `file`. Raises `OSError`."""
    if member.flag_bits & 1:
        raise UnreadableError("it is encrypted")
    if member.compress_type not in _ZIP_CODECS:
        raise UnreadableError(f"its compression method {member.compress_type} is not known")
    codec = _ZIP_CODECS[member.compress_type]
    file.seek(member.header_offset)
    head = file.read(_LOCAL_HEADER.size)
    if len(head) < _LOCAL_HEADER.size or not head.startswith(b"PK\x03\x04"):
        raise DamagedError("its header is damaged")
    # The lengths of the name and of the extra fields in this header, which may differ from the directory's.
    file.seek(sum(_LOCAL_HEADER.unpack(head)), io.SEEK_CUR)
    packed = file.read(min(member.compress_size, 2 * limit))
    if codec is LZMA:
        # In a zip, a version and a length precede the properties; elsewhere, the size follows them.
        size = _UNKNOWN_SIZE if member.flag_bits & 2 else member.file_size
        packed = packed[4:9] + struct.pack("<Q", size) + packed[9:]
    data = packed[:limit] if codec is None else decompress(io.BytesIO(packed), codec).read(limit)
    if len(data) < limit and (len(data), zlib.crc32(data)) != (member.file_size, member.CRC):
        raise DamagedError("its length or checksum is wrong")
    return data


_MAX_END: Final = 22 + 0xFFFF
"""The maximum size of the record at the end of a zip archive, which includes a comment."""
_UNKNOWN_SIZE: Final = 2**64 - 1
_LOCAL_HEADER: Final = struct.Struct("<26xHH")
_ZIP_CODECS: Final[Mapping[int, Codec | None]] = {
    zipfile.ZIP_STORED: None,
    zipfile.ZIP_DEFLATED: DEFLATE,
    zipfile.ZIP_BZIP2: BZIP2,
    zipfile.ZIP_LZMA: LZMA,
}


@contextmanager
def _name_damage() -> Iterator[None]:
    """Raise `DamagedError` for what the standard library raises."""
    try:
        yield
    except _DAMAGES as error:
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        raise DamagedError(f"the archive is broken: {reason}") from error
