"""Split a JSON array that is streamed element by element, and write single elements.

Google's `streamGenerateContent` uses this form, `[{…}` `,` newline `{…}` `]`, unless the request specifies
`alt=sse`.
"""

from __future__ import annotations

import re

from streamconform.wire.frames import Frame

# No possessive quantifiers (`*+`): Python 3.11 before 3.11.5 matches them wrongly, and Debian's 3.11.2 lost
# elements of an array. In this form a string without escapes takes one step, so matching stays linear.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\],]|[^\s"{}\[\],]+', re.DOTALL)
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\[")
SEPARATOR = b",\r\n"


def split(body: bytes) -> tuple[Frame, ...]:
    """Return the elements of the array in `body`, or none if it does not begin with `[`.

    A frame includes the bracket or comma before its element, so frames are adjacent; the closing bracket
    belongs to no frame. A body that is cut off after a frame contains its element completely. Brackets are
    counted, not matched, so an element that is not JSON also becomes a frame.
    """
    opening = _OPENING.match(body)
    if opening is None:
        return ()
    frames: list[Frame] = []
    depth = element_start = end = 0
    for token in _TOKEN.finditer(body, opening.end()):
        text = token[0]
        if text == b'"':  # an unterminated string
            break
        if text in (b"}", b"]"):
            if depth == 0:
                break
            depth -= 1
        elif depth == 0:
            element_start = token.start()
        if text in (b"{", b"["):
            depth += 1
        if depth or text == b"," or (token.end() == len(body) and text[:1] not in b'"}]'):
            continue  # inside an element, between two, or in a number that may continue after a cut
        value = (element_start, token.end())
        frames.append(Frame(end, token.end(), body[slice(*value)], value))
        end = token.end()
    return tuple(frames)


def encode_element(payload: bytes) -> bytes:
    """Return another element, preceded by a comma."""
    return SEPARATOR + payload
