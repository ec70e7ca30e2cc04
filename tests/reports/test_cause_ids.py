"""The ids of causes: each tells its harm, and which headlines it can have."""

from __future__ import annotations

import pytest

from streamconform.causes.harms import count_harms, format_bugs
from streamconform.causes.ids import can_be_headed, find_harm
from streamconform.causes.table import BILLS, CRASHES, HARMS, HIDES, LOSES, MISLEADS, ROWS, RUNS


@pytest.mark.parametrize(
    ("cause", "harm", "headline"),
    [
        ("cut-as-complete", "reports a broken stream as success", "Reports a cut stream as complete"),
        ("text-lost", LOSES, "Loses text"),
        ("usage-lost", BILLS, "Loses usage"),
        ("count-invented", BILLS, "Reports a token count that the stream does not have"),
        ("body.messages-wrong", LOSES, "Sends a wrong `body.messages`"),
        ("body.temperature-wrong", MISLEADS, "Sends a wrong `body.temperature`"),
        ("content-tool-call.name-wrong", LOSES, "Reports a wrong `content.*.tool_call.name`"),
        ("error.type-hidden", HIDES, "Does not expose the provider's `error.type`"),
        ("refusal-as-text", LOSES, "Reports a refusal as text"),
        (
            "raises-on-valid-stream:lib.Error:lib/read.py:parse",
            CRASHES,
            "Raises lib.Error on a valid stream (lib/read.py:12 in parse)",
        ),
    ],
)
def test_an_id_tells_its_harm_and_its_headline(cause, harm, headline):
    assert find_harm(cause) == harm
    assert can_be_headed(cause, headline)


@pytest.mark.parametrize(
    ("cause", "headline"),
    [
        ("text-lost", "Loses thinking"),
        ("text-lost", "Loses text that was not there"),
        ("body.messages-wrong", "Sends a wrong `body.tools`"),
        (
            "raises-on-valid-stream:lib.Error:lib/read.py:parse",
            "Raises lib.Error on a valid stream (lib/read.py:12 in other)",
        ),
        ("adapter-error:x", "Adapter error: x"),
    ],
)
def test_an_id_has_no_headline_of_another_cause(cause, headline):
    assert not can_be_headed(cause, headline)


def test_every_id_without_placeholders_has_the_harm_of_its_row():
    plain = [row for row in ROWS if "{" not in row.id]
    assert [
        row.id for row in plain if find_harm(row.id) not in {r.harm for r in ROWS if r.id == row.id}
    ] == []


def test_what_is_not_the_implementations_fault_has_no_harm():
    assert find_harm("adapter-error:boom") is None


def test_bugs_are_counted_by_harm_the_worst_first():
    counts = count_harms([LOSES, RUNS, LOSES, None])
    assert format_bugs(counts) == f"4 bugs: {RUNS} (1), {LOSES} (2), adapter error (1)"
    assert format_bugs(counts, most=1) == f"4 bugs: {RUNS} (1), 3 more"
    assert format_bugs({}) == "no known bug"
    assert list(count_harms(reversed(HARMS))) == list(HARMS)
