"""The blocks of a stream as a grammar sees them: begun, filled, ended, each once and in their order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamconform_reference.grammars.grammar import Finding, Rule

RULES: Final[Mapping[str, Rule]] = {
    "index-contiguous": Rule("the indices of blocks count from 0 without gaps, in the order of their starts"),
    "block-start-once": Rule("a block starts once, and its index is not used again"),
    "block-start-before-delta": Rule("a block starts before its first delta"),
    "no-delta-after-stop": Rule("no delta comes behind the stop of its block"),
    "delta-fits-block": Rule("a delta is of the type of its block"),
    "block-stop-once": Rule("a block that has started stops once"),
    "blocks-in-sequence": Rule("a block stops before the next one starts"),
    "blocks-stopped": Rule("every block has stopped before the answer ends"),
}
"""What is held of blocks; an api's own table may say it otherwise."""


@dataclass(slots=True)
class Block:
    """One block: its type, what its deltas brought, and whether it has stopped."""

    kind: str | None
    stopped: bool = False
    pieces: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """Types of the deltas that came."""

    @property
    def text(self) -> str:
        """Return the deltas joined."""
        return "".join(self.pieces)


class Blocks:
    """The blocks of one index space. An index that is no whole number is nobody's: its field is wrong."""

    def __init__(self, noun: str = "block", *, sequential: bool = True) -> None:
        """Begin without any; `sequential` is whether one has to stop before the next starts."""
        self.noun = noun
        self.sequential = sequential
        self.at: dict[int, Block] = {}

    def start(self, index: Any, kind: str | None) -> Iterator[Finding]:
        """Take the start of a block."""
        if type(index) is not int:
            return
        if index in self.at:
            yield "block-start-once", f"{self.noun} {index} starts again"
        elif index != len(self.at):
            yield "index-contiguous", f"{self.noun} {index} starts, expected {len(self.at)}"
        running = self.open()
        if self.sequential and running and running != [index]:
            yield "blocks-in-sequence", f"{self.noun} {index} starts while {running[0]} is open"
        self.at[index] = Block(kind)

    def delta(
        self, index: Any, kind: str, fits: Collection[str] | None = None, piece: Any = ""
    ) -> Iterator[Finding]:
        """Take a delta; `fits` are the types of blocks that it belongs to, None: any."""
        if type(index) is not int:
            return
        block = self.at.get(index)
        if block is None:
            yield "block-start-before-delta", f"a delta of {self.noun} {index}, which has not started"
            self.at[index] = block = Block(None)
        if block.stopped:
            yield "no-delta-after-stop", f"a delta of {self.noun} {index}, which has stopped"
        if fits is not None and block.kind is not None and block.kind not in fits:
            yield "delta-fits-block", f"`{kind}` comes for {self.noun} {index}, which is `{block.kind}`"
        elif isinstance(piece, str):
            block.pieces.append(piece)
        block.seen.add(kind)

    def stop(self, index: Any) -> Iterator[Finding]:
        """Take the stop of a block."""
        if type(index) is not int:
            return
        block = self.at.get(index)
        if block is None:
            yield "block-stop-once", f"{self.noun} {index} stops without having started"
            self.at[index] = block = Block(None)
        elif block.stopped:
            yield "block-stop-once", f"{self.noun} {index} stops again"
        block.stopped = True

    def close(self) -> Iterator[Finding]:
        """Take the end of all blocks."""
        for index in self.open():
            yield "blocks-stopped", f"{self.noun} {index} has not stopped"
            self.at[index].stopped = True

    def open(self) -> list[int]:
        """Return the indices of the blocks that have not stopped."""
        return [index for index, block in self.at.items() if not block.stopped]

    def get(self, index: Any) -> Block | None:
        """Return the block at an index, None where there is none."""
        return self.at.get(index) if type(index) is int else None
