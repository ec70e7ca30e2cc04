"""Find the point where live events diverge from the stream, and place each event at its frame. Pure.

Results do not record when an event was emitted. However, the outcome after each frame is known, so each event
is placed at the first frame after which all events so far are true, and never before the previous event's
frame. If an event is not true after any frame, it is the first wrong one: the implementation diverges at the
next frame that changes the part of the outcome that the event reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from streamconform.judge.match import is_equal
from streamconform.model.event import BlockDelta, BlockEnd, BlockStart, Done, Event, Failed, UsageReport
from streamconform.model.outcome import Block, Other, Outcome, Thinking, ToolCall, Usage

Snapshots = Sequence[tuple[int, Outcome]]
"""Frames in increasing order, each with a correct parser's outcome after that frame."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Each event's frame (None from the first wrong event on), and the frame at which they diverge."""

    frames: tuple[int | None, ...]
    diverged: int | None


@dataclass(slots=True)
class _Reported:
    """The state reported by the events so far."""

    blocks: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Maps a content index to (type, number among the blocks of that type)."""
    texts: dict[int, str] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        if isinstance(event, BlockStart | BlockDelta | BlockEnd):
            index = event.content_index
            if index not in self.blocks:
                number = sum(type_ == event.block for type_, _ in self.blocks.values())
                self.blocks[index] = event.block, number
            if isinstance(event, BlockDelta):
                self.texts[index] = self.texts.get(index, "") + event.delta


def place_events(events: Sequence[Event], snapshots: Snapshots) -> Placement:
    """Return the frame of each event, and the frame at which the events diverge."""
    reported, position = _Reported(), 0
    last_by_aspect: dict[str, int] = {}
    frames: list[int | None] = []
    for number, event in enumerate(events):
        reported.add(event)
        matches = (
            i
            for i in range(position, len(snapshots))
            if _is_true(event, reported, snapshots[i][1], snapshots[-1][1])
        )
        match_ = next(matches, None)
        if match_ is None:
            # A second event of the same kind cannot come from the same frame: look from the next one on.
            start = position + 1 if last_by_aspect.get(_aspect(event)) == position else position
            unplaced: list[int | None] = [None] * (len(events) - number)
            candidates = (
                _find_next_change(event, snapshots, start),
                _find_first_longer(event, reported, snapshots),
            )
            diverged = min((frame for frame in candidates if frame is not None), default=None)
            return Placement((*frames, *unplaced), diverged)
        position = last_by_aspect[_aspect(event)] = match_
        frames.append(snapshots[position][0])
    return Placement(tuple(frames), _find_unreported_text(reported, snapshots))


def _is_true(event: Event, reported: _Reported, outcome: Outcome, final: Outcome) -> bool:
    """Return whether the state reported by the events, including `event`, agrees with `outcome`."""
    match event:
        case UsageReport(usage=usage):
            return all(
                getattr(usage, name) in (None, getattr(outcome.usage, name))
                # A count that the correct parser does not report cannot be wrong.
                or getattr(final.usage, name) is None
                for name in Usage.__slots__
            )
        case Done(stop=stop):
            return outcome.status == "complete" and outcome.stop.reason == stop.reason
        case Failed(status=status):
            return outcome.status == status
        case (
            BlockStart(content_index=index) | BlockDelta(content_index=index) | BlockEnd(content_index=index)
        ):
            block, final_block = (_find_block(o, *reported.blocks[index]) for o in (outcome, final))
            has_text = final_block is not None and _text(final_block) is not None
            text = reported.texts.get(index, "")
            return block is not None and _agrees(event, text, block, has_text=has_text)
    return True


def _agrees(event: BlockStart | BlockDelta | BlockEnd, text: str, block: Block, *, has_text: bool) -> bool:
    """Return whether `block` agrees with the event; `has_text` says whether the final block has text."""
    block_text = "" if has_text and _text(block) is None else _text(block)
    match event, block:
        case BlockStart(id=id_, name=name), ToolCall():
            return _agrees_or_unknown(name, block.name) and _agrees_or_unknown(id_, block.id)
        case BlockDelta(), _:
            return block_text is None or block_text.startswith(text)
        case BlockEnd(final=ToolCall() as final), ToolCall():
            return block.complete is True and is_equal(final.arguments, block.arguments)
        case BlockEnd(), _:
            return block_text is None or _text(event.final) == block_text
        case _:
            return True


def _agrees_or_unknown(reported: object, correct: object) -> bool:
    """Return whether a value is correct; a value that one side does not report cannot be wrong."""
    return reported is None or correct is None or bool(reported == correct)


def _text(block: Block) -> str | None:
    match block:
        case ToolCall():
            return block.arguments_text
        case Other():
            return None
        case _:
            return block.text


def _find_block(outcome: Outcome, type_: str, number: int) -> Block | None:
    """Return block `number` of its type; redacted thinking does not count, because it has no events."""
    blocks = [block for block in outcome.content if block.type == type_ and not _is_redacted(block)]
    return blocks[number] if number < len(blocks) else None


def _is_redacted(block: Block) -> bool:
    return isinstance(block, Thinking) and not block.text and block.redacted


def _find_next_change(event: Event, snapshots: Snapshots, start: int) -> int | None:
    """Return the first frame from `start` on that changes what `event` reports; `start` if none does."""
    if not snapshots:
        return None
    for i in range(start, len(snapshots)):
        before = _reported_part(event, snapshots[i - 1][1]) if i else None
        after = _reported_part(event, snapshots[i][1])
        # Nothing comes before the first snapshot, which therefore changes a part only if that is not empty.
        if after != before and (i or after):
            return snapshots[i][0]
    return snapshots[min(start, len(snapshots) - 1)][0]


def _aspect(event: Event) -> str:
    """Return the part of an outcome that `event` reports."""
    match event:
        case UsageReport():
            return "usage"
        case Done() | Failed():
            return "status"
        case _:
            return "content"


def _reported_part(event: Event, outcome: Outcome) -> object:
    """Return the value in `outcome` that `event` reports."""
    match _aspect(event):
        case "status":
            return outcome.status, outcome.stop
        case name:
            return getattr(outcome, name)


def _find_first_longer(event: Event, reported: _Reported, snapshots: Snapshots) -> int | None:
    """Return the first frame after which a delta's block has more text than was reported before it."""
    if not isinstance(event, BlockDelta):
        return None
    length_before = len(reported.texts[event.content_index]) - len(event.delta)
    for frame, outcome in snapshots:
        block = _find_block(outcome, *reported.blocks[event.content_index])
        if len((block and _text(block)) or "") > length_before:
            return frame
    return None


def _find_unreported_text(reported: _Reported, snapshots: Snapshots) -> int | None:
    """Return the first frame after which a started block has text that the events never reported."""
    for index, (type_, number) in reported.blocks.items():
        reported_text = reported.texts.get(index)
        for frame, outcome in snapshots:
            block = _find_block(outcome, type_, number)
            text = None if block is None else _text(block)
            if text and reported_text is not None and not reported_text.startswith(text):
                return frame
    return None
