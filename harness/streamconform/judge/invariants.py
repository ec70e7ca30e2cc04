"""Rules for every outcome and every list of events, in every case. Pure.

Each rule returns a message about its first violation, or None. Rules for events apply only if the
implementation claims `events`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from streamconform.model.event import BlockDelta, BlockEnd, BlockStart, Done, Event, Failed, UsageReport
from streamconform.model.outcome import (
    Block,
    Other,
    Outcome,
    Refusal,
    Text,
    Thinking,
    ToolCall,
)
from streamconform.plural import format_count

Rule = Callable[[Outcome, Sequence[Event]], str | None]


def check_unique_ids(outcome: Outcome) -> str | None:
    """No two tool calls have the same id; calls without an id are not compared."""
    seen: set[str] = set()
    for block in outcome.content:
        if isinstance(block, ToolCall) and block.id is not None:
            if block.id in seen:
                return f"two tool calls have the id `{block.id}`"
            seen.add(block.id)
    return None


def check_one_terminal(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """There is exactly one terminal event; it comes last and agrees with the outcome."""
    terminal = [i for i, event in enumerate(events) if isinstance(event, Done | Failed)]
    if len(terminal) != 1:
        return f"expected one terminal event (`done` or `error`), got {len(terminal)}"
    if terminal[0] != len(events) - 1:
        return f"{len(events) - 1 - terminal[0]} events follow the terminal event {terminal[0]}"
    last = events[-1]
    status = last.status if isinstance(last, Failed) else "complete"
    if status != outcome.status:
        return f"the last event has the status `{status}`, but the outcome has `{outcome.status}`"
    if isinstance(last, Done):
        # Here, None may also mean that the event leaves the key out: `Stop` does not record which keys are
        # absent.
        unknown = [name for name in ("raw", "sequence", "details") if getattr(last.stop, name) is None]
        if not _agree(last.stop, outcome.stop, unknown):
            return f"`done` has {last.stop}, but the outcome has {outcome.stop}"
    return None


def check_content_index(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """Every `content_index` refers to a block in the outcome that has the event's type."""
    for i, event in enumerate(events):
        if isinstance(event, BlockStart | BlockDelta | BlockEnd):
            if event.content_index >= len(outcome.content):
                count = format_count(len(outcome.content), "block")
                return f"event {i} has content_index {event.content_index}; the outcome has {count}"
            type_ = outcome.content[event.content_index].type
            if type_ != event.block:
                return (
                    f"event {i} belongs to a {event.block} block, but block {event.content_index} is {type_}"
                )
    return None


def check_delta_inside_block(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """The deltas of a block come between its start and its end; no block starts twice."""
    del outcome
    open_blocks: set[int] = set()
    started: set[int] = set()
    for i, event in enumerate(events):
        match event:
            case BlockStart(content_index=index):
                if index in started:
                    return f"event {i} starts block {index} a second time"
                open_blocks.add(index)
                started.add(index)
            case BlockDelta(content_index=index):
                if index not in open_blocks:
                    return f"event {i} is a delta of block {index}, which is not open"
            case BlockEnd(content_index=index):
                if index not in open_blocks:
                    return f"event {i} ends block {index}, which is not open"
                open_blocks.discard(index)
            case _:
                pass
    return None


def check_deltas_sum(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """The joined deltas of a block that was started add up to the final block."""
    # Lists, because appending to a text would take quadratic time, and a block may have a million deltas.
    parts: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, BlockStart):
            parts.setdefault(event.content_index, [])
        elif isinstance(event, BlockDelta):
            parts.setdefault(event.content_index, []).append(event.delta)
    for index, block in enumerate(outcome.content):
        final = _get_streamed_text(block) if index in parts else None
        joined = "".join(parts.get(index, ()))
        # Google and Ollama send a call in one piece, so a client may report it without deltas.
        arrived_whole = not joined and isinstance(block, ToolCall)
        if final is not None and joined != final and not arrived_whole:
            return f"the deltas of block {index} join to {_abbreviate(joined)}, not {_abbreviate(final)}"
    return None


def check_end_equals_block(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """The final value in a block's end event equals the block in the outcome."""
    for i, event in enumerate(events):
        # `check_content_index` reports indexes and types that do not match the content.
        if isinstance(event, BlockEnd) and event.content_index < len(outcome.content):
            final = outcome.content[event.content_index]
            if event.block == final.type and not _agree(
                event.final, final, (*getattr(event.final, "absent", ()), *getattr(final, "absent", ()))
            ):
                return (
                    f"event {i} ends block {event.content_index} with a value that differs from the outcome"
                )
    return None


def check_start_equals_block(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """A call's start event has the same name as the final call, and the same id if it has one."""
    for i, event in enumerate(events):
        if isinstance(event, BlockStart) and event.content_index < len(outcome.content):
            final = outcome.content[event.content_index]
            if isinstance(final, ToolCall) and (
                event.name != final.name or (event.id is not None and event.id != final.id)
            ):
                return (
                    f"event {i} starts the call `{event.name}` with id `{event.id}`; "
                    f"block {event.content_index} is `{final.name}` with id `{final.id}`"
                )
    return None


def check_every_block_told(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """Every block with visible content has a start event, and every complete call has an end event."""
    started = {event.content_index for event in events if isinstance(event, BlockStart)}
    ended = {event.content_index for event in events if isinstance(event, BlockEnd)}
    for index, block in enumerate(outcome.content):
        # Clients may omit the events of a block without text.
        is_visible = isinstance(block, ToolCall) or bool(_get_streamed_text(block))
        if is_visible and index not in started:
            return f"no event starts block {index} ({block.type})"
        if isinstance(block, ToolCall) and block.complete and index not in ended:
            return f"no event ends the call in block {index}, which is complete"
    return None


def check_last_usage(outcome: Outcome, events: Sequence[Event]) -> str | None:
    """The last usage event equals the usage in the outcome."""
    reports = [event.usage for event in events if isinstance(event, UsageReport)]
    unknown = (
        name
        for name in outcome.usage.__slots__
        # As with `stop`, None in an event may mean that the key is left out.
        if f"usage.{name}" in outcome.absent or (reports and getattr(reports[-1], name) is None)
    )
    if reports and not _agree(reports[-1], outcome.usage, unknown):
        return f"the last usage event has {reports[-1]}, but the outcome has {outcome.usage}"
    return None


EVENT_RULES: Final[Mapping[str, Rule]] = {
    "one-terminal": check_one_terminal,
    "content-index": check_content_index,
    "delta-inside-block": check_delta_inside_block,
    "deltas-sum": check_deltas_sum,
    "end-equals-block": check_end_equals_block,
    "start-equals-block": check_start_equals_block,
    "every-block-told": check_every_block_told,
    "last-usage": check_last_usage,
}
"""The rules for events, by the name in the path of their check, `invariant.<name>`."""


def _agree(in_event: Any, final: Any, absent: Iterable[str] = ()) -> bool:
    """Return whether a value in an event equals the final value, except in the `absent` fields."""
    skipped = {"absent", *absent}
    return type(in_event) is type(final) and all(
        getattr(in_event, name) == getattr(final, name) for name in final.__slots__ if name not in skipped
    )


def _get_streamed_text(block: Block) -> str | None:
    match block:
        case Text(text=text) | Refusal(text):
            return text
        case Thinking(text, _, redacted):
            return None if redacted else text
        case ToolCall(arguments_text=text):
            return text
        case Other():
            return None


def _abbreviate(text: str) -> str:
    excerpt = text if len(text) <= 60 else f"{text[:40]}…{text[-15:]}"
    return f"{excerpt!r} ({format_count(len(text), 'character')})"
