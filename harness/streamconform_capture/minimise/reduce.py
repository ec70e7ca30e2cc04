"""The passes that reduce a stream: first frames, then payload members, then strings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from streamconform_capture.minimise import strings
from streamconform_capture.minimise.ddmin import minimise_list
from streamconform_capture.minimise.edits import Path, edit_members, find_nodes
from streamconform_capture.minimise.fields import MAY_BE_EMPTY, TOOL_DATA
from streamconform_capture.minimise.fixup import find_block_index, fix_up
from streamconform_capture.minimise.legality import list_required_members
from streamconform_capture.minimise.oracle import Candidate, Oracle
from streamconform_capture.minimise.stream import SplitStream

MAX_ROUNDS = 6
"""The number of rounds of all passes; two are usually enough."""


@dataclass(slots=True)
class Reducer:
    """Keeps the smallest failing candidate found so far."""

    oracle: Oracle
    best: Candidate
    on_smaller: Callable[[Candidate], None] = field(default=lambda _: None)
    """Called with each smaller candidate."""

    @property
    def stream(self) -> SplitStream:
        """Return the smallest stream so far."""
        return self.best.stream

    async def accepts(self, base: SplitStream, stream: SplitStream) -> bool:
        """Return whether `stream`, derived from `base`, also fails; keep it if it is the smallest so far."""
        await asyncio.sleep(0)  # lets Ctrl-C interrupt the search
        after = fix_up(self.oracle.original.case.api, base, stream)
        candidate = self.oracle.make_candidate(after)
        if candidate is None or not await self.oracle.fails(candidate):
            return False
        if measure(candidate) < measure(self.best):
            self.best = candidate
            self.on_smaller(candidate)
        return True


Pass = Callable[[Reducer], Awaitable[None]]


def measure(candidate: Candidate) -> tuple[int, int, int]:
    """Return the size to minimise: frames, then bytes, then chunks."""
    trial = candidate.trial
    return candidate.frame_count, len(trial.body), len(trial.chunks)


async def reduce_stream(reducer: Reducer) -> None:
    """Run the passes until they cannot make the reducer's best candidate smaller. Raises `BudgetSpent`."""
    for _ in range(MAX_ROUNDS):
        before = measure(reducer.best)
        for reduce_pass in PASSES:
            await reduce_pass(reducer)
        if measure(reducer.best) == before:
            break
    # Last, because a smaller stream has fewer chunk boundaries to try.
    await _drop_cuts(reducer)


async def _drop_blocks(reducer: Reducer) -> None:
    """Drop whole blocks and calls, and frames outside blocks."""
    api, base = reducer.oracle.original.case.api, reducer.stream
    groups: dict[Any, list[int]] = {}
    for i, piece in enumerate(base.pieces):
        number = None if piece.payload is None else find_block_index(api, piece.payload)
        groups.setdefault(("alone", i) if number is None else number, []).append(i)
    await minimise_list([*groups.values()], lambda kept: _keep_only(reducer, base, kept))


async def _drop_frames(reducer: Reducer) -> None:
    base = reducer.stream
    await minimise_list([[i] for i in range(len(base.pieces))], lambda kept: _keep_only(reducer, base, kept))


async def _keep_only(reducer: Reducer, base: SplitStream, kept: Sequence[list[int]]) -> bool:
    return await reducer.accepts(base, base.select(sorted(i for group in kept for i in group)))


async def _drop_members(reducer: Reducer) -> None:
    """Drop payload members: first the same path in all payloads, then single members."""
    kept = list_required_members(reducer.oracle.original.case.api)
    base = reducer.stream
    members = [(i, path) for i, path in base.list_places() if _is_droppable(path, kept)]
    by_general_path: dict[Path, list[tuple[int, Path]]] = {}
    for i, path in members:
        general = tuple("*" if isinstance(step, int) else step for step in path)
        by_general_path.setdefault(general, []).append((i, path))
    # Most payloads have the same members, so one trial often drops a member from all of them.
    await _minimise_members(reducer, base, [*by_general_path.values()])
    base = reducer.stream
    members = [(i, path) for i, path in base.list_places() if _is_droppable(path, kept)]
    await _minimise_members(reducer, base, [[member] for member in members])


async def _drop_items(reducer: Reducer) -> None:
    """Drop items of arrays."""
    base = reducer.stream
    await _minimise_members(
        reducer, base, [[(i, path)] for i, path in base.list_places() if isinstance(path[-1], int)]
    )


async def _minimise_members(
    reducer: Reducer, base: SplitStream, groups: Sequence[Sequence[tuple[int, Path]]]
) -> None:
    members = {member for group in groups for member in group}

    async def accepts(kept: Sequence[Sequence[tuple[int, Path]]]) -> bool:
        removed = members - {member for group in kept for member in group}
        stream = _remove_members(base, removed)
        return stream is not None and await reducer.accepts(base, stream)

    if groups:
        await minimise_list(groups, accepts)


def _remove_members(base: SplitStream, removed: set[tuple[int, Path]]) -> SplitStream | None:
    """Return the stream without these members, or None if that would leave an object or array empty."""
    payloads: dict[int, bytes] = {}
    for i in {number for number, _ in removed}:
        payload = base.pieces[i].payload or b""
        paths = {path for number, path in removed if number == i}
        for path in paths:
            parent = path[:-1]
            siblings = {
                other for other in find_nodes(payload) if len(other) == len(path) and other[:-1] == parent
            }
            if siblings <= paths and parent not in paths and not (parent and parent[-1] in MAY_BE_EMPTY):
                return None
        payloads[i] = edit_members(payload, dict.fromkeys(paths))
    return base.with_payloads(payloads)


async def _merge_frames(reducer: Reducer) -> None:
    """Join frames that differ only in one text, such as the deltas of one block."""
    first = 0
    while first < len(reducer.stream.pieces):
        base = reducer.stream
        for other, payload in strings.find_joinable(base, first):
            joined = base.with_payloads({first: payload})
            joined = joined.select(i for i in range(len(base.pieces)) if i != other)
            if await reducer.accepts(base, joined):
                break
        else:
            first += 1


async def _shorten_strings(reducer: Reducer) -> None:
    """Shorten the arguments of tool calls, keeping them valid JSON, then all other free text."""
    for slot in strings.find_call_arguments(reducer.stream):
        await _shorten_arguments(reducer, slot)
    for text in strings.find_free_texts(reducer.stream):
        base = reducer.stream

        async def accepts(kept: Sequence[bytes], text: bytes = text, base: SplitStream = base) -> bool:
            return await reducer.accepts(base, strings.replace_text(base, text, kept))

        # One character stays, because a block of empty text is judged as missing, a different failure.
        await minimise_list(strings.list_characters(text), accepts, least=1)


async def _shorten_arguments(reducer: Reducer, slot: strings.ArgumentsSlot) -> None:
    base, text = reducer.stream, slot.text
    best = [text]

    async def accepts(arguments: bytes) -> bool:
        if not await reducer.accepts(base, slot.replace(base, arguments)):
            return False
        best[0] = arguments
        return True

    if await accepts(b"{}"):
        return
    paths = [*find_nodes(text)]
    await minimise_list(
        paths, lambda kept: accepts(edit_members(text, dict.fromkeys(set(paths) - set(kept))))
    )
    for path in [*find_nodes(best[0])]:
        current = best[0]
        characters = strings.list_characters_at(current, path)

        async def accepts_characters(
            kept: Sequence[bytes], path: Path = path, current: bytes = current
        ) -> bool:
            return await accepts(edit_members(current, {path: b'"' + b"".join(kept) + b'"'}))

        if len(characters) > 1:
            await minimise_list(characters, accepts_characters, least=1)


async def _drop_cuts(reducer: Reducer) -> None:
    """Drop chunk boundaries that the failure does not need."""
    if reducer.oracle.cuts in ("as-is", "whole"):
        return
    base = reducer.stream.cut_at(_chunk_offsets(reducer.best.trial.chunks))
    reducer.oracle.cuts = "kept"
    await minimise_list(base.list_chunk_offsets(), lambda kept: reducer.accepts(base, base.cut_at(kept)))


def _chunk_offsets(chunks: Sequence[bytes]) -> list[int]:
    return [*accumulate(map(len, chunks[:-1]))]


def _is_droppable(path: Path, kept: frozenset[str]) -> bool:
    name = path[-1]
    # Inside the arguments of a call, names are the user's, even if one equals the name of a required member.
    return isinstance(name, str) and (name not in kept or not TOOL_DATA.isdisjoint(path[:-1]))


PASSES: tuple[Pass, ...] = (
    _drop_blocks,
    _drop_frames,
    _merge_frames,
    _drop_members,
    _drop_items,
    _shorten_strings,
)
