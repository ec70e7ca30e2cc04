"""Remove the proxy's own key from an upstream's responses, which may repeat it in an error or in an answer.

The search covers decoded values rather than bytes, because JSON can escape a key, and a stream can send it in
parts. A client's own key, if it is passed on, is not secret from that client, so it is not searched for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from streamconform_proxy.translate import Route
from streamconform_reference.events import Done, Event, Failed, ProseDelta, ToolCallDelta

T = TypeVar("T")

MARK: Final = "[key removed]"
MIN_LENGTH: Final = 8
"""The minimum length of a key that is removed; a shorter one, such as `none`, is not a secret."""


def get_secret(route: Route) -> str | None:
    """Return the key that no client may see, or None."""
    is_secret = route.key is not None and not route.has_client_key and len(route.key) >= MIN_LENGTH
    return route.key if is_secret else None


def redact(value: T, secret: str | None) -> T:
    """Return `value`, a JSON value, an event or part of an outcome, with `secret` replaced in each text."""
    return value if secret is None else _redact(value, secret)


def _redact(value: Any, secret: str) -> Any:
    if isinstance(value, str):
        return value.replace(secret, MARK)
    if isinstance(value, dict):
        return {_redact(key, secret): _redact(item, secret) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_redact(item, secret) for item in value)
    if isinstance(value, Struct):
        changes = {
            name: new
            for name in value.__struct_fields__
            if (new := _redact(old := getattr(value, name), secret)) is not old and new != old
        }
        return replace(value, **changes) if changes else value
    return value


class EventRedactor:
    """Redacts the events of one answer. A delta whose end may be the beginning of the key is held back."""

    def __init__(self, secret: str | None) -> None:
        """Search for `secret`; if it is None, events are unchanged."""
        self._secret = secret
        self._held: dict[int, ProseDelta | ToolCallDelta] = {}
        """By block: the delta that is held back because its text may be the beginning of the key."""

    def redact_events(self, events: Iterable[Event]) -> list[Event]:
        """Return the events that can be sent."""
        if self._secret is None:
            return list(events)
        return [sent for event in events for sent in self._redact_event(event, self._secret)]

    def _redact_event(self, event: Event, secret: str) -> Iterator[Event]:
        if isinstance(event, (ProseDelta, ToolCallDelta)):
            held = self._held.pop(event.content_index, None)
            text = f"{held.delta if held else ''}{event.delta}".replace(secret, MARK)
            keep = _measure_overlap(text, secret)
            if keep:
                self._held[event.content_index] = replace(event, delta=text[-keep:])
            if len(text) > keep:
                yield replace(event, delta=text[: len(text) - keep])
            return
        if isinstance(event, (Done, Failed)):
            yield from self._held.values()
            self._held.clear()
        elif (index := getattr(event, "content_index", None)) in self._held:
            yield self._held.pop(index)
        yield _redact(event, secret)


def _measure_overlap(text: str, secret: str) -> int:
    """Return the length of the longest suffix of `text` that is a prefix of `secret`."""
    longest = min(len(text), len(secret) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(secret[:size])), 0)
