"""A null among arguments that come value by value is dropped."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate.calls import FunctionCalls
from streamconform_reference.apis.google_generate.decode import GoogleGenerateDecoder


class WithoutNulls(FunctionCalls):
    """The calls whose arguments have no null."""

    def take(self, part: Any, signature: str) -> None:
        """Leave out the entries that have one."""
        entries = part.get("partialArgs") if isinstance(part, dict) else None
        if isinstance(entries, list):
            part = {**part, "partialArgs": [entry for entry in entries if "nullValue" not in entry]}
        super().take(part, signature)


class Broken(GoogleGenerateDecoder):
    """The decoder with those calls."""

    calls_factory = WithoutNulls


adapter = adapter_for({"google-generate": Broken}, name="mutant:partial-null-dropped")
