"""What holds for every outcome and every stream of events, whatever the case. Pure.

Each rule returns what is wrong in words, or None. The rules about events need the events to be claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from streamconform.model.event import BlockDelta, BlockEnd, BlockStart, Done, Event, Failed, UsageReport
from streamconform.model.outcome import Block, Other, Outcome, Refusal, Text, Thinking, ToolCall

Rule = Callable[[Outcome, Sequence[Event]], str | None]


def unique_ids(outcome: Outcome) -> str | None:
    """Every tool call has an id of its own."""
    ids = [block.id for block in outcome.content if isinstance(block, ToolCall)]
    for i, id_ in enumerate(ids):
        if not id_:
            return f"tool call {i} has no id"
        if id_ in ids[:i]:
            return f"id `{id_}` belongs to two tool calls"
    return None


def one_terminal(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """Exactly one terminal event, the last one, and it says what the outcome says."""
    terminal = [i for i, event in enumerate(events) if isinstance(event, Done | Failed)]
    if len(terminal) != 1:
        return f"{len(terminal)} terminal events (`done` or `error`) instead of one"
    if terminal[0] != len(events) - 1:
        return f"event {terminal[0]} is terminal, but {len(events) - 1 - terminal[0]} more follow"
    last = events[-1]
    said = "complete" if isinstance(last, Done) else last.status if isinstance(last, Failed) else None
    if said != outcome.status:
        return f"the last event says `{said}`, the outcome `{outcome.status}`"
    if isinstance(last, Done) and last.stop != outcome.stop:
        return f"`done` says {last.stop}, the outcome {outcome.stop}"
    return None


def index_in_range(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """Every content_index names a block of the outcome, of the same type."""
    for i, event in enumerate(events):
        if isinstance(event, BlockStart | BlockDelta | BlockEnd):
            if event.content_index >= len(outcome.content):
                count = len(outcome.content)
                return f"event {i} has content_index {event.content_index}; the outcome has {count} blocks"
            type_ = outcome.content[event.content_index].type
            if type_ != event.block:
                return f"event {i} is of a {event.block} block; block {event.content_index} is {type_}"
    return None


def delta_inside_block(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """Every delta and end lies between its own block's start and end, and no block starts twice."""
    del outcome
    open_: set[int] = set()
    seen: set[int] = set()
    for i, event in enumerate(events):
        match event:
            case BlockStart(content_index=index):
                if index in seen:
                    return f"event {i} starts block {index} a second time"
                open_.add(index)
                seen.add(index)
            case BlockDelta(content_index=index):
                if index not in open_:
                    return f"event {i} is a delta of block {index}, which is not open"
            case BlockEnd(content_index=index):
                if index not in open_:
                    return f"event {i} ends block {index}, which is not open"
                open_.discard(index)
            case _:
                pass
    return None


def deltas_sum(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """The deltas of a block that was started make up the final block."""
    parts: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, BlockStart):
            parts.setdefault(event.content_index, [])
        elif isinstance(event, BlockDelta):
            parts.setdefault(event.content_index, []).append(event.delta)
    for index, block in enumerate(outcome.content):
        final = _streamed(block) if index in parts else None
        joined = "".join(parts.get(index, ()))
        if final is not None and joined != final and (joined or not _whole_at_once(block, final)):
            return f"the deltas of block {index} make {_cut(joined)}, the block is {_cut(final)}"
    return None


def end_equals_block(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """What the end of a block says is what the outcome says; an ended block has exactly one end."""
    for i, event in enumerate(events):
        if isinstance(event, BlockEnd) and event.content_index < len(outcome.content):
            final = outcome.content[event.content_index]
            if event.final != final and event.block == final.type:
                return f"event {i} ends block {event.content_index} with another value than the outcome has"
    return None


def start_equals_block(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """A call is named at its start as it is named in the end: who shows it live shows no other call."""
    for i, event in enumerate(events):
        if isinstance(event, BlockStart) and event.content_index < len(outcome.content):
            final = outcome.content[event.content_index]
            if isinstance(final, ToolCall) and (event.id, event.name) != (final.id, final.name):
                return (
                    f"event {i} starts the call `{event.name}` with id `{event.id}`; "
                    f"block {event.content_index} is `{final.name}` with id `{final.id}`"
                )
    return None


def every_block_told(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """Every block that shows something was started, and every call that had ended was ended."""
    started = {event.content_index for event in events if isinstance(event, BlockStart)}
    ended = {event.content_index for event in events if isinstance(event, BlockEnd)}
    for index, block in enumerate(outcome.content):
        shows = isinstance(block, ToolCall) or bool(_streamed(block))
        if shows and index not in started:
            return f"no event starts block {index} ({block.type})"
        if isinstance(block, ToolCall) and block.complete and index not in ended:
            return f"no event ends the call in block {index}, which is complete"
    return None


def last_usage_counts(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """The last usage event says what the outcome says."""
    reports = [event.usage for event in events if isinstance(event, UsageReport)]
    if reports and reports[-1] != outcome.usage:
        return f"the last usage event says {reports[-1]}, the outcome {outcome.usage}"
    return None


EVENT_RULES: Final[Mapping[str, Rule]] = {
    "one-terminal": one_terminal,
    "content-index": index_in_range,
    "delta-inside-block": delta_inside_block,
    "deltas-sum": deltas_sum,
    "end-equals-block": end_equals_block,
    "start-equals-block": start_equals_block,
    "every-block-told": every_block_told,
    "last-usage": last_usage_counts,
}
"""Rules over events, by the name that their checks have (`invariant.<name>`)."""


def _streamed(block: Block) -> str | None:
    match block:
        case Text(text) | Refusal(text):
            return text
        case Thinking(text, _, redacted):
            return None if redacted else text
        case ToolCall(arguments_text=text):
            return text
        case Other():
            return None


def _whole_at_once(block: Block, final: str) -> bool:
    """A call may come whole, without fragments; so may any block that is empty."""
    return isinstance(block, ToolCall) or final == ""


def _cut(text: str) -> str:
    shown = text if len(text) <= 60 else f"{text[:40]}…{text[-15:]}"
    return f"{shown!r} ({len(text)} characters)"
