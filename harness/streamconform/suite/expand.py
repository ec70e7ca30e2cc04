"""Cases to trials: every delivery and fault that applies, at the lower of both levels; or a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamconform.apis import APIS
from streamconform.delivery.deliver import deliver
from streamconform.delivery.faults import derive_faults as broken
from streamconform.errors import SelectionError
from streamconform.model.case import AnyCase, CallCase, Case, Level, RoundTripCase
from streamconform.model.trial import (
    DELIVERIES,
    FAULTS,
    OF_ROUND_TRIPS,
    AnyTrial,
    Call,
    FaultSet,
    Framing,
    Input,
    RoundTrip,
    Trial,
    lower_level,
)


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
        if isinstance(case, RoundTripCase):
            yield from _there_and_back(case, wanted, seed)
            continue
        framed = APIS[case.api].detect_framing(case.cassette.status, case.cassette.body)
        yield from _delivered(case, framed, wanted, input_mode, seed)
        if faults != "none":
            yield from _broken(case, framed, every=faults == "all", http=input_mode == "http")


def _delivered(
    case: Case, framed: Framing, wanted: Iterable[str], input_mode: Input, seed: int
) -> Iterator[Trial]:
    skipped = case.skip.deliveries if case.skip else frozenset[str]()
    seen: set[tuple[bool, tuple[bytes, ...]]] = set()
    for name in wanted:
        delivery = DELIVERIES[name]
        if name in skipped or framed not in delivery.framings or input_mode not in delivery.inputs:
            continue
        chunks = deliver(case.cassette, framed, name, f"{seed}:{case.id}")
        same = name == "gzip", chunks  # which is done to the chunks on the way
        if same not in seen:
            seen.add(same)
            yield Trial(case, name, lower_level(case.level, delivery_level(case.api, name)), chunks)


def _there_and_back(case: RoundTripCase, wanted: Iterable[str], seed: int) -> Iterator[RoundTrip]:
    """Yield the round trips of a case; one that cuts both answers like an earlier one is left out."""
    seen: set[tuple[tuple[bytes, ...], ...]] = set()
    for name in wanted:
        if name not in OF_ROUND_TRIPS:
            continue
        first, second = (_whole(answer, name, seed) for answer in (case.first, case.second))
        if (first.chunks, second.chunks) not in seen:
            seen.add((first.chunks, second.chunks))
            yield RoundTrip(case, first, second)


def _whole(answer: Case, name: str, seed: int) -> Trial:
    """Return one of the answers of a round trip, as it is delivered."""
    framed = APIS[answer.api].detect_framing(answer.cassette.status, answer.cassette.body)
    chunks = deliver(answer.cassette, framed, name, f"{seed}:{answer.id}:{answer.cassette.name}")
    return Trial(answer, name, lower_level(answer.level, delivery_level(answer.api, name)), chunks)


def _broken(case: Case, framed: Framing, *, every: bool, http: bool) -> Iterator[Trial]:
    for fault in broken(case, framed, every=every, http=http):
        level = lower_level(case.level, FAULTS[fault.name.partition(".")[0]])
        yield Trial(case, fault.name, level, fault.chunks, fault.expect)


def there_and_back(case: RoundTripCase, name: str, seed: int) -> RoundTrip:
    """Return the trial `name` of a round trip; raises `SelectionError` where it has no such delivery."""
    made = tuple(_there_and_back(case, (name,), seed))
    if not made:
        raise SelectionError(f"`{case.id}` has no `{name}`; a round trip has {', '.join(OF_ROUND_TRIPS)}")
    return made[0]


def one(case: Case, name: str, seed: int) -> Trial:
    """Return the trial `name` of a case: a delivery, or a fault, over whatever input.

    A fault is named with its frame; without, it is the one that tells most. Raises `SelectionError` for
    one that the case does not have.
    """
    kind, numbered, _ = name.partition(".")
    if kind not in FAULTS:
        if name not in DELIVERIES:
            known = f"{', '.join(DELIVERIES)}, and {', '.join(FAULTS)}"
            raise SelectionError(f"no delivery `{name}`; known are {known}")
        for each in expand((case,), (name,), "http", seed):
            if isinstance(each, Trial):
                return each
        raise SelectionError(f"`{case.id}` has no `{name}`: its body has no such form, or the case skips it")
    trials = [
        each
        for each in expand((case,), (), "http", seed, "all" if numbered else "one")
        if isinstance(each, Trial)
    ]
    for each in trials:
        if name in (each.delivery, each.delivery.partition(".")[0]):
            return each
    there = ", ".join(each.delivery for each in trials) or "none"
    raise SelectionError(f"`{case.id}` has no fault `{name}`; it has {there}")


def delivery_level(api: str, name: str) -> Level:
    """Return the level of a delivery: the table's, or the api's where the provider's words decide."""
    extensions = APIS[api].extensions
    match name:
        case "unknown-event":
            return extensions.event_level
        case "unknown-field":
            return extensions.field_level
        case _:
            return DELIVERIES[name].level
