"""Thinking without text is taken for redacted thinking."""

from __future__ import annotations

from streamconform_reference.outcome import Json

from ._tools import rewriting


def redact_unshown_thinking(block: Json) -> None:
    """Mark a signed thinking block without text as redacted."""
    if block.get("signature") and block["text"] == "":
        block["redacted"] = True


adapter = rewriting("omitted-thinking-as-redacted", redact_unshown_thinking)
