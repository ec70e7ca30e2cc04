"""Find damage in recorded streams: bytes that no server sent, and recordings that end early. Pure."""

from __future__ import annotations

import json
import re
import zlib
from typing import Final

from streamconform.model.trial import Framing
from streamconform.wire import eventstream
from streamconform.wire.framings import MEDIA_TYPES, MESSAGE_REWRITERS, split

REPLACED: Final = "\ufffd".encode()
"""What Python and browsers decode invalid bytes to."""
BEGINNINGS: Final[dict[str, re.Pattern[bytes]]] = {
    "text/event-stream": re.compile(rb"(?m)^(?:\xef\xbb\xbf)?(?::|(?:data|event|id|retry)(?:[:\r]|$))"),
    "application/x-ndjson": re.compile(rb"\s*\{"),
}
"""For each media type of text, what a stream begins with, even one that ends inside its first frame."""


def find_damage(framed: Framing, media: str, body: bytes) -> str | None:
    """Return why `body`, which is `framed` and has the media type `media`, is not what a server sent."""
    if framed in MESSAGE_REWRITERS:
        return _find_corrupt_message(framed, body)
    if framed != "document" or media not in {*MEDIA_TYPES.values()} - {"application/json"} or _is_json(body):
        return None
    beginning = BEGINNINGS.get(media)
    if beginning is not None and beginning.search(body):
        return None
    return f"its content type is {media}, but its {len(body)} bytes have no frame{_explain_decoding(body)}"


def note_damage(framed: Framing, body: bytes) -> str | None:
    """Return what may be missing from a body that can still be used."""
    if framed in MESSAGE_REWRITERS:
        return "The recording ends inside a message." if split(framed, body)[-1].end < len(body) else None
    count = body.count(REPLACED)
    if not count:
        return None
    return (
        f"The body has U+FFFD in {count} places: either the server sent it, or the recorder decoded the "
        "bytes of characters separately and lost them."
    )


def _find_corrupt_message(framed: Framing, body: bytes) -> str | None:
    frames = split(framed, body)
    start = frames[-1].end
    left = len(body) - start
    if left < eventstream.PRELUDE.size:
        return None
    total, _, checksum = eventstream.PRELUDE.unpack_from(body, start)
    if total > left and checksum == zlib.crc32(body[start : start + 8]):
        return None  # it ends inside a message
    return f"message {len(frames) + 1}, at byte {start}, has a wrong checksum{_explain_decoding(body)}"


def _explain_decoding(body: bytes) -> str:
    count = body.count(REPLACED)
    return f"; the recorder decoded it as text, and lost the bytes at {count} x U+FFFD" if count else ""


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
