"""Arguments that were cut are healed by closing what is open."""

from __future__ import annotations

from typing import Any

from streamconform_reference.healing import heal_tool_arguments
from streamconform_reference.outcome import Json

from ._calls import calling
from .arguments_repaired import repaired


def heal(api: str | None, given: Any) -> Json:
    """Close the text, then heal it."""
    del api
    healed = heal_tool_arguments(given)
    if not isinstance(given, str) or set(healed) != {"raw"}:
        return healed
    again = heal_tool_arguments(repaired(given))
    return healed if set(again) == {"raw"} else again


adapter = calling("cut-arguments-healed", heal=heal)
