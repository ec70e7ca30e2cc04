"""Every answer that ends well ends with `stop`, whatever its `finish_reason` says."""

from __future__ import annotations

from dataclasses import replace

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.cohere_chat import CohereChatDecoder
from streamconform_reference.events import Done, Event
from streamconform_reference.outcome import Outcome


class Broken(CohereChatDecoder):
    """The decoder that does not look at the reason."""

    def receive_data(self, data: bytes) -> list[Event]:
        """Tell that the answer stopped."""
        return [_stopped(event) for event in super().receive_data(data)]

    def receive_eof(self) -> list[Event]:
        """Tell that the answer stopped."""
        return [_stopped(event) for event in super().receive_eof()]

    @property
    def outcome(self) -> Outcome:
        """The outcome with that reason."""
        outcome = super().outcome
        if outcome.status != "complete":
            return outcome
        return replace(outcome, stop=replace(outcome.stop, reason="stop"))


def _stopped(event: Event) -> Event:
    return replace(event, stop=replace(event.stop, reason="stop")) if isinstance(event, Done) else event


adapter = adapter_for({"cohere-chat": Broken}, name="mutant:finish-reason-hardcoded")
