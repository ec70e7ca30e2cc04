"""Match a key in every form that a server may echo: verbatim, in another case, escaped, in hex or base64."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import lru_cache

SHORTEST_IN_BASE64 = 12
"""The minimum key length, in bytes, for base64 matching; a shorter key's base64 looks like ordinary text."""


@lru_cache(maxsize=64)
def compile_pattern(secret: bytes) -> re.Pattern[bytes]:
    r"""Return a pattern that matches `secret` in any of its forms.

    Letters match in either case; each character may be escaped as in JSON (`\/`, `\u002f`, also in JSON
    within JSON), in a URL (`%2F`, `%252F`) or in HTML (`&#x2f;`). In base64 the key matches at any offset;
    characters that also encode neighbouring bytes are not matched.
    """
    plain = b"".join(_match_character(byte) for byte in secret)
    hexadecimal = secret.hex().encode()
    encoded = b"|".join(re.escape(form) for form in sorted(set(_base64_forms(secret)), key=len, reverse=True))
    return re.compile(b"(?i:" + plain + b"|" + hexadecimal + b")" + (b"|" + encoded if encoded else b""))


def _match_character(byte: int) -> bytes:
    literal = re.escape(bytes([byte]))
    escapes = rb"(?:\\{0,15}%s|%%(?:25){0,3}%02x|\\{1,15}(?:u00|x)%02x|&#0{0,4}%d;|&#x0{0,4}%02x;)"
    return escapes % (literal, byte, byte, byte, byte)


def _base64_forms(secret: bytes) -> Iterator[bytes]:
    """Yield the base64 of the key at each of the three alignments, without the shared edge characters."""
    if len(secret) < SHORTEST_IN_BASE64:
        return
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret)
        middle = encoded[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]
        yield middle
        yield middle.translate(bytes.maketrans(b"+/", b"-_"))
