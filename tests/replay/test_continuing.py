"""Clients that send a paused answer back over HTTP: stopping, continuing and retrying all pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamconform.adapters.connect import connect
from streamconform.apis import APIS
from streamconform.suite.expand import make_trial

from .. import bundled_suite
from .test_runs import run as run_trials
from .test_runs import there  # noqa: F401 - a fixture: adapters are found in the current folder

PAUSED = "anthropic-messages/stop-reasons/pause-turn"
ADAPTER = """
import sys
sys.path.insert(0, HERE)
import over_http

PATH = "/v1/messages"

def read(run, body):
    reading = over_http.streamed(run, PATH, body, {})
    while True:
        try:
            next(reading)
        except StopIteration as end:
            return end.value.outcome.to_json()

def adapter(run):
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    first = read(run, body)
    back = {"role": "assistant", "content": [{"type": "text", "text": "…"}]}
    longer = {**body, "messages": [*body["messages"], back]}
    outcome = BODY
    return outcome
adapter.inputs = ["http"]
adapter.capabilities = ["tool_calls", "usage", "raw_stop"]
"""
LATER = "read(run, longer)"
CLIENTS = {
    "stops": ("first", "pass"),
    "retries": ("read(run, body)", "pass"),
    "reports the last answer": (LATER, "pass"),
    "reports both answers": (
        '(lambda later: {**later, "content": [*first["content"], *later["content"]]})(read(run, longer))',
        "pass",
    ),
    "continues and reports another text": (
        '(lambda later: {**later, "content": [{"type": "text", "text": "Nonsense. OK"}]})(read(run, longer))',
        "fail",
    ),
    "continues and fails": (f'{{**{LATER}, "status": "error"}}', "warn"),
}


CONTINUING = {
    "a token of Gemini's": ("google-generate", {"contents": [{}]}, {"continuationToken": "dG9rZW4="}, True),
    "a token of Interactions": ("google-interactions", {"input": "Hi"}, {"continuation_token": "t"}, True),
    "a stored response": ("openai-responses", {"input": "Hi"}, {"previous_response_id": "resp_1"}, True),
    "a longer history": ("openai-chat", {"messages": [{}]}, {"messages": [{}, {}]}, True),
    "a retry": ("google-generate", {"contents": [{}]}, {}, False),
}


@pytest.mark.parametrize(("api", "first", "added", "continues"), CONTINUING.values(), ids=CONTINUING)
def test_a_request_that_continues_an_answer_is_known_from_a_retry(api, first, added, continues):
    assert APIS[api].requests.continues(first, {**first, **added}) == continues


@pytest.mark.parametrize(("body", "verdict"), CLIENTS.values(), ids=CLIENTS)
def test_a_client_may_stop_continue_or_retry(tmp_path, body, verdict):
    code = ADAPTER.replace("BODY", body).replace("HERE", repr(str(Path(__file__).parent)))
    (tmp_path / "mine.py").write_text(code, "utf-8")
    case = next(case for case in bundled_suite.streams() if case.id == PAUSED)
    ran = run_trials(tmp_path, [make_trial(case, "as-is", 0)], connect("python:mine:adapter"))
    assert list(ran.verdicts.values()) == [verdict], ran.finished.results.trials[0]
