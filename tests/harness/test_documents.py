"""Cases of kind `document`: non-streaming answers, which are the twin or the body of a cassette."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from streamconform.adapters import protocol
from streamconform.adapters.interface import Greeting, Observation
from streamconform.errors import SelectionError, SourceError
from streamconform.judge.judge import judge
from streamconform.known_failures.context import get_checked_paths
from streamconform.model.capability import CAPABILITIES, OF_STREAMS
from streamconform.model.case import Skip
from streamconform.model.cassette import Request
from streamconform.model.trial import DELIVERIES
from streamconform.run.plan import explain_skip
from streamconform.schemas import find_problems
from streamconform.suite import cassettes
from streamconform.suite.documents import take_document
from streamconform.suite.expand import expand, make_trial
from streamconform.suite.lint import lint_all
from streamconform.suite.load import Sources, load

from . import builders

API = builders.ANTHROPIC
SPEC = """\
spec: 1
kind: document
api: anthropic-messages
topic: documents
cases:
  - id: small
    title: A small answer
    cassette: small
    tags: [text]
    sources: [https://docs.example.org]
    expect:
      status: complete
      stop: stop
      content: [{text: hello}]
"""
BODY = b'{"type":"message","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn"}\n'


def write(folder, cassette) -> Sources:
    sources = Sources(folder / "specs", folder / "cassettes")
    (sources.specs / API).mkdir(parents=True)
    (sources.specs / API / "documents.yaml").write_text(SPEC, "utf-8")
    cassettes.save(sources.cassettes, cassette)
    return sources


def document_case(body: bytes = BODY, **fields):
    made = builders.case({"status": "complete", "stop": "stop", "content": [{"text": "hello"}]}, **fields)
    cassette = take_document(replace(made.cassette, twin=body))
    return replace(made, cassette=cassette, stream=False)


def own_body(request, path="/v1/messages", api=API, suffix="json"):
    """Return a cassette that has no stream."""
    requested = Request(method="POST", path=path, headers={}, body=request)
    made = replace(builders.cassette(BODY, api=api), request=requested, suffix=suffix)
    return replace(made, headers={"content-type": "application/json"})


def test_the_twin_is_the_document(tmp_path):
    sources = write(tmp_path, builders.cassette(twin=BODY))
    (case,) = load(sources)
    assert not case.stream
    assert case.cassette.body == BODY
    assert case.cassette.content_type == "application/json"
    assert case.cassette.request.body == {"model": "claude-haiku-4-5", "stream": False}
    _, problems = lint_all(sources, strict=False)
    assert problems == []


def test_the_exchange_of_a_twin_has_the_path_headers_and_body_of_a_request_without_a_stream():
    stream = builders.cassette(b"[]", api="google-generate", marks=[(0, 5)], twin=BODY)
    request = Request(
        method="POST",
        path="/v1beta/models/m:streamGenerateContent?alt=sse",
        headers={"accept": "text/event-stream", "x-goog-api-key": "k"},
        body={"contents": []},
    )
    headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked", "x-request-id": "r"}
    document = take_document(replace(stream, request=request, headers=headers))
    assert document == replace(
        stream,
        request=replace(request, path="/v1beta/models/m:generateContent", headers={"x-goog-api-key": "k"}),
        headers={"content-type": "application/json", "x-request-id": "r"},
        body=BODY,
        suffix="twin.json",
        marks=(),
        twin=None,
    )


def test_a_body_without_a_stream_is_the_document(tmp_path):
    made = own_body({"model": "m", "stream": False})
    (case,) = load(write(tmp_path, made))
    assert (case.stream, case.cassette.body) == (False, BODY)
    assert case.cassette.request == made.request


def test_a_cassette_with_only_a_stream_is_an_error_in_its_line(tmp_path):
    with pytest.raises(SourceError) as caught:
        load(write(tmp_path, builders.cassette()))
    (problem,) = caught.value.problems
    assert (problem.line, problem.path.endswith("documents.yaml")) == (8, True)
    assert problem.message.startswith("cassette `small` has only a stream; a case of kind `document` needs")


@pytest.mark.parametrize(
    ("cassette", "has"),
    [
        (own_body({"stream": True}), False),
        (own_body({}), True),
        (own_body({}, suffix="sse"), False),
        (own_body({}, "/api/chat", "ollama-chat"), False),
        (own_body({"stream": False}, "/api/chat", "ollama-chat"), True),
        (own_body({}, "/v1beta/models/m:generateContent", "google-generate"), True),
        (own_body({}, "/v1beta/models/m:streamGenerateContent", "google-generate"), False),
        (own_body({}, "/model/m/converse", "bedrock-converse"), True),
        (own_body({}, "/model/m/invoke-with-response-stream", "bedrock-invoke"), False),
    ],
)
def test_the_request_says_whether_a_body_is_a_document(cassette, has):
    assert (take_document(cassette) is not None) is has


@pytest.mark.parametrize(
    ("api", "path", "document_path"),
    [
        (
            "google-generate",
            "/v1beta/models/gemini:streamGenerateContent?alt=sse&key=k",
            "/v1beta/models/gemini:generateContent?key=k",
        ),
        ("bedrock-converse", "/model/a%3A0/converse-stream", "/model/a%3A0/converse"),
        ("bedrock-invoke", "/model/a%3A0/invoke-with-response-stream", "/model/a%3A0/invoke"),
        ("openai-chat", "/v1/chat/completions", "/v1/chat/completions"),
    ],
)
def test_the_request_of_a_twin_is_for_the_same_model_without_streaming(api, path, document_path):
    body = {"stream": True, "stream_options": {}} if api == "openai-chat" else {"contents": []}
    made = replace(own_body(body, path, api, "sse"), twin=BODY)
    document = take_document(made)
    assert document.request.path == document_path
    assert document.request.body == ({"stream": False} if api == "openai-chat" else body)
    assert document.model == made.model


def test_a_document_has_one_delivery_and_is_cut_once():
    trials = list(expand([document_case(level="should")], DELIVERIES, "http", 0, "all"))
    assert [trial.id for trial in trials] == [
        "anthropic-messages/text/small@as-is",
        "anthropic-messages/text/small@cut-inside-json.0",
    ]
    assert trials[0].chunks == (BODY,)
    assert trials[1].chunks == (BODY[: len(BODY) // 2],)
    assert {trial.level for trial in trials} == {"should"}
    with pytest.raises(SelectionError, match="has no `bytewise`"):
        make_trial(document_case(), "bytewise", 0)


def test_a_line_of_an_api_with_lines_is_a_document_too():
    cassette = own_body({"stream": False}, "/api/chat", "ollama-chat")
    case = replace(document_case(), api="ollama-chat", cassette=cassette)
    assert len(list(expand([case], DELIVERIES, "bytes", 0, "all"))) == 2


@pytest.mark.parametrize(
    "case",
    [
        document_case(b"<html></html>"),
        document_case(skip=Skip("it says so", faults=frozenset({"cut-inside-json"}))),
        replace(
            document_case(), expect=builders.case({"status": "error", "stop": "error", "content": []}).expect
        ),
    ],
    ids=["not-json", "skipped", "no-complete-answer"],
)
def test_what_is_no_complete_answer_is_not_cut(case):
    assert [trial.delivery for trial in expand([case], DELIVERIES, "bytes", 0, "all")] == ["as-is"]


@pytest.mark.parametrize(
    ("status", "verdict"), [("incomplete", "pass"), ("error", "pass"), ("complete", "fail")]
)
def test_a_cut_document_is_not_complete(status, verdict):
    outcome = {
        "status": status,
        "content": [],
        "stop": {"reason": None if status == "incomplete" else "error"},
    }
    trial = make_trial(document_case(), "cut-inside-json", 0)
    assert judge(trial, Observation(outcome), CAPABILITIES, lambda _: None).verdict == verdict


def test_a_document_is_skipped_unless_it_is_claimed_by_name():
    case = document_case()
    assert "documents" not in OF_STREAMS
    assert explain_skip(case, Greeting(name="x")) == "documents is not claimed"
    assert explain_skip(case, Greeting(name="x", capabilities=OF_STREAMS | {"documents"})) is None


def test_a_document_has_no_events():
    outcome = {
        "status": "complete",
        "content": [{"type": "text", "text": "hello"}],
        "stop": {"reason": "stop"},
    }
    trial = make_trial(document_case(), "as-is", 0)
    found = judge(trial, Observation(outcome), CAPABILITIES, lambda _: None)
    assert (found.verdict, found.checks) == ("pass", ())
    paths = get_checked_paths(trial, CAPABILITIES).certain
    assert {path for path in paths if path.startswith("invariant.")} == {"invariant.unique-ids"}


def test_a_program_is_informed_that_the_answer_does_not_stream():
    trial = make_trial(document_case(), "as-is", 0)
    message = json.loads(protocol.encode_run("1", trial, events=False))
    assert message["stream"] is False
    assert message["request"]["stream"] is False
    assert message["want"] == ["outcome"]
    assert find_problems("protocol.v1", message, "run") == ()
    assert "stream" not in json.loads(protocol.encode_run("1", builders.trial(), events=False))
