"""Where live events leave the right way: each event beside the frame that accounts for it. Pure.

Results do not hold when an event came out. But the outcome after each frame is known, so an event can be
placed at the first frame, from the one before it on, after which what the events say so far is true. The
first event that is true after no frame is where the implementation departed; it belongs to the next frame
that changes what the event speaks of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from streamconform.judge.match import is_equal
from streamconform.model.event import BlockDelta, BlockEnd, BlockStart, Done, Event, Failed, UsageReport
from streamconform.model.outcome import Block, Other, Outcome, Thinking, ToolCall, Usage

Positions = Sequence[tuple[int, Outcome]]
"""(frame, outcome after it) in rising order."""


@dataclass(frozen=True, slots=True)
class Placed:
    """For each event its frame, None from the departure on; and the frame at which they departed, if any."""

    frames: tuple[int | None, ...]
    departed: int | None


@dataclass(slots=True)
class _Said:
    """What the events said so far: blocks by content index, in the order of their types."""

    blocks: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Content index to the type and which block of that type it is."""
    texts: dict[int, str] = field(default_factory=dict)

    def hear(self, event: Event) -> None:
        if isinstance(event, BlockStart | BlockDelta | BlockEnd):
            index = event.content_index
            if index not in self.blocks:
                nth = sum(type_ == event.block for type_, _ in self.blocks.values())
                self.blocks[index] = event.block, nth
            if isinstance(event, BlockDelta):
                self.texts[index] = self.texts.get(index, "") + event.delta


def place(events: Sequence[Event], positions: Positions) -> Placed:
    """Return where the events belong; `positions` are what a right parser shows after each frame."""
    said, at = _Said(), 0
    spoken: dict[str, int] = {}
    frames: list[int | None] = []
    for number, event in enumerate(events):
        said.hear(event)
        fitting = (
            i for i in range(at, len(positions)) if _true(event, said, positions[i][1], positions[-1][1])
        )
        found = next(fitting, None)
        if found is None:
            start = at + 1 if spoken.get(_aspect(event)) == at else at
            left: list[int | None] = [None] * (len(events) - number)
            near = (_next_change(event, positions, start), _first_longer(event, said, positions))
            return Placed((*frames, *left), min((each for each in near if each is not None), default=None))
        at = spoken[_aspect(event)] = found
        frames.append(positions[at][0])
    return Placed(tuple(frames), _first_unsaid(said, positions))


def _true(event: Event, said: _Said, outcome: Outcome, last: Outcome) -> bool:
    """Return whether what the events say, this one included, is true of `outcome`; `last` is the whole."""
    match event:
        case UsageReport(usage=usage):
            return all(
                getattr(usage, name) in (None, getattr(outcome.usage, name))
                or getattr(last.usage, name) is None
                for name in Usage.__slots__
            )
        case Done(stop=stop):
            return outcome.status == "complete" and outcome.stop.reason == stop.reason
        case Failed(status=status):
            return outcome.status == status
        case (
            BlockStart(content_index=index) | BlockDelta(content_index=index) | BlockEnd(content_index=index)
        ):
            block, whole = (_block(each, *said.blocks[index]) for each in (outcome, last))
            told = whole is not None and _text(whole) is not None
            return block is not None and _agrees(event, said.texts.get(index, ""), block, told=told)
    return True


def _agrees(event: BlockStart | BlockDelta | BlockEnd, text: str, block: Block, *, told: bool) -> bool:
    """Return whether a block may look like this after the event; `told`: in the end it has a text."""
    shown = "" if told and _text(block) is None else _text(block)
    match event, block:
        case BlockStart(id=id_, name=name), ToolCall():
            return _fits(name, block.name) and _fits(id_, block.id)
        case BlockDelta(), _:
            return shown is None or shown.startswith(text)
        case BlockEnd(final=ToolCall() as final), ToolCall():
            return block.complete is True and is_equal(final.arguments, block.arguments)
        case BlockEnd(), _:
            return shown is None or _text(event.final) == shown
        case _:
            return True


def _fits(told: object, right: object) -> bool:
    """Return whether a value is right; what an implementation, or the stream, does not tell is."""
    return told is None or right is None or bool(told == right)


def _text(block: Block) -> str | None:
    match block:
        case ToolCall():
            return block.arguments_text
        case Other():
            return None
        case _:
            return block.text


def _block(outcome: Outcome, type_: str, nth: int) -> Block | None:
    """Return the nth block of a type; those that show nothing count where they were started."""
    shown = [each for each in outcome.content if each.type == type_ and not _redacted(each)]
    return shown[nth] if nth < len(shown) else None


def _redacted(block: Block) -> bool:
    return isinstance(block, Thinking) and not block.text and block.redacted


def _next_change(event: Event, positions: Positions, start: int) -> int | None:
    """Return the first frame from `start` that changes what the event speaks of, else the one at `start`."""
    if not positions:
        return None
    for i in range(start, len(positions)):
        before = _spoken_of(event, positions[i - 1][1]) if i else None
        now = _spoken_of(event, positions[i][1])
        if now != before and (i or now):
            return positions[i][0]
    return positions[min(start, len(positions) - 1)][0]


def _aspect(event: Event) -> str:
    match event:
        case UsageReport():
            return "usage"
        case Done() | Failed():
            return "status"
        case _:
            return "content"


def _spoken_of(event: Event, outcome: Outcome) -> object:
    """Return the part of an outcome that an event speaks of."""
    match _aspect(event):
        case "status":
            return outcome.status, outcome.stop
        case name:
            return getattr(outcome, name)


def _first_longer(event: Event, said: _Said, positions: Positions) -> int | None:
    """Return the first frame that shows more of a delta's block than was told before the delta."""
    if not isinstance(event, BlockDelta):
        return None
    before = len(said.texts[event.content_index]) - len(event.delta)
    for frame, outcome in positions:
        block = _block(outcome, *said.blocks[event.content_index])
        if len((block and _text(block)) or "") > before:
            return frame
    return None


def _first_unsaid(said: _Said, positions: Positions) -> int | None:
    """Return the first frame that shows text of a block which the events began and never told."""
    for index, (type_, nth) in said.blocks.items():
        told = said.texts.get(index)
        for frame, outcome in positions:
            block = _block(outcome, type_, nth)
            shown = None if block is None else _text(block)
            if shown and told is not None and not told.startswith(shown):
                return frame
    return None
