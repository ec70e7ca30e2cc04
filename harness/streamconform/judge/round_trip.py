"""Compare round trips with their expectation: the requests received, and the outcomes of the answers. Pure.

The paths of checks begin with the name of an answer or request (`RoundTripCase.answer_names`): for two
requests `first.…`, `request.…` and `outcome.…`, for more `answers.0.…`, `requests.1.…` and `outcome.…`. In
each later request, `prefix.…` and `bytes.…` compare it with the one before. `requests.length` counts them.
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
from streamconform.judge.prefix import compare_prefix, list_prefix_paths
from streamconform.judge.request import compare_request, list_check_paths
from streamconform.judge.schema_problems import explain_malformed_outcome
from streamconform.model.capability import Claims
from streamconform.model.leaf import Literally
from streamconform.model.outcome import Outcome
from streamconform.model.request import Fields, Items, RequestExpectation
from streamconform.model.trial import RoundTrip, Trial
from streamconform.model.verdict import Check, Culprit

_EMPTY_OUTCOME: Final = Outcome(status="error", content=())


def check_round_trip(trial: RoundTrip, seen: Observation, claims: Claims) -> tuple[list[Check], Culprit]:
    """Return every check of a round trip, whether passed or failed, and the culprit for the failed ones.

    An outcome that is not in the normal form gets only one failed check, as in every trial. The outcomes of
    the earlier answers are judged only if they are reported.
    """
    names = trial.case.answer_names
    reported = [*zip(names, seen.earlier, strict=False), (names[-1], seen.outcome)]
    outcomes: dict[str, Outcome] = {}
    for name, value in reported:
        try:
            outcomes[name] = decode.decode_outcome(value)
        except decode.MalformedError:
            message = explain_malformed_outcome(value)
            rule = f"invariant.{name.replace('.', '-')}-schema"
            return [check_rule(rule, trial.level, message)], "adapter"
    checks = [check_leaf("requests.length", Literally(len(trial.answers)), len(seen.requests), trial.level)]
    answers = dict(zip(names, trial.answers, strict=True))
    for name in names[:-1]:
        if name in outcomes:
            checks += _prefix_paths(name, _compare_answer(answers[name], outcomes[name], claims))
    for index, name in enumerate(trial.case.request_names):
        checks += _prefix_paths(name, _compare_next_request(trial, index, seen.requests, claims))
    checks += _prefix_paths(names[-1], _compare_answer(answers[names[-1]], outcomes[names[-1]], claims))
    return checks, "implementation"


def list_round_trip_paths(trial: RoundTrip, claims: Claims) -> frozenset[str]:
    """Return the path of every check that may be made on a round trip."""
    # Comparing with an empty outcome yields every check that any outcome can have.
    answer_paths = (
        check.path
        for name, answer in zip(trial.case.answer_names, trial.answers, strict=True)
        for check in _prefix_paths(name, _compare_answer(answer, _EMPTY_OUTCOME, claims))
    )
    form = APIS[trial.case.api].requests
    kept = (f"body.{form.kept_answer}",) if "stateful" in claims and form.kept_answer else ()
    prefix = (*list_prefix_paths(form), *kept)
    request_paths = (
        f"{name}.{path}"
        for name, expect in zip(trial.case.request_names, trial.case.requests, strict=True)
        for path in (*list_check_paths(expect), *prefix)
    )
    return frozenset(("requests.length", *answer_paths, *request_paths))


def _compare_answer(answer: Trial, outcome: Outcome, claims: Claims) -> Iterator[Check]:
    if answer.expect.content is None:
        return  # the case has no expectation for this answer
    ordered = APIS[answer.case.api].ordered_content
    yield from compare_outcome(answer.expect, outcome, claims, answer.level, ordered=ordered)
    # All other invariants are about events, which are not judged in round trips.
    yield check_rule("invariant.unique-ids", answer.level, invariants.check_unique_ids(outcome))


def _compare_next_request(
    trial: RoundTrip, index: int, requests: tuple[Any, ...], claims: Claims
) -> Iterator[Check]:
    """Yield the checks on the request that follows the answer with this index."""
    if len(requests) < index + 2:
        message = f"no request followed answer {index + 1}: it was not sent back"
        yield check_rule("body", trial.level, message, expected={})
        return
    form, turn = APIS[trial.case.api].requests, trial.case.turns[index]
    expect, kept = trial.case.requests[index], form.kept_answer
    before, body = requests[index].get("body"), requests[index + 1].get("body")
    # A client that claims `stateful` may still send the whole history, and is then judged on all of it.
    is_kept = False
    if "stateful" in claims and kept and isinstance(body, Mapping) and body.get(kept) is not None:
        is_kept = bool(turn.results or turn.messages) and not _has_failed(trial.answers[index])
    if is_kept and kept:
        yield _check_kept_answer(trial, index, kept, body[kept])
        expect = _expect_new_only(trial, index, kept)
    yield from compare_prefix(
        form,
        before,
        body,
        trial.level,
        bound=trial.case.bound,
        kept=is_kept,
        edited="compaction" in claims,
    )
    yield from compare_request(trial.case.api, expect, requests[index + 1], trial.level)


def _has_failed(answer: Trial) -> bool:
    """Return whether the expected answer is an error, after which the server keeps nothing."""
    return answer.expect.fields.get("status") == Literally("error")


def _check_kept_answer(trial: RoundTrip, index: int, kept: str, name: Any) -> Check:
    """Return the check that a request refers to the answer before it by the id in that answer's stream."""
    body = trial.case.answers[index].cassette.body
    # Found by searching the bytes, because the judge parses no streams. Ids are too long to occur by chance.
    is_named = isinstance(name, str) and json.dumps(name).encode() in body
    message = None if is_named else "does not refer to an answer that the server gave"
    return check_rule(f"body.{kept}", trial.level, message, got=name)


def _expect_new_only(trial: RoundTrip, index: int, kept: str) -> RequestExpectation:
    """Return the expectation for a client that sends only what is new: the server keeps the history."""
    expect, messages = trial.case.requests[index], APIS[trial.case.api].requests.messages
    turn, fields = trial.case.turns[index], dict(expect.must.fields)
    history = fields.get(messages)
    if isinstance(history, Items):
        # What is new comes last in the whole history that the case expects.
        fields[messages] = Items(history.items[-(len(turn.results) + len(turn.messages)) :])
    must_not = tuple(path for path in expect.must_not if path != kept)
    return structs.replace(expect, must=Fields(fields), should=Fields({}), must_not=must_not)


def _prefix_paths(name: str, checks: Iterable[Check]) -> Iterator[Check]:
    return (replace(check, path=f"{name}.{check.path}") for check in checks)
