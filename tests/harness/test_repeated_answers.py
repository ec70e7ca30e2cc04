"""An answer that a case gets several times is checked once, and anything that could matter is compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.adapters.interface import Observation
from streamconform.judge.judge import check_answer
from streamconform.model.capability import CAPABILITIES
from streamconform.model.result import Raised
from streamconform.model.trial import Delivered, ProxyView
from streamconform.run import repeated_answers
from streamconform.run.repeated_answers import MAX_ANSWERS, MAX_CASES, RepeatedAnswers

from . import builders

ALL = CAPABILITIES
CASE = builders.case()
WHOLE, IN_PIECES = (
    builders.trial(CASE),
    replace(builders.trial(CASE), delivery="random", plan=Delivered((b"a", b"b"))),
)
OUTCOME, EVENTS = builders.TEXT_OUTCOME, list(builders.TEXT_EVENTS)
GOOD = Observation(OUTCOME, EVENTS, taken=(1,) * len(EVENTS))


def usage(**counts):
    return replace(GOOD, outcome=OUTCOME | {"usage": {"input": 12, "output": 9} | counts})


def test_the_same_answer_to_another_delivery_is_not_compared_again():
    repeated = RepeatedAnswers()
    first = repeated.check(WHOLE, GOOD, ALL)
    assert first == check_answer(WHOLE, GOOD, ALL)
    assert repeated.check(IN_PIECES, replace(GOOD, taken=(2,) * len(EVENTS)), ALL) is first


DIFFERENT = {
    "value": (usage(input=13), WHOLE, ALL),
    "true-is-not-one": (usage(cache_read=True), WHOLE, ALL),
    "events": (replace(GOOD, events=EVENTS[:-1]), WHOLE, ALL),
    "raised": (replace(GOOD, raised=Raised("lib.Error", "overloaded")), WHOLE, ALL),
    "not-json": (replace(GOOD, not_json=(("outcome.usage.input", "NaN"),)), WHOLE, ALL),
    "deviations": (replace(GOOD, deviations=(("grammar.order", "late"),)), WHOLE, ALL),
    "continued": (replace(GOOD, continued=True), WHOLE, ALL),
    "level": (GOOD, replace(WHOLE, level="may"), ALL),
    "claims": (GOOD, WHOLE, ALL - {"usage"}),
    "other-case-of-the-same-id": (
        GOOD,
        builders.trial(builders.case(builders.TEXT_EXPECT | {"stop": "length"})),
        ALL,
    ),
    "broken-stream": (
        GOOD,
        replace(WHOLE, plan=Delivered(WHOLE.chunks, replace(CASE.expect, fields={}))),
        ALL,
    ),
    "proxy": (GOOD, replace(WHOLE, through=ProxyView("openai-chat")), ALL),
}


@pytest.mark.parametrize(("seen", "trial", "claims"), DIFFERENT.values(), ids=DIFFERENT)
def test_a_different_answer_trial_or_claim_is_checked_on_its_own(seen, trial, claims):
    repeated = RepeatedAnswers()
    repeated.check(WHOLE, usage(cache_read=1), ALL)
    first = repeated.check(WHOLE, GOOD, ALL)
    found = repeated.check(trial, seen, claims)
    assert found is not first
    assert found == check_answer(trial, seen, claims)


UNUSUAL = {
    "lone-surrogate": OUTCOME | {"model": "\ud800"},
    "very-large": OUTCOME | {"model": "x" * (1 << 21)},
}


@pytest.mark.parametrize("outcome", UNUSUAL.values(), ids=UNUSUAL)
def test_an_answer_that_cannot_be_remembered_is_checked_each_time(outcome):
    repeated, seen = RepeatedAnswers(), replace(GOOD, outcome=outcome)
    first = repeated.check(WHOLE, seen, ALL)
    assert first == repeated.check(WHOLE, seen, ALL) == check_answer(WHOLE, seen, ALL)
    assert first is not repeated.check(WHOLE, seen, ALL)


def test_an_implementation_with_ever_new_answers_fills_no_memory(monkeypatch):
    checked = []
    monkeypatch.setattr(repeated_answers, "check_answer", lambda *args: checked.append(args) or object())
    repeated = RepeatedAnswers()
    answers = [usage(input=count) for count in range(MAX_ANSWERS + 3)]
    for seen in answers + answers:
        repeated.check(WHOLE, seen, ALL)
    assert len(checked) == len(answers) + 3


def test_only_the_last_cases_are_remembered():
    repeated = RepeatedAnswers()
    trials = [builders.trial(builders.case()) for _ in range(MAX_CASES + 1)]
    first, *_, last = [repeated.check(trial, GOOD, ALL) for trial in trials]
    assert repeated.check(trials[-1], GOOD, ALL) is last
    assert repeated.check(trials[0], GOOD, ALL) is not first
