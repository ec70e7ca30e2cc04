"""What a caller adds to a conversation after each answer, and how libraries that run tools get it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from streamconform_peers.turns import join_outcomes, list_turns, match_results, split_turns

ONE, TWO = ({"name": "get_weather", "content": text} for text in ("Rain.", "Sun."))
OTHER = {"name": "get_time", "content": "12:00"}
QUESTION = {"role": "user", "content": "And tomorrow?"}


def test_a_run_without_turns_has_those_of_its_results():
    assert list_turns(SimpleNamespace(turns=[{"messages": [QUESTION]}], results=None)) == [
        {"messages": [QUESTION]}
    ]
    assert list_turns(SimpleNamespace(results=[ONE])) == [{"results": [ONE]}]
    assert list_turns(SimpleNamespace(turns=None, results=None)) == []


def test_a_result_belongs_to_the_first_unanswered_call_with_its_name():
    calls = [("a", "get_time"), ("b", "get_weather"), ("c", "get_weather")]
    matched = match_results([ONE, TWO, OTHER], calls, lambda call: call[1])
    assert [(call[0], result) for call, result in matched] == [("b", ONE), ("c", TWO), ("a", OTHER)]


def test_a_result_without_a_call_is_left_out():
    assert [*match_results([OTHER, ONE], ["get_weather"], str)] == [("get_weather", ONE)]


TURNS = [
    ("round trip", [{"results": [ONE]}], [(1, [ONE], [], False)]),
    ("two rounds", [{"results": [ONE]}, {"results": [TWO]}], [(2, [ONE, TWO], [], False)]),
    (
        "question",
        [{"results": [ONE]}, {"messages": [QUESTION]}, {"results": [TWO]}],
        [(1, [ONE], [QUESTION], False), (1, [TWO], [], False)],
    ),
    (
        "question with the results",
        [{"results": [ONE], "messages": [QUESTION]}],
        [(1, [ONE], [QUESTION], True), (0, [], [], False)],
    ),
    ("paused answer", [{}, {"results": [ONE]}], [(2, [ONE], [], False)]),
    ("no turn", [], [(0, [], [], False)]),
]


@pytest.mark.parametrize(("turns", "expected"), [row[1:] for row in TURNS], ids=[row[0] for row in TURNS])
def test_a_library_is_left_alone_until_the_caller_has_a_message(turns, expected):
    stretches = split_turns(turns)
    assert [(s.rounds, s.results, s.messages, s.ends_with_results) for s in stretches] == expected


def test_a_library_stops_where_the_caller_has_a_message_and_otherwise_after_the_next_answer():
    (last,) = split_turns([{"results": [ONE]}])
    joined, _ = split_turns([{"results": [ONE], "messages": [QUESTION]}])
    assert [last.ends_after(rounds) for rounds in (1, 2)] == [False, True]
    assert joined.ends_after(1)


def test_a_tool_gets_its_results_in_order_and_none_after_the_last():
    (stretch,) = split_turns([{"results": [ONE, OTHER, TWO]}])
    assert [stretch.take("get_weather") for _ in range(3)] == [ONE, TWO, None]
    assert stretch.results == [OTHER]


def test_the_first_outcome_is_reported_only_with_another_one():
    assert join_outcomes([{"status": "error"}]) == {"status": "error"}
    outcomes = [{"status": name} for name in ("complete", "error", "incomplete")]
    assert join_outcomes(outcomes) == {"first": outcomes[0], "outcome": outcomes[2]}
