"""A plot of the peers: how many times the floor each takes for a text, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Final

LEFT: Final = 250
WIDTH: Final = 860
ROW: Final = 18
TOP: Final = 40
RULES: Final = (1, 10, 100, 1000, 10_000)
"""Ratios with a line; the scale is logarithmic, from 1 to the last one."""


def draw(bars: Iterable[tuple[str, float]], title: str) -> str:
    """Return a bar for each name and ratio, the smallest first."""
    rows = sorted(bars, key=lambda bar: bar[1])
    height = TOP + ROW * len(rows) + 8
    lines = "".join(
        f'<path d="M{_place(rule):.1f} {TOP - 8} V{height - 4}" stroke="#8886"/>'
        f'<text x="{_place(rule):.1f}" y="{TOP - 12}" text-anchor="middle">{rule:,}</text>'
        for rule in RULES
    )
    drawn = "".join(_draw_bar(TOP + ROW * number, *row) for number, row in enumerate(rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="11" fill="#888"><title>{escape(title)}</title>'
        f'<text x="0" y="14" font-size="13">{escape(title)}</text>{lines}{drawn}</svg>\n'
    )


def _draw_bar(y: int, name: str, ratio: float) -> str:
    end = _place(ratio)
    return (
        f'<text x="{LEFT - 6}" y="{y + 12}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{LEFT}" y="{y + 2}" width="{max(end - LEFT, 1):.1f}" height="{ROW - 5}" fill="#2a78d6"/>'
        f'<text x="{end + 4:.1f}" y="{y + 12}">{ratio:,.0f}</text>'
    )


def _place(ratio: float) -> float:
    room = WIDTH - LEFT - 40
    return LEFT + room * math.log(max(ratio, 1)) / math.log(RULES[-1])
