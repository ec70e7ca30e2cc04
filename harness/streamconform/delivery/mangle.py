"""Rewrite a stream as different bytes with the same meaning. Pure: body in, body out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from streamconform.apis import APIS
from streamconform.model.trial import Framing
from streamconform.wire import json_text, sse
from streamconform.wire.framings import replace_payloads, split

UNKNOWN_MEMBER: Final = b'"future_field":{"a":[1,null,"b"]}'
# The blank line matters: a block of only comments is not an event, and a parser must not dispatch it.
COMMENT: Final = b": keep-alive\n\n"


def _use_crlf(body: bytes, api: str) -> bytes:
    """Return `body` with CR LF as its only line ending."""
    # Unused, but all functions in `MANGLERS` have the same signature.
    del api
    return _replace_line_ends(body, b"\r\n")


def _use_cr(body: bytes, api: str) -> bytes:
    """Return `body` with CR as its only line ending."""
    del api
    return _replace_line_ends(body, b"\r")


def _add_bom(body: bytes, api: str) -> bytes:
    """Return `body` with a byte order mark at its start."""
    del api
    return body if body.startswith(sse.BOM) else sse.BOM + body


def _remove_spaces(body: bytes, api: str) -> bytes:
    """Return `body` without the space after the colon of event and data fields."""
    del api
    out = bytearray()
    position = 0
    for line in sse.split_lines(body):
        text = body[line.start : line.stop]
        for field in (b"data: ", b"event: "):
            # If there are two spaces, keep both: the parser would drop the second one as the optional space.
            if text.startswith(field) and text[len(field) : len(field) + 1] != b" ":
                cut = line.start + len(field) - 1
                out += body[position:cut]
                position = cut + 1
    return bytes(out + body[position:])


def _add_comments(body: bytes, api: str) -> bytes:
    """Return `body` with a comment and a blank line before each frame."""
    return _insert_between(body, api, COMMENT, before_first=True)


def _add_unknown_events(body: bytes, api: str) -> bytes:
    """Return `body` with an event of an unknown type between every two frames."""
    event = APIS[api].extensions.event.get(_detect_framing(body, api), b"")
    return _insert_between(body, api, event, before_first=False)


def _add_unknown_fields(body: bytes, api: str) -> bytes:
    """Return `body` with an unknown member in every object to which the provider may add fields."""
    objects = APIS[api].extensions.objects
    return _replace_payloads(body, api, lambda text: json_text.add_member(text, UNKNOWN_MEMBER, objects))


def _add_padding(body: bytes, api: str) -> bytes:
    """Return `body` with whitespace between the tokens of every payload."""
    return _replace_payloads(body, api, lambda text: json_text.pad(text, b" \t"))


def _reverse_keys(body: bytes, api: str) -> bytes:
    """Return `body` with the keys of every object in every payload in reverse order."""
    return _replace_payloads(body, api, json_text.reverse_keys)


def _split_data_lines(body: bytes, api: str) -> bytes:
    """Return `body` with every payload split over several data lines, after JSON tokens."""
    # Never inside a token: a parser joins data lines with LF, which is invalid inside a JSON string.
    return _replace_payloads(body, api, lambda text: b"\ndata: ".join(json_text.break_after(text, 5)))


MANGLERS: Final[Mapping[str, Callable[[bytes, str], bytes]]] = {
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
"""The deliveries that change bytes, by name."""


def _replace_line_ends(body: bytes, end: bytes) -> bytes:
    start = sse.BOM if body.startswith(sse.BOM) else b""
    return start + b"".join(
        body[line.start : line.stop] + (end if line.end > line.stop else b"")
        for line in sse.split_lines(body)
    )


def _detect_framing(body: bytes, api: str) -> Framing:
    """Return the framing of `body`, a successful response: error documents are never mangled."""
    return APIS[api].detect_framing(200, body)


def _insert_between(body: bytes, api: str, extra: bytes, *, before_first: bool) -> bytes:
    out = bytearray()
    position = 0
    for frame in split(_detect_framing(body, api), body)[0 if before_first else 1 :]:
        out += body[position : frame.start] + extra
        position = frame.start
    return bytes(out + body[position:])


def _replace_payloads(body: bytes, api: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return `body` with every payload that is one contiguous piece replaced by `change(payload)`."""
    return replace_payloads(_detect_framing(body, api), body, change)
