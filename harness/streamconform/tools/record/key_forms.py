"""The forms in which a server may echo a key: as it is, in other case, escaped, in hexadecimal, in base64."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import lru_cache

SHORTEST_IN_BASE64 = 12
"""Bytes below which a key's base64 is too short to be told from other text."""


@lru_cache(maxsize=64)
def pattern(secret: bytes) -> re.Pattern[bytes]:
    r"""Return what matches `secret` in any of its forms.

    Letters match in either case; each character may be escaped as in JSON (`\/`, `\u002f`) or in a URL
    (`%2F`). In base64 the key is found wherever it begins; the characters that it shares with its
    neighbours are left.
    """
    plain = b"".join(_character(byte) for byte in secret)
    hexadecimal = secret.hex().encode()
    encoded = b"|".join(re.escape(form) for form in sorted(set(_base64(secret)), key=len, reverse=True))
    return re.compile(b"(?i:" + plain + b"|" + hexadecimal + b")" + (b"|" + encoded if encoded else b""))


def _character(byte: int) -> bytes:
    itself = re.escape(bytes([byte]))
    return b"(?:\\\\?%s|%%%02x|\\\\u00%02x)" % (itself, byte, byte)


def _base64(secret: bytes) -> Iterator[bytes]:
    """Yield the middle of the key's base64 for each of the three places in which it can begin."""
    if len(secret) < SHORTEST_IN_BASE64:
        return
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret)
        middle = encoded[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]
        yield middle
        yield middle.translate(bytes.maketrans(b"+/", b"-_"))
