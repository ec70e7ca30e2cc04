"""Answers without streaming, run: a program that gets them, and clients that ask for them or do not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamconform.suite.documents import take_document
from streamconform.suite.expand import expand, make_trial

from ..harness import builders
from .test_runs import REFERENCE, hosted, run

BODY = (
    '{"type":"message","id":"msg_1","model":"claude-haiku-4-5","content":[{"type":"text",'
    '"text":"Grüß dich 🌍"}],"stop_reason":"end_turn","usage":{"input_tokens":12,"output_tokens":9}}'
).encode()
POST = """
    with httpx.Client(trust_env=False) as client:
        answer = client.post(run.base_url + "/v1/messages", json=REQUEST)
        if answer.status_code != 200: return {"status": "error", "content": []}
        try: text = json.loads(answer.content)["content"][0]["text"]
        except ValueError: return {"status": "incomplete", "content": []}
        return {**GOOD, "content": [{"type": "text", "text": text}]}
"""
CLAIMS = ["documents"]
PRINTER = """
greet(capabilities=["documents"], apis=["anthropic-messages"])
while (message := read())["op"] == "run":
    print(json.dumps(message), file=open("messages", "a"))
    write(op="result", id=message["id"], outcome={"status": "error", "content": []})
"""


@pytest.fixture(autouse=True)
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def document():
    made = builders.case()
    return replace(made, cassette=take_document(replace(made.cassette, twin=BODY)), stream=False)


def trials():
    return list(expand([document()], ("recorded", "whole"), "http", 0, "one"))


def test_a_program_gets_stream_false_and_the_whole_document(tmp_path):
    run(tmp_path, [make_trial(document(), "recorded", 0)], builders.program(tmp_path, PRINTER))
    message = (tmp_path / "messages").read_text()
    assert '"stream": false, "input": {"mode": "bytes", "status": 200' in message


@pytest.mark.parametrize("input_", ["bytes", "push"])
def test_the_reference_reads_documents(tmp_path, input_):
    ran = run(tmp_path, trials(), REFERENCE, input_=input_)
    assert set(ran.verdicts.values()) == {"pass"}
    assert len(ran.verdicts) == 2


@pytest.mark.parametrize("request_", ["run.request", '{"model": "m"}'])
def test_a_client_that_does_not_stream_gets_the_document(tmp_path, request_):
    ran = run(tmp_path, trials(), hosted(tmp_path, POST.replace("REQUEST", request_), CLAIMS))
    assert list(ran.verdicts.values()) == ["pass", "pass"]


def test_a_client_that_streams_is_told_that_its_adapter_is_at_fault(tmp_path):
    body = POST.replace("REQUEST", '{**run.request, "stream": True}')
    ran = run(tmp_path, trials(), hosted(tmp_path, body, CLAIMS))
    results = ran.finished.results.trials
    assert {(result.verdict, result.culprit) for result in results} == {("faulted", "adapter")}
    assert results[0].reason.startswith("the client requested a stream, but this trial is an answer without")
    assert results[0].observation["requests"][0]["status"] == 400


def test_a_client_without_the_claim_gets_no_document(tmp_path):
    body = POST.replace("REQUEST", "run.request")
    ran = run(tmp_path, [*trials(), make_trial(builders.case(), "whole", 0)], hosted(tmp_path, body, []))
    reasons = {result.reason for result in ran.finished.results.trials if result.verdict == "skipped"}
    assert reasons == {"documents is not claimed"}
