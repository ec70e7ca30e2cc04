"""Request cases over HTTP: the request sent is judged like the return value of `build_request`."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from streamconform.adapters import host, protocol
from streamconform.adapters.connect import connect
from streamconform.adapters.feed import Feed
from streamconform.apis import APIS
from streamconform.judge.request import compare_request
from streamconform.known_failures.context import get_checked_paths
from streamconform.model.capability import CAPABILITIES
from streamconform.model.trial import Call
from streamconform.replay.canned_replies import make_canned_trial
from streamconform.replay.endpoints import RequestMatch, match_request
from streamconform.replay.reply import make_reply
from streamconform.resources import find_bundled
from streamconform.run.plan import Settings
from streamconform.run.session import SILENT, RunRequest, execute_run
from streamconform.schemas import find_problems
from streamconform.suite.expand import expand
from streamconform.suite.load import Sources, collect
from streamconform_reference.apis import DECODERS
from streamconform_reference.document import decode_document

HERE = Path(__file__).parent


@cache
def request_cases():
    sources = Sources(find_bundled("specs"), find_bundled("cassettes"))
    files = [path for api in APIS for path in sorted((sources.specs / api).glob("requests*.yaml"))]
    loaded = collect(sources, files)
    assert loaded.problems == []
    return tuple(loaded.cases)


def run(folder, *connections, cases=None):
    trials = tuple(expand(cases or request_cases(), ("as-is",), "http", 0))
    settings = Settings(workers=2, timeout=10)
    order = RunRequest(connections=connections, trials=trials, settings=settings, selection={})
    return execute_run(order, folder / "results.jsonl", SILENT)


@pytest.fixture(autouse=True)
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_request_case_is_judged_alike_by_a_function_and_over_http(tmp_path):
    (tmp_path / "over_http.py").write_text((HERE / "over_http.py").read_text("utf-8"), "utf-8")
    finished = run(tmp_path, connect("reference"), connect("python:over_http:adapter"))
    received_bodies = [{}, {}]
    for result in finished.results.trials:
        received_bodies[result.implementation][result.id] = (
            result.verdict,
            result.passed,
            result.checks,
            result.reason,
        )
    assert len(received_bodies[0]) == len(request_cases()) > 350
    assert {key: each for key, each in received_bodies[1].items() if each != received_bodies[0][key]} == {}
    assert finished.exit == 0


CLIENT = """
import json

import httpx
from streamconform_reference.adapter import build_request

OK = {"status": "complete", "stop": {"reason": "stop"}, "content": [{"type": "text", "text": "OK"}]}
REFUSED = {"status": "error", "content": [], "error": {"message": "no such model"}}

def adapter(run):
    built = build_request(run.api, run.conversation)
    with httpx.Client(trust_env=False, base_url=run.base_url, headers=built["headers"]) as client:
        send = lambda body, path=built["path"]: client.post(path.lstrip("/"), json=body)
        match run.model:
            case "asks nothing":
                return OK
            case "refuses":
                return REFUSED
            case "raises":
                raise ValueError("mine")
            case "another path":
                send(built["body"], "/v1/complete")
            case "looks first":
                client.get("v1/models")
                send(built["body"])
            case "asks twice":
                send(built["body"])
                send({"model": "another"})
            case "asks twice, at first wrong":
                send({"model": "another"})
                send(built["body"])
            case "sends much":
                client.post("v1/messages", content=json.dumps(built["body"]) + " " * 2**21)
            case "sends too much":
                client.post("v1/messages", content=json.dumps(built["body"]) + " " * 2**23)
                return REFUSED
            case "sends no JSON":
                client.post("v1/messages", content=b"model=a")
            case "fails when it was answered":
                send(built["body"])
                return REFUSED
            case _:
                send(built["body"])
    return OK

adapter.inputs = ["http"]
adapter.capabilities = ["requests"]
"""
IMPLEMENTATION, ADAPTER = "implementation", "adapter"
SENT = {
    "as it should": ("pass", None, None),
    "sends much": ("pass", None, None),
    "sends too much": ("skipped", None, "the request body has more than 8,388,608 bytes"),
    "looks first": ("pass", None, None),
    "fails when it was answered": ("pass", None, None),
    "asks twice": ("pass", None, None),
    "asks twice, at first wrong": ("fail", IMPLEMENTATION, "2 requests received; only the first is judged"),
    "sends no JSON": ("fail", IMPLEMENTATION, None),
    "refuses": ("fail", IMPLEMENTATION, None),
    "asks nothing": ("faulted", ADAPTER, "not-asked: it answered, but no request arrived"),
    "another path": ("faulted", ADAPTER, "not-asked: it answered, but the server got `POST /v1/complete`"),
    "raises": ("faulted", ADAPTER, "ValueError: mine"),
}


def named(name):
    (case,) = (case for case in request_cases() if case.id == "anthropic-messages/requests/max-tokens-always")
    return replace(case, id=name, input={**case.input, "model": name})


def test_received_requests_are_judged_and_missing_ones_are_reported(tmp_path):
    (tmp_path / "mine.py").write_text(CLIENT, "utf-8")
    finished = run(tmp_path, connect("python:mine:adapter"), cases=[named(name) for name in SENT])
    received_bodies = {result.case: result for result in finished.results.trials}
    for name, (verdict, culprit, reason) in SENT.items():
        assert (received_bodies[name].verdict, received_bodies[name].culprit) == (verdict, culprit), name
        assert reason is None or received_bodies[name].reason.startswith(reason), name
    assert [(check.path, check.message) for check in received_bodies["refuses"].checks] == [
        ("body", "no request was sent: no such model")
    ]
    no_json = received_bodies["sends no JSON"]
    assert (no_json.checks[0].path, no_json.checks[0].got) == ("body", "model=a")
    assert no_json.observation["output"]["path"] == "/v1/messages"
    assert no_json.observation["requests"][0]["bytes"] == 7
    lines = (tmp_path / "results.jsonl").read_text("utf-8").splitlines()
    assert [found for line in lines for found in find_problems("results.v1", json.loads(line))] == []


def test_an_adapter_fed_http_needs_no_function_but_names_the_capability():
    def adapter(run):
        del run

    adapter.inputs, adapter.capabilities = ["http"], ["requests", "heal"]
    assert host.build_greeting(adapter, "mine:adapter")["capabilities"] == ["requests"]
    adapter.inputs = ["bytes"]
    assert host.build_greeting(adapter, "mine:adapter")["capabilities"] == []


@pytest.mark.parametrize("case", [request_cases()[0], request_cases()[-1]], ids=lambda case: case.api)
def test_the_message_matches_the_protocol_and_does_not_reveal_the_expectation(case):
    line = protocol.encode_request("7", Call(case), events=True, feed=Feed("http", "http://127.0.0.1:1/x/7"))
    message = json.loads(line)
    assert find_problems("protocol.v1", message, "run") == ()
    assert set(message) == {"op", "id", "want", "api", "request", "model", "pricing", "conversation", "input"}
    assert message["conversation"] == case.input
    assert message["input"] == {"mode": "http", "base_url": "http://127.0.0.1:1/x/7", "api_key": "conform"}


TARGETS = {
    "anthropic-messages": ("/v1/messages",),
    "openai-chat": ("/v1/chat/completions",),
    "openai-responses": ("/responses",),
    "google-generate": (
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        "/v1beta/models/m:streamGenerateContent",
    ),
    "google-interactions": ("/v1beta/interactions",),
    "ollama-chat": ("/api/chat",),
    "cohere-chat": ("/v2/chat", "/v1/chat"),
    "bedrock-converse": ("/model/m/converse-stream",),
    "bedrock-invoke": ("/model/m/invoke-with-response-stream",),
}
IN_ONE_PIECE = {
    "google-generate": "/v1beta/models/m:generateContent",
    "bedrock-converse": "/model/m/converse",
    "bedrock-invoke": "/model/m/invoke",
}


@pytest.mark.parametrize(("api", "target"), [(api, target) for api in APIS for target in TARGETS[api]])
def test_every_client_is_answered_in_the_form_that_it_asks_for(api, target):
    trial = make_canned_trial(api, target, "an/api/case", "m")
    cassette = trial.case.cassette
    assert match_request(cassette, "POST", target, stream=True) == RequestMatch("stream")
    assert APIS[api].detect_framing(200, trial.body) != "document"
    decoder = DECODERS[api](status=200, headers=dict(cassette.headers), pricing=None)
    list(decoder.receive_data(trial.body))
    list(decoder.receive_eof())
    outcome = decoder.outcome.to_json()
    assert (outcome["status"], outcome["stop"]["reason"], outcome["error"]) == ("complete", "stop", None)
    assert [block["text"] for block in outcome["content"]] == ["OK"]
    assert (outcome["usage"]["input"], outcome["usage"]["output"]) == (9, 2)
    whole = IN_ONE_PIECE.get(api, target)
    reading = match_request(cassette, "POST", whole, stream=False)
    assert reading.kind == "document"
    read = decode_document(make_reply(trial, reading, "").chunks[0], api).to_json()
    assert (read["status"], [block["text"] for block in read["content"]]) == ("complete", ["OK"])


def test_every_check_of_a_request_can_be_listed_as_known():
    case = next(case for case in request_cases() if case.expect.must.fields and case.expect.must_not)
    paths = get_checked_paths(Call(case), CAPABILITIES)
    assert paths.certain == paths.possible
    made = {check.path for check in compare_request(case.api, case.expect, {"body": {}}, "must")}
    assert made < paths.possible
