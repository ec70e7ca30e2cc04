"""Expand each case into trials: one per delivery and fault, or a single call.

A trial's level is the lower of the case's level and the delivery's or fault's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from streamconform.apis import APIS
from streamconform.delivery.deliver import identify
from streamconform.delivery.faults import list_faults
from streamconform.delivery.plan import Recipe
from streamconform.delivery.stream import read_stream
from streamconform.errors import SelectionError
from streamconform.model.case import AnyCase, CallCase, Case, Level, RoundTripCase
from streamconform.model.cassette import Pulled
from streamconform.model.trial import (
    ANY,
    AS_IS,
    DELIVERIES,
    FAULTS,
    OF_DOCUMENTS,
    OF_ROUND_TRIPS,
    SAMPLE_TAG,
    AnyTrial,
    Call,
    Delivered,
    FaultSet,
    Input,
    RoundTrip,
    Trial,
    get_current_name,
    lower_level,
)
from streamconform.suggestions import suggest


def expand(
    cases: Iterable[AnyCase],
    deliveries: Iterable[str],
    input_mode: Input,
    seed: int,
    faults: FaultSet = "none",
    sampled: Collection[str] = (),
) -> Iterator[AnyTrial]:
    """Yield the trials of each case: first its deliveries, in the order of `DELIVERIES`, then its faults.

    Only cases with the tag `SAMPLE_TAG` get the deliveries in `sampled`. A case without bytes is a single
    trial, regardless of `deliveries` and `faults`. The process that runs a trial makes its bytes.
    """
    requested = set(deliveries)
    # Use the table's order rather than the options', because results and reports list trials in that order.
    names = [name for name in DELIVERIES if name in requested]
    for case in cases:
        if isinstance(case, CallCase):
            yield Call(case)
            continue
        if isinstance(case, RoundTripCase):
            yield from _expand_round_trip(case, names, seed)
            continue
        if case.unavailable is not None:
            # One trial without bytes, so that the results list the case as skipped.
            yield Trial(case, AS_IS, case.level, Delivered(()))
            continue
        excluded = () if SAMPLE_TAG in case.tags else sampled
        applicable = [
            name for name in names if name not in excluded and (case.stream or name in OF_DOCUMENTS)
        ]
        # With the case's id, so that a case is cut in the same places regardless of the selection.
        recipe = Recipe(f"{seed}:{case.id}")
        yield from _expand_deliveries(case, applicable, input_mode, recipe)
        # A broken stream may end with any prefix of its texts, but a pulled recording has only digests.
        if faults != "none" and not isinstance(case.cassette.provenance, Pulled):
            for name in list_faults(read_stream(case), every=faults == "all", http=input_mode == "http"):
                level = lower_level(case.level, FAULTS[name.partition(".")[0]])
                yield Trial(case, name, level, recipe)


def _expand_deliveries(
    case: Case, names: Iterable[str], input_mode: Input, recipe: Recipe
) -> Iterator[Trial]:
    skipped = case.skip.deliveries if case.skip else frozenset[str]()
    stream = read_stream(case)
    seen: set[tuple[bool, object]] = set()
    for name in names:
        delivery = DELIVERIES[name]
        if name in skipped or input_mode not in delivery.inputs:
            continue
        # The body is split into frames only if a delivery depends on them.
        if delivery.framings != ANY and stream.framing not in delivery.framings:
            continue
        # A delivery with the same chunks as an earlier one would be the same trial; gzip differs only in
        # transit.
        key = name == "gzip", identify(stream, name, recipe.seed)
        if key not in seen:
            seen.add(key)
            yield _make_trial(case, name, recipe)


def _expand_round_trip(case: RoundTripCase, names: Iterable[str], seed: int) -> Iterator[RoundTrip]:
    """Yield the round trips of a case, skipping those with the same chunks as an earlier one."""
    answers = case.first, case.second
    # With the cassette's name, because both answers have the same id but should be cut in different places.
    recipes = [Recipe(f"{seed}:{answer.id}:{answer.cassette.name}") for answer in answers]
    seen: set[tuple[object, ...]] = set()
    for name in names:
        if name not in OF_ROUND_TRIPS:
            continue
        pairs = tuple(zip(answers, recipes, strict=True))
        key = tuple(identify(read_stream(answer), name, recipe.seed) for answer, recipe in pairs)
        if key not in seen:
            seen.add(key)
            yield RoundTrip(case, *(_make_trial(answer, name, recipe) for answer, recipe in pairs))


def _make_trial(case: Case, name: str, recipe: Recipe) -> Trial:
    return Trial(case, name, lower_level(case.level, find_delivery_level(case.api, name)), recipe)


def make_round_trip(case: RoundTripCase, name: str, seed: int) -> RoundTrip:
    """Return a round trip's trial with the delivery `name`. Raises `SelectionError` if none exists."""
    name = get_current_name(name)
    trial = next(_expand_round_trip(case, (name,), seed), None)
    if trial is None:
        available = ", ".join(OF_ROUND_TRIPS)
        raise SelectionError(f"`{case.id}` has no delivery `{name}`; round trips have {available}")
    return trial


def make_trial(case: Case, name: str, seed: int) -> Trial:
    """Return a case's trial with the delivery or fault `name`, for any input mode.

    A fault without a frame number is the one that `--faults one` selects. Raises `SelectionError` if the case
    has no such trial.
    """
    name = get_current_name(name)
    kind, numbered, _ = name.partition(".")
    if kind not in FAULTS:
        if name not in DELIVERIES:
            available = f"{', '.join(DELIVERIES)}, and the faults {', '.join(FAULTS)}"
            hint = suggest(name, (*DELIVERIES, *FAULTS)) or f"; available: {available}"
            raise SelectionError(f"no delivery `{name}`{hint}")
        # HTTP, because no other input mode has more deliveries.
        for trial in expand((case,), (name,), "http", seed):
            if isinstance(trial, Trial):
                return trial
        raise SelectionError(
            f"`{case.id}` has no `{name}`: its body cannot be delivered that way, or the case skips it"
        )
    trials = [
        trial
        for trial in expand((case,), (), "http", seed, "all" if numbered else "one")
        if isinstance(trial, Trial)
    ]
    for trial in trials:
        if name in (trial.delivery, trial.delivery.partition(".")[0]):
            return trial
    available = ", ".join(trial.delivery for trial in trials) or "none"
    raise SelectionError(f"`{case.id}` has no fault `{name}`; available: {available}")


def find_delivery_level(api: str, name: str) -> Level:
    """Return a delivery's level: the API's own for unknown events and fields, otherwise from `DELIVERIES`."""
    extensions = APIS[api].extensions
    match name:
        case "unknown-event":
            return extensions.event_level
        case "unknown-field":
            return extensions.field_level
        case _:
            return DELIVERIES[name].level
