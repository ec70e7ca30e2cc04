"""Read a case's body: its frames, their payloads and types, and where its content ends. Pure.

Everything is read when it is first needed: many trials are listed, and few of them need more than the frames.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.apis.api import Ending
from streamconform.apis.payloads import Payload, read_payload
from streamconform.delivery.recent import Recent
from streamconform.model.case import Case
from streamconform.model.trial import Framing
from streamconform.wire.frames import Frame
from streamconform.wire.framings import split

MAX_STREAMS: Final = 8
"""The number of streams that are remembered; the trials of one case run in a row."""

# A text search, since each API puts usage in a different place. Earlier chunks may have null or `{}` there.
_USAGE_REPORT: Final = re.compile(rb'"[A-Za-z_]*[uU]sage[A-Za-z_]*"\s*:\s*\{\s*"')
# In openai-chat, four levels reach the members of `choices[0].delta`, which distinguish its chunks.
TYPE_DEPTH: Final = 4
"""The number of levels in a payload that determine the type of its frame."""


# No slots, because `cached_property` needs a `__dict__`.
@dataclass(frozen=True)
class Stream:
    """The body of a case, split into frames."""

    case: Case

    @property
    def body(self) -> bytes:
        """Return the recorded bytes."""
        return self.case.cassette.body

    @cached_property
    def cuts(self) -> dict[tuple[str, str], tuple[int, ...]]:
        """Return the cuts of the body that are known so far, by delivery and seed."""
        return {}

    @cached_property
    def ending(self) -> Ending:
        """Return how the API ends streams."""
        return APIS[self.case.api].ending

    @cached_property
    def framing(self) -> Framing:
        """Return the framing of the body."""
        return APIS[self.case.api].frame_case(self.case, self.body)

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """Return the frames of the body; a document has none."""
        return split(self.framing, self.body)

    @cached_property
    def payloads(self) -> tuple[Payload, ...]:
        """Return the payload of each frame."""
        return tuple(read_payload(frame.payload) for frame in self.frames)

    @cached_property
    def types(self) -> tuple[object, ...]:
        """Return the type of each frame."""
        return tuple(
            _describe_type(payload, frame.event)
            for frame, payload in zip(self.frames, self.payloads, strict=True)
        )

    @cached_property
    def terminal(self) -> int:
        """Return the index of the terminal frame, or the number of frames if there is none."""
        ends = (number for number, payload in enumerate(self.payloads) if self.ending.is_terminal(payload))
        return next(ends, len(self.frames))

    @cached_property
    def settled(self) -> int:
        """Return the index of the last frame that may change the content."""
        ending = self.ending
        later = (
            number
            for number in reversed(range(self.terminal, len(self.frames)))
            if ending.is_terminal(self.payloads[number])
            or any(self.payloads[number].get(name) for name in ending.content)
        )
        return next(later, self.terminal)

    @cached_property
    def carriers(self) -> frozenset[int]:
        """Return the indexes of the frames that contain part of the content."""
        keys = frozenset((*self.ending.text_keys, *self.ending.delta_keys))
        return frozenset(n for n, payload in enumerate(self.payloads) if any(list_texts(payload, keys)))

    @cached_property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """Return the strings in each frame that may be parts of the text."""
        return tuple(list_text_pieces(payload, self.ending) for payload in self.payloads)

    @cached_property
    def first_usage(self) -> int:
        """Return the index of the first frame with a usage report, or the number of frames."""
        reports = (n for n, frame in enumerate(self.frames) if _USAGE_REPORT.search(frame.payload))
        return next(reports, len(self.frames))

    def read_raw_payload(self, number: int) -> bytes:
        """Return a frame's payload as it appears in the body, where it may be base64-encoded."""
        return self.body[slice(*(self.frames[number].value or (0, 0)))]


_STREAMS: Final = Recent[Stream](MAX_STREAMS)


def read_stream(case: Case) -> Stream:
    """Return the stream of `case`; the last few are remembered."""
    return _STREAMS.get(case, None, lambda: Stream(case))


def list_text_pieces(payload: Payload, ending: Ending) -> tuple[str, ...]:
    """Return the strings in `payload` under any of the API's text keys."""
    if ending.text_types and payload.get("type") not in ending.text_types:
        return ()
    return tuple(list_texts(payload, frozenset(ending.text_keys)))


def list_texts(value: Any, keys: frozenset[str], key: str = "") -> Iterator[str]:
    """Yield the strings in `value`, at any depth, whose key is one of `keys`."""
    # Exact types are compared for speed: payloads are JSON, and the suite has 90,000 of them.
    kind = type(value)
    if kind is str:
        if value and key in keys:
            yield value
    elif kind is dict:
        for name, item in value.items():
            yield from list_texts(item, keys, name)
    elif kind is list:
        for item in value:
            yield from list_texts(item, keys, key)


def _describe_type(value: Any, name: str | None = None, depth: int = TYPE_DEPTH) -> object:
    """Return a value that is equal for payloads of the same type: the non-empty members, and type names.

    There is no fixed list of types, so faults also break streams at event types that a provider adds later.
    """
    match value:
        case dict():
            members = (
                (
                    key,
                    item
                    if key in ("type", "object") and isinstance(item, str)
                    else _describe_type(item, None, depth - 1),
                )
                for key, item in value.items()
                # openai-chat's chunks have null or empty members; only members with a value determine the
                # type.
                if item not in (None, "", [], {}) and depth
            )
            return name, frozenset(members)
        case list():
            return "list", frozenset(_describe_type(item, None, depth - 1) for item in value if depth)
        case _:
            return "value"
