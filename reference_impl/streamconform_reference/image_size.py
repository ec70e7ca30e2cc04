"""Estimate an image's token count from the size in its header.

Source: https://platform.claude.com/docs/en/build-with-claude/vision: width times height, divided by 750. An
image with an edge longer than 1568 pixels, or with more than about 1600 tokens, is scaled down first.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

PIXELS_PER_TOKEN: Final = 750
MAX_TOKENS: Final = 1600
"""The token count of the largest image, also used for images of unknown size, such as linked images."""
MAX_EDGE: Final = 1568
_HEADER_TEXT: Final = 64 * 1024
"""The number of base64 characters to decode: enough for a JPEG, whose size comes after its thumbnail."""


def count_image(source: Any) -> int:
    """Return an image's estimated token count in a request to Anthropic's API, given the image's source."""
    data = source.get("data") if isinstance(source, Mapping) else None
    size = read_size(data) if isinstance(data, str) else None
    if size is None:
        return MAX_TOKENS
    width, height = size
    scale = min(1.0, MAX_EDGE / max(width, height, 1))
    return max(1, min(MAX_TOKENS, round(width * scale * height * scale / PIXELS_PER_TOKEN)))


def read_size(data: str) -> tuple[int, int] | None:
    """Return the width and height of a base64-encoded PNG, GIF or JPEG, or None."""
    try:
        head = base64.b64decode(data[:_HEADER_TEXT] + "=" * (-len(data[:_HEADER_TEXT]) % 4))
    except (binascii.Error, ValueError):
        return None
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return _read_number(head, 16, 4), _read_number(head, 20, 4)
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    return _read_jpeg_size(head) if head.startswith(b"\xff\xd8") else None


def _read_jpeg_size(head: bytes) -> tuple[int, int] | None:
    """Return the size from the first frame header (markers C0 to CF, except C4, C8 and CC)."""
    place = 2
    while place + 9 <= len(head) and head[place] == 0xFF:
        marker = head[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _read_number(head, place + 7, 2), _read_number(head, place + 5, 2)
        place += 2 + max(2, _read_number(head, place + 2, 2))
    return None


def _read_number(data: bytes, start: int, size: int) -> int:
    return int.from_bytes(data[start : start + size], "big")
