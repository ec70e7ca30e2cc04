"""How a huge stream, or an empty one, is made from a short one (`suite.sizes`)."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, Final, Literal

from msgspec import Struct

DIGEST_ABOVE: Final = 4096
"""In trials of grown streams, texts of more characters than this are compared by length and digest."""
LINE: Final = "line {:07d}: a picture is worth 1,024 words, déjà vu included;\n"
"""A line of the text, with its number, so that no part of the text repeats: 64 bytes."""
IMAGE: Final = "iVBORw0KGgo"
"""The beginning of every PNG in base64."""
Grown = Literal["text", "arguments", "image", "calls"]


class Growth(Struct, frozen=True):
    """What of a short stream is replaced, and by how much."""

    what: Grown
    size: int = 0
    """The bytes of the text, of the arguments' only long value, or of the base64 of an image."""
    parts: int = 1
    """The number of deltas of a text or of arguments that the API sends in parts, or the number of calls."""

    @property
    def content(self) -> str:
        """Return the text, the value in the arguments, or the base64 text."""
        return _make_base64(self.size) if self.what == "image" else _make_text(self.size)


# One of each is kept: all APIs have the same sizes, and the trials of one size seldom run in a row.
@lru_cache(maxsize=1)
def _make_text(size: int) -> str:
    """Return a text of at most `size` bytes in UTF-8, or one byte less if that would cut a character."""
    count = size // len(LINE.format(0).encode()) + 1
    return "".join(map(LINE.format, range(count))).encode()[:size].decode("utf-8", "ignore")


@lru_cache(maxsize=1)
def _make_base64(size: int) -> str:
    """Return `size` characters of valid base64, without padding, which begin like a PNG."""
    quantum = 8
    count = size // quantum + 1
    return (IMAGE + "A" + "".join(f"{i:08d}" for i in range(count)))[: size - size % 4]


def describe_text(length: int, sha256: str) -> str:
    """Return what stands for a long text in outcomes and expectations."""
    return f"{length} characters with the SHA-256 {sha256}"


def shorten_text(text: str) -> str:
    """Return `text`, or what stands for it if it is long."""
    if len(text) <= DIGEST_ABOVE:
        return text
    return describe_text(len(text), hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def shorten_texts(value: Any) -> Any:
    """Return a JSON value in which every long text, and every digest of one, is what stands for it."""
    match value:
        case str():
            return shorten_text(value)
        case {"length": int(length), "sha256": str(sha256)} if len(value) == 2:
            return describe_text(length, sha256)
        case dict():
            return {key: shorten_texts(item) for key, item in value.items()}
        case list():
            return [shorten_texts(item) for item in value]
        case _:
            return value
