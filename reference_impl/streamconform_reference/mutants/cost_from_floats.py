"""Cost is computed with floats and printed as they print, so that small amounts have an exponent."""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference import adapter as reference
from streamconform_reference.adapter import Run, describe_adapter
from streamconform_reference.outcome import Json

from ._tools import part


def floating(cost: Json) -> Json:
    """Return the cost with every amount as a float prints it: `9e-05` for nine hundred-thousandths."""
    return {
        key: value if key == "currency" or value is None else str(float(value)) for key, value in cost.items()
    }


def broken(run: Run) -> Iterator[Json]:
    """Yield what the reference says, money as floats."""
    for message in reference(run):
        told = part(message, "outcome") or message
        if part(told, "cost"):
            told["cost"] = floating(told["cost"])
        yield message


adapter = describe_adapter(broken, name="mutant:cost-from-floats", apis=["anthropic-messages"])
