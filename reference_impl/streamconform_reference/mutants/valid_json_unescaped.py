"""Escaped quotes are unescaped first, so that a quote inside a value ends it."""

from __future__ import annotations

from typing import Any

from streamconform_reference.healing import heal_tool_arguments
from streamconform_reference.outcome import Json

from ._calls import calling


def heal(api: str | None, given: Any) -> Json:
    """Unescape quotes, then look."""
    del api
    return heal_tool_arguments(given.replace('\\"', '"') if isinstance(given, str) else given)


adapter = calling("valid-json-unescaped", heal=heal)
