"""Each mutant that misreads a WebSocket gives another answer than the reference."""

from __future__ import annotations

from functools import cache

import pytest

from streamconform.model.trial import DELIVERY_SETS, SAMPLE_TAG, find_transport
from streamconform.suite.expand import expand
from streamconform_mutants import MUTANTS, sockets, websocket_frames
from streamconform_reference import adapter as reference
from streamconform_reference.adapter import BytesRun, find_lane

from .. import bundled_suite

NAMES = sorted((*sockets.mutants.table, *websocket_frames.mutants.table))
OVER_WEBSOCKET = tuple(name for name in DELIVERY_SETS["standard"] if find_transport(name) == "websocket")


def read(adapter, trial):
    case = trial.case
    lane = case.cassette.request.body.get("stream_id")
    run = BytesRun(case.api, trial.status, trial.headers, case.pricing, trial.chunks, lane=lane)
    *_, last = adapter(run)
    return last["outcome"]


@cache
def right_answers():
    cases = [
        case
        for case in bundled_suite.streams()
        if case.api == "openai-responses"
        and ({"websocket", SAMPLE_TAG} & case.tags or case.cassette.name == "unicode-scripts")
    ]
    made = tuple(expand(cases, OVER_WEBSOCKET, "bytes", 0))
    return [(trial, read(reference, trial)) for trial in made]


@pytest.mark.parametrize("name", NAMES)
def test_a_mutant_of_a_websocket_gives_another_answer(name):
    adapter = MUTANTS[name].adapter
    assert "websocket" in adapter.capabilities
    assert any(read(adapter, trial) != right for trial, right in right_answers())


def test_the_lane_of_a_run_is_that_of_its_request():
    class Run:
        request = {"stream_id": "b"}  # noqa: RUF012 (read only)

    assert find_lane(Run()) == "b"
