"""The bundled conversations of the engine match those of `record_conversations`; it is not run."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from streamconform.resources import find_bundled
from streamconform.suite import cassettes
from streamconform_capture.record.providers import build_streaming_body
from streamconform_dev.engine.bodies import BODIES, CONVERSATIONS, MODEL
from streamconform_dev.engine.engine import SERVER
from streamconform_dev.engine.record_conversations import (
    READERS,
    REPLAY,
    ROUND_TRIP,
    body,
    names_of,
    payloads,
    turn,
)

EACH = [pytest.param(api, name, id=f"{api}-{name}") for api in BODIES for name in CONVERSATIONS]
REPLAYS = [name for name, each in CONVERSATIONS.items() if len(each["then"]) > 1]
HISTORY = {"anthropic-messages": "messages", "openai-chat": "messages", "openai-responses": "input"}


def recorded(api, name):
    return [cassettes.load(find_bundled("cassettes"), api, each) for each in names_of(name)]


@pytest.mark.parametrize(("api", "name"), EACH)
def test_every_request_is_made_of_the_bytes_of_the_answers_before_it(api, name):
    exchanges = recorded(api, name)
    for number, each in enumerate(exchanges):
        answers = [before.body for before in exchanges[:number]]
        assert each.request.body == build_streaming_body(body(api, name, answers), MODEL)
    assert {(each.status, each.provenance.server) for each in exchanges} == {(200, SERVER)}


@pytest.mark.parametrize(("api", "name"), EACH)
def test_every_request_begins_with_the_whole_request_before_it(api, name):
    bodies = [each.request.body for each in recorded(api, name)]
    for before, after in pairwise(bodies):
        length = len(before[HISTORY[api]])
        assert after | {HISTORY[api]: after[HISTORY[api]][:length]} == before
        assert len(after[HISTORY[api]]) > length


@pytest.mark.parametrize("name", REPLAYS)
@pytest.mark.parametrize("api", list(BODIES))
def test_from_the_second_answer_on_the_prompt_was_read_from_the_cache(api, name):
    cached = [
        int(re.search(rb'"cache(?:d_tokens|_read_input_tokens)": ?(\d+)', each.body)[1])
        for each in recorded(api, name)
    ]
    assert cached[0] == 0
    assert all(before < after for before, after in pairwise(cached))


@pytest.mark.parametrize("api", list(BODIES))
def test_every_recorded_conversation_has_a_scenario(api):
    found = {
        path.stem
        for prefix in (ROUND_TRIP, REPLAY)
        for path in (find_bundled("cassettes") / api).glob(f"{prefix}*.yaml")
    }
    assert found == {each for name in CONVERSATIONS for each in names_of(name)}
    assert len(CONVERSATIONS) >= 11
    assert {len(CONVERSATIONS[name]["then"]) for name in REPLAYS} == {4}


def test_the_second_request_has_the_results_behind_the_calls():
    first, second = recorded("openai-chat", "one-of-two-failed")
    answer, *results = second.request.body["messages"][-3:]
    assert second.request.body["messages"][:-3] == first.request.body["messages"]
    assert [each["tool_call_id"] for each in results] == [call["id"] for call in answer["tool_calls"]]
    assert [each["content"] for each in results] == ['{"temp": 18}', "Error: no such city"]


def test_a_failed_call_stays_failed_in_every_later_request():
    last = recorded("anthropic-messages", "weather-of-homes")[-1].request.body
    results = [part for each in last["messages"] for part in each["content"] if isinstance(part, dict)]
    failed = [part["content"] for part in results if part.get("is_error")]
    assert failed == ["Error: no such person"]


@pytest.mark.parametrize("api", list(BODIES))
def test_every_answer_of_the_conversation_with_thinking_has_some(api):
    said = [READERS[api](list(payloads(each.body))) for each in recorded(api, "thinking-each-time")]
    assert [list(each) for each in said] == [
        ["thinking", "calls"],
        ["thinking", "assistant"],
        ["thinking", "calls"],
        ["thinking", "assistant"],
        ["thinking", "calls"],
    ]


def test_text_beside_calls_is_an_error_because_a_turn_has_one_of_them():
    with pytest.raises(ValueError, match="text beside calls: 'Let me see'"):
        turn("", "Let me see", [["call_1", "get_weather", "{}"]])
