"""Edit an answer so that its outcome and its events still agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any, Final

from .model import Answer, Json

PROSE: Final = ("text", "thinking", "refusal")
TERMINAL: Final = ("done", "error")


def get_content(answer: Answer) -> list[Json]:
    """Return the outcome's blocks."""
    content: list[Json] = answer["outcome"]["content"]
    return content


def iter_events(answer: Answer) -> list[Json]:
    """Return the events, or an empty list if there are none."""
    events: list[Json] = answer.get("events") or []
    return events


def iter_blocks(answer: Answer, *types: str) -> Iterator[Json]:
    """Yield the blocks of these types in the outcome, and the final blocks in their end events."""
    yield from (block for block in get_content(answer) if block["type"] in types)
    for event in iter_events(answer):
        name, _, suffix = event["type"].rpartition("_")
        if suffix == "end":
            if name == "toolcall":
                if "tool_call" in types:
                    yield event["tool_call"]
            elif name in types:
                yield event


def iter_groups(answer: Answer, group: str) -> Iterator[Json]:
    """Yield each `stop`, `usage`, `cost` or `error` object in the outcome and the events."""
    for holder in (answer["outcome"], *iter_events(answer)):
        value = holder.get(group)
        if isinstance(value, dict):
            yield value


def set_group(answer: Answer, group: str, value: Any) -> None:
    """Set `stop`, `usage`, `cost` or `error` in the outcome and in each event that has it."""
    for holder in (answer["outcome"], *iter_events(answer)):
        if group in holder:
            holder[group] = value


def must_not_run(block: Json) -> bool:
    """Return whether a block is a call that did not end, or whose arguments are not valid JSON."""
    return block["type"] == "tool_call" and (block["complete"] is False or block["arguments"] is None)


def replace_content(answer: Answer, content: Iterable[Json]) -> None:
    """Set the outcome's content, and emit new events for its blocks unless it is unchanged."""
    blocks = list(content)
    if blocks != get_content(answer):
        answer["outcome"]["content"] = blocks
        emit_again(answer)


def map_blocks(answer: Answer, change: Callable[[Json], Iterable[Json]]) -> None:
    """Replace each block with the blocks that `change` returns."""
    replace_content(answer, [new for block in get_content(answer) for new in change(deepcopy(block))])


def emit_again(answer: Answer) -> None:
    """Replace the events of blocks with new ones for the outcome; other events stay, after them."""
    events = answer.get("events")
    if events is None:
        return
    answer.pop("taken", None)
    others = [event for event in events if "content_index" not in event]
    answer["events"] = [
        *(event for index, block in enumerate(get_content(answer)) for event in _emit_block(index, block)),
        *others,
    ]


def _emit_block(index: int, block: Json) -> Iterator[Json]:
    type_ = block["type"]
    place = {"content_index": index}
    if type_ in PROSE:
        yield {"type": f"{type_}_start", **place}
        # The data of a redacted block is opaque, so it has no deltas.
        if block["text"] and not block.get("redacted"):
            yield {"type": f"{type_}_delta", **place, "delta": block["text"]}
        yield {**deepcopy(block), "type": f"{type_}_end", **place}
    elif type_ == "tool_call":
        yield {"type": "toolcall_start", **place, "id": block.get("id"), "name": block["name"]}
        if block.get("arguments_text"):
            yield {"type": "toolcall_delta", **place, "delta": block["arguments_text"]}
        if block.get("complete") is not False:
            yield {"type": "toolcall_end", **place, "tool_call": deepcopy(block)}


def set_status(answer: Answer, status: str, error: Json | None = None) -> None:
    """Set the status, the stop reason that fits it if there is none yet, and the terminal event."""
    outcome = answer["outcome"]
    outcome["status"] = status
    stop = outcome["stop"]
    if status == "error":
        outcome["error"] = outcome["error"] or error
        stop["reason"] = stop["reason"] or "error"
    elif status == "incomplete":
        outcome["error"] = None
        stop["reason"] = None if stop["reason"] == "error" else stop["reason"]
    events = answer.get("events")
    if not events:
        return
    if status == "complete":
        events[-1] = {"type": "done", "stop": deepcopy(stop)}
    else:
        events[-1] = {"type": "error", "status": status, "error": deepcopy(outcome["error"])}
