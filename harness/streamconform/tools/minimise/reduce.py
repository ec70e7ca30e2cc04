"""The passes that reduce a stream: frames, then members of payloads, then strings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from streamconform.tools.minimise import strings
from streamconform.tools.minimise.ddmin import minimise_list
from streamconform.tools.minimise.edits import Path, edit_members, nodes
from streamconform.tools.minimise.fields import MAY_BE_EMPTY, OF_TOOLS
from streamconform.tools.minimise.fixup import fix_up, index
from streamconform.tools.minimise.legality import kept_members
from streamconform.tools.minimise.oracle import Candidate, Oracle
from streamconform.tools.minimise.stream import SplitStream

MAX_ROUNDS = 6
"""Rounds of all passes; two are common, since shorter strings let no frame go."""


@dataclass(slots=True)
class Reducer:
    """Keeps the smallest failing candidate found so far."""

    oracle: Oracle
    best: Candidate
    smaller: Callable[[Candidate], None] = field(default=lambda _: None)
    """Is told of each smaller one."""

    @property
    def stream(self) -> SplitStream:
        """Return the smallest stream so far."""
        return self.best.stream

    async def accepts(self, base: SplitStream, stream: SplitStream) -> bool:
        """Return whether `stream`, made from `base`, fails too; if it is smaller it is the best one then."""
        await asyncio.sleep(0)  # lets Ctrl-C interrupt the search
        after = fix_up(self.oracle.given.case.api, base, stream)
        candidate = self.oracle.candidate(after)
        if candidate is None or not await self.oracle.fails(candidate):
            return False
        if measure(candidate) < measure(self.best):
            self.best = candidate
            self.smaller(candidate)
        return True


Pass = Callable[[Reducer], Awaitable[None]]


def measure(candidate: Candidate) -> tuple[int, int, int]:
    """Return the size to minimise: frames, then bytes, then chunks."""
    trial = candidate.trial
    return candidate.frames, len(trial.body), len(trial.chunks)


async def reduce_stream(reducer: Reducer) -> None:
    """Make the reducer's best candidate as small as the passes can; raises `BudgetSpent`."""
    for _ in range(MAX_ROUNDS):
        before = measure(reducer.best)
        for each in PASSES:
            await each(reducer)
        if measure(reducer.best) == before:
            break
    await _drop_cuts(reducer)


async def _drop_blocks(reducer: Reducer) -> None:
    """Drop whole blocks and calls, and frames that belong to none."""
    api, base = reducer.oracle.given.case.api, reducer.stream
    groups: dict[Any, list[int]] = {}
    for i, piece in enumerate(base.pieces):
        number = None if piece.payload is None else index(api, piece.payload)
        groups.setdefault(("alone", i) if number is None else number, []).append(i)
    await minimise_list([*groups.values()], lambda kept: _keep_only(reducer, base, kept))


async def _drop_frames(reducer: Reducer) -> None:
    base = reducer.stream
    await minimise_list([[i] for i in range(len(base.pieces))], lambda kept: _keep_only(reducer, base, kept))


async def _keep_only(reducer: Reducer, base: SplitStream, kept: Sequence[list[int]]) -> bool:
    return await reducer.accepts(base, base.only(sorted(i for group in kept for i in group)))


async def _drop_members(reducer: Reducer) -> None:
    """Drop members of payloads: the same one everywhere, then each for itself."""
    kept = kept_members(reducer.oracle.given.case.api)
    base = reducer.stream
    found = [(i, path) for i, path in base.places() if _is_droppable(path, kept)]
    everywhere: dict[Path, list[tuple[int, Path]]] = {}
    for i, path in found:
        general = tuple("*" if isinstance(step, int) else step for step in path)
        everywhere.setdefault(general, []).append((i, path))
    await _fewest_members(reducer, base, [*everywhere.values()])
    base = reducer.stream
    found = [(i, path) for i, path in base.places() if _is_droppable(path, kept)]
    await _fewest_members(reducer, base, [[each] for each in found])


async def _drop_items(reducer: Reducer) -> None:
    """Drop items of arrays."""
    base = reducer.stream
    await _fewest_members(
        reducer, base, [[(i, path)] for i, path in base.places() if isinstance(path[-1], int)]
    )


async def _fewest_members(
    reducer: Reducer, base: SplitStream, groups: Sequence[Sequence[tuple[int, Path]]]
) -> None:
    every = {each for group in groups for each in group}

    async def accepts(kept: Sequence[Sequence[tuple[int, Path]]]) -> bool:
        gone = every - {each for group in kept for each in group}
        stream = _remove_members(base, gone)
        return stream is not None and await reducer.accepts(base, stream)

    if groups:
        await minimise_list(groups, accepts)


def _remove_members(base: SplitStream, gone: set[tuple[int, Path]]) -> SplitStream | None:
    """Return the stream without these members; None where an object or array would be empty."""
    payloads: dict[int, bytes] = {}
    for i in {number for number, _ in gone}:
        own = base.pieces[i].payload or b""
        paths = {path for number, path in gone if number == i}
        for path in paths:
            parent = path[:-1]
            siblings = {each for each in nodes(own) if len(each) == len(path) and each[:-1] == parent}
            if siblings <= paths and parent not in paths and not (parent and parent[-1] in MAY_BE_EMPTY):
                return None
        payloads[i] = edit_members(own, dict.fromkeys(paths))
    return base.with_payloads(payloads)


async def _merge_frames(reducer: Reducer) -> None:
    """Join frames that differ only in one text, such as the deltas of one block."""
    first = 0
    while first < len(reducer.stream.pieces):
        base = reducer.stream
        for other, payload in strings.joinable(base, first):
            joined = base.with_payloads({first: payload})
            joined = joined.only(i for i in range(len(base.pieces)) if i != other)
            if await reducer.accepts(base, joined):
                break
        else:
            first += 1


async def _shorten_strings(reducer: Reducer) -> None:
    """Shorten the arguments of tool calls, as JSON, then every other free text."""
    for slot in strings.calls(reducer.stream):
        await _shorten_arguments(reducer, slot)
    for text in strings.texts(reducer.stream):
        base = reducer.stream

        async def accepts(kept: Sequence[bytes], text: bytes = text, base: SplitStream = base) -> bool:
            return await reducer.accepts(base, strings.with_text(base, text, kept))

        await minimise_list(strings.characters(text), accepts, least=1)


async def _shorten_arguments(reducer: Reducer, slot: strings.Slot) -> None:
    base, text = reducer.stream, slot.text
    best = [text]

    async def accepts(given: bytes) -> bool:
        if not await reducer.accepts(base, slot.put(base, given)):
            return False
        best[0] = given
        return True

    if await accepts(b"{}"):
        return
    paths = [*nodes(text)]
    await minimise_list(
        paths, lambda kept: accepts(edit_members(text, dict.fromkeys(set(paths) - set(kept))))
    )
    for path in [*nodes(best[0])]:
        current = best[0]
        found = strings.of(current, path)

        async def shorter(kept: Sequence[bytes], path: Path = path, current: bytes = current) -> bool:
            return await accepts(edit_members(current, {path: b'"' + b"".join(kept) + b'"'}))

        if len(found) > 1:
            await minimise_list(found, shorter, least=1)


async def _drop_cuts(reducer: Reducer) -> None:
    """Drop chunk boundaries that the failure does not need."""
    if reducer.oracle.cuts in ("recorded", "whole"):
        return
    base = reducer.stream.cut_at(_chunk_offsets(reducer.best.trial.chunks))
    reducer.oracle.cuts = "kept"
    await minimise_list(base.offsets(), lambda kept: reducer.accepts(base, base.cut_at(kept)))


def _chunk_offsets(chunks: Sequence[bytes]) -> list[int]:
    return [*accumulate(map(len, chunks[:-1]))]


def _is_droppable(path: Path, kept: frozenset[str]) -> bool:
    name = path[-1]
    return isinstance(name, str) and (name not in kept or not OF_TOOLS.isdisjoint(path[:-1]))


PASSES: tuple[Pass, ...] = (
    _drop_blocks,
    _drop_frames,
    _merge_frames,
    _drop_members,
    _drop_items,
    _shorten_strings,
)
