"""Content codings taken off a body, bounded; what had been decoded by the tool already is left as it is.

vcrpy and `curl --compressed` keep `content-encoding` beside a body that they have decoded, and vcrpy does
or does not, depending on the HTTP library below it: the bytes decide, not the header.
"""

from __future__ import annotations

import importlib
import importlib.util
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform.suite.cassettes import MAX_BODY

MAX_MEMBERS: Final = 100
"""Gzip members one after the other; a server sends one."""


class Undecodable(ValueError):
    """A body that is neither text nor what its `content-encoding` says."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body, and what a reader should know of how it came to be."""

    body: bytes
    note: str | None = None


def decoded(body: bytes, encoding: str) -> Decoded:
    """Return `body` without its content coding (`gzip`, `deflate`, `br`, or several).

    Raises `Undecodable`, for what would be larger than `MAX_BODY` too.
    """
    names = [name.strip().lower() for name in encoding.split(",")]
    note = None
    for name in reversed([name for name in names if name not in ("", "identity")]):
        try:
            body, whole = DECODERS.get(name, _unknown)(body)
        except _Failed as error:
            if not _is_text(body):
                raise Undecodable(f"its body is neither text nor {name}: {error}") from error
            return Decoded(body, note)
        if not whole:
            note = f"The {name} stream ends before its end: the recording was cut."
    return Decoded(body, note)


class _Failed(Exception):
    """Not in this coding, or nothing is installed that reads it."""


def _unknown(body: bytes) -> tuple[bytes, bool]:
    del body
    raise _Failed(f"known are {', '.join(DECODERS)}")


def _gzip(body: bytes) -> tuple[bytes, bool]:
    return _inflated(body, 16 + zlib.MAX_WBITS)


def _deflate(body: bytes) -> tuple[bytes, bool]:
    try:
        return _inflated(body, zlib.MAX_WBITS)
    except _Failed:
        return _inflated(body, -zlib.MAX_WBITS)  # what many servers send under this name


def _inflated(body: bytes, bits: int) -> tuple[bytes, bool]:
    out = bytearray()
    for _ in range(MAX_MEMBERS):
        if not body:
            break
        inflater = zlib.decompressobj(bits)
        try:
            out += inflater.decompress(body, MAX_BODY + 1 - len(out))
        except zlib.error as error:
            raise _Failed(str(error)) from error
        _bounded(len(out))
        if not inflater.eof:
            return bytes(out), False
        body = inflater.unused_data  # a second member: each flushed by itself
    return bytes(out), True


def _brotli(body: bytes) -> tuple[bytes, bool]:
    library = _installed("brotli", "brotlicffi")
    decompressor = library.Decompressor()
    try:
        out = bytearray(decompressor.process(body, output_buffer_limit=MAX_BODY + 1))
    except (library.error, TypeError) as error:
        raise _Failed(str(error)) from error
    _bounded(len(out))
    return bytes(out), bool(decompressor.is_finished())


DECODERS: Final[Mapping[str, Callable[[bytes], tuple[bytes, bool]]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
}
"""Content codings, and what takes them off: (body, whether it was whole)."""


def _installed(*names: str) -> Any:
    for name in names:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise _Failed(f"install `{names[0]}` to read it")


def _bounded(size: int) -> None:
    if size > MAX_BODY:
        raise Undecodable(f"its body is larger than {MAX_BODY} bytes when decoded")


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in body
