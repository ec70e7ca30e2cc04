"""A count that the stream does not give may be 0 instead of null: at most a warning (`specs/POLICY.md`)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from streamconform.adapters.interface import Observation
from streamconform.judge.judge import check_answer
from streamconform.judge.match import matches_leaf
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import Case, RoundTripCase
from streamconform.model.leaf import Literally, list_values
from streamconform.model.outcome import Usage
from streamconform.suite.expand import make_trial
from streamconform_reference.adapter import adapter as reference

from ..bundled_suite import cases

REPORTED_AND_OPTIONAL = {
    # The stream gives a count, and a client need not report it.
    "bedrock-invoke/documents-calls/thinking-tokens-are-output": {"usage.reasoning"},
    "bedrock-invoke/usage/thinking-tokens-are-output": {"usage.reasoning"},
    "cohere-chat/usage-and-cost/cost-reasoning-tokens": {"usage.reasoning"},
}


def read_with_zeros(trial):
    """Return the reference's outcome, as a client reports it whose counters and cost start at 0."""
    case = trial.case
    run = SimpleNamespace(
        api=case.api,
        status=trial.status,
        headers=trial.headers,
        request=case.cassette.request.body,
        pricing=case.pricing,
        chunks=trial.chunks,
        stream=case.stream,
    )
    *_, last = reference(run)
    outcome = dict(last["outcome"])
    usage = outcome.get("usage") or {}
    outcome["usage"] = {bucket: usage.get(bucket) or 0 for bucket in Usage.__slots__}
    if case.pricing is not None:
        outcome["cost"] = outcome.get("cost") or {"currency": "USD", "total": "0"}
    return outcome


def list_expectations(case):
    match case:
        case Case():
            return [case]
        case RoundTripCase(answers=answers):
            return [*answers]
        case _:
            return []


def list_unknown_counts(expect):
    """Return the paths whose count may be null, unless the client may have lost it with a broken stream."""
    may_break = any(matches_leaf(expect.fields["status"], status) for status in ("incomplete", "error"))
    for path, leaf in expect.fields.items():
        counts = [value for value in list_values(leaf) or () if value is not None]
        if path.startswith("usage") and matches_leaf(leaf, None) and not (may_break and any(counts)):
            yield path, leaf


def test_every_must_accepts_zero_for_a_count_that_the_stream_does_not_give():
    assert [
        (case.id, path)
        for case in cases()
        for part in list_expectations(case)
        if part.expect.content is not None and case.level == "must"
        for path, leaf in list_unknown_counts(part.expect)
        if not matches_leaf(leaf, 0) and path not in REPORTED_AND_OPTIONAL.get(case.id, ())
    ] == []


@pytest.mark.parametrize("id_", sorted(REPORTED_AND_OPTIONAL))
def test_every_exception_is_still_needed(id_):
    case = next(case for case in cases() if case.id == id_)
    found = {path for path, leaf in list_unknown_counts(case.expect) if not matches_leaf(leaf, 0)}
    assert found == REPORTED_AND_OPTIONAL[id_]


def test_a_null_cost_at_must_is_due_to_missing_prices_and_not_to_missing_counts():
    """If the counts are unknown, the cost is as well, so the case writes `any_of: [null, "0"]`."""
    nulls = [
        case
        for case in cases()
        if isinstance(case, Case)
        and case.level == "must"
        and case.expect.fields.get("cost") == Literally(None)
    ]
    assert nulls
    assert [case.id for case in nulls if case.pricing is not None] == []


def test_a_client_whose_counters_start_at_zero_fails_no_must():
    verdicts = {}
    for case in cases():
        if isinstance(case, Case) and case.level == "must":
            trial = make_trial(
                case, "as-is" if case.cassette.transport == "http" else case.cassette.transport, 0
            )
            checks = check_answer(
                trial, Observation(read_with_zeros(trial)), CAPABILITIES - {"events"}
            ).checks
            verdicts |= {(case.id, check.path): check.verdict for check in checks if check.verdict != "pass"}
    assert [key for key, verdict in verdicts.items() if verdict == "fail"] == []
    assert len(verdicts) > 100
