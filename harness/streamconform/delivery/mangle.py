"""Ways to write the same stream with other bytes. Pure: body in, body out, nothing that matters changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from streamconform.apis import APIS
from streamconform.model.trial import Framing
from streamconform.wire import json_text, sse
from streamconform.wire.framings import replace_payload, split

UNKNOWN_MEMBER: Final = b'"future_field":{"a":[1,null,"b"]}'
COMMENT: Final = b": keep-alive\n\n"


def crlf(body: bytes, api: str) -> bytes:
    """Return `body` with every line end as CR LF."""
    del api
    return _line_ends(body, b"\r\n")


def cr(body: bytes, api: str) -> bytes:
    """Return `body` with every line end as CR."""
    del api
    return _line_ends(body, b"\r")


def bom(body: bytes, api: str) -> bytes:
    """Return `body` behind a byte order mark."""
    del api
    return body if body.startswith(sse.BOM) else sse.BOM + body


def no_space(body: bytes, api: str) -> bytes:
    """Return `body` without the space behind the colon of event and data fields."""
    del api
    out = bytearray()
    position = 0
    for line in sse.split_lines(body):
        text = body[line.start : line.stop]
        for field in (b"data: ", b"event: "):
            # a second space would then be taken for the optional one
            if text.startswith(field) and text[len(field) : len(field) + 1] != b" ":
                cut = line.start + len(field) - 1
                out += body[position:cut]
                position = cut + 1
    return bytes(out + body[position:])


def comments(body: bytes, api: str) -> bytes:
    """Return `body` with a comment and a blank line before each frame."""
    return _between(body, api, COMMENT, before_first=True)


def unknown_event(body: bytes, api: str) -> bytes:
    """Return `body` with an event of an unknown type between any two frames."""
    event = APIS[api].extensions.event.get(_framed(body, api), b"")
    return _between(body, api, event, before_first=False)


def unknown_field(body: bytes, api: str) -> bytes:
    """Return `body` with one more member in every object that may get new ones."""
    objects = APIS[api].extensions.objects
    return _payloads(body, api, lambda text: json_text.add_member(text, UNKNOWN_MEMBER, objects))


def padding(body: bytes, api: str) -> bytes:
    """Return `body` with white space between the tokens of every payload."""
    return _payloads(body, api, lambda text: json_text.pad(text, b" \t"))


def key_order(body: bytes, api: str) -> bytes:
    """Return `body` with the keys of every object in every payload in reverse."""
    return _payloads(body, api, json_text.reverse_keys)


def multiline_data(body: bytes, api: str) -> bytes:
    """Return `body` with every payload over several data lines, broken behind JSON tokens."""
    return _payloads(body, api, lambda text: b"\ndata: ".join(json_text.break_after(text, 5)))


MANGLERS: Final[Mapping[str, Callable[[bytes, str], bytes]]] = {
    "crlf": crlf,
    "cr": cr,
    "bom": bom,
    "no-space": no_space,
    "comments": comments,
    "unknown-event": unknown_event,
    "unknown-field": unknown_field,
    "padding": padding,
    "key-order": key_order,
    "multiline-data": multiline_data,
}
"""Deliveries that change bytes, by name."""


def _line_ends(body: bytes, end: bytes) -> bytes:
    start = sse.BOM if body.startswith(sse.BOM) else b""
    return start + b"".join(
        body[line.start : line.stop] + (end if line.end > line.stop else b"")
        for line in sse.split_lines(body)
    )


def _framed(body: bytes, api: str) -> Framing:
    """Return how `body` is framed; only answers that are no error are mangled."""
    return APIS[api].detect_framing(200, body)


def _between(body: bytes, api: str, extra: bytes, *, before_first: bool) -> bytes:
    out = bytearray()
    position = 0
    for frame in split(_framed(body, api), body)[0 if before_first else 1 :]:
        out += body[position : frame.start] + extra
        position = frame.start
    return bytes(out + body[position:])


def _payloads(body: bytes, api: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return `body` with every payload that stands in one piece replaced by `change(payload)`."""
    framed = _framed(body, api)
    out = bytearray()
    position = 0
    for frame in split(framed, body):
        changed = replace_payload(framed, body, frame, change(frame.payload))
        out += body[position : frame.start] + changed
        position = frame.end
    return bytes(out + body[position:])
