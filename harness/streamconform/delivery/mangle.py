"""Rewrite a stream as different bytes with the same meaning. Pure: body in, edits out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from streamconform.apis import APIS
from streamconform.wire import json_text, sse
from streamconform.wire.frames import Frame
from streamconform.wire.framings import replace_payload, split

UNKNOWN_MEMBER: Final = b'"future_field":{"a":[1,null,"b"]}'
# The blank line matters: a block of only comments is not an event, and a parser must not dispatch it.
COMMENT: Final = b": keep-alive\n\n"


_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_FIELD_STARTS: Final = tuple(
    start + name for start in (rb"\A", rb"\A\xef\xbb\xbf", rb"[\r\n]") for name in (b"data", b"event")
)
# It begins with the colon and looks back from there, because that takes a tenth of the time. If there are two
# spaces, keep both: the parser would drop the second one as the optional space.
_FIELD_SPACE: Final = re.compile(
    rb":( )(?! )(?:%s)" % b"|".join(rb"(?<=%s: )" % start for start in _FIELD_STARTS)
)


class Edit(NamedTuple):
    """A change: `text` instead of `body[start:stop]`, from which it differs."""

    start: int
    stop: int
    text: bytes


def mangle(body: bytes, api: str, name: str) -> bytes:
    """Return the bytes that the delivery `name` sends for `body`."""
    return apply(MANGLERS[name](body, api), body) if name in MANGLERS else body


def apply(edits: Iterable[Edit], body: bytes) -> bytes:
    """Return `body` with `edits`, which are in order and do not overlap."""
    out = bytearray()
    position = 0
    for edit in edits:
        out += body[position : edit.start] + edit.text
        position = edit.stop
    return bytes(out + body[position:])


def _use_crlf(body: bytes, api: str) -> Iterator[Edit]:
    """Make CR LF the only line ending."""
    # Unused, but all functions in `MANGLERS` have the same signature.
    del api
    return _replace_line_ends(body, b"\r\n")


def _use_cr(body: bytes, api: str) -> Iterator[Edit]:
    """Make CR the only line ending."""
    del api
    return _replace_line_ends(body, b"\r")


def _add_bom(body: bytes, api: str) -> Iterator[Edit]:
    """Add a byte order mark at the start."""
    del api
    if not body.startswith(sse.BOM):
        yield Edit(0, 0, sse.BOM)


def _remove_spaces(body: bytes, api: str) -> Iterator[Edit]:
    """Remove the space after the colon of event and data fields."""
    del api
    return (Edit(*match.span(1), b"") for match in _FIELD_SPACE.finditer(body))


def _add_comments(body: bytes, api: str) -> Iterator[Edit]:
    """Add a comment and a blank line before each frame."""
    return _insert_before(_list_frames(body, api), COMMENT)


def _add_unknown_events(body: bytes, api: str) -> Iterator[Edit]:
    """Add an event of an unknown type between every two frames."""
    event = APIS[api].extensions.event.get(APIS[api].detect_framing(200, body), b"")
    return _insert_before(_list_frames(body, api)[1:], event)


def _add_unknown_fields(body: bytes, api: str) -> Iterator[Edit]:
    """Add an unknown member to every object to which the provider may add fields."""
    objects = APIS[api].extensions.objects
    return _replace_payloads(body, api, lambda text: json_text.add_member(text, UNKNOWN_MEMBER, objects))


def _add_padding(body: bytes, api: str) -> Iterator[Edit]:
    """Add whitespace between the tokens of every payload."""
    return _replace_payloads(body, api, lambda text: json_text.pad(text, b" \t"))


def _reverse_keys(body: bytes, api: str) -> Iterator[Edit]:
    """Reverse the order of the keys of every object in every payload."""
    return _replace_payloads(body, api, json_text.reverse_keys)


def _split_data_lines(body: bytes, api: str) -> Iterator[Edit]:
    """Split every payload over several data lines, after JSON tokens."""
    # Never inside a token: a parser joins data lines with LF, which is invalid inside a JSON string.
    return _replace_payloads(body, api, lambda text: b"\ndata: ".join(json_text.break_after(text, 5)))


MANGLERS: Final[Mapping[str, Callable[[bytes, str], Iterator[Edit]]]] = {
    "crlf": _use_crlf,
    "cr": _use_cr,
    "bom": _add_bom,
    "no-space": _remove_spaces,
    "comments": _add_comments,
    "unknown-event": _add_unknown_events,
    "unknown-field": _add_unknown_fields,
    "padding": _add_padding,
    "key-order": _reverse_keys,
    "multiline-data": _split_data_lines,
}
"""The deliveries that change bytes: by name, functions from a body and its API to the edits, made one by one.

Two different names never make the same bytes of a body, unless neither changes it.
"""


def _replace_line_ends(body: bytes, end: bytes) -> Iterator[Edit]:
    return (Edit(*match.span(), end) for match in _LINE_END.finditer(body) if match[0] != end)


def _list_frames(body: bytes, api: str) -> tuple[Frame, ...]:
    """Return the frames of `body`, a successful response: error documents are never mangled."""
    return split(APIS[api].detect_framing(200, body), body)


def _insert_before(frames: Iterable[Frame], extra: bytes) -> Iterator[Edit]:
    return (Edit(frame.start, frame.start, extra) for frame in frames if extra)


def _replace_payloads(body: bytes, api: str, change: Callable[[bytes], bytes]) -> Iterator[Edit]:
    """Replace every payload that is one contiguous piece by `change(payload)`."""
    framing = APIS[api].detect_framing(200, body)
    for frame in split(framing, body):
        changed = replace_payload(framing, body, frame, change(frame.payload))
        if changed != body[frame.start : frame.end]:
            yield Edit(frame.start, frame.end, changed)
