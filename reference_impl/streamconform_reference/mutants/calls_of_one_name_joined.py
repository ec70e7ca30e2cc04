"""Calls are kept by name, so the second of one name takes the place of the first."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate.calls import FunctionCalls
from streamconform_reference.apis.google_generate.decode import GoogleGenerateDecoder


class ByName(FunctionCalls):
    """The calls of one answer, one a name."""

    names: set[str]

    def take(self, part: Any, signature: str) -> None:
        """Drop a call of a name that was there."""
        name = part.get("name") if isinstance(part, dict) else None
        if isinstance(name, str) and name in vars(self).setdefault("names", set()):
            return
        if isinstance(name, str):
            self.names.add(name)
        super().take(part, signature)


class Broken(GoogleGenerateDecoder):
    """The decoder with those calls."""

    calls_factory = ByName


adapter = adapter_for({"google-generate": Broken}, name="mutant:calls-of-one-name-joined")
