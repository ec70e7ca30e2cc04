"""Innocents use a freedom in at least one answer; the self-test reports those that the suite punishes."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from streamconform.model.trial import AnyTrial
from streamconform.model.verdict import Check
from streamconform.suite.expand import expand
from streamconform_dev.selftest.innocents import FailedCheck, InnocentResult, decide, run_innocents
from streamconform_dev.selftest.innocents_table import describe_check, format_innocents
from streamconform_innocents import INNOCENTS, Answer, Grant, Innocent, TrialFacts
from streamconform_reference import adapter as reference

from .. import bundled_suite
from ..for_each import for_each

SECONDS = 10.0
NO_ANSWER_CHANGES = {name for name, innocent in INNOCENTS.items() if innocent.apis == frozenset()}
"""Innocents that only skip cases, or that leave out what is not part of an answer."""
CASES = (
    "anthropic-messages/documents/length-after-call",
    "anthropic-messages/fallback/declined-by-all",
    "anthropic-messages/litellm/truncated-call",
    "anthropic-messages/requests-results/parallel-results",
    "anthropic-messages/requests-versions/citations-of-a-quoted-text",
    "anthropic-messages/requests-versions/on-vertex",
    "anthropic-messages/stop-reasons/unknown-stop-reason",
    "google-generate/documents/prompt-blocked",
    "google-generate/documents/text-then-calls",
    "google-generate/signatures/on-a-call",
    "google-interactions/cost/cost-requires-action",
    "google-interactions/documents/requires-continuation",
    "google-interactions/server-tools/search-after-the-answer",
    "openai-chat/documents/custom-call",
    "openai-chat/documents/refusal",
    "openai-chat/reasoning/reasoning-between-calls",
    "openai-chat/reasoning/think-tags-in-content",
    "openai-chat/requests-settings/azure-deployment",
    "openai-chat/stop-reasons/everything-in-one-chunk",
    "openai-chat/stop-reasons/length-after-whole-calls",
)
"""Few cases, in at least one of which each innocent changes an answer."""
GRANT = Grant("docs/outcome.md", "Unknown keys are ignored.")


@cache
def trials() -> tuple[AnyTrial, ...]:
    cases = [case for case in bundled_suite.cases() if case.id in CASES]
    assert {case.id for case in cases} == set(CASES), "CASES lists a case that does not exist"
    return tuple(expand(cases, ("as-is",), "bytes", 0, "one"))


def run(*innocents: Innocent) -> dict[str, InnocentResult]:
    return run_innocents(innocents, reference, trials(), 1, SECONDS)


def make_innocent(change, **fields) -> Innocent:
    return Innocent(name="one", description="", grants=(GRANT,), change=change, **fields)


@cache
def all_results() -> dict[str, InnocentResult]:
    return run(*INNOCENTS.values())


@pytest.mark.slow
@for_each("name", [name for name in INNOCENTS if name not in NO_ANSWER_CHANGES])
def test_an_innocent_changes_an_answer(name):
    result = all_results()[name]
    assert sum(result.changed.values()) > 0, "add a case that can express the freedom to CASES"


@pytest.mark.slow
@for_each("name", INNOCENTS)
def test_an_innocent_answers_in_the_normal_form(name):
    schema = ("answer", "invariant.outcome-schema", "invariant.event-schema")
    assert [failed for failed in all_results()[name].failed if failed.check.path in schema] == []


@for_each("name", INNOCENTS)
def test_an_innocent_describes_itself_in_one_sentence(name):
    description = INNOCENTS[name].description
    assert description.endswith(".")
    assert "\n" not in description
    assert INNOCENTS[name].grants


@pytest.mark.slow
def test_the_reference_itself_changes_nothing():
    result = run(make_innocent(lambda _facts, _answer: None))["one"]
    assert (result.changed, result.failed) == (Counter(), [])
    verdict = decide(make_innocent(lambda _facts, _answer: None), result, ["openai-chat"])
    assert verdict.idle_apis == ("openai-chat",)
    assert not verdict.is_innocent


@pytest.mark.slow
def test_a_bug_is_no_freedom():
    def report_success(facts: TrialFacts, answer: Answer) -> None:
        del facts
        answer["outcome"]["status"] = "complete"

    innocent = make_innocent(report_success)
    verdict = decide(innocent, run(innocent)["one"], ())
    assert verdict.is_guilty
    assert {"status"} <= {failed.check.path for failed in verdict.musts}
    assert all("@" in failed.trial for failed in verdict.musts)


@pytest.mark.slow
def test_an_answer_that_is_not_in_the_normal_form_is_guilty():
    def break_form(facts: TrialFacts, answer: Answer) -> None:
        del facts
        answer["outcome"]["content"] = "text"

    innocent = make_innocent(break_form)
    assert decide(innocent, run(innocent)["one"], ()).is_guilty


@pytest.mark.slow
def test_a_request_that_its_version_rejects_is_no_freedom():
    def send_default_temperature(conversation, request) -> None:
        del conversation
        request["headers"]["anthropic-version"] = "2026-10-21"
        request["body"]["top_p"] = 1

    innocent = Innocent(
        name="one",
        description="",
        grants=(GRANT,),
        change_request=send_default_temperature,
        apis=frozenset({"anthropic-messages"}),
    )
    selected = [
        case
        for case in bundled_suite.cases()
        if case.id.endswith("requests-versions/no-sampling-options-unasked")
    ]
    results = run_innocents(
        [innocent], reference, tuple(expand(selected, ("as-is",), "bytes", 0)), 1, SECONDS
    )
    assert {failed.check.path for failed in results["one"].failed} == {"body.top_p"}
    assert decide(innocent, results["one"], ()).is_guilty


def test_warnings_are_allowed_only_if_the_documents_mention_them():
    warning = FailedCheck("a/b/c@as-is", Check(path="content.kept", level="should", verdict="warn"))
    result = InnocentResult(Counter({"openai-chat": 1}), [warning])

    def change(facts: TrialFacts, answer: Answer) -> None:
        del facts, answer

    assert decide(make_innocent(change), result, ["openai-chat"]).is_guilty
    assert decide(make_innocent(change, may_warn=True), result, ["openai-chat"]).is_innocent


def test_an_api_that_cannot_express_a_freedom_is_not_idle():
    result = InnocentResult(Counter({"openai-chat": 1}))
    innocent = make_innocent(lambda _facts, _answer: None, apis=frozenset({"openai-chat"}))
    assert decide(innocent, result, ["openai-chat", "cohere-chat"]).is_innocent
    everywhere = make_innocent(lambda _facts, _answer: None)
    assert decide(everywhere, result, ["openai-chat", "cohere-chat"]).idle_apis == ("cohere-chat",)


def test_the_page_lists_innocents_and_the_cases_that_punish_them():
    innocent = make_innocent(lambda _facts, _answer: None)
    check = Check(path="status", level="must", verdict="fail", expected="incomplete", got="complete")
    result = InnocentResult(Counter({"openai-chat": 2}), [FailedCheck("a/b/c@as-is", check)])
    page = format_innocents(
        [innocent], {"one": result}, {"one": decide(innocent, result, ())}, ["openai-chat"]
    )
    assert "0 of 1 innocents pass" in page
    assert "| `one` | `a/b/c` | `status` |" in page
    line = describe_check(result.failed[0])
    assert line == 'a/b/c@as-is:status: expected "incomplete", got "complete"'
