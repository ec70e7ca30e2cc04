"""Decode the content coding of a body, up to a size limit.

`curl --compressed` keeps the `content-encoding` header of a body that it has decoded, and so does vcrpy with
some HTTP libraries. Therefore the bytes, not the header, determine whether a body is still compressed.
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
"""The maximum number of concatenated gzip members; a server normally sends one."""


class Undecodable(ValueError):
    """The body is neither text nor encoded as its `content-encoding` says."""


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """A decoded body, and a note for the cassette's provenance."""

    body: bytes
    note: str | None = None


def decode_body(body: bytes, encoding: str) -> DecodedBody:
    """Return `body` without its content coding (`gzip`, `deflate`, `br`, or several).

    Raises `Undecodable`, including when the decoded body would be larger than `MAX_BODY`.
    """
    names = [name.strip().lower() for name in encoding.split(",")]
    note = None
    for name in reversed([name for name in names if name not in ("", "identity")]):
        try:
            body, whole = DECODERS.get(name, _reject_unknown)(body)
        except _DecodingError as error:
            if not _is_text(body):
                raise Undecodable(f"its body is neither text nor {name}: {error}") from error
            return DecodedBody(body, note)
        if not whole:
            note = f"The {name} data is truncated: the recording was cut short."
    return DecodedBody(body, note)


class _DecodingError(Exception):
    """The body does not have this coding, or no decoder for it is installed."""


def _reject_unknown(body: bytes) -> tuple[bytes, bool]:
    del body
    raise _DecodingError(f"supported codings are {', '.join(DECODERS)}")


def _gzip(body: bytes) -> tuple[bytes, bool]:
    return _inflate(body, 16 + zlib.MAX_WBITS)


def _deflate(body: bytes) -> tuple[bytes, bool]:
    try:
        return _inflate(body, zlib.MAX_WBITS)
    except _DecodingError:
        return _inflate(body, -zlib.MAX_WBITS)  # many servers send raw deflate data under this name


def _inflate(body: bytes, bits: int) -> tuple[bytes, bool]:
    out = bytearray()
    for _ in range(MAX_MEMBERS):
        if not body:
            break
        inflater = zlib.decompressobj(bits)
        try:
            out += inflater.decompress(body, MAX_BODY + 1 - len(out))
        except zlib.error as error:
            raise _DecodingError(str(error)) from error
        _check_size(len(out))
        if not inflater.eof:
            return bytes(out), False
        body = inflater.unused_data  # the next member: some servers compress each flush separately
    return bytes(out), True


def _brotli(body: bytes) -> tuple[bytes, bool]:
    library = _import_decoder("brotli", "brotlicffi")
    decompressor = library.Decompressor()
    try:
        out = bytearray(decompressor.process(body, output_buffer_limit=MAX_BODY + 1))
    except (library.error, TypeError) as error:
        raise _DecodingError(str(error)) from error
    _check_size(len(out))
    return bytes(out), bool(decompressor.is_finished())


DECODERS: Final[Mapping[str, Callable[[bytes], tuple[bytes, bool]]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
}
"""Maps a content coding to its decoder, which returns (decoded body, whether it was complete)."""


def _import_decoder(*names: str) -> Any:
    for name in names:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise _DecodingError(f"install `{names[0]}` to decode it")


def _check_size(size: int) -> None:
    if size > MAX_BODY:
        raise Undecodable(f"its body is larger than {MAX_BODY} bytes when decoded")


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in body
