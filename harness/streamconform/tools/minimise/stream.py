"""A body taken apart, so that parts of it can be left out: frames, what is between them, cuts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from streamconform.delivery.deliver import cut, deliver
from streamconform.model.cassette import Cassette
from streamconform.model.trial import Framing
from streamconform.tools.minimise.edits import Path, edit_members, nodes
from streamconform.wire import eventstream, json_array, json_text
from streamconform.wire.framings import split

Cuts = Literal["recorded", "whole", "utf8-split", "bytewise", "kept"]
CUTS: Final[tuple[Cuts, ...]] = ("recorded", "whole", "utf8-split", "bytewise", "kept")
"""Where chunks are cut, the plainest first: as the delivery of that name does it without chunk marks (so
`recorded` is a chunk a frame), or `kept` where they were, as far as there still is such a place."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A frame, or the bytes between two of them, which have no payload."""

    head: bytes
    """What stands before the payload; the headers of a binary message."""
    payload: bytes | None = None
    tail: bytes = b""
    cuts: tuple[int, ...] = ()
    """Where chunks began in it, in bytes from its start."""


@dataclass(frozen=True, slots=True)
class SplitStream:
    """The pieces of a body in their order."""

    framing: Framing
    pieces: tuple[Piece, ...]
    opening: bytes = b""
    """What stands before the first element of an array."""

    @property
    def body(self) -> bytes:
        """Return the bytes."""
        return b"".join(self._iter_bytes())

    @property
    def payloads(self) -> tuple[bytes, ...]:
        """Return the payloads of the frames."""
        return tuple(each.payload for each in self.pieces if each.payload is not None)

    def only(self, numbers: Iterable[int]) -> SplitStream:
        """Return the stream with the pieces of these numbers, which rise."""
        return replace(self, pieces=tuple(self.pieces[number] for number in numbers))

    def with_payloads(self, payloads: Mapping[int, bytes]) -> SplitStream:
        """Return the stream with other payloads in the pieces of these numbers."""
        pieces = (
            replace(each, payload=payloads[i]) if i in payloads else each
            for i, each in enumerate(self.pieces)
        )
        return replace(self, pieces=tuple(pieces))

    def offsets(self) -> tuple[int, ...]:
        """Return the offsets at which chunks begin that were kept."""
        found: list[int] = []
        start = 0
        for piece, data in zip(self.pieces, self._iter_bytes(), strict=True):
            found += (start + each for each in piece.cuts if each < len(data))
            start += len(data)
        return tuple(found)

    def cut_at(self, offsets: Iterable[int]) -> SplitStream:
        """Return the stream with chunks that begin at these offsets, and at no other."""
        pieces: list[Piece] = []
        start = 0
        for piece, data in zip(self.pieces, self._iter_bytes(), strict=True):
            inside = (each - start for each in offsets if start <= each < start + len(data))
            pieces.append(replace(piece, cuts=tuple(inside)))
            start += len(data)
        return replace(self, pieces=tuple(pieces))

    def places(self) -> list[tuple[int, Path]]:
        """Return every value below the root of every payload: the number of its piece, and its path."""
        every = ((i, each.payload) for i, each in enumerate(self.pieces) if each.payload is not None)
        return [(i, path) for i, payload in every for path in nodes(payload)]

    def changed(self, changes: Mapping[int, Mapping[Path, bytes | None]]) -> SplitStream:
        """Return the stream with values at some paths of some pieces replaced, or left out where None."""
        return self.with_payloads(
            {i: edit_members(self.pieces[i].payload or b"", each) for i, each in changes.items() if each}
        )

    def _iter_bytes(self) -> Iterator[bytes]:
        first = True
        for piece in self.pieces:
            if piece.payload is None:
                yield piece.head
            elif self.framing == "eventstream":
                yield eventstream.encode_message(piece.head, piece.payload)
            else:
                head = piece.head if self.framing != "json_array" else self._before(piece, first=first)
                first = False
                yield head + piece.payload + piece.tail

    def _before(self, piece: Piece, *, first: bool) -> bytes:
        """Return what stands before an element: the bracket before the first one, else a comma."""
        comma = piece.head.lstrip().startswith(b",")
        if first:
            return self.opening if comma else piece.head
        return piece.head if comma else json_array.SEPARATOR


def split_stream(framing: Framing, body: bytes, chunks: Sequence[bytes]) -> SplitStream:
    """Return `body`, which was handed over as `chunks`, in pieces; joined they are the body again.

    A document is one piece: its payload where it is JSON.
    """
    starts = [0]
    for chunk in chunks[:-1]:
        starts.append(starts[-1] + len(chunk))
    if framing == "document":
        is_json = json_text.parse(body) is not None
        whole = Piece(b"", body, b"", tuple(starts)) if is_json else Piece(body, cuts=tuple(starts))
        return SplitStream(framing, (whole,))
    pieces: list[Piece] = []
    position = 0
    for frame in split(framing, body):
        if frame.start > position:
            pieces.append(_shift_piece(Piece(body[position : frame.start]), position, frame.start, starts))
        position = frame.end
        start, stop = frame.value or (frame.end, frame.end)
        if frame.value is None:
            piece = Piece(body[frame.start : frame.end])
        elif framing == "eventstream":
            piece = Piece(body[frame.start + eventstream.PRELUDE.size : start], frame.payload)
        else:
            piece = Piece(body[frame.start : start], frame.payload, body[stop : frame.end])
        pieces.append(_shift_piece(piece, frame.start, frame.end, starts))
    if position < len(body):
        pieces.append(_shift_piece(Piece(body[position:]), position, len(body), starts))
    opening = pieces[0].head if pieces and framing == "json_array" else b""
    return SplitStream(framing, tuple(pieces), opening)


def chunks_of(cassette: Cassette, framing: Framing, cuts: Cuts, stream: SplitStream) -> tuple[bytes, ...]:
    """Return the chunks of `cassette`, whose body is that of `stream` and which has no marks."""
    if cuts == "kept":
        return cut(cassette.body, stream.offsets())
    return deliver(cassette, framing, cuts, "")


def _shift_piece(piece: Piece, start: int, end: int, starts: Sequence[int]) -> Piece:
    return replace(piece, cuts=tuple(each - start for each in starts if start <= each < end))
