"""Implementations that use one freedom each, to show that no case punishes it.

An innocent is a decorated function in a module for its kind of freedom. It changes an answer of the reference
into an equally correct one; the decorator holds its name and the sentences that grant the freedom, and the
docstring describes it. The harness judges the changed answers: a failed `must` is a bug of the suite.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from .model import Alternatives, Answer, Grant, Innocent, TrialFacts

__all__ = ["INNOCENTS", "Alternatives", "Answer", "Grant", "Innocent", "TrialFacts"]

MODULES: Final = (
    "not_exposed",
    "claims",
    "content",
    "calls",
    "broken",
    "events",
    "money",
    "choices",
    "verdict_rules",
    "requests",
)

INNOCENTS: Final[Mapping[str, Innocent]] = {
    name: innocent
    for module in MODULES
    for name, innocent in import_module(f"{__name__}.{module}").innocents.table.items()
}
"""All innocents by name."""
