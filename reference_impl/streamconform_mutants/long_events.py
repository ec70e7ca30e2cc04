"""Mutants whose buffers are too short for long events."""

from __future__ import annotations

from typing import Any, Final

from streamconform_reference.apis import DECODERS
from streamconform_reference.decoding.decoder import BrokenPayloadError

from .model import CONTENT, GIVES_UP
from .registry import SharedMutants

LINE: Final = 64 * 1024
"""The buffer of Go's `bufio.Scanner`, and half of what aiohttp reads of a line."""

mutants = SharedMutants()


@mutants.payloads(*DECODERS, kind="long-event-fatal", fails=GIVES_UP)
def long_event_fatal(payload: Any) -> Any:
    """Raises an error at an event of more than 64 KiB."""
    if _has_long_text(payload):
        raise BrokenPayloadError("the event is longer than the buffer")
    return payload


@mutants.payloads(*DECODERS, kind="long-event-cut", fails=(*CONTENT, "**:invariant.**"))
def long_event_cut(payload: Any) -> Any:
    """Keeps the first 32 KiB of each text."""
    return _cut(payload)


def _has_long_text(value: Any) -> bool:
    """Return whether a payload has a text that alone is as long as the buffer, at least."""
    match value:
        case str():
            return len(value.encode("utf-8", "surrogatepass")) >= LINE
        case dict():
            return any(map(_has_long_text, value.values()))
        case list():
            return any(map(_has_long_text, value))
        case _:
            return False


def _cut(value: Any) -> Any:
    match value:
        case str():
            return value[: LINE // 2]
        case dict():
            return {key: _cut(item) for key, item in value.items()}
        case list():
            return [_cut(item) for item in value]
        case _:
            return value
