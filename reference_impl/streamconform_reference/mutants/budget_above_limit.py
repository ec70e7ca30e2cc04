"""The budget of thinking is as asked for, even above the limit of the answer."""

from __future__ import annotations

from typing import Any

from ._asking import Asked, asking


def unbound(asked: Asked, body: dict[str, Any]) -> None:
    """Write the budget that was asked for."""
    wanted = (asked["thinking"] or {}).get("budget", 0) if isinstance(asked.get("thinking"), dict) else 0
    field = body.get("additionalModelRequestFields", body).get("thinking", {})
    if "budget_tokens" in field:
        field["budget_tokens"] = max(wanted, field["budget_tokens"])


adapter = asking("budget-above-limit", "anthropic-messages", "bedrock-converse", sent=unbound)
