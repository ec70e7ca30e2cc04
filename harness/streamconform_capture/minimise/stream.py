"""Split a body into pieces that can be dropped: frames, bytes between frames, chunk boundaries. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from streamconform.delivery.deliver import cut, deliver
from streamconform.delivery.stream import Stream
from streamconform.model.case import Case
from streamconform.model.trial import Framing
from streamconform.wire import json_array, json_text
from streamconform.wire.framings import MESSAGE_REWRITERS, split
from streamconform_capture.minimise.edits import Path, edit_members, find_nodes

CutPolicy = Literal["as-is", "whole", "utf8-split", "bytewise", "kept"]
CUT_POLICIES: Final[tuple[CutPolicy, ...]] = ("as-is", "whole", "utf8-split", "bytewise", "kept")
"""Ways to split a body into chunks, simplest first. `kept` splits at the original boundaries that still
exist. Each of the others splits as the delivery of the same name splits a body without chunk marks (`as-is`
gives one chunk per frame).
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """A frame, or bytes between frames, which have no payload."""

    head: bytes
    """The bytes before the payload, or a complete binary message whose payload is replaced."""
    payload: bytes | None = None
    tail: bytes = b""
    cuts: tuple[int, ...] = ()
    """Offsets within the piece at which chunks begin."""


@dataclass(frozen=True, slots=True)
class SplitStream:
    """The pieces of a body, in order."""

    framing: Framing
    pieces: tuple[Piece, ...]
    opening: bytes = b""
    """The bytes before the first element of an array."""

    @property
    def body(self) -> bytes:
        """Return the joined bytes."""
        return b"".join(self._iter_bytes())

    @property
    def payloads(self) -> tuple[bytes, ...]:
        """Return the payloads of the frames."""
        return tuple(piece.payload for piece in self.pieces if piece.payload is not None)

    def select(self, indices: Iterable[int]) -> SplitStream:
        """Return the stream with only the pieces at these ascending indices."""
        return replace(self, pieces=tuple(self.pieces[i] for i in indices))

    def with_payloads(self, payloads: Mapping[int, bytes]) -> SplitStream:
        """Return the stream with new payloads in the pieces at these indices."""
        pieces = (
            replace(piece, payload=payloads[i]) if i in payloads else piece
            for i, piece in enumerate(self.pieces)
        )
        return replace(self, pieces=tuple(pieces))

    def list_chunk_offsets(self) -> tuple[int, ...]:
        """Return the offsets within the body at which chunks begin."""
        offsets: list[int] = []
        start = 0
        for piece, data in zip(self.pieces, self._iter_bytes(), strict=True):
            # A piece that was shortened may have lost the byte at which a chunk began.
            offsets += (start + cut_ for cut_ in piece.cuts if cut_ < len(data))
            start += len(data)
        return tuple(offsets)

    def cut_at(self, offsets: Iterable[int]) -> SplitStream:
        """Return the stream with chunks that begin at exactly these offsets."""
        pieces: list[Piece] = []
        start = 0
        for piece, data in zip(self.pieces, self._iter_bytes(), strict=True):
            inside = (offset - start for offset in offsets if start <= offset < start + len(data))
            pieces.append(replace(piece, cuts=tuple(inside)))
            start += len(data)
        return replace(self, pieces=tuple(pieces))

    def list_places(self) -> list[tuple[int, Path]]:
        """Return the piece index and path of every value below the root of every payload."""
        payloads = ((i, piece.payload) for i, piece in enumerate(self.pieces) if piece.payload is not None)
        return [(i, path) for i, payload in payloads for path in find_nodes(payload)]

    def with_changes(self, changes: Mapping[int, Mapping[Path, bytes | None]]) -> SplitStream:
        """Return the stream with values replaced, or dropped if None, by piece index and path."""
        return self.with_payloads(
            {i: edit_members(self.pieces[i].payload or b"", edits) for i, edits in changes.items() if edits}
        )

    def _iter_bytes(self) -> Iterator[bytes]:
        first = True
        for piece in self.pieces:
            if piece.payload is None:
                yield piece.head
            elif self.framing in MESSAGE_REWRITERS:
                yield MESSAGE_REWRITERS[self.framing](piece.head, piece.payload)
            else:
                head = piece.head if self.framing != "json_array" else self._get_separator(piece, first=first)
                first = False
                yield head + piece.payload + piece.tail

    def _get_separator(self, piece: Piece, *, first: bool) -> bytes:
        """Return the bytes before an array element: the bracket for the first one, otherwise a comma."""
        comma = piece.head.lstrip().startswith(b",")
        if first:
            return self.opening if comma else piece.head
        return piece.head if comma else json_array.SEPARATOR


def split_stream(framing: Framing, body: bytes, chunks: Sequence[bytes]) -> SplitStream:
    """Split `body`, which was delivered as `chunks`, into pieces that concatenate to the same bytes.

    A document is one piece, with a payload if it is JSON.
    """
    starts = [0]
    for chunk in chunks[:-1]:
        starts.append(starts[-1] + len(chunk))
    if framing == "document":
        is_json = json_text.parse(body) is not None
        document = Piece(b"", body, b"", tuple(starts)) if is_json else Piece(body, cuts=tuple(starts))
        return SplitStream(framing, (document,))
    pieces: list[Piece] = []
    position = 0
    for frame in split(framing, body):
        if frame.start > position:
            pieces.append(_shift_piece(Piece(body[position : frame.start]), position, frame.start, starts))
        position = frame.end
        start, stop = frame.value or (frame.end, frame.end)
        if frame.value is None:
            piece = Piece(body[frame.start : frame.end])
        elif framing in MESSAGE_REWRITERS:
            piece = Piece(body[frame.start : frame.end], frame.payload)
        else:
            piece = Piece(body[frame.start : start], frame.payload, body[stop : frame.end])
        pieces.append(_shift_piece(piece, frame.start, frame.end, starts))
    if position < len(body):
        pieces.append(_shift_piece(Piece(body[position:]), position, len(body), starts))
    opening = pieces[0].head if pieces and framing == "json_array" else b""
    return SplitStream(framing, tuple(pieces), opening)


def make_chunks(case: Case, cuts: CutPolicy, stream: SplitStream) -> tuple[bytes, ...]:
    """Return the chunks of `case`, which has the body of `stream` and no chunk marks."""
    if cuts == "kept":
        return cut(case.cassette.body, stream.list_chunk_offsets())
    return deliver(Stream(case), cuts, "")


def _shift_piece(piece: Piece, start: int, end: int, starts: Sequence[int]) -> Piece:
    return replace(piece, cuts=tuple(offset - start for offset in starts if start <= offset < end))
