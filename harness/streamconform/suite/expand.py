"""Cases to trials: every delivery and fault that applies, at the lower of both levels; or a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamconform.delivery.deliver import deliver
from streamconform.delivery.faults import faults as broken
from streamconform.model.case import AnyCase, CallCase, Case, Level
from streamconform.model.trial import (
    DELIVERIES,
    FAULTS,
    AnyTrial,
    Call,
    FaultSet,
    Framing,
    Input,
    Trial,
    lower,
)
from streamconform.wire.apis import APIS, framing


def expand(
    cases: Iterable[AnyCase],
    deliveries: Iterable[str],
    input_mode: Input,
    seed: int,
    faults: FaultSet = "none",
) -> Iterator[AnyTrial]:
    """Yield the trials of `cases`, in their order: deliveries in the order of the table, then faults.

    A delivery whose chunks equal those of an earlier one of the case is left out: the same trial twice
    tells nothing. A case without bytes is one trial, whatever is asked for.
    """
    asked = set(deliveries)
    wanted = [name for name in DELIVERIES if name in asked]
    for case in cases:
        if isinstance(case, CallCase):
            yield Call(case)
            continue
        framed = framing(case.api, case.cassette.status, case.cassette.body)
        yield from _delivered(case, framed, wanted, input_mode, seed)
        if faults != "none":
            yield from _broken(case, framed, every=faults == "all")


def _delivered(
    case: Case, framed: Framing, wanted: Iterable[str], input_mode: Input, seed: int
) -> Iterator[Trial]:
    skipped = case.skip.deliveries if case.skip else frozenset[str]()
    seen: set[tuple[bytes, ...]] = set()
    for name in wanted:
        delivery = DELIVERIES[name]
        if name in skipped or framed not in delivery.framings or input_mode not in delivery.inputs:
            continue
        chunks = deliver(case.cassette, framed, name, f"{seed}:{case.id}")
        if chunks not in seen:
            seen.add(chunks)
            yield Trial(case, name, lower(case.level, delivery_level(case.api, name)), chunks)


def _broken(case: Case, framed: Framing, *, every: bool) -> Iterator[Trial]:
    for fault in broken(case, framed, every=every):
        level = lower(case.level, FAULTS[fault.name.partition(".")[0]])
        yield Trial(case, fault.name, level, fault.chunks, fault.expect)


def delivery_level(api: str, name: str) -> Level:
    """Return the level of a delivery: the table's, or the api's where the provider's words decide."""
    known = APIS[api]
    match name:
        case "unknown-event":
            return known.unknown_event_level
        case "unknown-field":
            return known.unknown_field_level
        case _:
            return DELIVERIES[name].level
