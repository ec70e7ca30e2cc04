"""`finish_reason: stop` is taken at its word, so tool calls before it are never run."""

from __future__ import annotations

from dataclasses import replace

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.events import Done, Event
from streamconform_reference.outcome import Outcome, Stop


class Broken(OpenaiChatDecoder):
    """The decoder that does not look at the content."""

    def receive_data(self, data: bytes) -> list[Event]:
        """Tell the reason as the provider gave it."""
        return [self._reworded(event) for event in super().receive_data(data)]

    def receive_eof(self) -> list[Event]:
        """Tell the reason as the provider gave it."""
        return [self._reworded(event) for event in super().receive_eof()]

    @property
    def outcome(self) -> Outcome:
        """The outcome with that reason."""
        outcome = super().outcome
        return replace(outcome, stop=_literal(outcome.stop))

    def _reworded(self, event: Event) -> Event:
        return replace(event, stop=_literal(event.stop)) if isinstance(event, Done) else event


def _literal(stop: Stop) -> Stop:
    return replace(stop, reason="stop") if stop.raw == "stop" and stop.reason == "tool_use" else stop


adapter = adapter_for({"openai-chat": Broken}, name="mutant:stop-hides-calls")
