"""The events of an OpenAI Responses stream as tables: their fields, their order and their relations.

Source: https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from streamconform_reference.grammars.fields import Field, needs, takes
from streamconform_reference.grammars.grammar import ENDED, Step, step

TERMINALS: Final[Mapping[str, str]] = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
"""The response status of each terminal event."""
DELTAS: Final[Mapping[str, tuple[str | None, frozenset[str], frozenset[str] | None]]] = {
    "response.output_text.delta": ("content_index", frozenset({"message"}), frozenset({"output_text"})),
    "response.refusal.delta": ("content_index", frozenset({"message"}), frozenset({"refusal"})),
    "response.reasoning_text.delta": (
        "content_index",
        frozenset({"reasoning"}),
        frozenset({"reasoning_text"}),
    ),
    "response.reasoning_summary_text.delta": (
        "summary_index",
        frozenset({"reasoning"}),
        frozenset({"summary_text"}),
    ),
    "response.function_call_arguments.delta": (None, frozenset({"function_call"}), None),
    "response.custom_tool_call_input.delta": (None, frozenset({"custom_tool_call"}), None),
}
"""Maps a delta type to the key of its part's index (or None), its item types, and its part types."""
DONES: Final[Mapping[str, tuple[str, str]]] = {
    "response.output_text.done": ("text", "response.output_text.delta"),
    "response.refusal.done": ("refusal", "response.refusal.delta"),
    "response.reasoning_text.done": ("text", "response.reasoning_text.delta"),
    "response.reasoning_summary_text.done": ("text", "response.reasoning_summary_text.delta"),
    "response.function_call_arguments.done": ("arguments", "response.function_call_arguments.delta"),
    "response.custom_tool_call_input.done": ("input", "response.custom_tool_call_input.delta"),
}
"""Maps the type of an event with complete text to the text's field and the type of the deltas it repeats."""
PARTS: Final[Mapping[str, tuple[str, bool]]] = {
    "response.content_part.added": ("content_index", False),
    "response.content_part.done": ("content_index", True),
    "response.reasoning_summary_part.added": ("summary_index", False),
    "response.reasoning_summary_part.done": ("summary_index", True),
}
"""Maps the type of a part event to the key of the part's index and whether the part ends."""

_NUMBERED: Final = needs("count", "sequence_number")
_RESPONSE: Final = (
    *_NUMBERED,
    *needs("object", "response"),
    *needs("name", "response.id", "response.model", "response.status"),
    *needs('"response"', "response.object"),
    *needs("number", "response.created_at"),
    *needs("list", "response.output"),
)
_USAGE: Final = tuple(f"response.usage.{name}_tokens" for name in ("input", "output", "total"))
_ENDING: Final = (*_RESPONSE, *needs("count", *_USAGE))
_OF_ITEM: Final = (*_NUMBERED, *needs("count", "output_index"), *needs("name", "item_id"))
_ITEM: Final = (
    *_NUMBERED,
    *needs("count", "output_index"),
    *needs("object", "item"),
    *needs("name", "item.type"),
    *takes("name", "item.id"),
)

FIELDS: Final[Mapping[str, tuple[Field, ...]]] = {
    "response.created": _RESPONSE,
    "response.queued": _RESPONSE,
    "response.in_progress": _RESPONSE,
    "response.completed": _ENDING,
    "response.incomplete": _ENDING,
    "response.failed": (
        *_RESPONSE,
        *needs("object", "response.error"),
        *needs("name", "response.error.code"),
    ),
    "error": _NUMBERED,  # code and message are next to the type, or in an object `error`
    "response.output_item.added": _ITEM,
    "response.output_item.done": _ITEM,
    **{
        kind: (*_OF_ITEM, *needs("count", space), *needs("object", "part"), *needs("name", "part.type"))
        for kind, (space, _) in PARTS.items()
    },
    **{
        kind: (*_OF_ITEM, *needs("text", "delta"), *(needs("count", space) if space else ()))
        for kind, (space, _, _) in DELTAS.items()
    },
    **{
        kind: (
            *_OF_ITEM,
            *needs("text", field),
            *(needs("count", space) if (space := DELTAS[delta][0]) else ()),
        )
        for kind, (field, delta) in DONES.items()
    },
}
"""The fields of each event type."""
SOCKET_FIELDS: Final[Mapping[str, tuple[Field, ...]]] = {
    **FIELDS,
    # Over a WebSocket, the last event may leave the output out, because the finished items have come before.
    **{
        kind: tuple(
            replace(field, needed=field.needed and field.path != "response.output") for field in FIELDS[kind]
        )
        for kind in TERMINALS
    },
    # It stands for an answer with an error status over HTTP, too.
    "error": (
        *needs("object", "error"),
        *needs("name", "error.message", "error.type"),
        *needs("count", "status", level="should"),  # optional in the types of the SDKs
        *takes("count", "sequence_number"),
    ),
}
"""The fields of each event type over a WebSocket."""

_INSIDE: Final = step("open answering", "answering", "terminal-last")
ORDER: Final[Mapping[str, Step]] = {
    "response.created": step("before", "open", "one-created"),
    "response.queued": step("open", None, "in-progress-early"),
    "response.in_progress": step("open", None, "in-progress-early"),
    "response.output_item.added": _INSIDE,
    "response.output_item.done": _INSIDE,
    **dict.fromkeys((*PARTS, *DELTAS, *DONES), _INSIDE),
    **dict.fromkeys(TERMINALS, step("open answering", ENDED, "one-terminal")),
}
"""The states in which each event type may appear; an `error` may appear anywhere."""
SOCKET_ORDER: Final[Mapping[str, Step]] = {
    **ORDER,
    **{
        f"response.steer.{state}": step(f"before open answering {ENDED}", None, "terminal-last")
        for state in ("accepted", "pending", "failed")
    },
}
"""The same over a WebSocket, where answers to steering come at any time, even after the terminal event."""
