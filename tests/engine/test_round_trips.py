"""The bundled round trips of the engine match those of `record_round_trips`; it is not run."""

from __future__ import annotations

import pytest

from streamconform.resources import find_bundled
from streamconform.suite import cassettes
from streamconform_capture.record.providers import build_streaming_body
from streamconform_dev.engine.bodies import BODIES, MODEL, ROUND_TRIPS
from streamconform_dev.engine.engine import SERVER
from streamconform_dev.engine.record_round_trips import HALVES, PREFIX, body, name_of

EACH = [pytest.param(api, name, id=f"{api}-{name}") for api in BODIES for name in ROUND_TRIPS]


def recorded(api, name):
    return [cassettes.load(find_bundled("cassettes"), api, name_of(name, half)) for half in HALVES]


@pytest.mark.parametrize(("api", "name"), EACH)
def test_the_second_request_is_made_of_the_first_answer_s_bytes(api, name):
    first, second = recorded(api, name)
    assert first.request.body == build_streaming_body(body(api, name), MODEL)
    assert second.request.body == build_streaming_body(body(api, name, first.body), MODEL)
    assert {(each.status, each.provenance.server) for each in (first, second)} == {(200, SERVER)}


@pytest.mark.parametrize("api", list(BODIES))
def test_every_recorded_round_trip_has_a_scenario(api):
    found = {path.stem for path in (find_bundled("cassettes") / api).glob(f"{PREFIX}*.yaml")}
    assert found == {name_of(name, half) for name in ROUND_TRIPS for half in HALVES}
    assert len(ROUND_TRIPS) >= 5


def test_the_second_request_has_the_results_behind_the_calls():
    first, second = recorded("openai-chat", "one-of-two-failed")
    answer, *results = second.request.body["messages"][-3:]
    assert second.request.body["messages"][:-3] == first.request.body["messages"]
    assert [each["tool_call_id"] for each in results] == [call["id"] for call in answer["tool_calls"]]
    assert [each["content"] for each in results] == ['{"temp": 18}', "Error: no such city"]
