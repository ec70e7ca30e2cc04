"""The events of a live stream (`event.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from streamconform.model.outcome import Block, Cost, Error, Stop, Usage

StreamedType = Literal["text", "thinking", "refusal", "tool_call"]


class BlockStart(Struct, frozen=True):
    """The start of a block; `content_index` is its position in the outcome's content."""

    block: StreamedType
    content_index: int
    id: str | None = None
    name: str | None = None


class BlockDelta(Struct, frozen=True):
    """Part of a block: text, or a fragment of a call's arguments."""

    block: StreamedType
    content_index: int
    delta: str


class BlockEnd(Struct, frozen=True):
    """The end of a block, with the final block."""

    block: StreamedType
    content_index: int
    final: Block


class UsageReport(Struct, frozen=True):
    """Usage and cost so far."""

    usage: Usage
    cost: Cost | None


class Done(Struct, frozen=True):
    """The last event of a complete answer."""

    stop: Stop


class Failed(Struct, frozen=True):
    """The last event of an incomplete or failed answer (`error` on the wire)."""

    status: Literal["incomplete", "error"]
    error: Error | None


Event = BlockStart | BlockDelta | BlockEnd | UsageReport | Done | Failed

BLOCK_EVENTS: Final[Mapping[str, tuple[type[BlockStart | BlockDelta | BlockEnd], StreamedType]]] = {
    "text_start": (BlockStart, "text"),
    "text_delta": (BlockDelta, "text"),
    "text_end": (BlockEnd, "text"),
    "thinking_start": (BlockStart, "thinking"),
    "thinking_delta": (BlockDelta, "thinking"),
    "thinking_end": (BlockEnd, "thinking"),
    "refusal_start": (BlockStart, "refusal"),
    "refusal_delta": (BlockDelta, "refusal"),
    "refusal_end": (BlockEnd, "refusal"),
    "toolcall_start": (BlockStart, "tool_call"),
    "toolcall_delta": (BlockDelta, "tool_call"),
    "toolcall_end": (BlockEnd, "tool_call"),
}
"""The class and block type of each block event, by the event's name on the wire."""

OTHER_EVENTS: Final = ("usage", "done", "error")
