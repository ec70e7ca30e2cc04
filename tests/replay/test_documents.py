"""Runs with non-streaming answers: a program that gets them, and clients that do or do not request them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.replay.endpoints import match_request
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
    return list(expand([document()], ("as-is", "whole"), "http", 0, "one"))


def test_a_program_gets_stream_false_and_the_whole_document(tmp_path):
    run(tmp_path, [make_trial(document(), "as-is", 0)], builders.program(tmp_path, PRINTER))
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


def test_a_client_that_streams_is_informed_that_its_adapter_is_at_fault(tmp_path):
    body = POST.replace("REQUEST", '{**run.request, "stream": True}')
    ran = run(tmp_path, trials(), hosted(tmp_path, body, CLAIMS))
    results = ran.finished.results.trials
    assert {(result.verdict, result.culprit) for result in results} == {("faulted", "adapter")}
    assert results[0].reason.startswith("the client requested a stream, but this trial tests a non-")
    assert results[0].observation["requests"][0]["status"] == 400


def test_a_client_without_the_claim_gets_no_document(tmp_path):
    body = POST.replace("REQUEST", "run.request")
    ran = run(tmp_path, [*trials(), make_trial(builders.case(), "whole", 0)], hosted(tmp_path, body, []))
    reasons = {result.reason for result in ran.finished.results.trials if result.verdict == "skipped"}
    assert reasons == {"documents is not claimed"}


MODEL = "/v1beta/models/m"


@pytest.mark.parametrize(
    ("api", "path", "target", "stream", "kind"),
    [
        ("google-generate", f"{MODEL}:generateContent", f"{MODEL}:generateContent", None, "document"),
        ("google-generate", f"{MODEL}:generateContent", f"{MODEL}:generateContent?key=k", None, "document"),
        (
            "google-generate",
            f"{MODEL}:generateContent",
            f"{MODEL}:streamGenerateContent?alt=sse",
            None,
            "stream",
        ),
        ("bedrock-converse", "/model/m/converse", "/model/m/converse", None, "document"),
        ("bedrock-converse", "/model/m/converse", "/model/m/converse-stream", None, "stream"),
        ("openai-chat", "/v1/chat/completions", "/chat/completions", None, "document"),
        ("openai-chat", "/v1/chat/completions", "/chat/completions", True, "stream"),
        ("ollama-chat", "/api/chat", "/api/chat", None, "stream"),
        ("ollama-chat", "/api/chat", "/api/chat", False, "document"),
    ],
)
def test_a_request_asks_for_a_document_or_not(api, path, target, stream, kind):
    given = match_request(recorded_at(api, path), "POST", target, stream, document=True)
    assert (given.kind, given.note, given.mismatch) == (kind, None, None)


def test_a_wrong_path_gets_the_paths_of_documents():
    cassette = recorded_at("google-generate", f"{MODEL}:generateContent")
    given = match_request(cassette, "POST", "/v1/answer", None, document=True)
    assert given.note.endswith("expected `POST BASE_URL/{version}/models/{model}:generateContent`")


def test_a_client_of_another_version_of_the_api_is_not_judged():
    given = match_request(recorded_at("cohere-chat", "/v2/chat"), "POST", "/v1/chat", None, document=True)
    assert (given.kind, given.note) == (None, None)
    assert given.mismatch == "the client requests `/v1/chat`, but the recording is from `/v2/chat`"


def recorded_at(api, path):
    made = builders.cassette(BODY, api=api)
    return replace(made, request=replace(made.request, path=path))
