"""Compare a round trip with its expectation: the requests received, and the outcomes of both answers. Pure.

Check paths follow the spec's `expect`: `first.…`, `request.…`, `outcome.…`; `requests.length` is the number
of requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from streamconform.adapters.interface import Observation
from streamconform.apis import APIS
from streamconform.judge import decode, invariants
from streamconform.judge.compare import check_leaf, check_rule, compare_outcome
from streamconform.judge.request import compare_request, list_check_paths
from streamconform.judge.schema_problems import explain_malformed_outcome
from streamconform.model.capability import Claims
from streamconform.model.leaf import Literally
from streamconform.model.outcome import Outcome
from streamconform.model.request import Fields, Items, RequestExpectation
from streamconform.model.trial import RoundTrip, Trial
from streamconform.model.verdict import Check, Culprit

_REQUEST_COUNT: Final = 2
"""The number of requests in a round trip."""
_EMPTY_OUTCOME: Final = Outcome(status="error", content=())


def check_round_trip(trial: RoundTrip, seen: Observation, claims: Claims) -> tuple[list[Check], Culprit]:
    """Return every check of a round trip, whether passed or failed, and the culprit for the failed ones.

    An outcome that is not in the normal form gets only one failed check, as in every trial. The first
    answer's outcome is judged only if the adapter reports it.
    """
    try:
        outcome = decode.decode_outcome(seen.outcome)
    except decode.MalformedError:
        return [_make_malformed_check(trial, "outcome-schema", seen.outcome)], "adapter"
    first = None
    if seen.first is not None:
        try:
            first = decode.decode_outcome(seen.first)
        except decode.MalformedError:
            return [_make_malformed_check(trial, "first-schema", seen.first)], "adapter"
    checks = [check_leaf("requests.length", Literally(_REQUEST_COUNT), len(seen.requests), trial.level)]
    if first is not None:
        checks += _prefix_paths("first", _compare_answer(trial.first, first, claims))
    checks += _prefix_paths("request", _compare_second_request(trial, seen.requests, claims))
    checks += _prefix_paths("outcome", _compare_answer(trial.second, outcome, claims))
    return checks, "implementation"


def list_round_trip_paths(trial: RoundTrip, claims: Claims) -> frozenset[str]:
    """Return the path of every check that may be made on a round trip."""
    answers = {"first": trial.first, "outcome": trial.second}
    # Comparing with an empty outcome yields every check that any outcome can have.
    answer_paths = (
        check.path
        for name, answer in answers.items()
        for check in _prefix_paths(name, _compare_answer(answer, _EMPTY_OUTCOME, claims))
    )
    request_paths = (f"request.{path}" for path in list_check_paths(trial.case.request))
    form = APIS[trial.case.api].requests
    kept = (f"request.body.{form.kept_answer}",) if "stateful" in claims and form.kept_answer else ()
    return frozenset(("requests.length", *answer_paths, *request_paths, *kept))


def _compare_answer(answer: Trial, outcome: Outcome, claims: Claims) -> Iterator[Check]:
    if answer.expect.content is None:
        return  # the case has no expectation for this answer
    ordered = APIS[answer.case.api].ordered_content
    yield from compare_outcome(answer.expect, outcome, claims, answer.level, ordered=ordered)
    # All other invariants are about events, which are not judged in round trips.
    yield check_rule("invariant.unique-ids", answer.level, invariants.check_unique_ids(outcome))


def _compare_second_request(trial: RoundTrip, requests: tuple[Any, ...], claims: Claims) -> Iterator[Check]:
    if len(requests) < _REQUEST_COUNT:
        message = "no second request was received: the tool results were not sent back"
        yield check_rule("body", trial.level, message, expected={})
        return
    expect, kept = trial.case.request, APIS[trial.case.api].requests.kept_answer
    body = requests[1].get("body")
    # A client that claims `stateful` may still send the whole history, and is then judged on all of it.
    if (
        "stateful" in claims
        and kept
        and trial.case.results
        and isinstance(body, Mapping)
        and body.get(kept) is not None
    ):
        yield _check_kept_answer(trial, kept, body[kept])
        expect = _expect_results_only(trial, kept)
    yield from compare_request(trial.case.api, expect, requests[1], trial.level)


def _check_kept_answer(trial: RoundTrip, kept: str, name: Any) -> Check:
    """Return the check that a request refers to the first answer by the id in that answer's stream."""
    body = trial.first.case.cassette.body
    # Found by searching the bytes, because the judge parses no streams. Ids are too long to occur by chance.
    is_named = isinstance(name, str) and json.dumps(name).encode() in body
    message = None if is_named else "does not refer to an answer that the server gave"
    return check_rule(f"body.{kept}", trial.level, message, got=name)


def _expect_results_only(trial: RoundTrip, kept: str) -> RequestExpectation:
    """Return the expectation for a client that sends only the results: the server keeps the history."""
    expect, messages = trial.case.request, APIS[trial.case.api].requests.messages
    fields = dict(expect.must.fields)
    history = fields.get(messages)
    if isinstance(history, Items):
        # The results are the last messages in the whole history that the case expects.
        fields[messages] = Items(history.items[-len(trial.case.results) :])
    must_not = tuple(path for path in expect.must_not if path != kept)
    return structs.replace(expect, must=Fields(fields), must_not=must_not)


def _prefix_paths(name: str, checks: Iterable[Check]) -> Iterator[Check]:
    return (replace(check, path=f"{name}.{check.path}") for check in checks)


def _make_malformed_check(trial: RoundTrip, name: str, value: Any) -> Check:
    message = explain_malformed_outcome(value)
    return check_rule(f"invariant.{name}", trial.level, message)
