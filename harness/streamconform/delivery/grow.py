"""Make a huge stream, or one without content, from the frames of a short one. Pure.

Nothing here knows an API: the record says which strings in a payload are text or arguments, and where blocks
have their number. Whatever repeats a text at the end of a stream repeats the new one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, takewhile
from typing import Any, Final, NamedTuple

from msgspec import Struct

from streamconform.apis import APIS
from streamconform.apis.api import Api, Json
from streamconform.apis.payloads import Payload, read_payload
from streamconform.delivery.recent import Recent
from streamconform.delivery.stream import list_text_pieces, list_texts
from streamconform.model.case import Case
from streamconform.model.growth import IMAGE, Growth
from streamconform.model.trial import Delivered, Framing
from streamconform.wire.frames import Frame
from streamconform.wire.framings import replace_payload, split

READ: Final = 64 * 1024
"""The bytes of a chunk: what a client gets from one read of a fast connection."""
_ID_KEYS: Final = ("call_id", "toolUseId", "id")
"""Where a call has its id; clients report the first of these."""
_NUMBER: Final = re.compile(rb'"sequence_number":\d+')
_PICTURE: Final = re.compile(rb'"%b[^"]*"' % IMAGE.encode())


class Grow(Struct, frozen=True):
    """The plan of a trial whose stream is grown from that of the case's cassette."""

    growth: Growth

    def make(self, case: Case, delivery: str) -> Delivered:
        """Return the chunks; only those of the last trial are remembered."""
        return _MADE.get(case, delivery, lambda: self._cut_reads(case))

    def _cut_reads(self, case: Case) -> Delivered:
        body = b"".join(grow(case.api, case.cassette.body, self.growth))
        return Delivered(tuple(body[start : start + READ] for start in range(0, len(body), READ)))


_MADE: Final = Recent[Delivered](1)


class _Base(NamedTuple):
    """A short stream, divided into frames."""

    api: Api
    framing: Framing
    body: bytes
    frames: tuple[Frame, ...]
    payloads: tuple[Payload, ...]
    is_numbered: bool
    """Whether each event has its number."""

    def rewrite(self, frame: int, payload: bytes, number: int) -> bytes:
        """Return the bytes of a frame with another payload, as the frame with this number."""
        if self.is_numbered:
            payload = _NUMBER.sub(b'"sequence_number":%d' % number, payload)
        return replace_payload(self.framing, self.body, self.frames[frame], payload)

    def rewrite_rest(self, start: int, number: int, change: Callable[[bytes], bytes]) -> Iterator[bytes]:
        """Yield the frames from `start`, the first of them with this number, and what follows the frames."""
        for frame in range(start, len(self.frames)):
            yield self.rewrite(frame, change(self.frames[frame].payload), number + frame - start)
        yield self.body[self.frames[-1].end :]


def grow(api: str, body: bytes, growth: Growth) -> Iterator[bytes]:
    """Yield the pieces of the body that `growth` makes from a short one."""
    base = _read_base(APIS[api], body)
    match growth.what:
        case "text":
            texts = [list_text_pieces(payload, base.api.ending) for payload in base.payloads]
            return _grow_pieces(base, texts, growth.content, growth.parts)
        case "arguments":
            return _grow_arguments(base, growth)
        case "image":
            replacement = b'"%b"' % growth.content.encode()
            return base.rewrite_rest(0, 0, lambda payload: _PICTURE.sub(replacement, payload))
        case "calls":
            return _grow_calls(base, growth.parts)


def replace_argument(arguments: Mapping[str, Any], content: str) -> Json:
    """Return the arguments of a call whose first text has grown."""
    return {**arguments, _find_text(arguments): content}


def list_call_ids(api: str, body: bytes, number: int) -> Iterator[str]:
    """Yield the ids of the calls if the call in a short stream becomes this many."""
    ids = _find_ids(_read_base(APIS[api], body))
    return (_name_call(ids[0], i) for i in range(number))


def _read_base(api: Api, body: bytes) -> _Base:
    framing = api.detect_framing(200, body)
    frames = split(framing, body)
    payloads = tuple(read_payload(frame.payload) for frame in frames)
    return _Base(api, framing, body, frames, payloads, _NUMBER.search(body) is not None)


def _grow_pieces(base: _Base, texts: Sequence[Sequence[str]], whole: str, parts: int) -> Iterator[bytes]:
    """Yield the stream with `whole`, in `parts`, in place of the text whose pieces `texts` has per frame."""
    first = next(frame for frame, pieces in enumerate(texts) if any(pieces))
    last = first + len([*takewhile(any, texts[first:])])
    # The first frame may also begin a call, so the others are made from the second one.
    templates = [_split_payload(base, frame, texts[frame][0]) for frame in range(first, last)[:2]]
    size = max(1, -(-len(whole) // max(1, parts)))
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    yield base.body[: base.frames[first].start]
    for i, piece in enumerate(pieces):
        template = min(i, len(templates) - 1)
        yield base.rewrite(first + template, _quote(piece).join(templates[template]), first + i)
    old = _quote("".join(piece for pieces in texts[first:last] for piece in pieces))
    new = _quote(whole)
    yield from base.rewrite_rest(last, first + len(pieces), lambda payload: payload.replace(old, new))


def _split_payload(base: _Base, frame: int, piece: str) -> list[bytes]:
    """Return what is before and after a text in the payload of a frame."""
    parts = base.frames[frame].payload.split(_quote(piece))
    assert len(parts) == 2, f"the payload has {piece!r} once"
    return parts


def _quote(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def _grow_arguments(base: _Base, growth: Growth) -> Iterator[bytes]:
    """Yield the stream whose call has a long text among its arguments."""
    old = base.api.smoke.call_arguments
    for key in base.api.ending.delta_keys:
        texts = [[*list_texts(payload, frozenset({key}))] for payload in base.payloads]
        if read_payload("".join(piece for pieces in texts for piece in pieces).encode()) == old:
            whole = json.dumps(replace_argument(old, growth.content), ensure_ascii=False)
            return _grow_pieces(base, texts, whole, growth.parts)
    # The arguments are an object, which the API sends in one piece.
    literal, replacement = _quote(old[_find_text(old)]), _quote(growth.content)
    return base.rewrite_rest(0, 0, lambda payload: payload.replace(literal, replacement))


def _find_text(arguments: Mapping[str, Any]) -> str:
    """Return the name of the first argument that is a text."""
    return next(name for name, value in arguments.items() if isinstance(value, str))


def _grow_calls(base: _Base, number: int) -> Iterator[bytes]:
    """Yield the stream with its call this many times, each with its own ids and index."""
    ids, path = _find_ids(base), base.api.reducing.block_index
    first = next(frame for frame, payload in enumerate(base.payloads) if _find_call(base, payload))
    last = next(
        frame
        for frame in count(first + 1)
        if base.api.ending.is_terminal(base.payloads[frame])
        or not (_has(base.payloads[frame], path) or _mentions(base.payloads[frame], ids))
    )
    yield base.body[: base.frames[first].start]
    for i in range(number):
        for frame in range(first, last):
            payload = _renumber_call(base, base.payloads[frame], i)
            yield base.rewrite(frame, _rename(payload, ids, i), first + i * (last - first) + frame - first)
    yield from base.rewrite_rest(
        last, first + number * (last - first), lambda payload: _repeat_items(base, payload, ids, number)
    )


def _find_ids(base: _Base) -> list[str]:
    """Return the ids in the call of a short stream."""
    call = next(filter(None, (_find_call(base, payload) for payload in base.payloads)))
    return [call[key] for key in _ID_KEYS if isinstance(call.get(key), str)]


def _find_call(base: _Base, value: Any) -> Json | None:
    """Return the object in a payload that has the call's id beside its name, or None."""
    if isinstance(value, list):
        return next(filter(None, (_find_call(base, item) for item in value)), None)
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    named = function if isinstance(function, dict) else value
    if named.get("name") == base.api.smoke.call_name and not value.keys().isdisjoint(_ID_KEYS):
        return value
    return _find_call(base, [*value.values()])


def _name_call(id_: str, number: int) -> str:
    return f"{id_}x{number}"


def _rename(payload: Payload, ids: Sequence[str], number: int) -> bytes:
    """Return a payload about the call with this number."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    for id_ in ids:
        text = text.replace(f'"{id_}"', f'"{_name_call(id_, number)}"')
    return text.encode()


def _mentions(payload: Payload, ids: Sequence[str]) -> bool:
    text = json.dumps(payload)
    return any(f'"{id_}"' in text for id_ in ids)


def _has(value: Any, path: Sequence[str | int]) -> bool:
    """Return whether there is a value at the path; there is none at an empty one."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return bool(path)


def _renumber_call(base: _Base, payload: Payload, number: int) -> Payload:
    """Return a payload of the call whose index is this number."""
    path = base.api.reducing.block_index
    made: Json = json.loads(json.dumps(payload))
    # Some servers number the calls themselves.
    call = _find_call(base, made)
    if call is not None and isinstance(call.get("function"), dict) and "index" in call["function"]:
        call["function"]["index"] = number
    if _has(made, path):
        value: Any = made
        for step in path[:-1]:
            value = value[step]
        value[path[-1]] = number
    return made


def _repeat_items(base: _Base, payload: bytes, ids: Sequence[str], number: int) -> bytes:
    """Return a payload after the call, in which each item with its id occurs as often as the call."""
    path = base.api.reducing.final_items
    made: Any = json.loads(payload) if path and _has(read_payload(payload), path) else None
    if made is None:
        return payload
    parent = made
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = [
        json.loads(_rename(item, ids, i))
        for item in parent[path[-1]]
        for i in range(number if _mentions(item, ids) else 1)
    ]
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()
