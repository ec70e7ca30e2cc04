"""The bugs of clients: each failure has one finding, and each finding its own harm and sender."""

from __future__ import annotations

import pytest

from streamconform.causes.ids import find_harm
from streamconform.causes.table import HARMS, RUNS, SUCCEEDS
from streamconform.known_failures.model import KnownCause, KnownFailure
from streamconform.model.trial import AS_IS
from streamconform.reports.scores.document import (
    ApiScores,
    Example,
    Failure,
    Implementation,
    Scores,
    Suite,
)
from streamconform_dev.bugs import describe_bugs, explain_failure, find_harms, grade_bugs, list_bugs
from streamconform_dev.docs.matrix import read_clients
from streamconform_peers.findings import UNSEEN, read_findings
from streamconform_peers.known import read_by_finding

from ..bundled_suite import cases

CLIENTS = read_clients()
FINDINGS = read_findings()
UNCHANGED = {AS_IS, "whole", "bytewise", "random", "crlf", "websocket", ""}
"""Deliveries of the recorded bytes: they add nothing that the sender did not send."""
CUT, FORMAT, OTHERS, PROVIDER = (
    "cut-stream-ends-with-finish-reason-stop-or-tool",
    "comment-line-in-the-stream-raises",
    "input-in-content-block-start-is-lost",
    "tools-that-the-provider-ran-are-returned-as-calls",
)


def collect_trials():
    """Return, for each finding, the deliveries in which each case shows it with some client."""
    trials = {}
    for bug in (bug for client in CLIENTS for bug in client.bugs if bug.finding):
        for case, names in bug.cases.items():
            trials.setdefault(bug.finding, {}).setdefault(case, set()).update(names or {""})
    return trials


TRIALS = collect_trials()


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.peer)
def test_every_failure_that_names_a_finding_is_explained(client):
    entries = read_by_finding(client.peer)
    unexplained = [
        failure.title
        for api, failure in client.list_failures()
        if failure.tracked and not explain_failure(api, failure, entries)
    ]
    assert unexplained == []


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.peer)
def test_a_cause_explains_no_failure_with_another_harm(client):
    entries = read_by_finding(client.peer)
    for api, failure in client.list_failures():
        for slug in explain_failure(api, failure, entries):
            causes = [entry for entry in entries[slug] if isinstance(entry, KnownCause) and entry.api == api]
            patterns = [entry for entry in entries[slug] if isinstance(entry, KnownFailure)]
            assert patterns or failure.harm in {find_harm(entry.cause) for entry in causes}


@pytest.mark.parametrize("slug", sorted(TRIALS))
def test_a_finding_has_a_harm_of_its_own_known_failures(slug):
    harms = find_harms(bug for client in CLIENTS for bug in client.bugs)
    own = [entry for client in CLIENTS for entry in read_by_finding(client.peer).get(slug, ())]
    causes = {find_harm(entry.cause) for entry in own if isinstance(entry, KnownCause)}
    assert harms[slug] in causes or any(isinstance(entry, KnownFailure) for entry in own)


# Once, the worst harm of any failure in the same cases stood above these.
@pytest.mark.parametrize(
    ("slug", "harm"),
    [
        ("exception-missing-from-the-service-model-has-neither", "wrong metadata"),
        ("google-call-without-args-raises-keyerror", "crashes on a valid stream"),
        ("line-that-contains-unicode-line-separators-is-split", "loses or changes content"),
        ("missing-usage-is-estimated-and-parts-are-dropped", "bills incorrectly"),
        ("redacted-thinking-of-anthropic-is-dropped", "loses or changes content"),
        ("unknown-stop-reasons-become-stop", "wrong metadata"),
        ("openai-node-empty-output-replaces-the-streamed-output", "loses or changes content"),
        ("output-counts-that-shrink-are-not-reduced", "bills incorrectly"),
        ("no-usage-metadata-in-a-stream-of-cohere", "bills incorrectly"),
    ],
)
def test_a_finding_is_not_charged_with_the_harm_of_another(slug, harm):
    harms = find_harms(bug for client in CLIENTS for bug in client.bugs)
    assert harms[slug] == harm


@pytest.mark.parametrize("slug", sorted(TRIALS))
def test_the_sender_of_a_finding_agrees_with_its_trials(slug):
    trials, sender = TRIALS[slug], FINDINGS[slug].sender
    suite = {case.id: case for case in cases()}
    unchanged = [case for case, names in trials.items() if names & UNCHANGED]
    if all(is_own_request(case) for case in trials):
        assert sender == "client" or FINDINGS[slug].note
        return
    assert sender != "client"
    if sender == "provider":
        assert any(not is_broken(suite[case]) for case in unchanged)
    elif sender == "cut":
        assert any(is_broken(suite[case]) for case in unchanged)
    else:
        assert FINDINGS[slug].note, "say who sends it"


def is_own_request(case):
    topic = case.split("/")[1]
    return topic.startswith("requests") or topic in ("round-trips", "replays", "behavior")


def is_broken(case):
    """Return whether a case's stream ends before the answer does."""
    fields = getattr(getattr(case, "expect", None), "fields", {})
    status = fields.get("status")
    values = getattr(status, "values", None) or (getattr(status, "value", None),)
    return "incomplete" in values and "complete" not in values


def make_scores(*failures):
    own = ApiScores({}, {}, {}, {}, failures, ())
    implementation = Implementation("peer:lib", "lib", "1.0", None, None, "http")
    return Scores(1, implementation, None, Suite("0.1.0", None), {"anthropic-messages": own})


def fail(title, harm, **cases):
    names = {deliveries.replace("_", "-"): name for deliveries, name in cases.items()}
    return Failure(title, harm, 1, (), Example("", ""), {"text": names})


def know(cause):
    return KnownCause(cause=cause, api="anthropic-messages", trials=1, reason="", issue="")


def test_a_pattern_takes_its_trials_from_the_cause():
    scores = make_scores(fail("Reports a cut stream as complete", SUCCEEDS, as_is="one two"))
    pattern = KnownFailure(
        match="anthropic-messages/text/two@*", verdict="fail", reason="", issue="findings.md#x"
    )
    bugs = list_bugs(scores, {CUT: [know("cut-as-complete")], PROVIDER: [pattern]}, FINDINGS)
    assert {bug.finding: list(bug.cases) for bug in bugs} == {
        CUT: ["anthropic-messages/text/one"],
        PROVIDER: ["anthropic-messages/text/two"],
    }


def test_a_failure_without_an_entry_is_a_bug_of_its_own():
    (bug,) = list_bugs(make_scores(fail("Loses text", HARMS[4], as_is="one")), {}, FINDINGS)
    assert (bug.finding, bug.title, bug.harms) == (None, "Loses text", (HARMS[4],))


def test_one_finding_is_one_bug_with_the_worst_of_its_harms():
    failures = (
        fail("Reports a cut stream as complete", SUCCEEDS, as_is="one"),
        fail("Reports an unfinished call as executable", RUNS, as_is="two"),
    )
    entries = {CUT: [know("cut-as-complete"), know("unfinished-call-executable")]}
    (bug,) = list_bugs(make_scores(*failures), entries, FINDINGS)
    assert (bug.harm, bug.harms) == (RUNS, (RUNS, SUCCEEDS))
    assert describe_bugs([bug]) == f"1 bug: {RUNS} (1)"


@pytest.mark.parametrize(
    ("cause", "title", "harm", "slug", "grade", "text"),
    [
        ("cut-as-complete", "Reports a cut stream as complete", SUCCEEDS, CUT, "bad", "1 bug: "),
        ("arguments-empty", "Returns a call with empty arguments", RUNS, OTHERS, "some", "1 bug, only on"),
        ("text-lost", "Loses text", HARMS[4], PROVIDER, "some", "1 bug: "),
        ("text-lost", "Loses text", HARMS[4], FORMAT, "minor", "1 bug, only on"),
    ],
)
def test_serious_bugs_are_never_green(cause, title, harm, slug, grade, text):
    bugs = list_bugs(make_scores(fail(title, harm, as_is="one")), {slug: [know(cause)]}, FINDINGS)
    assert grade_bugs(bugs) == grade
    assert describe_bugs(bugs).startswith(text)
    assert bugs[0].unseen == (FINDINGS[slug].sender in UNSEEN)


def test_no_bug_is_said_in_words():
    assert describe_bugs([]) == "no known bug"
    assert grade_bugs([]) == "none"
