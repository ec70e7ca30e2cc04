"""A round trip against what is expected of it: the requests that came, and what both answers became. Pure.

Paths are those of the spec's `expect`: `first.…`, `request.…`, `outcome.…`; `requests.length` is how many
requests there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from streamconform.adapters.interface import Observation
from streamconform.judge import decode, invariants
from streamconform.judge.compare import FAILED, check, compare
from streamconform.judge.request import compare_request, paths_of
from streamconform.model.capability import Claims
from streamconform.model.leaf import Literally
from streamconform.model.outcome import Outcome
from streamconform.model.trial import RoundTrip, Trial
from streamconform.model.verdict import Check, Culprit
from streamconform.schemas import find_problems

ASKED: Final = 2
"""Requests of a round trip."""
NOTHING: Final = Outcome(status="error", content=())


def checks_of_round_trip(trial: RoundTrip, seen: Observation, claims: Claims) -> tuple[list[Check], Culprit]:
    """Return every check of a round trip, those that passed too, and whose fault the others are.

    An outcome that is not in the normal form gets one check only, as in every trial. The first answer's is
    judged only where the adapter tells it.
    """
    try:
        outcome = decode.outcome(seen.outcome)
    except decode.Malformed:
        return [_malformed(trial, "outcome-schema", seen.outcome)], "adapter"
    first = None
    if seen.first is not None:
        try:
            first = decode.outcome(seen.first)
        except decode.Malformed:
            return [_malformed(trial, "first-schema", seen.first)], "adapter"
    checks = [check("requests.length", Literally(ASKED), len(seen.requests), trial.level)]
    if first is not None:
        checks += _under("first", _answer(trial.first, first, claims))
    checks += _under("request", _second(trial, seen.requests))
    checks += _under("outcome", _answer(trial.second, outcome, claims))
    return checks, "implementation"


def paths_of_round_trip(trial: RoundTrip, claims: Claims) -> frozenset[str]:
    """Return the path of every check that a round trip may get."""
    answers = {"first": trial.first, "outcome": trial.second}
    judged = (each for name, of in answers.items() for each in _under(name, _answer(of, NOTHING, claims)))
    sent = (f"request.{path}" for path in paths_of(trial.case.request))
    return frozenset(("requests.length", *(each.path for each in judged), *sent))


def _answer(of: Trial, outcome: Outcome, claims: Claims) -> Iterator[Check]:
    if of.expect.content is None:
        return  # nobody says anything about it
    yield from compare(of.expect, outcome, claims, of.level)
    message = invariants.unique_ids(outcome)
    verdict = "pass" if message is None else FAILED[of.level]
    yield Check(path="invariant.unique-ids", level=of.level, verdict=verdict, message=message)


def _second(trial: RoundTrip, requests: tuple[Any, ...]) -> Iterator[Check]:
    if len(requests) < ASKED:
        words = "no second request came: the results were not sent back"
        yield Check(path="body", level=trial.level, verdict=FAILED[trial.level], expected={}, message=words)
        return
    yield from compare_request(trial.case.api, trial.case.request, requests[1], trial.level)


def _under(name: str, checks: Iterable[Check]) -> Iterator[Check]:
    return (replace(each, path=f"{name}.{each.path}") for each in checks)


def _malformed(trial: RoundTrip, name: str, given: Any) -> Check:
    words = "; ".join(find_problems("outcome.v1", given)) or "not in the normal form"
    return Check(path=f"invariant.{name}", level=trial.level, verdict=FAILED[trial.level], message=words)
