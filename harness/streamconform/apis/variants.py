"""Variants: the same answer in frames that the API's real servers send as well. Pure.

A variant rewrites the parsed payloads of a complete stream. Most change nothing in the outcome; for the
others, `expect` says what changes. Each names the fact or the thread which shows that a server of the API
sends such frames: no API has a variant without one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import Struct, structs

from streamconform.apis.payloads import Payload
from streamconform.model.case import Expectation, ExpectedBlock, Level
from streamconform.model.leaf import AnyOf, list_preferred
from streamconform.model.outcome import BlockType

Payloads = Sequence[Payload]
Rewritten = Sequence[Sequence[Payload]]
"""For each frame, the payloads that take its place: none, itself, or several in frames like it."""
Rewrite = Callable[[Payloads], Rewritten | None]
"""Returns None if the stream is not one that the variant is about."""
Step = str | int
Place = tuple[Step, ...]
"""The keys and positions that lead to a value."""


def expect_the_same(expect: Expectation) -> Expectation:
    """Return `expect`: nothing in the outcome depends on the variant."""
    return expect


class Variant(Struct, frozen=True, kw_only=True):
    """How an API has a delivery of `VARIANTS`."""

    level: Level
    sources: tuple[str, ...]
    """Names of facts (`specs/evidence`) and threads (`specs/threads.yaml`)."""
    rewrite: Rewrite
    expect: Callable[[Expectation], Expectation] = expect_the_same
    """Returns the expectation for the variant, given that of the stream."""


def expect_any_id(expect: Expectation) -> Expectation:
    """Do not judge the ids of calls: a client makes up its own, or reports none."""
    return change_blocks(expect, "tool_call", lambda block: leave_out(block, "id"))


def expect_any_end(expect: Expectation) -> Expectation:
    """Accept calls as complete or not, with any stop reason that follows from that (specs/POLICY.md)."""
    ended = AnyOf((True, False), "the answer ended, but nothing ended the call")

    def change(block: ExpectedBlock) -> ExpectedBlock:
        return structs.replace(block, fields={**block.fields, "complete": ended})

    changed = change_blocks(expect, "tool_call", change)
    if changed == expect or list_preferred(expect.fields.get("stop.reason")) != ("tool_use",):
        return changed
    follows = AnyOf(("tool_use", "stop", "other"), "follows the call: tool_use means that the call may run")
    return replace(changed, fields={**changed.fields, "stop.reason": follows})


def change_blocks(
    expect: Expectation, kind: BlockType, change: Callable[[ExpectedBlock], ExpectedBlock]
) -> Expectation:
    """Return the expectation in which `change` has changed each block of this type."""
    content = [change(block) if block.type == kind else block for block in expect.content or ()]
    return replace(expect, content=tuple(content))


def leave_out(block: ExpectedBlock, name: str) -> ExpectedBlock:
    """Return the block without what is expected of one field."""
    return structs.replace(block, fields={key: leaf for key, leaf in block.fields.items() if key != name})


def map_payloads(change: Callable[[Payload], Sequence[Payload]]) -> Rewrite:
    """Return a rewrite that looks at each payload on its own."""
    return lambda payloads: [change(payload) for payload in payloads]


FindPiece = Callable[[Payload], Place | None]
"""Returns the place of the text in a delta that has nothing else; None for any other payload."""

_PAIR: Final = re.compile("[\U00010000-\U0010ffff]")


def split_pairs(find_piece: FindPiece) -> Rewrite:
    """Cut each delta inside its characters beyond U+FFFF, so that each part has half of a surrogate pair."""

    def change(payload: Payload) -> Sequence[Payload]:
        place = find_piece(payload)
        if place is None:
            return (payload,)
        return [set_at(payload, place, piece) for piece in _cut_pairs(read_at(payload, place))]

    return map_payloads(change)


def _cut_pairs(text: str) -> Sequence[str]:
    pieces = [""]
    position = 0
    for match in _PAIR.finditer(text):
        units = match[0].encode("utf-16-be")
        first, second = (chr(int.from_bytes(units[n : n + 2], "big")) for n in (0, 2))
        pieces[-1] += text[position : match.start()] + first
        pieces.append(second)
        position = match.end()
    pieces[-1] += text[position:]
    return pieces


def add_empty_deltas(find_piece: FindPiece) -> Rewrite:
    """Send an empty delta before each delta."""

    def change(payload: Payload) -> Sequence[Payload]:
        place = find_piece(payload)
        return (payload,) if place is None else (set_at(payload, place, ""), payload)

    return map_payloads(change)


def read_at(payload: Payload, place: Place) -> Any:
    """Return the value at `place`, or None if there is none."""
    value: Any = payload
    for step in place:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and len(value) > step else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def set_at(payload: Payload, place: Place, value: Any) -> dict[str, Any]:
    """Return a copy of `payload` with `value` at `place`, which exists."""
    made: dict[str, Any] = _set_in(payload, place, value)
    return made


def _set_in(holder: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    step, *rest = place
    copy: Any = list(holder) if isinstance(holder, list) else dict(holder)
    copy[step] = _set_in(holder[step], tuple(rest), value)
    return copy


def find_text(payload: Payload, places: Sequence[Place]) -> Place | None:
    """Return the only one of `places` that has a text which is not empty."""
    found = [place for place in places if isinstance(text := read_at(payload, place), str) and text]
    return found[0] if len(found) == 1 else None


def drop(payload: Payload, *names: str) -> dict[str, Any]:
    """Return a copy of `payload` without these members."""
    return {name: value for name, value in payload.items() if name not in names}


Variants = Mapping[str, Variant]
