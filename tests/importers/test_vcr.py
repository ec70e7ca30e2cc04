"""Cassettes recorded by vcrpy itself, and files that only look like cassettes."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import httpx
import pytest
import requests
import vcr
import yaml

from streamconform.errors import SourceError
from streamconform.model.cassette import Derived
from streamconform.wire import eventstream, invoke_stream
from streamconform_capture.importers import import_file
from streamconform_dev.docs.provider import BODY, KEY, REQUEST, provider

HEADERS = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}


@pytest.fixture(scope="module")
def base_url():
    with provider() as url:
        yield url


def by_requests(url, headers, body):
    with requests.post(url, json=body, headers=headers, stream=True, timeout=10) as response:
        for _ in response.iter_content(64):
            pass


def by_httpx(url, headers, body):
    with (
        httpx.Client(trust_env=False) as client,
        client.stream("POST", url, json=body, headers=headers) as answer,
    ):
        for _ in answer.iter_bytes():
            pass


def by_async_httpx(url, headers, body):
    async def ask():
        async with (
            httpx.AsyncClient(trust_env=False) as client,
            client.stream("POST", url, json=body, headers=headers) as answer,
        ):
            async for _ in answer.aiter_bytes():
                pass

    asyncio.run(ask())


def recorded(path, *calls, serializer="yaml"):
    with vcr.VCR(serializer=serializer).use_cassette(str(path)):
        for call, *arguments in calls:
            call(*arguments)
    return path


def taken(path, api=None, name=None):
    return import_file(path, path.read_bytes(), api, name)


CLIENTS = {"requests": by_requests, "httpx": by_httpx, "httpx-async": by_async_httpx}


@pytest.mark.parametrize("coding", ["identity", "gzip", "br"])
@pytest.mark.parametrize("client", CLIENTS)
def test_the_bytes_are_those_that_the_provider_sent(base_url, tmp_path, client, coding):
    url, headers = f"{base_url}/v1/messages", {**HEADERS, "x-coding": coding, "accept-encoding": coding}
    path = recorded(tmp_path / "stream.yaml", (CLIENTS[client], url, headers, REQUEST))
    found = taken(path)
    (cassette,) = found.cassettes
    assert found.skipped == ()
    assert cassette.body == BODY
    assert (cassette.api, cassette.name, cassette.status) == ("anthropic-messages", "stream", 200)
    assert cassette.request.body == REQUEST
    assert cassette.request.path == "/v1/messages"
    assert cassette.marks == ()
    assert isinstance(cassette.provenance, Derived)
    assert cassette.provenance.source == "stream.yaml, interaction 1 of 1"
    assert "chunk boundaries were not recorded" in cassette.provenance.recipe


def test_headers_are_kept_by_allow_list_and_ids_of_accounts_are_replaced(base_url, tmp_path):
    path = recorded(tmp_path / "stream.yaml", (by_requests, f"{base_url}/v1/messages", HEADERS, REQUEST))
    (cassette,) = taken(path).cassettes
    assert KEY in path.read_text("utf-8")
    assert KEY not in repr(cassette)
    assert set(cassette.headers) == {"content-type", "request-id"}
    assert cassette.headers["request-id"] == "req_xxxxxxxxxxxxxxxxxxxxxxx1"
    assert set(cassette.request.headers) == {"accept", "anthropic-version", "content-type"}


def test_the_json_serializer_is_read(base_url, tmp_path):
    call = (by_httpx, f"{base_url}/v1/messages", HEADERS, REQUEST)
    path = recorded(tmp_path / "stream.json", call, serializer="json")
    assert [each.body for each in taken(path).cassettes] == [BODY]


def test_several_interactions_are_several_cassettes_and_what_does_not_stream_is_left_out(base_url, tmp_path):
    messages = f"{base_url}/v1/messages"
    path = recorded(
        tmp_path / "Some Test[gpt].yaml",
        (by_httpx, messages, HEADERS, REQUEST),
        (lambda: requests.get(f"{base_url}/v1/models", timeout=10),),
        (by_httpx, messages, HEADERS, {**REQUEST, "stream": False}),
        (by_httpx, messages, HEADERS, {**REQUEST, "model": "none"}),
        (by_httpx, f"{base_url}/v1/chat/completions", HEADERS, REQUEST),
    )
    found = taken(path, "anthropic-messages")
    assert [(each.name, each.status) for each in found.cassettes] == [
        ("some-test-gpt-1", 200),
        ("some-test-gpt-2", 404),
    ]
    assert [each.why for each in found.skipped] == [
        "no API uses its path: `/v1/models`",
        "not a stream: HTTP status 200, application/json",
        "its path belongs to openai-chat, not to anthropic-messages",
    ]


def written(tmp_path, response, *, uri="https://api.anthropic.com/v1/messages", name="made.yaml"):
    request = {"method": "POST", "uri": uri, "headers": {}, "body": json.dumps(REQUEST)}
    path = tmp_path / name
    path.write_text(yaml.dump({"version": 1, "interactions": [{"request": request, "response": response}]}))
    return path


STATUS = {"status": {"code": 200, "message": "OK"}, "headers": {"content-type": ["text/event-stream"]}}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"string": BODY}, id="binary"),
        pytest.param({"string": BODY.decode()}, id="text"),
        pytest.param({"base64_string": base64.b64encode(BODY).decode()}, id="betamax"),
        pytest.param({"encoding": "base64", "string": base64.b64encode(BODY).decode()}, id="base64"),
    ],
)
def test_a_body_is_read_as_text_binary_or_base64(tmp_path, body):
    (cassette,) = taken(written(tmp_path, {**STATUS, "body": body})).cassettes
    assert cassette.body == BODY


def test_the_form_in_which_httpx_was_recorded_years_ago_is_read(tmp_path):
    response = {"status_code": 200, "headers": STATUS["headers"], "content": BODY.decode()}
    (cassette,) = taken(written(tmp_path, response)).cassettes
    assert cassette.body == BODY


def test_shared_headers_that_vcrpy_wrote_with_an_anchor_are_read(tmp_path):
    shared = ["text/event-stream"]
    headers = {"content-type": shared, "x-other": shared}
    path = written(tmp_path, {"status": {"code": 200}, "headers": headers, "body": {"string": BODY.decode()}})
    assert "&id001" in path.read_text()
    assert taken(path).cassettes[0].headers == {"content-type": "text/event-stream"}


def test_a_key_in_the_query_is_replaced_by_as_many_bytes(tmp_path):
    uri = f"https://example.org/v1/messages?beta=true&key={KEY}"
    path = written(tmp_path, {**STATUS, "body": {"string": BODY}}, uri=uri)
    assert taken(path).cassettes[0].request.path == f"/v1/messages?beta=true&key={'x' * len(KEY)}"


def test_a_key_that_the_server_echoes_is_blanked_by_as_many_bytes(tmp_path):
    request = {"method": "POST", "uri": "https://example.org/v1/messages", "headers": {"x-api-key": [KEY]}}
    response = {**STATUS, "body": {"string": BODY.replace("Grüß ".encode(), KEY.encode())}}
    path = tmp_path / "echo.yaml"
    path.write_text(
        yaml.dump(
            {"version": 1, "interactions": [{"request": request | {"body": "{}"}, "response": response}]}
        )
    )
    (cassette,) = taken(path).cassettes
    assert KEY.encode() not in cassette.body
    assert len(cassette.body) == len(response["body"]["string"])


def test_one_interaction_that_is_broken_does_not_hide_the_others(tmp_path):
    good = {"method": "POST", "uri": "https://example.org/v1/messages", "headers": {}, "body": "{}"}
    interactions = [
        {"request": good, "response": {"status": {"code": "soon"}, "headers": {}, "body": {"string": "x"}}},
        {"request": good, "response": {**STATUS, "body": {"data": {}}}},
        {"request": good, "response": {**STATUS, "body": {"string": BODY.decode()}}},
    ]
    path = tmp_path / "mixed.yaml"
    path.write_text(yaml.dump({"version": 1, "interactions": interactions}))
    found = taken(path)
    assert [each.body for each in found.cassettes] == [BODY]
    assert [each.why for each in found.skipped] == [
        "its status is text, expected a whole number",
        "its response has no readable body",
    ]


HOSTILE = {
    "code": (
        "!!python/object/new:os.system {args: ['true']}",
        "it has no list `interactions`",
    ),
    "deep": ("[" * 5000, "nested deeper than 64 levels"),
    "merge": ("a: &a {x: 1}\nb: {<<: [*a, *a]}", "a merge key"),
    "syntax": ("version: 1\ninteractions: [\n  'open", "while scanning a quoted scalar"),
    "scalar": ("hello", "not a vcrpy cassette"),
    "no-interactions": ("version: 1\n", "it has no list `interactions`"),
    "old": ("- request: {}\n  response: {}\n", "as vcrpy before 1.0 wrote it"),
    "empty": ("", "not a vcrpy cassette"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_no_cassette_is_a_clear_error(tmp_path, name):
    text, words = HOSTILE[name]
    path = tmp_path / "hostile.yaml"
    path.write_text(text)
    with pytest.raises(SourceError) as raised:
        taken(path)
    assert words in str(raised.value)
    assert str(raised.value).startswith(str(path))


def test_aliases_that_would_blow_up_are_never_walked(tmp_path):
    levels = "\n".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, 30))
    path = tmp_path / "laughs.yaml"
    path.write_text(f"l0: &l0 [x]\n{levels}\nversion: 1\ninteractions: *l29\n")
    found = taken(path)
    assert found.cassettes == ()
    assert {each.why for each in found.skipped} == {"the interaction is a list, expected a mapping"}


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_what_is_not_utf8_is_reported_with_its_place(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b'{"interactions": \n\xff')
    with pytest.raises(SourceError, match="not UTF-8 at byte"):
        taken(path)


def test_deep_json_is_a_clear_error(tmp_path):
    path = Path(tmp_path / "deep.json")
    path.write_text('{"interactions": ' + "[" * 200_000)
    with pytest.raises(SourceError, match="not a vcrpy cassette"):
        taken(path)


VENDORS = {
    "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse": (
        "google-generate"
    ),
    "https://x-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/g"
    ":streamGenerateContent": "google-generate",
    "https://x-aiplatform.googleapis.com/v1/publishers/anthropic/models/c:streamRawPredict": (
        "anthropic-messages"
    ),
    "http://127.0.0.1:11434/api/chat": "ollama-chat",
    "https://api.cohere.com/v1/chat": "cohere-chat",
    "https://api.cohere.com/v2/chat": "cohere-chat",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1%3A0/converse-stream": "bedrock-converse",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.b%3A0/invoke-with-response-stream": (
        "bedrock-invoke"
    ),
    "https://api.groq.com/openai/v1/chat/completions": "openai-chat",
    "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1": "openai-chat",
}
STREAMS = {
    "anthropic-messages": ("text/event-stream", BODY),
    "bedrock-converse": (
        "application/vnd.amazon.eventstream",
        eventstream.encode_event(b'{"stopReason":"end_turn"}', "messageStop"),
    ),
    "bedrock-invoke": (
        "application/vnd.amazon.eventstream",
        invoke_stream.encode_event(b'{"type":"message_stop"}'),
    ),
    "cohere-chat": ("text/event-stream", b'data: {"type":"message-end"}\n\n'),
    "google-generate": ("text/event-stream", b'data: {"candidates":[]}\r\n\r\n'),
    "ollama-chat": ("application/x-ndjson", b'{"done":false}\n{"done":true}\n'),
    "openai-chat": ("text/event-stream", b"data: [DONE]\n\n"),
}


@pytest.mark.parametrize(("uri", "api"), VENDORS.items())
def test_the_api_is_known_by_the_path_of_the_request(tmp_path, uri, api):
    media, body = STREAMS[api]
    response = {"status": {"code": 200}, "headers": {"Content-Type": [media]}, "body": {"string": body}}
    found = taken(written(tmp_path, response, uri=uri))
    assert found.skipped == ()
    assert [(each.api, each.body) for each in found.cassettes] == [(api, body)]


@pytest.mark.parametrize("uri", ["http://127.0.0.1:11434/api/chat", "https://api.cohere.com/v1/chat"])
def test_a_whole_answer_of_an_api_that_streams_json_lines_is_no_stream_of_one_line(tmp_path, uri):
    headers = {"content-type": ["application/json; charset=utf-8"]}
    response = {"status": {"code": 200}, "headers": headers, "body": {"string": b'{"done":true}'}}
    found = taken(written(tmp_path, response, uri=uri))
    assert (found.cassettes, [each.why for each in found.skipped]) == (
        (),
        ["not a stream: HTTP status 200, application/json"],
    )


@pytest.mark.parametrize(
    "path", ["/v1beta/models/g:generateContent", "/model/a.b-v1%3A0/converse", "/model/a.b-v1%3A0/invoke"]
)
def test_a_path_that_asks_for_an_answer_at_once_is_reported_as_none_of_a_stream(tmp_path, path):
    response = {"status": {"code": 200}, "headers": {}, "body": {"string": b"{}"}}
    found = taken(written(tmp_path, response, uri=f"https://example.org{path}"))
    assert [each.why for each in found.skipped] == [f"not a stream: non-streaming path `{path}`"]
