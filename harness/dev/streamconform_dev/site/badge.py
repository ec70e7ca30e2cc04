"""Badges of clients: SVG files, and the JSON that the endpoint badge of shields.io reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform_dev.bugs import Grade
from streamconform_dev.site.matrix_data import Client

LABEL: Final = "streamconform"
COLORS: Final[Mapping[Grade, str]] = {
    "none": "#17663a",
    "minor": "#4b6b1a",
    "some": "#855200",
    "bad": "#a3262f",
}
"""Colors by grade, on which white text has enough contrast."""
CHARACTER: Final = 6.6
"""The width of a character of the font, in pixels, on average."""


def describe_badge(client: Client) -> dict[str, Any]:
    """Return the badge as an endpoint: https://shields.io/badges/endpoint-badge."""
    return {
        "schemaVersion": 1,
        "label": LABEL,
        "message": client.summarize(most=1),
        "color": COLORS[client.grade].removeprefix("#"),
    }


def measure_badge(badge: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of the template `badge.svg`."""
    left, right = (round(len(badge[name]) * CHARACTER) + 12 for name in ("label", "message"))
    return {
        "label": badge["label"],
        "message": badge["message"],
        "color": f"#{badge['color']}",
        "left": left,
        "right": right,
    }
