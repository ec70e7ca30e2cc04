"""Problems with an outcome or with events, in the words of the schemas."""

from __future__ import annotations

import pytest

from streamconform.judge.schema_problems import explain_malformed_events, explain_malformed_outcome

GOOD = {"type": "text", "text": "a"}
NO_TEXT = {"type": "text"}
BAD_ID = {"type": "tool_call", "id": 5}
END = {"type": "text_end", "content_index": 0, "text": "a"}


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (
            {"status": "complete", "content": [GOOD, NO_TEXT, BAD_ID]},
            "content.1: key `text` is missing; content.2.id: `5` is not a string or null; quote it",
        ),
        ({"content": [NO_TEXT]}, "content.0: key `text` is missing; (whole): key `status` is missing"),
        ({"status": "complete"}, "(whole): key `content` is missing"),
        ([], "(whole): `[]` is not an object"),
        ({"status": "complete", "content": [GOOD]}, "not in the normal form"),
        (
            {"status": "done", "content": [NO_TEXT] * 30},
            "; ".join(f"content.{i}: key `text` is missing" for i in range(20)),
        ),
    ],
)
def test_the_first_20_problems_of_an_outcome_are_listed_with_their_paths(outcome, expected):
    assert explain_malformed_outcome(outcome) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ({}, "events are not a list"),
        ([END], "not in the normal form"),
        ([END, END | {"text": 5}], "event 1: text: `5` is not a string; quote it"),
        (
            [END | {"text": 5}] * 6,
            "; ".join(f"event {i}: text: `5` is not a string; quote it" for i in range(5)),
        ),
    ],
)
def test_the_first_5_problems_of_events_are_listed_with_their_index(events, expected):
    assert explain_malformed_events(events) == expected
