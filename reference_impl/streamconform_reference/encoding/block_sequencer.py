"""Reorder interleaved pieces so that blocks do not overlap, for APIs with one open block at a time.

The pieces of a block wait until every earlier block has ended. A block that is still open when the answer
ends is ended then, and later blocks are written after it. This is the only output that an encoder delays even
though it could be written: in APIs whose calls all end with the answer, the second call waits until the first
has ended.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from streamconform_reference.encoding.encoder import Piece, PlacedBlock, PlacedCitation
from streamconform_reference.events import (
    ProseDelta,
    ProseStart,
    TextEnd,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)

BlockPiece = (
    PlacedBlock
    | PlacedCitation
    | ProseStart
    | ProseDelta
    | TextEnd
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
)
"""A piece of a block."""


@dataclass(slots=True)
class _PendingBlock:
    """A block with its pending pieces."""

    ended: bool
    pieces: list[Piece] = field(default_factory=list)


class BlockSequencer:
    """Puts the pieces of an answer in sequence, block by block."""

    def __init__(self) -> None:
        """Start with no blocks."""
        self._pending: deque[_PendingBlock] = deque()
        self._by_index: dict[int, _PendingBlock] = {}

    def take(self, piece: BlockPiece) -> list[Piece]:
        """Return the pieces that can be written now; pieces of a block that never started are dropped."""
        block = self._find_block(piece)
        if block is None:
            return []
        block.pieces.append(piece)
        block.ended = block.ended or isinstance(piece, (TextEnd, ThinkingEnd, ToolCallEnd))
        return self._take_ready()

    def flush(self) -> list[Piece]:
        """Return the pending pieces, block by block; call it when the answer has ended."""
        pieces = [piece for block in self._pending for piece in block.pieces]
        self._pending.clear()
        return pieces

    def _find_block(self, piece: BlockPiece) -> _PendingBlock | None:
        if isinstance(piece, (ProseStart, ToolCallStart, PlacedBlock)):
            block = _PendingBlock(ended=isinstance(piece, PlacedBlock))
            self._pending.append(block)
            self._by_index[piece.content_index] = block
        return self._by_index.get(piece.content_index)

    def _take_ready(self) -> list[Piece]:
        ready: list[Piece] = []
        while self._pending:
            first = self._pending[0]
            ready += first.pieces
            first.pieces = []
            if not first.ended:
                break
            self._pending.popleft()
        return ready
