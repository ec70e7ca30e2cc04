"""Requests for all APIs: each option has the API's form, and nothing is added."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamconform_reference.adapter import adapter, build_request

from .conversations import APIS, CITY, IMAGE, NOW, WEATHER, answer, call, request_body, text, user, whole

ANTHROPIC_TOOLS: dict[str, Any] = {
    "tools": [
        {"name": "weather", "description": "Tells the weather.", "input_schema": CITY, "strict": True},
        {"name": "now", "input_schema": {"type": "object", "properties": {}}},
    ]
}
TOOLS: dict[str, Any] = {
    "anthropic-messages": ANTHROPIC_TOOLS,
    "bedrock-invoke": ANTHROPIC_TOOLS,
    "bedrock-converse": {
        "toolConfig": {
            "tools": [
                {
                    "toolSpec": {
                        "name": "weather",
                        "description": "Tells the weather.",
                        "inputSchema": {"json": CITY},
                        "strict": True,
                    }
                },
                {
                    "toolSpec": {
                        "name": "now",
                        "inputSchema": {"json": {"type": "object", "properties": {}}},
                    }
                },
            ]
        }
    },
    "google-generate": {
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "weather", "description": "Tells the weather.", "parametersJsonSchema": CITY},
                    {"name": "now"},
                ]
            }
        ]
    },
    "google-interactions": {
        "tools": [
            {"type": "function", "name": "weather", "description": "Tells the weather.", "parameters": CITY},
            {"type": "function", "name": "now"},
        ]
    },
    "openai-responses": {
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": "Tells the weather.",
                "parameters": CITY,
                "strict": True,
            },
            {
                "type": "function",
                "name": "now",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            },
        ]
    },
    "openai-chat": {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tells the weather.",
                    "parameters": CITY,
                    "strict": True,
                },
            },
            {
                "type": "function",
                "function": {"name": "now", "parameters": {"type": "object", "properties": {}}},
            },
        ]
    },
}
PLAIN: dict[str, Any] = {
    "tools": [
        {
            "type": "function",
            "function": {"name": "weather", "description": "Tells the weather.", "parameters": CITY},
        },
        {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
    ]
}

ONE = {"name": "weather"}
CHOICES: list[tuple[str, Any, Any]] = [
    ("anthropic-messages", "auto", {"tool_choice": {"type": "auto"}}),
    ("anthropic-messages", "none", {"tool_choice": {"type": "none"}}),
    ("anthropic-messages", "required", {"tool_choice": {"type": "any"}}),
    ("anthropic-messages", ONE, {"tool_choice": {"type": "tool", "name": "weather"}}),
    ("openai-chat", "none", {"tool_choice": "none"}),
    ("openai-chat", "required", {"tool_choice": "required"}),
    ("openai-chat", ONE, {"tool_choice": {"type": "function", "function": {"name": "weather"}}}),
    ("openai-responses", "required", {"tool_choice": "required"}),
    ("openai-responses", ONE, {"tool_choice": {"type": "function", "name": "weather"}}),
    ("google-generate", "auto", {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}),
    ("google-generate", "none", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
    ("google-generate", "required", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
    (
        "google-generate",
        ONE,
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}}},
    ),
    ("google-interactions", "required", {"generation_config": {"tool_choice": "any"}}),
    (
        "google-interactions",
        ONE,
        {"generation_config": {"tool_choice": {"allowed_tools": {"mode": "any", "tools": ["weather"]}}}},
    ),
    ("cohere-chat", "auto", {"tool_choice": None}),
    ("cohere-chat", "none", {"tool_choice": "NONE"}),
    ("cohere-chat", "required", {"tool_choice": "REQUIRED"}),
    ("cohere-chat", ONE, {"tool_choice": "REQUIRED", "tools": PLAIN["tools"][:1]}),
    ("ollama-chat", "auto", {"tool_choice": None, "tools": PLAIN["tools"]}),
    ("ollama-chat", "none", {"tool_choice": None, "tools": None}),
    ("ollama-chat", ONE, {"tool_choice": None, "tools": PLAIN["tools"]}),
    ("bedrock-converse", "none", {"toolConfig": None}),
    ("bedrock-invoke", "required", {"tool_choice": {"type": "any"}}),
]

LIMITS: list[tuple[str, dict[str, Any]]] = [
    ("anthropic-messages", {"max_tokens": 100}),
    ("bedrock-converse", {"inferenceConfig": {"maxTokens": 100}}),
    ("bedrock-invoke", {"max_tokens": 100}),
    ("cohere-chat", {"max_tokens": 100}),
    ("google-generate", {"generationConfig": {"maxOutputTokens": 100}}),
    ("google-interactions", {"generation_config": {"max_output_tokens": 100}}),
    ("ollama-chat", {"options": {"num_predict": 100}}),
    ("openai-chat", {"max_completion_tokens": 100, "max_tokens": None}),
    ("openai-responses", {"max_output_tokens": 100}),
]

STREAMED: list[tuple[str, str, str]] = [
    ("anthropic-messages", "/v1/messages", "/v1/messages"),
    (
        "bedrock-converse",
        "/model/anthropic.claude-sonnet-5-5-v1%3A0/converse-stream",
        "/model/anthropic.claude-sonnet-5-5-v1%3A0/converse",
    ),
    (
        "bedrock-invoke",
        "/model/anthropic.claude-sonnet-5-5-v1%3A0/invoke-with-response-stream",
        "/model/anthropic.claude-sonnet-5-5-v1%3A0/invoke",
    ),
    ("cohere-chat", "/v2/chat", "/v2/chat"),
    (
        "google-generate",
        "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        "/v1beta/models/gemini-3-pro:generateContent",
    ),
    ("google-interactions", "/v1beta/interactions", "/v1beta/interactions"),
    ("ollama-chat", "/api/chat", "/api/chat"),
    ("openai-chat", "/v1/chat/completions", "/v1/chat/completions"),
    ("openai-responses", "/v1/responses", "/v1/responses"),
]

SYSTEMS: list[tuple[str, str, Any]] = [
    ("anthropic-messages", "system", "Be brief."),
    ("bedrock-converse", "system", [{"text": "Be brief."}]),
    ("bedrock-invoke", "system", "Be brief."),
    ("google-generate", "systemInstruction", {"parts": [{"text": "Be brief."}]}),
    ("google-interactions", "system_instruction", "Be brief."),
    ("openai-responses", "instructions", "Be brief."),
]


def holds(body: dict[str, Any], fields: dict[str, Any]) -> None:
    """Assert that the body has these fields; None means absent."""
    assert {key: body.get(key) for key in fields} == fields


@pytest.mark.parametrize("api", APIS)
def test_tools_have_their_schemas_and_are_strict_only_on_request(api):
    body = request_body(api, tools=[WEATHER | {"strict": True}, NOW])
    holds(body, TOOLS.get(api, PLAIN))


def test_a_custom_tool_is_a_function_with_one_text_where_there_are_none():
    [tool] = request_body("ollama-chat", tools=[{"name": "run_sql", "format": "text"}])["tools"]
    schema = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    assert tool == {"type": "function", "function": {"name": "run_sql", "parameters": schema}}


@pytest.mark.parametrize(
    ("api", "choice", "fields"), CHOICES, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_choice_of_tools_is_in_the_words_of_the_api(api, choice, fields):
    holds(request_body(api, tools=[WEATHER, NOW], tool_choice=choice), fields)


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("auto", {"auto": {}}), ("required", {"any": {}}), (ONE, {"tool": {"name": "weather"}})],
    ids=str,
)
def test_bedrock_has_an_object_for_each_choice(choice, sent):
    body = request_body("bedrock-converse", tools=[WEATHER], tool_choice=choice)
    assert body["toolConfig"]["toolChoice"] == sent


@pytest.mark.parametrize("api", APIS)
def test_without_tools_there_is_no_word_of_them(api):
    body = request_body(api, tool_choice="required", parallel_tool_calls=False)
    assert not {"tools", "tool_choice", "toolConfig", "parallel_tool_calls"} & body.keys()


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", {"type": "any", "disable_parallel_tool_use": True}),
        ("none", {"type": "none"}),
    ],
    ids=str,
)
def test_at_most_one_call_is_a_field_of_the_choice_at_anthropic(choice, sent):
    more = {} if choice is None else {"tool_choice": choice}
    body = request_body("anthropic-messages", tools=[WEATHER], parallel_tool_calls=False, **more)
    assert body["tool_choice"] == sent
    assert "parallel_tool_calls" not in body


@pytest.mark.parametrize("api", ["openai-chat", "openai-responses"])
def test_at_most_one_call_is_a_field_of_the_body_at_openai(api):
    assert request_body(api, tools=[WEATHER], parallel_tool_calls=False)["parallel_tool_calls"] is False


@pytest.mark.parametrize(("api", "fields"), LIMITS)
def test_a_requested_limit_is_sent(api, fields):
    holds(request_body(api, max_tokens=100), fields)


@pytest.mark.parametrize("api", [api for api in APIS if api not in ("anthropic-messages", "bedrock-invoke")])
def test_no_limit_is_sent_unless_requested_or_required(api):
    assert "okens" not in json.dumps(request_body(api, facts={"max_output_tokens": 64_000}))


@pytest.mark.parametrize(
    ("most", "limit"), [(64_000, 21_333), (128_000, 32_000), (8192, 2730), (2, 1), (None, 4096)]
)
def test_the_limit_that_anthropic_needs_is_a_third_of_the_most_and_never_more_than_32000(most, limit):
    facts = {} if most is None else {"max_output_tokens": most}
    for api in ("anthropic-messages", "bedrock-invoke"):
        assert request_body(api, facts=facts)["max_tokens"] == limit


@pytest.mark.parametrize(("api", "streamed", "document"), STREAMED)
def test_the_path_or_the_body_selects_streaming(api, streamed, document):
    live, still = whole(api), whole(api, stream=False)
    assert (live["path"], still["path"]) == (streamed, document)
    flags = (live["body"].get("stream"), still["body"].get("stream"))
    assert flags == ((True, False) if streamed == document else (None, None))


def test_chat_asks_for_usage_only_in_streams():
    assert request_body("openai-chat")["stream_options"] == {"include_usage": True}
    assert "stream_options" not in request_body("openai-chat", stream=False)


@pytest.mark.parametrize(("api", "key", "value"), SYSTEMS)
def test_the_system_prompt_is_a_field_of_its_own(api, key, value):
    assert request_body(api, system="Be brief.")[key] == value


def test_bedrock_invoke_has_the_body_of_anthropic_with_a_version_and_without_model_and_stream():
    body = request_body("bedrock-invoke", tools=[WEATHER], system="Be brief.", cache="short")
    expected = request_body("anthropic-messages", tools=[WEATHER], system="Be brief.", cache="short")
    assert body.pop("anthropic_version") == "bedrock-2023-05-31"
    assert body == {name: value for name, value in expected.items() if name not in ("model", "stream")}


@pytest.mark.parametrize("api", ["openai-chat", "cohere-chat", "ollama-chat"])
def test_the_system_prompt_is_the_first_message(api):
    assert request_body(api, system="Be brief.")["messages"][0] == {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    ("api", "headers"),
    [
        ("anthropic-messages", {"x-api-key": "conform", "anthropic-version": "2023-06-01"}),
        ("bedrock-converse", {"authorization": "Bearer conform"}),
        ("bedrock-invoke", {"authorization": "Bearer conform"}),
        ("cohere-chat", {"authorization": "Bearer conform"}),
        ("google-generate", {"x-goog-api-key": "conform"}),
        ("google-interactions", {"x-goog-api-key": "conform"}),
        ("ollama-chat", {}),
        ("openai-chat", {"authorization": "Bearer conform"}),
        ("openai-responses", {"authorization": "Bearer conform"}),
    ],
)
def test_the_key_is_in_the_providers_header(api, headers):
    assert whole(api)["headers"] == {"content-type": "application/json", **headers}


@pytest.mark.parametrize("api", APIS)
def test_the_conversation_stays_as_it_was(api):
    given = {
        "model": "m",
        "messages": [user([text("see"), IMAGE]), answer(text("a"), call("call_1")), user()],
        "tools": [WEATHER],
        "cache": "long",
        "system": "s",
    }
    before = json.dumps(given)
    build_request(api, given)
    assert json.dumps(given) == before


def test_the_adapter_claims_requests():
    assert "requests" in adapter.capabilities
    assert vars(adapter)["build_request"] is build_request
