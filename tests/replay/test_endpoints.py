"""The paths that clients append to a base URL, and the message about any other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.apis import APIS
from streamconform.model.cassette import Request
from streamconform.replay.endpoints import RequestMatch, match_request, require_opt_ins

from .. import bundled_suite
from ..harness import builders

STREAM, DOCUMENT, NEITHER = "stream", "document", None
ANTHROPIC, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
INVOKE = "bedrock-invoke"
GOOGLE, OLLAMA, COHERE, BEDROCK = "google-generate", "ollama-chat", "cohere-chat", "bedrock-converse"
VERTEX = "/v1/projects/p/locations/global/publishers/google/models/gemini-3"

TARGETS = [
    (ANTHROPIC, "/v1/messages", STREAM),
    (ANTHROPIC, "/v1/messages?beta=true", STREAM),
    (ANTHROPIC, "/messages", STREAM),
    (ANTHROPIC, "/v1/messages/", NEITHER),
    (ANTHROPIC, "/v1/complete", NEITHER),
    (CHAT, "/chat/completions", STREAM),
    (CHAT, "/v1/chat/completions", STREAM),
    (CHAT, "/openai/deployments/gpt-5/chat/completions?api-version=2025-01-01", STREAM),
    (CHAT, "/api/v1/chat/completions", STREAM),
    (CHAT, "/v1/completions", NEITHER),
    (CHAT, "/v1/responses", NEITHER),
    (RESPONSES, "/responses", STREAM),
    (RESPONSES, "/v1/responses", STREAM),
    (RESPONSES, "/v1/responses/resp_1", NEITHER),
    (GOOGLE, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", STREAM),
    (GOOGLE, "/v1/models/gemini-2.5-flash%3AstreamGenerateContent?alt=sse&key=k", STREAM),
    (GOOGLE, "/models/gemini-2.5-flash:streamGenerateContent?alt=sse", STREAM),
    (GOOGLE, f"{VERTEX}:streamGenerateContent?alt=sse", STREAM),
    (GOOGLE, "/v1beta/models/gemini-2.5-flash:generateContent", DOCUMENT),
    (GOOGLE, "/v1beta/models/gemini-2.5-flash:countTokens", NEITHER),
    (OLLAMA, "/api/chat", STREAM),
    (OLLAMA, "/api/generate", NEITHER),
    (COHERE, "/v2/chat", STREAM),
    (COHERE, "/v2/embed", NEITHER),
    (BEDROCK, "/model/us.anthropic.claude-sonnet-4-5-v1%3A0/converse-stream", STREAM),
    (BEDROCK, "/model/arn%3Aaws%3Abedrock%3Aus%3A1%3Aprofile%2Fx/converse-stream", STREAM),
    (BEDROCK, "/model/us.amazon.nova-pro-v1:0/converse", DOCUMENT),
    (BEDROCK, "/model/us.amazon.nova-pro-v1:0/invoke", NEITHER),
    (INVOKE, "/model/anthropic.claude-sonnet-4-v1%3A0/invoke-with-response-stream", STREAM),
    (INVOKE, "/model/arn%3Aaws%3Abedrock%3Aus%3A1%3Aprofile%2Fx/invoke-with-response-stream", STREAM),
    (INVOKE, "/model/anthropic.claude-sonnet-4-v1:0/invoke", DOCUMENT),
    (INVOKE, "/model/anthropic.claude-sonnet-4-v1:0/converse", NEITHER),
]
BODIES = {
    GOOGLE: "google-sse",
    OLLAMA: "ollama",
    COHERE: "cohere-v2",
    BEDROCK: "bedrock",
    INVOKE: "bedrock-invoke",
}


def cassette(api: str, name: str | None = None, path: str | None = None):
    name = name or BODIES.get(api)
    made = builders.cassette(builders.FRAMED[name][2] if name else None, api=api)
    own = path or APIS[api].endpoints.usual
    return replace(made, request=Request(method="POST", path=own, headers={}, body={"stream": True}))


@pytest.mark.parametrize(("api", "target", "kind"), TARGETS)
def test_a_path_requests_a_stream_a_document_or_nothing(api, target, kind):
    given = match_request(cassette(api), "POST", target, stream=True)
    assert given.kind == kind
    assert (given.note is None) == (kind is not None)


@pytest.mark.parametrize("api", APIS)
def test_every_api_answers_where_its_recordings_were_made(api):
    listed = {
        match_request(each, each.request.method, each.request.path, each.request.body.get("stream")).kind
        for each in bundled_suite.cassettes()
        if each.api == api
    }
    assert listed == {"stream"}


@pytest.mark.parametrize("api", APIS)
def test_only_post_is_a_request_for_an_answer(api):
    path = APIS[api].endpoints.usual
    given = match_request(cassette(api), "GET", path, stream=True)
    assert given.kind is None
    assert given.note == f"the server got `GET {path}`; expected `POST BASE_URL{path}`"


@pytest.mark.parametrize(
    ("api", "stream", "kind", "noted"),
    [
        (ANTHROPIC, False, DOCUMENT, False),
        (ANTHROPIC, None, STREAM, True),
        (CHAT, True, STREAM, False),
        (OLLAMA, None, STREAM, False),
        (OLLAMA, False, DOCUMENT, False),
        (GOOGLE, None, STREAM, False),
        (BEDROCK, None, STREAM, False),
    ],
)
def test_the_body_decides_whether_to_stream_if_the_path_does_not(api, stream, kind, noted):
    target = APIS[api].endpoints.usual + ("?alt=sse" if api == GOOGLE else "")
    given = match_request(cassette(api), "POST", target, stream)
    assert (given.kind, given.note is not None) == (kind, noted)


OTHER_FORM = [
    (GOOGLE, "google-array", "/v1beta/models/m:streamGenerateContent?alt=sse", "a JSON array"),
    (GOOGLE, "google-sse", "/v1beta/models/m:streamGenerateContent", "is SSE"),
    (COHERE, "cohere-v1", "/v2/chat", "from `/v1/chat`"),
    (COHERE, "cohere-v2", "/v1/chat", "from `/v2/chat`"),
]


@pytest.mark.parametrize(("api", "name", "target", "says"), OTHER_FORM)
def test_a_client_that_asks_for_the_other_form_is_not_judged_by_this_one(api, name, target, says):
    own = {"cohere-v1": "/v1/chat", "cohere-v2": "/v2/chat"}.get(name)
    given = match_request(cassette(api, name, own), "POST", target, stream=True)
    assert given.kind is None
    assert given.note is None
    assert says in given.mismatch


def tool(type_):
    return {"tools": [{"type": type_, "name": "t"}]}


STREAMED = {"functionCallingConfig": {"streamFunctionCallArguments": True}}
ON_REQUEST = [
    (GOOGLE, {"toolConfig": STREAMED}, {"toolConfig": STREAMED}, True),
    (
        GOOGLE,
        {"toolConfig": STREAMED},
        {"tool_config": {"function_calling_config": {"stream_function_call_arguments": True}}},
        True,
    ),
    (GOOGLE, {"toolConfig": STREAMED}, {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, False),
    (GOOGLE, {"toolConfig": STREAMED}, None, False),
    (GOOGLE, {}, {}, True),
    (ANTHROPIC, tool("memory_20250818"), tool("memory_20260101"), True),
    (ANTHROPIC, tool("memory_20250818"), tool("custom"), False),
    (ANTHROPIC, tool("web_search_20250305"), {}, True),
    (INVOKE, tool("memory_20250818"), {}, False),
    (CHAT, tool("custom"), tool("custom"), True),
    (CHAT, tool("custom"), tool("function"), False),
    (RESPONSES, tool("custom"), {}, False),
    (RESPONSES, tool("computer"), {"tools": "no list"}, False),
]


@pytest.mark.parametrize(("api", "recorded", "sent", "fits"), ON_REQUEST)
def test_a_stream_with_a_feature_on_request_fits_a_request_for_it(api, recorded, sent, fits):
    made = cassette(api)
    made = replace(made, request=replace(made.request, body=recorded))
    match = require_opt_ins(RequestMatch(STREAM), made, sent)
    assert (match.mismatch is None) == fits
    assert (match.kind == STREAM) == fits


def test_each_feature_on_request_is_in_some_case_and_is_requested_by_its_recording():
    needed = {
        (case.api, missing)
        for case in (*bundled_suite.streams(), *bundled_suite.documents())
        if (missing := APIS[case.api].find_missing_opt_in(case.cassette.request.body, {}))
    }
    assert needed == {(api.name, feature.name) for api in APIS.values() for feature in api.opt_ins} - {
        (INVOKE, "a fallback to another model (`fallbacks`)")
    }
