r"""Decode text that may be hidden in escapes, percent encoding, base64, hexadecimal or compressed data. Pure.

A key written as `sk\u002dant…`, `sk%2Dant…` or base64 is as readable as plain text, so scans cover every form
that this module returns. Decoded forms are decoded again, since encodings are nested in practice: a tool
call's arguments are JSON within JSON, and data URLs are percent-encoded base64.
"""

from __future__ import annotations

import binascii
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

MAX_DEPTH: Final = 6
"""The maximum number of nested encodings to decode."""
MAX_INFLATED: Final = 16 * 1024 * 1024
"""The maximum size of one decompressed value; the rest is not scanned."""
SHORTEST_RUN: Final = 18
"""The minimum length, in bytes, of printable text in decoded base64 or hexadecimal. No key pattern matches a
shorter text, and random bytes never contain such a run. Known keys of 8 to 17 bytes are found by `key_forms`.
"""

_ESCAPE: Final = re.compile(
    rb"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\([\"'\\/bfnrt])"
    rb"|&#([0-9]{1,7});|&#[xX]([0-9a-fA-F]{1,6});|&(amp|quot|apos|lt|gt);"
)
_SINGLE: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_NAMED: Final = {b"amp": b"&", b"quot": b'"', b"apos": b"'", b"lt": b"<", b"gt": b">"}
_PERCENT: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_BASE64: Final = bytes(byte if chr(byte).isalnum() or byte in b"+/-_" else 32 for byte in range(128)).ljust(
    256
)
"""Maps every byte that is not a base64 character to a space."""
SHORTEST_BASE64: Final = 24
SHORTEST_HEXADECIMAL: Final = 36
"""Minimum encoded length of `SHORTEST_RUN` bytes, in characters."""
# Tools wrap base64 at 64 or 76 characters.
_WRAPPED: Final = re.compile(rb"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{48,100}(?:\r?\n[A-Za-z0-9+/_-]+)+")
_HEXADECIMAL: Final = re.compile(rb"[0-9a-fA-F]{%d,}" % SHORTEST_HEXADECIMAL)
_PRINTABLE: Final = re.compile(rb"[\x20-\x7e]{%d,}" % SHORTEST_RUN)
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")
_COMPRESSED: Final = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


@dataclass(frozen=True, slots=True)
class Form:
    """A text, and the encodings removed to obtain it, outermost first; empty for the original text."""

    data: bytes
    removed: tuple[str, ...] = ()

    @property
    def is_binary(self) -> bool:
        """Return whether the text was found in encoded binary data; most such text is noise."""
        return any(name in ("base64", "hexadecimal", "compression") for name in self.removed)


def iter_forms(data: bytes) -> Iterator[Form]:
    """Yield `data` itself, then everything decoded from it."""
    waiting = [Form(data)]
    seen = {data}
    while waiting:
        form = waiting.pop()
        yield form
        if len(form.removed) == MAX_DEPTH:
            continue
        for name, decode in _DECODERS.items():
            decoded = decode(form.data)
            if decoded and decoded not in seen:
                seen.add(decoded)
                waiting.append(Form(decoded, (*form.removed, name)))
                if name in _TEXTUAL:
                    break  # the decoded text still contains the other parts in their encoded form


def _decode_escapes(data: bytes) -> bytes | None:
    """Return `data` with the escapes of JSON, programming languages and HTML decoded; None if it has none."""
    if b"\\" not in data and b"&" not in data:
        return None
    decoded, count = _ESCAPE.subn(_read_escape, data)
    return decoded if count else None


def _read_escape(match: re.Match[bytes]) -> bytes:
    four, two, single, decimal, hexadecimal, name = match.groups()
    if single is not None:
        return _SINGLE.get(single, single)
    if name is not None:
        return _NAMED[name]
    code = int(decimal) if decimal is not None else int(four or two or hexadecimal, 16)
    # Lone surrogates and numbers beyond Unicode cannot be part of a key.
    return chr(code).encode("utf-8", "replace") if code <= 0x10FFFF else b"?"


def _decode_percent(data: bytes) -> bytes | None:
    if b"%" not in data:
        return None
    decoded, count = _PERCENT.subn(lambda match: bytes.fromhex(match[1].decode()), data)
    return decoded if count else None


def _decode_base64(data: bytes) -> bytes | None:
    """Return the printable text that is encoded as base64 in `data`, one run per line.

    A run of characters may begin before the base64 does, so decoding starts at each of its first four
    characters.
    """
    runs = [word for word in data.translate(_BASE64).split() if len(word) >= SHORTEST_BASE64]
    if any(len(run) >= 48 for run in runs):
        runs += _WRAPPED.findall(data)
    found = []
    for text in runs:
        run = text.translate(_URL_SAFE, b"\r\n")
        for start in range(4):
            whole = (len(run) - start) // 4 * 4
            # Two or three remaining characters give one or two bytes; a single character is ignored.
            rest = run[start + whole :]
            padding = rest + b"=" * (4 - len(rest)) if len(rest) > 1 else b""
            raw = binascii.a2b_base64(run[start : start + whole] + padding)
            found += _read_binary(raw)
    return b"\n".join(found)


def _decode_hexadecimal(data: bytes) -> bytes | None:
    words = (word for word in data.translate(_BASE64).split() if len(word) >= SHORTEST_HEXADECIMAL)
    found = []
    for word in words:
        for digits in _HEXADECIMAL.findall(word):
            for start in (0, 1):  # the first digit may belong to the preceding text
                even = (len(digits) - start) // 2 * 2
                found += _read_binary(binascii.a2b_hex(digits[start : start + even]))
    return b"\n".join(found)


def _read_binary(raw: bytes) -> list[bytes]:
    """Return the printable runs of `raw`, or its decompressed data."""
    if raw.startswith(_COMPRESSED) and (text := _inflate(raw)) is not None:
        return [text]
    return _PRINTABLE.findall(raw)


def _decompress(data: bytes) -> bytes | None:
    return _inflate(data) if data.startswith(_COMPRESSED) else None


def _inflate(data: bytes) -> bytes | None:
    """Return gzip or zlib data decompressed, up to `MAX_INFLATED` bytes; None if it is neither."""
    try:
        return zlib.decompressobj(wbits=47).decompress(data, MAX_INFLATED)  # 47: either header
    except zlib.error:
        return None


_TEXTUAL: Final = ("escapes", "percent encoding")
"""Encodings that leave all other text unchanged."""
_DECODERS: Final[dict[str, Callable[[bytes], bytes | None]]] = {
    "escapes": _decode_escapes,
    "percent encoding": _decode_percent,
    "base64": _decode_base64,
    "hexadecimal": _decode_hexadecimal,
    "compression": _decompress,
}
"""Decoders by name. A decoder returns nothing for data that does not use its encoding."""
