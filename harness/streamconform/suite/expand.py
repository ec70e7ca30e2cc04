"""Expand each case into trials: one per delivery and fault, or a single call or behavior.

A trial's level is the lower of the case's level and the delivery's or fault's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import Final

import msgspec

from streamconform.apis import APIS
from streamconform.delivery import websocket
from streamconform.delivery.deliver import identify
from streamconform.delivery.faults import list_faults
from streamconform.delivery.grow import Grow
from streamconform.delivery.plan import Recipe
from streamconform.delivery.stream import read_stream
from streamconform.delivery.variants import vary
from streamconform.errors import SelectionError
from streamconform.model.case import AnyCase, BehaviorCase, CallCase, Case, Level, RoundTripCase
from streamconform.model.cassette import Pulled, Transport
from streamconform.model.trial import (
    ANY,
    AS_IS,
    DELIVERIES,
    FAULTS,
    FAULTS_OVER_HTTP,
    LARGE,
    OF_DOCUMENTS,
    OF_ROUND_TRIPS,
    SAMPLE_TAG,
    VARIANTS,
    WEBSOCKET,
    AnyTrial,
    Behavior,
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

DEFAULT_SEED: Final = 0


class TrialNames(msgspec.Struct, frozen=True, array_like=True):
    """The names of a case's trials over HTTP, with the default seed."""

    deliveries: dict[str, str]
    """Each delivery, with the first one that has the same chunks."""
    faults: tuple[str, ...] = ()
    one_of_each: tuple[str, ...] = ()
    """The fault of each kind that `--faults one` selects."""


FindNames = Callable[[str], TrialNames | None]
"""Returns what `list_trial_names` returned for the case with an id, or None if that is unknown."""


def expand(
    cases: Iterable[AnyCase],
    deliveries: Iterable[str],
    input_mode: Input,
    seed: int,
    faults: FaultSet = "none",
    sampled: Collection[str] = (),
    find_names: FindNames = lambda _: None,
) -> Iterator[AnyTrial]:
    """Yield the trials of each case: first its deliveries, in the order of `DELIVERIES`, then its faults.

    Only cases with the tag `SAMPLE_TAG` get the deliveries in `sampled`. A case without bytes is a single
    trial, regardless of `deliveries` and `faults`. The process that runs a trial makes its bytes.
    """
    requested = set(deliveries)
    # Use the table's order rather than the options', because results and reports list trials in that order.
    names = [name for name in DELIVERIES if name in requested and input_mode in DELIVERIES[name].inputs]
    for case in cases:
        if isinstance(case, CallCase):
            yield Call(case)
            continue
        if isinstance(case, BehaviorCase):
            if input_mode == "http":
                yield Behavior(case)
            continue
        known = find_names(case.id) if seed == DEFAULT_SEED else None
        if isinstance(case, RoundTripCase):
            yield from _expand_round_trip(case, names, seed, known)
            continue
        if case.unavailable is not None:
            # One trial without bytes, so that the results list the case as skipped.
            yield Trial(case, AS_IS, case.level, Delivered(()))
            continue
        if case.growth is not None:
            if AS_IS in names:
                yield Trial(case, AS_IS, case.level, Grow(case.growth))
            continue
        excluded = () if SAMPLE_TAG in case.tags else sampled
        applicable = (name for name in names if name not in excluded)
        # With the case's id, so that a case is cut in the same places regardless of the selection.
        recipe = Recipe(f"{seed}:{case.id}")
        for name in _list_different(case, applicable, seed, known):
            yield _make_trial(case, name, recipe)
        for name in _list_faults(case, faults, known):
            kind = name.partition(".")[0]
            if input_mode == "http" or kind not in FAULTS_OVER_HTTP:
                yield Trial(case, name, lower_level(case.level, FAULTS[kind]), recipe)


def list_trial_names(case: Case | RoundTripCase) -> TrialNames:
    """Return the names of a case's trials."""
    first: dict[object, str] = {}
    keys = {name: _identify(case, name, DEFAULT_SEED) for name in DELIVERIES}
    deliveries = {name: first.setdefault(key, name) for name, key in keys.items() if key is not None}
    if isinstance(case, RoundTripCase):
        return TrialNames(deliveries)
    return TrialNames(deliveries, _list_faults(case, "all", None), _list_faults(case, "one", None))


def _list_different(
    case: Case | RoundTripCase, names: Iterable[str], seed: int, known: TrialNames | None
) -> Iterator[str]:
    """Yield the deliveries that a case has, without those that have the same chunks as an earlier one."""
    seen: set[object] = set()
    for name in names:
        key = _identify(case, name, seed) if known is None else known.deliveries.get(name)
        if key is not None and key not in seen:
            seen.add(key)
            yield name


def _identify(case: Case | RoundTripCase, name: str, seed: int) -> object | None:
    """Return a value that differs between deliveries of a case if their trials do.

    Returns None if the case has no such delivery.
    """
    if isinstance(case, RoundTripCase):
        answers = [(read_stream(answer), recipe.seed) for answer, recipe in _list_answers(case, seed)]
        is_known = name in OF_ROUND_TRIPS[case.transport]
        if not (is_known and all(websocket.allows(stream, name) for stream, _ in answers)):
            return None
        return tuple(identify(stream, name, own_seed) for stream, own_seed in answers)
    if (case.skip and name in case.skip.deliveries) or not (case.stream or name in OF_DOCUMENTS):
        return None
    if name == LARGE and SAMPLE_TAG not in case.tags:
        return None
    stream, framings = read_stream(case), DELIVERIES[name].framings
    if not websocket.allows(stream, name):
        return None
    if name in VARIANTS:
        return None if vary(stream, name) is None else name
    # The body is split into frames only if a delivery depends on them.
    if framings != ANY and stream.framing not in framings:
        return None
    # Gzip differs only in transit.
    return name == "gzip", identify(stream, name, f"{seed}:{case.id}")


def _list_faults(case: Case, faults: FaultSet, known: TrialNames | None) -> tuple[str, ...]:
    """Return the names of a case's faults over HTTP."""
    if faults == "none":
        return ()
    if known is not None:
        return known.faults if faults == "all" else known.one_of_each
    # A broken stream may end with any prefix of its texts, but a pulled recording has only digests.
    if isinstance(case.cassette.provenance, Pulled):
        return ()
    return tuple(list_faults(read_stream(case), every=faults == "all", http=True))


def _expand_round_trip(
    case: RoundTripCase, names: Iterable[str], seed: int, known: TrialNames | None
) -> Iterator[RoundTrip]:
    """Yield the round trips of a case."""
    answers = _list_answers(case, seed)
    for name in _list_different(case, names, seed, known):
        yield RoundTrip(case, tuple(_make_trial(answer, name, recipe) for answer, recipe in answers))


def _list_answers(case: RoundTripCase, seed: int) -> tuple[tuple[Case, Recipe], ...]:
    """Return all answers; each recipe has the cassette's name, because they are cut in different places."""
    return tuple((answer, Recipe(f"{seed}:{answer.id}:{answer.cassette.name}")) for answer in case.answers)


def _make_trial(case: Case, name: str, recipe: Recipe) -> Trial:
    return Trial(case, name, lower_level(case.level, find_delivery_level(case.api, name)), recipe)


def make_round_trip(case: RoundTripCase, name: str, seed: int) -> RoundTrip:
    """Return a round trip's trial with the delivery `name`. Raises `SelectionError` if none exists."""
    name = _get_own_name(name, case.transport)
    trial = next(_expand_round_trip(case, (name,), seed, None), None)
    if trial is None:
        available = ", ".join(OF_ROUND_TRIPS[case.transport])
        raise SelectionError(f"`{case.id}` has no delivery `{name}`; round trips have {available}")
    return trial


def make_trial(case: Case, name: str, seed: int) -> Trial:
    """Return a case's trial with the delivery or fault `name`, for any input mode.

    A fault without a frame number is the one that `--faults one` selects. Raises `SelectionError` if the case
    has no such trial.
    """
    name = _get_own_name(name, case.cassette.transport)
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


def _get_own_name(name: str, transport: Transport) -> str:
    """Return the current name of a delivery, or that of the one that changes nothing over `transport`."""
    current = get_current_name(name)
    return WEBSOCKET if current == AS_IS and transport == "websocket" else current


@cache
def find_delivery_level(api: str, name: str) -> Level:
    """Return a delivery's level: the API's own, if it has one, otherwise that in `DELIVERIES`."""
    extensions, variants = APIS[api].extensions, APIS[api].variants
    if name in variants:
        return variants[name].level
    match name:
        case "unknown-event":
            return extensions.event_level
        case "unknown-field":
            return extensions.field_level
        case _:
            return DELIVERIES[name].level
