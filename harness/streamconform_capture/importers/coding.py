"""Decode the content coding of a body, up to a size limit.

`curl --compressed` keeps the `content-encoding` header of a body that it has decoded, and so does vcrpy with
some HTTP libraries. Therefore the bytes, not the header, determine whether a body is still compressed.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from streamconform.files import CutError, DamagedError, TooLargeError
from streamconform.files.compressed import DEFLATE, GZIP, ZLIB, Codec, decompress
from streamconform.suite.cassettes import MAX_BODY


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


def _unpack(codec: Codec, body: bytes) -> tuple[bytes, bool]:
    out = bytearray()
    file = decompress(io.BytesIO(body), codec, MAX_BODY)
    try:
        while part := file.read1():
            out += part
    except CutError:
        return bytes(out), not body
    except TooLargeError as error:
        raise Undecodable(f"its body cannot be decoded: {error}") from error
    except DamagedError as error:
        raise _DecodingError(str(error).rpartition(": ")[2]) from error
    return bytes(out), True


def _deflate(body: bytes) -> tuple[bytes, bool]:
    try:
        return _unpack(ZLIB, body)
    except _DecodingError:
        return _unpack(DEFLATE, body)  # many servers send raw deflate data under this name


def _brotli(body: bytes) -> tuple[bytes, bool]:
    library = _import_decoder("brotli", "brotlicffi")
    decompressor = library.Decompressor()
    try:
        out = bytearray(decompressor.process(body, output_buffer_limit=MAX_BODY + 1))
    except (library.error, TypeError) as error:
        raise _DecodingError(str(error)) from error
    if len(out) > MAX_BODY:
        raise Undecodable(f"its body is larger than {MAX_BODY} bytes when decoded")
    return bytes(out), bool(decompressor.is_finished())


DECODERS: Final[Mapping[str, Callable[[bytes], tuple[bytes, bool]]]] = {
    "gzip": partial(_unpack, GZIP),
    "x-gzip": partial(_unpack, GZIP),
    "deflate": _deflate,
    "br": _brotli,
}
"""Maps a content coding to its decoder, which returns (decoded body, whether it was complete)."""


def _import_decoder(*names: str) -> Any:
    for name in names:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise _DecodingError(f"install `{names[0]}` to decode it")


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in body
