"""Text that was escaped too often loses the backslashes before its quotes, and no others."""

from __future__ import annotations

from typing import Any

from streamconform_reference.healing import heal_tool_arguments
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Json

from ._calls import calling


def heal(api: str | None, given: Any) -> Json:
    """Parse; else unescape quotes and parse; else give up."""
    del api
    if not isinstance(given, str) or codec.is_json(given.encode()) or not given.strip():
        return heal_tool_arguments(given)
    try:
        value = codec.loads_text(given.replace('\\"', '"'))
    except codec.NotJsonError:
        return {"raw": given}
    return value if isinstance(value, dict) else {"raw": given}


adapter = calling("only-quotes-unescaped", heal=heal)
