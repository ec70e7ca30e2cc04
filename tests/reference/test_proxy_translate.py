"""The upstream request has the meaning of the client's request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamconform_proxy import ROUTES, Route, UpstreamRequest, remove_thinking, translate_request
from streamconform_proxy.request_fields import OPTIONS, UNEXPRESSED_FIELDS
from streamconform_proxy.translate import ENDPOINTS, KEY_HEADERS
from streamconform_reference.requests.errors import RequestError
from streamconform_reference.tokens import count_tokens

Json = dict[str, Any]
OLLAMA, CHAT, MESSAGES = ROUTES
ANTHROPIC: Json = {"model": "qwen3", "max_tokens": 50, "messages": [{"role": "user", "content": "Hi there"}]}
OPENAI: Json = {"model": "claude-x", "max_tokens": 50, "messages": [{"role": "user", "content": "Hi there"}]}
LEAST = {"anthropic-messages": ANTHROPIC, "openai-chat": OPENAI}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}, "required": ["a"]}


def translate(names: tuple[str, str], route: Json | None = None, **fields: Any) -> UpstreamRequest:
    body = json.dumps(LEAST[names[0]] | fields).encode()
    return translate_request(
        Route(client=names[0], upstream=names[1], **(route or {})), body, {"user-agent": "test"}
    )


# Rows: route, fields of the client's body, and the upstream's values by path; None means that it is absent.
TRANSLATED: tuple[tuple[tuple[str, str], Json, Json], ...] = (
    (OLLAMA, {}, {"model": "qwen3", "options.num_predict": 50, "stream": False, "think": None}),
    (OLLAMA, {}, {"messages": [{"role": "user", "content": "Hi there"}]}),
    (OLLAMA, {"stream": True}, {"stream": True}),
    (OLLAMA, {"stop_sequences": ["a", "b"]}, {"options.stop": ["a", "b"]}),
    (OLLAMA, {"stop_sequences": []}, {"options.stop": None}),
    (OLLAMA, {"top_p": 0.9, "top_k": 4, "temperature": 0}, {"options.top_p": 0.9, "options.top_k": 4}),
    (OLLAMA, {"temperature": 0}, {"options.temperature": 0}),
    (OLLAMA, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, {"think": True}),
    (OLLAMA, {"thinking": {"type": "adaptive"}}, {"think": True}),
    (OLLAMA, {"thinking": {"type": "disabled"}}, {"think": False}),
    (OLLAMA, {"thinking": {"type": "disabled"}, "model": "llama3"}, {"think": None}),
    (OLLAMA, {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}, {"format": SCHEMA}),
    (
        OLLAMA,
        {"tools": [{"name": "f", "description": "F.", "input_schema": SCHEMA}]},
        {
            "tools": [
                {"type": "function", "function": {"name": "f", "description": "F.", "parameters": SCHEMA}}
            ]
        },
    ),
    (
        OLLAMA,
        {"tools": [{"name": "f", "input_schema": SCHEMA}], "tool_choice": {"type": "none"}},
        {"tools": None},
    ),
    (CHAT, {}, {"max_completion_tokens": 50, "stream": False, "reasoning_effort": None}),
    (CHAT, {"stream": True}, {"stream": True, "stream_options.include_usage": True}),
    (CHAT, {"stop_sequences": ["a"], "top_p": 0.5, "top_k": 9}, {"stop": ["a"], "top_p": 0.5, "top_k": None}),
    (CHAT, {"system": "Be."}, {"messages.0": {"role": "system", "content": "Be."}}),
    (CHAT, {"thinking": {"type": "enabled", "budget_tokens": 8000}}, {"reasoning_effort": "medium"}),
    (
        CHAT,
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        {"reasoning_effort": "low"},
    ),
    (CHAT, {"thinking": {"type": "disabled"}}, {"reasoning_effort": "none"}),
    (
        CHAT,
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"response_format.json_schema.schema": SCHEMA, "response_format.type": "json_schema"},
    ),
    (
        CHAT,
        {
            "tools": [{"name": "f", "input_schema": SCHEMA}],
            "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        },
        {"tool_choice": "required", "parallel_tool_calls": False},
    ),
    (MESSAGES, {}, {"max_tokens": 50, "stream": False, "thinking": None}),
    (MESSAGES, {"max_tokens": None}, {"max_tokens": 4096}),
    (MESSAGES, {"stop": "END"}, {"stop_sequences": ["END"]}),
    (MESSAGES, {"stop": ["a", "b"]}, {"stop_sequences": ["a", "b"]}),
    (MESSAGES, {"stop": None, "top_p": 0.5, "user": "u"}, {"top_p": 0.5, "metadata.user_id": "u"}),
    (MESSAGES, {"reasoning_effort": "high"}, {"thinking.type": "adaptive", "output_config.effort": "high"}),
    (MESSAGES, {"reasoning_effort": "none"}, {"thinking.type": "disabled"}),
    (
        MESSAGES,
        {
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
            "reasoning_effort": "low",
        },
        {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}},
    ),
    (MESSAGES, {"response_format": {"type": "json_object"}}, {"output_config": None}),
)


def get_path(body: Any, path: str) -> Any:
    for key in path.split("."):
        body = body[int(key)] if isinstance(body, list) else (body or {}).get(key)
    return body


@pytest.mark.parametrize(("names", "given", "expected"), TRANSLATED)
def test_a_field_is_carried_over(names: tuple[str, str], given: Json, expected: Json) -> None:
    request = translate(names, **given)
    assert {path: get_path(request.body, path) for path in expected} == expected
    assert json.loads(request.content) == request.body


def test_every_route_has_its_parts() -> None:
    assert {api for route in ROUTES for api in route} == set(OPTIONS)
    assert set(UNEXPRESSED_FIELDS) == set(ROUTES)
    assert {client for client, _ in ROUTES} == set(ENDPOINTS)
    assert {upstream for _, upstream in ROUTES} <= set(KEY_HEADERS)


@pytest.mark.parametrize(
    ("names", "path"),
    [(OLLAMA, "/api/chat"), (CHAT, "/v1/chat/completions"), (MESSAGES, "/v1/messages")],
)
def test_no_key_is_sent_unless_it_is_the_upstreams(names: tuple[str, str], path: str) -> None:
    header, form = KEY_HEADERS[names[1]]
    request = translate(names)
    assert (request.method, request.path) == ("POST", path)
    assert header not in request.headers
    assert "user-agent" not in request.headers
    assert request.headers["content-type"] == "application/json"
    assert translate(names, {"key": "k-1"}).headers[header] == form.format(key="k-1")


def test_models_are_mapped_to_the_upstreams() -> None:
    models = {"claude-x": "qwen3:8b", "*": "llama3"}
    for given, named in (("claude-x", "qwen3:8b"), ("claude-y", "llama3")):
        request = translate(OLLAMA, {"models": models}, model=given)
        assert (request.body["model"], request.model) == (named, given)
    assert translate(OLLAMA, {"models": {"claude-x": "m"}}, model="same").body["model"] == "same"


def test_thinking_is_checked_for_the_upstreams_model() -> None:
    thinking = {"thinking": {"type": "adaptive"}, "model": "qwen3"}
    assert translate(OLLAMA, **thinking).wants_thinking
    with pytest.raises(RequestError, match="llama3"):
        translate(OLLAMA, {"models": {"*": "llama3"}}, **thinking)


def test_some_fields_depend_on_the_host() -> None:
    session = {"metadata": {"user_id": "s"}}
    assert translate(CHAT, {"host": "api.openai.com"}, **session).body["prompt_cache_key"] == "s"
    assert "prompt_cache_key" not in translate(CHAT, {"host": "127.0.0.1"}, **session).body


@pytest.mark.parametrize(
    ("names", "wish"),
    [
        (OLLAMA, {"thinking": {"type": "adaptive"}}),
        (CHAT, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (MESSAGES, {"reasoning_effort": "low"}),
    ],
)
def test_thinking_can_be_removed_from_a_request(names: tuple[str, str], wish: Json) -> None:
    request = translate(names, **wish)
    assert request.requests_thinking
    assert remove_thinking(request).body == translate(names).body
    assert not remove_thinking(request).requests_thinking
    assert not translate(names).requests_thinking


def test_fields_next_to_the_effort_stay() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    plain = translate(MESSAGES, response_format=form)
    assert (
        remove_thinking(translate(MESSAGES, response_format=form, reasoning_effort="low")).body == plain.body
    )


def test_fields_that_affect_the_answer_are_kept() -> None:
    request = translate(OLLAMA, stream=True, system="Be kind to everybody.")
    assert (request.stream, request.wants_thinking, request.model) == (True, False, "qwen3")
    assert request.input_tokens == count_tokens({**ANTHROPIC, "system": "Be kind to everybody."}) > 0
    assert translate(OLLAMA, thinking={"type": "adaptive"}).wants_thinking
    assert not translate(OLLAMA, thinking={"type": "adaptive", "display": "omitted"}).wants_thinking
    assert not translate(OLLAMA, thinking={"type": "disabled"}).wants_thinking
    assert translate(MESSAGES, stream=True, stream_options={"include_usage": True}).wants_usage
    assert not translate(MESSAGES, stream=True).wants_usage


def test_a_client_can_request_unchecked_arguments() -> None:
    tool = {"name": "f", "input_schema": SCHEMA}
    assert not translate(CHAT, tools=[tool]).wants_unchecked_arguments
    assert translate(CHAT, tools=[tool, {**tool, "eager_input_streaming": True}]).wants_unchecked_arguments
    body = json.dumps(ANTHROPIC).encode()
    header = {"anthropic-beta": "other-2025-01-01,fine-grained-tool-streaming-2025-05-14"}
    assert translate_request(Route(client=CHAT[0], upstream=CHAT[1]), body, header).wants_unchecked_arguments


@pytest.mark.parametrize(
    ("names", "fields", "words"),
    [
        (OLLAMA, {"stop_sequences": "END"}, "stop_sequences: expected a list"),
        (OLLAMA, {"stop_sequences": [7]}, "stop_sequences: expected a list of strings"),
        (OLLAMA, {"top_k": -1}, "top_k: expected a whole number"),
        (OLLAMA, {"top_p": "much"}, "top_p: expected a number"),
        (MESSAGES, {"stop": [7]}, "stop: expected a string or a list of strings"),
        (MESSAGES, {"stop": {"a": 1}}, "stop: expected a string or a list of strings"),
        (MESSAGES, {"response_format": "json"}, "response_format: expected an object"),
    ],
)
def test_a_field_of_the_wrong_type_is_rejected(names: tuple[str, str], fields: Json, words: str) -> None:
    with pytest.raises(RequestError) as refusal:
        translate(names, **fields)
    assert refusal.value.message.startswith(words)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"a"', b"\xff", b"[" * 500, b"NaN", b"null"])
def test_a_body_that_is_not_an_object_is_rejected(body: bytes) -> None:
    with pytest.raises(RequestError) as refusal:
        translate_request(Route(client=OLLAMA[0], upstream=OLLAMA[1]), body, {})
    assert (refusal.value.status, refusal.value.type) == (400, "invalid_request_error")
    assert refusal.value.message.startswith("the body is not")
