"""The scores of one implementation: counts, causes, and the mark of each case that follows from them."""

from __future__ import annotations

import json

import pytest
from jsonschema_rs import validator_for

from streamconform.errors import UsageError
from streamconform.reports import scores
from streamconform.reports.scores.document import format_scores, read_scores
from streamconform.run.merge import sort_trials
from streamconform.schemas import load_schema

from .test_matrix import CHAT, CUT, FAILING, MADE, SUITE, TWO, A, info, place, results, trial

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


# An API has scores if one of its cases is judged.
OTHER = trial(f"{CHAT}/other/one")


def write(trials, *infos):
    return scores.render(results(trials, *infos), place(SUITE))


def render(trials, *infos):
    return json.loads(write(trials, *infos))


@pytest.mark.parametrize(("about", "trials", "mark"), MARKS, ids=[row[0] for row in MARKS])
def test_the_mark_of_a_case(about, trials, mark):
    read = read_scores(write([*trials, OTHER]))
    assert read.mark_cases([A, OTHER.case]) == {A: mark, OTHER.case: "pass"}, about


def test_function_calls_have_marks_without_a_delivery():
    document = write([trial(A, None, "fail"), trial(TWO, None, "warn"), trial(MADE, None)])
    marks = read_scores(document).mark_cases([A, TWO, MADE])
    assert marks == {A: "fail", TWO: "warn", MADE: "pass"}


def test_a_case_that_is_newer_than_the_run_has_no_mark():
    """Nor have those of its topic that the document does not name."""
    trials = [trial(A), trial(TWO, verdict="fail"), trial(MADE, verdict="skipped"), OTHER]
    marks = read_scores(write(trials)).mark_cases([A, TWO, MADE, CUT, OTHER.case])
    assert marks == {TWO: "fail", MADE: "skipped", OTHER.case: "pass"}


def test_no_trial_that_passes_is_in_the_document():
    text = write([*FAILING, trial(MADE), trial(MADE, "whole")])
    assert "made" not in text
    assert '"one"' in text
    assert '"two"' in text


def test_a_document_is_read_as_it_was_written():
    text = write([*FAILING, trial(MADE, verdict="warn"), trial(CUT, verdict="skipped"), OTHER])
    assert format_scores(read_scores(text)) == text


def test_topics_that_are_skipped_as_a_whole_share_a_line():
    cases = [f"{CHAT}/{name}" for name in ("b/one", "c/one", "c/two")]
    text = write(
        [trial(A), trial(TWO, verdict="skipped"), *(trial(case, verdict="skipped") for case in cases)]
    )
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index('"skipped": {') + 1 :][:2] == ['"b": "*", "c": "*",', '"a": "two"']
    marks = read_scores(text).mark_cases([A, TWO, *cases])
    assert marks == {A: "pass"} | dict.fromkeys([TWO, *cases], "skipped")


def test_the_document_has_the_counts_and_the_causes():
    document = render(
        [*FAILING, trial(MADE, verdict="warn"), trial(CUT, verdict="skipped"), trial(CUT, "reset.3")]
    )
    validator_for(load_schema("scores.v1")).validate(document)
    api = document["apis"][CHAT]
    assert {name: counts["cases"] for name, counts in api["counts"].items()} == {
        "passed": 1,
        "failed": 2,
        "warned": 1,
        "skipped": 1,
    }
    assert (api["topics"], api["skipped"]) == ({"a": 4}, {"a": "cut"})
    (cause,) = api["failures"]
    assert (cause["title"], cause["harm"]) == ("Reports too many tokens", "bills incorrectly")
    assert cause["cases"] == {"a": {"as-is whole": "one", "as-is": "two"}}
    assert cause["tracked"] == ["findings.md#counted-twice", "me/lib#4"]
    (warning,) = api["warnings"]
    assert (warning["cases"], warning["as_is"]) == (1, "a/made")


def test_paths_that_are_not_exposed_are_counted_in_cases():
    leaves_out = trial(A, not_exposed=("usage.input",))
    document = render([leaves_out, trial(A, "whole", not_exposed=("usage.input",)), trial(TWO)])
    assert document["apis"][CHAT]["not_exposed"] == {"usage.input": 1}


def test_results_of_several_implementations_are_refused():
    with pytest.raises(UsageError, match="covers one implementation, but these results have 2"):
        render([trial(A)], info(), info("other"))


def test_the_same_results_in_another_order_give_the_same_document():
    there, back = (results(trials) for trials in (FAILING, FAILING[::-1]))
    texts = [scores.render(sort_trials(each), place(SUITE)) for each in (there, back)]
    assert texts[0] == texts[1]
