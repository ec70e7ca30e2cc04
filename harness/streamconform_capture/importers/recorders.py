"""Name the tool that recorded a file in a form that cannot be imported. Pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

SIGNS: Final[tuple[tuple[str, AbstractSet[str]], ...]] = (
    ("cassetter", {"body.type"}),
    ("the Ruby gem vcr, or betamax", {"http_interactions"}),
    ("WireMock", {"mappings"}),
    ("Hoverfly", {"data", "meta"}),
    ("aimock", {"fixtures"}),
)
"""For each tool, the keys that its files have."""


def name_recorder(keys: AbstractSet[str]) -> str | None:
    """Return a sentence that names the tool whose files have these keys, or None."""
    tools = (name for name, signs in SIGNS if signs <= keys)
    return next((f"it looks like a file of {tool}, which cannot be imported" for tool in tools), None)
