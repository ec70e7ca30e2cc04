"""A JSON array that is sent piece by piece as frames: its elements. `split` a whole body, and one element.

`streamGenerateContent` without `alt=sse` answers so: `[{…}` `,` newline `{…}` `]`.
"""

from __future__ import annotations

import re

from streamconform.wire.frames import Frame

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\],]|[^\s"{}\[\],]+', re.DOTALL)
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\[")
SEPARATOR = b",\r\n"


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the elements of the array that is `body`; nothing where it does not begin as an array.

    Frames lie end to end: what stands before an element (the opening bracket, or the comma, which comes
    with the element that it announces) belongs to its frame, and the closing bracket to none. So a body
    that is cut behind a frame has that element whole, and one that was cut inside an element ends before
    it. Brackets are counted, not matched: an element that is no JSON is a frame all the same.
    """
    opening = _OPENING.match(body)
    if opening is None:
        return ()
    frames: list[Frame] = []
    depth = begun = end = 0
    for token in _TOKEN.finditer(body, opening.end()):
        text = token[0]
        if text == b'"':  # no end of this string follows
            break
        if text in (b"}", b"]"):
            if depth == 0:
                break
            depth -= 1
        elif depth == 0:
            begun = token.start()
        if text in (b"{", b"["):
            depth += 1
        if depth or text == b"," or (token.end() == len(body) and text[:1] not in b'"}]'):
            continue  # inside an element, between two, or in a number that may go on
        frames.append(Frame(end, token.end(), body[begun : token.end()], (begun, token.end())))
        end = token.end()
    return tuple(frames)


def encode_element(payload: bytes) -> bytes:
    """Return the bytes of one more element, with the comma before it."""
    return SEPARATOR + payload
