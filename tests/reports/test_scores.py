"""The scores of one implementation: a mark for each case, and the causes of its failures."""

from __future__ import annotations

import json

import pytest
from jsonschema_rs import validator_for
from streamconform.errors import UsageError
from streamconform.reports import scores
from streamconform.run.merge import sort_trials
from streamconform.schemas import load_schema

from .test_matrix import CUT, FAILING, MADE, SUITE, TWO, A, info, place, results, trial

MARKS = [
    ("every trial passes", [trial(A), trial(A, "whole")], "pass"),
    ("one warns as it was recorded", [trial(A, verdict="warn"), trial(A, "whole")], "warn"),
    ("it fails as it was recorded", [trial(A, verdict="fail"), trial(A, "whole")], "fail"),
    ("what is known fails", [trial(A, verdict="known")], "fail"),
    ("only another delivery fails", [trial(A), trial(A, "crlf", "fail")], "framing"),
    ("only a cut stream fails", [trial(A), trial(A, "whole"), trial(A, "reset.3", "fail")], "truncation"),
    ("both fail", [trial(A), trial(A, "whole", "fail"), trial(A, "reset.3", "fail")], "framing"),
    ("it needs what is not claimed", [trial(A, verdict="skipped")], "skipped"),
]


@pytest.mark.parametrize(("about", "trials", "mark"), MARKS, ids=[row[0] for row in MARKS])
def test_the_mark_of_a_case(about, trials, mark):
    assert scores.mark_case(trials, strict=False) == mark, about


def render(trials, *infos):
    return json.loads(scores.render(results(trials, *infos), place(SUITE)))


def test_the_document_has_the_marks_by_group_and_the_causes():
    document = render([*FAILING, trial(MADE), trial(CUT, verdict="skipped"), trial(CUT, "reset.3")])
    validator_for(load_schema("scores.v1")).validate(document)
    api = document["apis"]["openai-chat"]
    assert api["cases"] == {"passed": 1, "failed": 2, "skipped": 1}
    assert api["marks"] == {"openai-chat/a": {"skipped": "cut", "pass": "made", "fail": "one two"}}
    (cause,) = api["failures"]
    assert (cause["title"], cause["harm"]) == ("Reports too many tokens", "bills incorrectly")
    assert cause["cases"] == {A: "as-is whole", TWO: "as-is"}
    assert cause["tracked"] == ["findings.md#counted-twice", "me/lib#4"]
    assert cause["columns"] == ["text", "usage"]


def test_paths_that_are_not_exposed_are_counted_in_cases():
    leaves_out = trial(A, not_exposed=("usage.input",))
    document = render([leaves_out, trial(A, "whole", not_exposed=("usage.input",)), trial(TWO)])
    assert document["apis"]["openai-chat"]["not_exposed"] == {"usage.input": 1}


def test_results_of_several_implementations_are_refused():
    with pytest.raises(UsageError, match="covers one implementation, but these results have 2"):
        render([trial(A)], info(), info("other"))


def test_the_same_results_in_another_order_give_the_same_document():
    there, back = (results(trials) for trials in (FAILING, FAILING[::-1]))
    texts = [scores.render(sort_trials(each), place(SUITE)) for each in (there, back)]
    assert texts[0] == texts[1]
