"""Track usage and cost while an answer arrives: reports in, totals so far out.

The last report of each field wins; null never erases a value. The cost covers all usage so far; it is None
without a price table, or if the table cannot price the usage.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamconform_reference.events import UsageUpdate
from streamconform_reference.outcome import Cost, Usage
from streamconform_reference.pricing import Billing, Pricing


class Meter:
    """The usage of one answer, and its cost according to a price table."""

    __slots__ = ("_billing", "_counts", "_merged", "_pricing", "cost")

    def __init__(self, pricing: Pricing | None) -> None:
        """Start with no usage."""
        self.cost: Cost | None = None
        self._pricing = pricing
        self._counts: dict[str, int] = {}
        self._billing = Billing()
        self._merged: Billing | None = None  # the last one, which decoders may report again

    def make_empty(self) -> Meter:
        """Return an empty meter with the same price table, for a new answer."""
        return Meter(self._pricing)

    def usage(self) -> Usage | None:
        """Return the usage so far, or None before the first report."""
        return Usage(**self._counts) if self._counts else None

    def report(self, counts: Mapping[str, int | None], billing: Billing | None = None) -> UsageUpdate | None:
        """Merge one usage report, keyed by the fields of `Usage`.

        Return the resulting update, or None if the report has no counts; its price fields are then kept for
        the next report with counts.
        """
        if self._pricing and billing and billing is not self._merged:
            self._billing, self._merged = self._billing.merge(billing), billing
        has_counts = False
        for name, count in counts.items():
            if count is not None:
                self._counts[name] = count
                has_counts = True
        if not has_counts:
            return None
        usage = Usage(**self._counts)
        if self._pricing:
            self.cost = self._pricing.cost(usage, self._billing)
        return UsageUpdate(usage, self.cost)
