"""The order of a run with a budget: what finds most comes first, and every API gets its turn."""

from __future__ import annotations

from functools import cache
from itertools import groupby

import pytest

from streamconform.errors import SourceError
from streamconform.model.trial import AS_IS, DELIVERY_SETS, SAMPLED, AnyTrial
from streamconform.resources import find_bundled
from streamconform.suite.expand import expand
from streamconform.suite.order import EARLY_CUT, ORDER_FILE, order_trials, read_order
from streamconform_dev.selftest.groups import SECONDS_PER_TRIAL, group_mutants
from streamconform_dev.selftest.own_cases import Goal, Guarded, run_own_cases
from streamconform_mutants import MUTANTS

from .. import bundled_suite
from ..harness import builders

LISTED = read_order(find_bundled("specs"))
MIN_MUTANTS = 0.9


@cache
def trials() -> tuple[AnyTrial, ...]:
    """Return the trials of a run without options."""
    return tuple(expand(bundled_suite.cases(), DELIVERY_SETS["standard"], "http", 0, "one", SAMPLED))


def get_api(id_: str) -> str:
    return id_.partition("/")[0]


def get_topic(trial: AnyTrial) -> str:
    return trial.case.id.rpartition("/")[0]


def is_early_cut(trial: AnyTrial) -> bool:
    return (trial.delivery or "").partition(".")[0] == EARLY_CUT


def make_trials(case: str, *deliveries: str) -> list[AnyTrial]:
    one = builders.case(id=case)
    return [builders.trial(one, delivery=delivery) for delivery in deliveries]


def order_ids(ordered, listed=()) -> list[str]:
    return [trial.id for trial in order_trials(ordered, listed)]


def test_each_listed_trial_is_one_of_the_suite():
    """If a case is renamed or removed, so are its lines in specs/order.txt."""
    assert set(LISTED) - {trial.id for trial in trials()} == set()
    assert len(set(LISTED)) == len(LISTED)


def test_each_trial_is_ordered_once_and_the_listed_ones_come_first():
    ordered = order_ids(trials(), LISTED)
    assert sorted(ordered) == sorted(trial.id for trial in trials())
    assert set(ordered[: len(LISTED)]) == set(LISTED)


def test_the_apis_take_turns():
    apis = {get_api(trial.id) for trial in trials()}
    for selected in (apis, {"openai-chat", "anthropic-messages"}):
        ordered = order_ids((trial for trial in trials() if get_api(trial.id) in selected), LISTED)
        for turn in range(10):
            these = ordered[turn * len(selected) : (turn + 1) * len(selected)]
            assert {get_api(id_) for id_ in these} == selected


@pytest.mark.parametrize("api", ["openai-chat", "common"])
def test_without_a_list_each_topic_gets_an_unchanged_stream_and_a_cut_before_another_turn(api):
    of_api = [trial for trial in trials() if get_api(trial.id) == api]
    ordered = order_trials(of_api, ())
    topics = {get_topic(trial) for trial in of_api}
    turn = [topic for topic, _ in groupby(ordered, get_topic)][: len(topics)]
    assert set(turn) == topics
    unchanged = sum(trial.delivery in (None, AS_IS) for trial in of_api)
    cut = {get_topic(trial) for trial in of_api if is_early_cut(trial)}
    sample = ordered[: unchanged + len(cut)]
    assert {get_topic(trial) for trial in sample if is_early_cut(trial)} == cut
    assert {trial.case.id for trial in sample} >= {t.case.id for t in of_api if t.delivery in (None, AS_IS)}


def test_a_case_that_is_not_listed_comes_before_more_deliveries_of_one_that_is():
    old = make_trials("anthropic-messages/text/old", AS_IS, "bytewise", "cut-inside-json.3")
    new = make_trials("anthropic-messages/text/new", AS_IS, "bytewise")
    ordered = order_ids([*old, *new], [old[0].id, "anthropic-messages/text/removed@as-is"])
    assert ordered == [old[0].id, old[2].id, new[0].id, old[1].id, new[1].id]


def test_a_specs_folder_needs_no_list(tmp_path):
    assert read_order(tmp_path) == ()
    (tmp_path / ORDER_FILE).write_bytes(b"# why\n\na/b/c@as-is\r\n \xff")
    assert read_order(tmp_path) == ("a/b/c@as-is", "\ufffd")


def test_a_list_that_cannot_be_read_is_a_problem_of_the_specs(tmp_path):
    (tmp_path / ORDER_FILE).mkdir()
    with pytest.raises(SourceError) as caught:
        read_order(tmp_path)
    assert caught.value.problems[0].path == str(tmp_path / ORDER_FILE)


@pytest.mark.slow
def test_the_listed_trials_catch_nine_of_ten_mutants():
    """If this fails, the list is old: `python -m streamconform_dev.matrix.trial_order` writes it again."""
    listed = [trial for trial in trials() if trial.id in set(LISTED)]
    groups = tuple(group_mutants(tuple(MUTANTS), tuple(listed)))
    goals = dict.fromkeys(MUTANTS, Goal("", (None,)))  # each runs until one trial catches it
    cases = Guarded({trial.case.id: () for trial in listed}, {})
    caught = {
        (number, result.implementation)
        for number, found in enumerate(run_own_cases(groups, goals, cases, 2, SECONDS_PER_TRIAL))
        for result in found
        if result.verdict in ("fail", "warn")
    }
    assert len(caught) >= MIN_MUTANTS * len(MUTANTS)
