"""Track a stream's blocks for a grammar: each one starts once, is filled, and stops once, in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamconform_reference.grammars.grammar import Rule, Violation

RULES: Final[Mapping[str, Rule]] = {
    "index-contiguous": Rule(
        "block indices must count up from 0 without gaps, in the order in which blocks start"
    ),
    "block-start-once": Rule("a block must start only once, and its index must not be reused"),
    "block-start-before-delta": Rule("a block must start before its first delta"),
    "no-delta-after-stop": Rule("no delta may follow its block's stop"),
    "delta-fits-block": Rule("a delta must match its block's type"),
    "block-stop-once": Rule("a block that has started must stop exactly once"),
    "blocks-in-sequence": Rule("a block must stop before the next one starts"),
    "blocks-stopped": Rule("every block must stop before the answer ends"),
}
"""The rules for blocks; an API's own table may override them."""


@dataclass(slots=True)
class GrammarBlock:
    """One block: its type, the text of its deltas, and whether it has stopped."""

    kind: str | None
    stopped: bool = False
    pieces: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """The types of the block's deltas so far."""

    @property
    def text(self) -> str:
        """Return the joined deltas."""
        return "".join(self.pieces)


class GrammarBlocks:
    """The blocks of one index space. Events with an invalid index are skipped; other rules report them."""

    def __init__(self, noun: str = "block", *, sequential: bool = True) -> None:
        """Start without blocks; with `sequential`, each block must stop before the next one starts."""
        self.noun = noun
        self.sequential = sequential
        self.by_index: dict[int, GrammarBlock] = {}

    def start(self, index: Any, kind: str | None) -> Iterator[Violation]:
        """Check the start of a block."""
        if type(index) is not int:
            return
        if index in self.by_index:
            yield "block-start-once", f"{self.noun} {index} starts again"
        elif index != len(self.by_index):
            yield "index-contiguous", f"{self.noun} {index} starts, expected {len(self.by_index)}"
        running = self.open()
        if self.sequential and running and running != [index]:
            yield "blocks-in-sequence", f"{self.noun} {index} starts while {running[0]} is open"
        self.by_index[index] = GrammarBlock(kind)

    def delta(
        self, index: Any, kind: str, fits: Collection[str] | None = None, piece: Any = ""
    ) -> Iterator[Violation]:
        """Check a delta; `fits` contains the block types that it may belong to (None for any)."""
        if type(index) is not int:
            return
        block = self.by_index.get(index)
        if block is None:
            yield "block-start-before-delta", f"a delta of {self.noun} {index}, which has not started"
            self.by_index[index] = block = GrammarBlock(None)
        if block.stopped:
            yield "no-delta-after-stop", f"a delta of {self.noun} {index}, which has stopped"
        if fits is not None and block.kind is not None and block.kind not in fits:
            yield "delta-fits-block", f"`{kind}` for {self.noun} {index}, which is `{block.kind}`"
        elif isinstance(piece, str):
            block.pieces.append(piece)
        block.seen.add(kind)

    def stop(self, index: Any) -> Iterator[Violation]:
        """Check the stop of a block."""
        if type(index) is not int:
            return
        block = self.by_index.get(index)
        if block is None:
            yield "block-stop-once", f"{self.noun} {index} stops without having started"
            self.by_index[index] = block = GrammarBlock(None)
        elif block.stopped:
            yield "block-stop-once", f"{self.noun} {index} stops again"
        block.stopped = True

    def close(self) -> Iterator[Violation]:
        """Check the end of all blocks."""
        for index in self.open():
            yield "blocks-stopped", f"{self.noun} {index} has not stopped"
            self.by_index[index].stopped = True

    def open(self) -> list[int]:
        """Return the indices of blocks that have not stopped."""
        return [index for index, block in self.by_index.items() if not block.stopped]

    def get(self, index: Any) -> GrammarBlock | None:
        """Return the block at an index, or None if there is none."""
        return self.by_index.get(index) if type(index) is int else None
