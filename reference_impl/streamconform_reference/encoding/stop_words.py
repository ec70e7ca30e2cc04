"""The word of an api for why an answer ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamconform_reference.outcome import Stop, StopReason

UNKNOWN = "other"
"""The word for an end of which nothing is known."""


@dataclass(frozen=True, slots=True)
class StopWords:
    """The words of one api; `usual` is the word for each reason that has one."""

    meanings: Mapping[str, StopReason]
    usual: Mapping[StopReason, str]

    def of(self, stop: Stop, *, called: bool) -> str:
        """Return the word: the one that came if it is one of the api's and means the same.

        The words of `stop` and `tool_use` say whether there is a call to run. Where the api has no word for a
        reason, the word that came stands: a client takes it for one that it does not know, never for success.
        """
        means = self.meanings.get(stop.raw or "")
        plain = {self.usual["stop"], self.usual["tool_use"]}
        if stop.raw and (means == stop.reason or (means == "stop" and stop.reason == "tool_use")):
            word = stop.raw
        elif stop.reason is not None and stop.reason in self.usual:
            word = self.usual[stop.reason]
        else:
            word = UNKNOWN if means or not stop.raw else stop.raw
        if word in plain:
            word = self.usual["tool_use" if called else "stop"]
        return word

    def meaning(self, word: str) -> StopReason:
        """Return what a word means by itself."""
        return self.meanings.get(word, "other")
