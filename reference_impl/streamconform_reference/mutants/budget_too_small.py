"""The budget of thinking is as asked for, even below the least."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def small(asked: Asked, body: dict[str, Any]) -> None:
    """Write the budget that was asked for."""
    wish = asked.get("thinking")
    field = body.get("thinking", {})
    if "budget_tokens" in field and isinstance(wish, dict):
        field["budget_tokens"] = min(wish.get("budget", 1024), field["budget_tokens"])


adapter = asking("budget-too-small", "anthropic-messages", sent=small)
