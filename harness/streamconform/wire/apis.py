"""What the harness knows of each api's wire: framing, and what may come that nobody knows yet.

Parsing and meaning are the implementation's business; nothing here reads a payload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from streamconform.model.case import Level
from streamconform.model.trial import Framing
from streamconform.wire import sse
from streamconform.wire.frames import Frame

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One wire format."""

    framing: Framing
    unknown_event: bytes
    """A frame of a type that does not exist."""
    unknown_event_level: Level
    unknown_field_objects: tuple[Path, ...]
    """The objects of a payload, by path, that may get new fields; `*` is every item of an array."""
    unknown_field_level: Level
    source: str
    """Where the provider says that new events and fields may come; the level follows from it."""


SPLITTERS: Final[Mapping[Framing, Callable[[bytes], tuple[Frame, ...]]]] = {
    "sse": sse.split,
    "document": lambda _: (),
}

APIS: Final[Mapping[str, Api]] = {
    "anthropic-messages": Api(
        framing="sse",
        unknown_event=sse.event(b'{"type":"future_event","detail":{"n":1}}', "future_event"),
        unknown_event_level="must",
        unknown_field_objects=(
            (),
            ("message",),
            ("message", "usage"),
            ("content_block",),
            ("delta",),
            ("usage",),
            ("error",),
        ),
        unknown_field_level="must",
        source="https://docs.claude.com/en/api/versioning",
    ),
    "openai-chat": Api(
        framing="sse",
        unknown_event=sse.event(b'{"object":"chat.completion.future","detail":{"n":1}}', None),
        unknown_event_level="should",
        unknown_field_objects=(
            (),
            ("choices", "*"),
            ("choices", "*", "delta"),
            ("choices", "*", "delta", "tool_calls", "*"),
            ("choices", "*", "delta", "tool_calls", "*", "function"),
            ("usage",),
            ("usage", "prompt_tokens_details"),
            ("usage", "completion_tokens_details"),
            ("error",),
        ),
        unknown_field_level="must",
        source="https://platform.openai.com/docs/api-reference/backward-compatibility",
    ),
    "openai-responses": Api(
        framing="sse",
        unknown_event=sse.event(
            b'{"type":"response.future_event","detail":{"n":1}}', "response.future_event"
        ),
        unknown_event_level="must",
        unknown_field_objects=((), ("item",), ("part",), ("response",), ("response", "usage"), ("error",)),
        unknown_field_level="must",
        source="https://platform.openai.com/docs/api-reference/backward-compatibility",
    ),
}


def framing(api: str, status: int, body: bytes) -> Framing:
    """Return how `body` is framed: as the api does it, or `document` where it is not a stream of it."""
    given = APIS[api].framing
    return given if status < 400 and split(given, body) else "document"


@lru_cache(maxsize=4)
def split(framed: Framing, body: bytes) -> tuple[Frame, ...]:
    """Return the frames of `body`; a document has none. Every delivery of a body asks for them once more."""
    return SPLITTERS[framed](body)
