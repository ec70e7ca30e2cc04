"""Make a trial's bytes from its case, the name of its delivery or fault, and a seed. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from streamconform.delivery.deliver import deliver
from streamconform.delivery.faults import break_stream
from streamconform.delivery.recent import Recent
from streamconform.delivery.stream import read_stream
from streamconform.delivery.variants import vary
from streamconform.model.case import Case
from streamconform.model.trial import VARIANTS, Delivered, is_fault

MAX_MADE: Final = 8
"""The number of trials whose bytes are remembered: a trial is sent, judged and explained in a row."""
MAX_BYTES: Final = 1 << 20
"""The size of a body above which its bytes are made again whenever they are needed."""


class Recipe(Struct, frozen=True):
    """The plan of a trial of the suite."""

    seed: str
    """Decides where `random` cuts."""

    def make(self, case: Case, delivery: str) -> Delivered:
        """Return what `delivery` delivers of `case`; the last few are remembered."""
        if len(case.cassette.body) > MAX_BYTES:
            return _make(case, delivery, self.seed)
        return _MADE.get(case, (delivery, self.seed), lambda: _make(case, delivery, self.seed))


_MADE: Final = Recent[Delivered](MAX_MADE)


def _make(case: Case, delivery: str, seed: str) -> Delivered:
    stream = read_stream(case)
    if is_fault(delivery):
        return break_stream(stream, delivery)
    if delivery in VARIANTS:
        varied = vary(stream, delivery)
        assert varied is not None, "only the variants that a stream has are listed"
        return varied
    return Delivered(deliver(stream, delivery, seed))
