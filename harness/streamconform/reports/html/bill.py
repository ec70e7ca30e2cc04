"""The usage and the cost of an answer as a bill: tokens, price and amount, expected and actual. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from streamconform.model.verdict import Check
from streamconform.reports.describe import format_value


@dataclass(frozen=True, slots=True)
class Line:
    """A line of every bill: the paths of its count and its amount, and the keys of its prices."""

    name: str
    count: str | None
    amount: str | None
    prices: tuple[str, ...] = ()


LINES: Final = (
    Line("input", "usage.input", "cost.input", ("input",)),
    Line("cache read", "usage.cache_read", "cost.cache_read", ("cache_read",)),
    Line("cache write", "usage.cache_write", "cost.cache_write", ("cache_write_5m", "cache_write_1h")),
    Line("cache write, for an hour (part of cache write)", "usage.cache_write_1h", None),
    Line("output", "usage.output", "cost.output", ("output",)),
    Line("reasoning (part of output)", "usage.reasoning", None),
    Line("web searches", "usage.web_searches", "cost.other", ("web_search_per_1000",)),
    Line("total", None, "cost.total"),
)
PATHS: Final = frozenset(path for line in LINES for path in (line.count, line.amount) if path)
"""The paths of the checks that a bill shows."""
_PRICES: Final = frozenset(key for line in LINES for key in line.prices)
_UNITS: Final[Mapping[str, str]] = {
    "cache_write_1h": "for an hour",
    "web_search_per_1000": "per thousand",
}


def bill_to_json(
    failed: Iterable[Check], passed: Iterable[Check], pricing: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return the bill of an answer, or None if no check of a count or an amount failed.

    A line has a count and an amount, each as `[expected, got, difference, verdict]` or null. `factors` are
    the prices that apply only to some requests, such as those of a service tier.
    """
    wrong = {check.path: check for check in failed if check.path in PATHS}
    if not wrong:
        return None
    checks = {check.path: check for check in passed if check.path in PATHS} | wrong
    prices = pricing or {}
    lines = [
        {
            "name": line.name,
            "count": _count_to_json(checks.get(line.count or "")),
            "price": _format_prices(line, prices),
            "amount": _amount_to_json(checks.get(line.amount or "")),
        }
        for line in LINES
        if not all(_is_nothing(checks.get(path or "")) for path in (line.count, line.amount))
    ]
    return {
        "lines": lines,
        "factors": {key: value for key, value in prices.items() if key not in _PRICES},
        "checks": list(wrong),
        "notes": [check.message for check in wrong.values() if check.message],
    }


def _is_nothing(check: Check | None) -> bool:
    """Return whether a line needs no such value: nothing was judged, or 0 was expected and is right."""
    return check is None or (check.verdict == "pass" and not _read_number(check.got))


def _count_to_json(check: Check | None) -> list[str] | None:
    if check is None:
        return None
    expected, got = _read_number(check.expected), _read_number(check.got)
    difference = "" if expected is None or got is None else f"{got - expected:+,}"
    return _side_by_side(check, difference, "{:,}", expected, got)


def _amount_to_json(check: Check | None) -> list[str] | None:
    if check is None:
        return None
    expected, got = _read_number(check.expected), _read_number(check.got)
    difference = ""
    if expected is not None and got is not None:
        difference = f"{'-' if got < expected else '+'}${abs(got - expected).normalize():,f}"
    return _side_by_side(check, difference, "${:,f}", expected, got)


def _side_by_side(
    check: Check, difference: str, form: str, expected: Decimal | None, got: Decimal | None
) -> list[str]:
    """Return `[expected, got, difference, verdict]`; values that are no numbers are shown as they are."""
    sides = [
        format_value(value, 40) if number is None else form.format(number)
        for value, number in ((check.expected, expected), (check.got, got))
    ]
    if check.verdict == "pass":
        return [sides[1], sides[1], "", "pass"]
    return [*sides, difference + _format_factor(expected, got), check.verdict]


def _format_factor(expected: Decimal | None, got: Decimal | None) -> str:
    """Return ` (10.9 times)`, or `""` if there is no factor, or one that would be printed as 1."""
    if not expected or not got:
        return ""
    factor = got / expected
    text = f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}"
    return "" if text in ("1", "1.00") else f" ({text} times)"


def _format_prices(line: Line, prices: Mapping[str, Any]) -> str:
    """Return the prices behind a line, such as `$3.75 per million, $6.00 for an hour`."""
    return ", ".join(
        f"${prices[key]} {_UNITS.get(key, 'per million')}" for key in line.prices if key in prices
    )


def _read_number(value: Any) -> Decimal | None:
    """Return a count or an amount, or None for anything else: results may contain any JSON value."""
    # `type`, because `True` is an `int`.
    if type(value) is not int and not isinstance(value, str):
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    # An exponent would become as many digits.
    return number if number.is_finite() and abs(number.adjusted()) < 30 else None
