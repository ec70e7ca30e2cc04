"""An API's stop reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamconform_reference.outcome import Stop, StopReason

UNKNOWN_REASON = "other"
"""The stop reason to write if none is known."""


@dataclass(frozen=True, slots=True)
class StopReasons:
    """The stop reasons of one API; `usual` maps a meaning to its stop reason."""

    meanings: Mapping[str, StopReason]
    usual: Mapping[StopReason, str]

    def of(self, stop: Stop, *, called: bool) -> str:
        """Return the stop reason to write: the raw one if the API defines it with the same meaning.

        The reasons for `stop` and `tool_use` depend on whether there is a call to run. If the API has no
        reason for a meaning, the raw one is written, which a client treats as unknown, never as success.
        """
        means = self.meanings.get(stop.raw or "")
        plain = {self.usual["stop"], self.usual["tool_use"]}
        if stop.raw and (means == stop.reason or (means == "stop" and stop.reason == "tool_use")):
            word = stop.raw
        elif stop.reason is not None and stop.reason in self.usual:
            word = self.usual[stop.reason]
        else:
            word = UNKNOWN_REASON if means or not stop.raw else stop.raw
        if word in plain:
            word = self.usual["tool_use" if called else "stop"]
        return word

    def meaning(self, word: str) -> StopReason:
        """Return the meaning of a stop reason on its own, regardless of the content."""
        return self.meanings.get(word, "other")
