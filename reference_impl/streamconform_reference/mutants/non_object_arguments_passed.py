"""Whatever the text is in JSON passes for arguments."""

from __future__ import annotations

from typing import Any

from streamconform_reference.healing import heal_tool_arguments
from streamconform_reference.json_text import codec

from ._calls import calling


def heal(api: str | None, given: Any) -> Any:
    """Return the value of JSON text, of whatever type."""
    del api
    try:
        value = codec.loads_text(given) if isinstance(given, str) else None
    except codec.NotJsonError:
        value = None
    return heal_tool_arguments(given) if value is None else value


adapter = calling("non-object-arguments-passed", heal=heal)
