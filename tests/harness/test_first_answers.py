"""A run stops after fifty answers that show that no answer will be of use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.run.first_answers import COUNTED, FirstAnswers

from . import builders

TRIAL = builders.trial(builders.case())
PASSED = builders.result(case=TRIAL.case.id)
CRASHED = replace(PASSED, verdict="faulted", culprit="adapter", reason="KeyError: 'messages'")
FAILED = replace(PASSED, verdict="fail", culprit="implementation")


def error(message="Something went wrong", content=(), **members):
    outcome = {"status": "error", "content": [*content], "error": {"type": "failure", "message": message}}
    return replace(FAILED, observation={"outcome": outcome | members})


SAME = error(error={"status": 500, "type": "failure", "message": "Something went wrong"})
RAISED = replace(FAILED, observation={**error().observation, "raised": {"type": "E", "message": "no key"}})


@pytest.mark.parametrize(
    ("results", "impl", "words"),
    [
        (
            [SAME] * 50,
            "mypkg",
            "the first 50 answers of `mypkg` are all the same error: 500 failure ",
        ),
        ([SAME] * 50, "proxy:x", "same error (500 failure Something went wrong); is it configured?"),
        ([RAISED] * 50, "mypkg", "all the same error: E no key; next: conform smoke mypkg"),
        ([error(f"request {n:08x}") for n in range(50)], "mypkg", "same error: failure request 00000031"),
        ([CRASHED] * 40 + [PASSED] * 10, "mypkg", "40 of the first 50 answers of `mypkg` are adapter errors"),
        ([CRASHED] * 39 + [PASSED] * 11, "mypkg", None),
        ([SAME] * 49 + [PASSED], "mypkg", None),
        ([SAME] * 49 + [error("another")], "mypkg", None),
        ([error(content=[{"type": "text", "text": "x"}])] * 50, "mypkg", None),
        ([replace(SAME, verdict="known")] * 50, "mypkg", None),
        ([replace(CRASHED, verdict="known")] * 50, "mypkg", None),
        ([replace(FAILED, observation={"outcome": "no outcome"})] * 50, "mypkg", None),
    ],
)
def test_fifty_answers_decide(results, impl, words):
    first = FirstAnswers()
    assert [first.add(result, TRIAL) for result in results] == [False] * (COUNTED - 1) + [True]
    fault = first.find_fault(impl)
    assert fault is None if words is None else words in fault
    assert not first.add(SAME, TRIAL), "later answers do not count"


def test_only_answers_to_streams_that_end_well_count():
    first = FirstAnswers()
    errors = builders.case({"status": "error", "stop": None, "content": []})
    first.add(SAME, builders.trial(errors))
    first.add(replace(PASSED, verdict="skipped"), TRIAL)
    assert first.count == 0
