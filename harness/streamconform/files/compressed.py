"""Decompress files with bounded memory; a file that is cut, damaged or a bomb is an `OSError`.

The classes for this in the standard library and in zstandard either do not notice that a file is cut, or
return all that a few bytes unpack to.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final, Protocol, cast

from streamconform.files import BUFFER, CutError, DamagedError, TooLargeError

MAX_RATIO: Final = 1_000
"""The maximum size of the decompressed data, in multiples of the compressed data; gzip reaches 1,032."""
SMALL: Final = 64 * 1024 * 1024
"""Data up to this size may grow by more."""
MAX_MEMBERS: Final = 10_000
"""The maximum number of members with fewer than `MEMBER_BYTES`: starting one takes most of the time."""
MEMBER_BYTES: Final = 64
MAX_DICTIONARY: Final = 128 * 1024 * 1024
"""The maximum memory of a decompressor; `xz -9` needs half of it."""


class _Decoder(Protocol):
    """Decompresses one member: what one call of a compressor wrote, of which a file may hold several."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return what `data` and earlier data unpack to, which may be more than `max_length`."""


class _Inflater:
    """A decoder for what zlib decompresses."""

    def __init__(self, bits: int) -> None:
        self._inflater = zlib.decompressobj(bits)

    @property
    def eof(self) -> bool:
        return self._inflater.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflater.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inflater.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inflater.decompress(self._inflater.unconsumed_tail + data, max_length)


class _ZstandardDecoder:
    """A decoder for zstandard, whose library has no limit for what it returns."""

    needs_input: Final = True

    def __init__(self) -> None:
        import zstandard  # optional

        self._decompressor = zstandard.ZstdDecompressor().decompressobj()
        self._error = zstandard.ZstdError

    @property
    def eof(self) -> bool:
        return self._decompressor.eof

    @property
    def unused_data(self) -> bytes:
        return self._decompressor.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        del max_length
        try:
            return self._decompressor.decompress(data)
        except self._error as error:
            raise ValueError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Codec:
    """How to decompress one kind of file."""

    name: str
    member: str
    """What a file that is cut ends inside of."""
    make: Callable[[], _Decoder]
    step: int = 64 * 1024
    """The number of compressed bytes that are decompressed at once."""


GZIP: Final = Codec("gzip", "a gzip member", lambda: _Inflater(16 + zlib.MAX_WBITS))
ZLIB: Final = Codec("zlib", "its data", lambda: _Inflater(zlib.MAX_WBITS))
# A zstandard block of 4 bytes may unpack to 128 KiB.
ZSTANDARD: Final = Codec("zstandard", "a zstd frame", _ZstandardDecoder, step=512)
XZ: Final = Codec(
    "xz", "an xz stream", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_DICTIONARY)
)
BZIP2: Final = Codec("bzip2", "a bzip2 stream", bz2.BZ2Decompressor)
DEFLATE: Final = Codec("deflate", "its data", lambda: _Inflater(-zlib.MAX_WBITS))
LZMA: Final = Codec(
    "LZMA", "its data", lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=MAX_DICTIONARY)
)
SUFFIXES: Final[Mapping[str, Codec]] = {
    ".gz": GZIP,
    ".tgz": GZIP,
    ".zst": ZSTANDARD,
    ".xz": XZ,
    ".bz2": BZIP2,
}


class _Decompressed(io.RawIOBase):
    """A decompressed file, or one member of it at a time; it can only be read forward."""

    def __init__(self, file: IO[bytes], codec: Codec, limit: int | None, *, single: bool = False) -> None:
        """Read from the start of `file`; reading more than `limit` bytes raises `TooLargeError`."""
        self._file, self._codec, self._limit, self._single = file, codec, limit, single
        self._decoder: _Decoder | None = None
        self._left = b""
        """Compressed bytes after the end of the last member."""
        self._ready = memoryview(b"")
        self._taken = self._given = self._members = 0
        self._base = 0
        """The position to which positions are relative."""

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True, although it is only possible forward."""
        return True

    def tell(self) -> int:
        """Return the position in the decompressed data, or in the member."""
        return self._given - len(self._ready) - self._base

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Read up to `offset`, which must not be before the position."""
        missing = offset - (self.tell() if whence == io.SEEK_SET else 0)
        if whence not in (io.SEEK_SET, io.SEEK_CUR) or missing < 0:
            raise io.UnsupportedOperation("compressed data is read forward only")
        while missing > 0 and (part := self.read(min(missing, BUFFER))):
            missing -= len(part)
        return self.tell()

    def readinto(self, buffer: Any, /) -> int:
        """Fill `buffer`, or part of it. Raises `OSError`."""
        if not self._ready:
            self._ready = memoryview(self._decompress(len(buffer)))
        count = min(len(self._ready), len(buffer))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def start_member(self) -> int | None:
        """Return the position of the next member in the compressed file; None if there is none."""
        if self._decoder is None:
            self._take()
            if not self._left:
                raise CutError("it is empty")
        # Some programs write zeros after a member.
        while not (left := self._left.lstrip(b"\0")):
            self._take()
            if not self._left:
                return None
        self._left = left
        self._members += 1
        if self._members > max(MAX_MEMBERS, self._taken // MEMBER_BYTES):
            raise TooLargeError(f"it has more than {MAX_MEMBERS} small members")
        self._decoder = self._codec.make()
        if self._single:
            self._base = self._given
        return self._taken - len(self._left)

    def _take(self) -> None:
        self._left = self._file.read(self._codec.step)
        self._taken += len(self._left)

    def _decompress(self, size: int) -> bytes:
        """Return the next bytes, about `size` of them; none at the end."""
        data = b""
        while not data:
            is_between = self._decoder is None or self._decoder.eof
            if is_between and (self._single or self.start_member() is None):
                return b""
            assert self._decoder is not None, "a member has started"
            wanted = self._decoder.needs_input
            if wanted and not self._left:
                self._take()
            taken, self._left = (self._left, b"") if wanted else (b"", self._left)
            try:
                data = self._decoder.decompress(taken, size)
            except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
                reason = str(error).rpartition(": ")[2]
                raise DamagedError(f"its {self._codec.name} data is damaged: {reason}") from error
            if self._decoder.eof:
                self._left = self._decoder.unused_data
            elif wanted and not taken and not data:
                raise CutError(f"it ends inside {self._codec.member}")
        self._given += len(data)
        self._check_size()
        return data

    def _check_size(self) -> None:
        if self._limit is not None and self._given > self._limit:
            raise TooLargeError(f"larger than {self._limit} bytes when decompressed")
        check_growth(self._taken, self._given, SMALL)


def check_growth(compressed: int, decompressed: int, small: int) -> None:
    """Raise `TooLargeError` if so few bytes should not grow to so many, and to more than `small`."""
    if decompressed > max(small, MAX_RATIO * compressed):
        raise TooLargeError(f"it grows more than {MAX_RATIO} times when decompressed")


def decompress(file: IO[bytes], codec: Codec, limit: int | None = None) -> io.BufferedReader:
    """Return the decompressed file. Reading raises `OSError` where it is cut or damaged, and at `limit`."""
    return io.BufferedReader(_Decompressed(file, codec, limit), BUFFER)


def iterate_members(file: IO[bytes], codec: Codec) -> Iterator[tuple[int, IO[bytes]]]:
    """Yield the position of each member in `file`, and the decompressed member, to be read to its end.

    Raises `OSError` like reading does.
    """
    raw = _Decompressed(file, codec, None, single=True)
    while (start := raw.start_member()) is not None:
        member = io.BufferedReader(raw, BUFFER)
        yield start, cast("IO[bytes]", member)
        member.detach()  # otherwise, its end would close the file


def find_codec(name: str) -> Codec | None:
    """Return the codec for a file with this name; None if it is not compressed."""
    return next((codec for suffix, codec in SUFFIXES.items() if name.lower().endswith(suffix)), None)
