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
from streamconform.wire import eventstream, json_array, json_text, ndjson, sse
from streamconform.wire.frames import Frame

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One wire format."""

    unknown_event: Mapping[Framing, bytes]
    """Its framings, the usual one first, and in each a frame of a type that does not exist."""
    unknown_event_level: Level
    unknown_field_objects: tuple[Path, ...]
    """The objects of a payload, by path, that may get new fields; `*` is every item of an array."""
    unknown_field_level: Level
    source: str
    """Where the provider says that new events and fields may come; the level follows from it."""

    @property
    def framing(self) -> Framing:
        """Return the usual framing."""
        return next(iter(self.unknown_event))


SPLITTERS: Final[Mapping[Framing, Callable[[bytes], tuple[Frame, ...]]]] = {
    "sse": sse.split,
    "ndjson": ndjson.split,
    "json_array": json_array.split,
    "eventstream": eventstream.split,
    "document": lambda _: (),
}

APIS: Final[Mapping[str, Api]] = {
    "anthropic-messages": Api(
        unknown_event={"sse": sse.event(b'{"type":"future_event","detail":{"n":1}}', "future_event")},
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
        unknown_event={"sse": sse.event(b'{"object":"chat.completion.future","detail":{"n":1}}', None)},
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
        unknown_event={
            "sse": sse.event(b'{"type":"response.future_event","detail":{"n":1}}', "response.future_event")
        },
        unknown_event_level="must",
        unknown_field_objects=((), ("item",), ("part",), ("response",), ("response", "usage"), ("error",)),
        unknown_field_level="must",
        source="https://platform.openai.com/docs/api-reference/backward-compatibility",
    ),
    "google-generate": Api(
        unknown_event={
            "sse": sse.event(b'{"futureChunk":{"n":1}}', None),
            "json_array": json_array.element(b'{"futureChunk":{"n":1}}'),
        },
        unknown_event_level="should",  # nothing is said of chunks without any field that is known
        unknown_field_objects=(
            (),
            ("candidates", "*"),
            ("candidates", "*", "content"),
            ("candidates", "*", "content", "parts", "*"),
            ("usageMetadata",),
            ("promptFeedback",),
            ("error",),
        ),
        unknown_field_level="must",
        source="https://google.aip.dev/180",
    ),
    "ollama-chat": Api(
        unknown_event={"ndjson": ndjson.line(b'{"future_record":{"n":1},"done":false}')},
        unknown_event_level="should",
        unknown_field_objects=(
            (),
            ("message",),
            ("message", "tool_calls", "*"),
            ("message", "tool_calls", "*", "function"),
        ),
        unknown_field_level="should",  # "stable and backwards compatible", and no word on new fields
        source="https://docs.ollama.com/api/introduction",
    ),
    "cohere-chat": Api(
        unknown_event={
            "sse": sse.event(b'{"type":"future-event","delta":{"n":1}}', "future-event"),
            "ndjson": ndjson.line(b'{"is_finished":false,"event_type":"future-event","detail":{"n":1}}'),
        },
        unknown_event_level="should",
        unknown_field_objects=(
            (),
            ("delta",),
            ("delta", "message"),
            ("delta", "message", "content"),
            ("delta", "message", "tool_calls"),
            ("delta", "message", "tool_calls", "function"),
            ("delta", "usage"),
            ("delta", "usage", "billed_units"),
            ("tool_calls", "*"),
            ("tool_call_delta",),
            ("response",),
            ("response", "meta"),
            ("response", "meta", "billed_units"),
        ),
        unknown_field_level="should",  # the events are listed, and no word on new events or fields
        source="https://docs.cohere.com/v2/docs/streaming",
    ),
    "bedrock-converse": Api(
        unknown_event={"eventstream": eventstream.event(b'{"n":1}', "futureEvent")},
        unknown_event_level="should",  # unions are open, and clients "SHOULD NOT fail"
        # structures only: `start`, `delta` and `reasoningContent` are unions, which hold one member
        unknown_field_objects=((), ("start", "toolUse"), ("delta", "toolUse"), ("usage",), ("metrics",)),
        unknown_field_level="must",
        source="https://smithy.io/2.0/guides/evolving-models.html",
    ),
}


def framing(api: str, status: int, body: bytes) -> Framing:
    """Return how `body` is framed: a way the api does it, or `document` where it is not a stream of it."""
    if status < 400:
        for framed in APIS[api].unknown_event:
            if _is(framed, split(framed, body)):
                return framed
    return "document"


@lru_cache(maxsize=8)
def split(framed: Framing, body: bytes) -> tuple[Frame, ...]:
    """Return the frames of `body`; a document has none. Bodies are asked for again and again: remembered."""
    return SPLITTERS[framed](body)


def with_payload(framed: Framing, body: bytes, frame: Frame, payload: bytes) -> bytes:
    """Return the bytes of `frame` with another payload; as they are where it stands in several pieces."""
    whole = body[frame.start : frame.end]
    if frame.value is None:
        return whole
    if framed == "eventstream":
        return eventstream.with_payload(whole, payload)
    start, stop = frame.value
    return body[frame.start : start] + payload + body[stop : frame.end]


def _is(framed: Framing, frames: tuple[Frame, ...]) -> bool:
    """Return whether these are frames of a stream; any text has lines, so the first has to be an object."""
    if not frames or framed != "ndjson":
        return bool(frames)
    first = json_text.parse(frames[0].payload)
    return first is not None and first.kind == "object"
