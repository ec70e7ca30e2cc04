"""The system prompt is not counted."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import count_request_tokens

from ._calls import calling


def uncounted(api: str | None, given: Any) -> int:
    """Count the messages only."""
    return count_request_tokens(api, {key: value for key, value in given.items() if key != "system"})


adapter = calling("system-not-counted", count_tokens=uncounted)
