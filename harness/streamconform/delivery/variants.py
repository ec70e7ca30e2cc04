"""Send a complete answer in another form that servers of its API send as well (`apis.variants`). Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.payloads import Payload
from streamconform.delivery.deliver import cut
from streamconform.delivery.stream import Stream
from streamconform.model.cassette import Pulled
from streamconform.model.leaf import list_preferred
from streamconform.model.trial import Delivered
from streamconform.wire.frames import Frame
from streamconform.wire.framings import replace_payload, split
from streamconform.wire.json_array import encode_element

_LINE_ENDS: Final = (b"\n", b"\r")


class _NotRewritableError(Exception):
    """A frame cannot be written again with another payload and otherwise the same bytes."""


def vary(stream: Stream, name: str) -> Delivered | None:
    """Return what the variant `name` sends of a stream, and what is expected then.

    Returns None if the API has no such variant, if it would change nothing, or if the stream is not a
    complete answer: cases about anything else say themselves what is sent.
    """
    variant = APIS[stream.case.api].variants.get(name)
    if variant is None or not _is_plain(stream):
        return None
    rewritten = variant.rewrite(stream.payloads)
    if rewritten is None:
        return None
    try:
        body = b"".join(_write(stream, rewritten))
    except _NotRewritableError:
        return None
    if body == stream.body:
        return None
    chunks = cut(body, (frame.start for frame in split(stream.framing, body)))
    expect = variant.expect(stream.case.expect)
    return Delivered(chunks, None if expect == stream.case.expect else expect)


def _is_plain(stream: Stream) -> bool:
    """Return whether the stream is a complete answer that ends with its terminal event."""
    case = stream.case
    if not case.stream or case.expect.content is None or isinstance(case.cassette.provenance, Pulled):
        return False
    is_complete = list_preferred(case.expect.fields.get("status")) == ("complete",)
    return is_complete and stream.terminal < len(stream.frames) and stream.settled == stream.terminal


def _write(stream: Stream, rewritten: Sequence[Sequence[Payload]]) -> Iterator[bytes]:
    """Yield the body's pieces. Raises `_NotRewritableError`."""
    position = 0
    for frame, before, after in zip(stream.frames, stream.payloads, rewritten, strict=True):
        yield stream.body[position : frame.start]
        position = frame.end
        if len(after) == 1 and after[0] == before:
            yield stream.body[frame.start : frame.end]
        else:
            yield from _write_frames(stream, frame, before, after)
    yield stream.body[position:]


def _write_frames(stream: Stream, frame: Frame, before: Payload, after: Sequence[Payload]) -> Iterator[bytes]:
    """Yield frames like `frame`, one for each payload in `after`."""
    whole = stream.body[frame.start : frame.end]
    is_array = stream.framing == "json_array"
    ends_line = stream.framing not in ("sse", "ndjson") or whole.endswith(_LINE_ENDS)
    is_first = frame == stream.frames[0]
    if frame.value is None or not ends_line or (is_first and len(after) != 1):
        raise _NotRewritableError
    for number, payload in enumerate(after):
        if payload == before:
            yield whole
            continue
        text = _encode(frame, payload)
        if number and is_array:
            yield encode_element(text)
        else:
            yield replace_payload(stream.framing, stream.body, frame, text)


def _encode(frame: Frame, payload: Payload) -> bytes:
    """Return the JSON text of `payload`, made from that of `frame`. Raises `_NotRewritableError`."""
    try:
        json.loads(frame.payload, object_pairs_hook=_refuse_duplicates)
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise _NotRewritableError from error
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can only escape
        return json.dumps(payload, separators=(",", ":")).encode()


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("Python keeps only the last of two members with one name")
    return made
