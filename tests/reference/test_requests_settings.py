"""Settings in requests: thinking in the model's form, and fields that only some hosts support."""

from __future__ import annotations

from typing import Any

import pytest

from .conversations import MODELS, WEATHER, answer, call, request_body, result, results, text, thinking, user

ANTHROPIC = "anthropic-messages"
CHAT = "openai-chat"

# API, facts about the model, requested options, fields that are sent (None: absent)
THINKING: list[tuple[str, str | None, Any, dict[str, Any]]] = [
    (ANTHROPIC, "budget", {"budget": 5000}, {"thinking": {"type": "enabled", "budget_tokens": 5000}}),
    (ANTHROPIC, "budget", {"budget": 7}, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    (ANTHROPIC, "budget", {"effort": "low"}, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
    (ANTHROPIC, None, {"budget": 5000}, {"thinking": {"type": "enabled", "budget_tokens": 5000}}),
    (
        ANTHROPIC,
        "adaptive",
        {"effort": "max"},
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
    ),
    (
        ANTHROPIC,
        "adaptive",
        {"budget": 8000},
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}},
    ),
    (
        ANTHROPIC,
        "adaptive",
        {"effort": "minimal"},
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
    ),
    (ANTHROPIC, "adaptive", {}, {"thinking": {"type": "adaptive"}, "output_config": None}),
    (ANTHROPIC, "adaptive", "off", {"thinking": {"type": "disabled"}}),
    (ANTHROPIC, "none", {"effort": "low"}, {"thinking": None, "output_config": None}),
    (ANTHROPIC, "always", {"effort": "low"}, {"thinking": None, "output_config": None}),
    (
        "bedrock-converse",
        "budget",
        {"budget": 5000},
        {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 5000}}},
    ),
    (
        "bedrock-converse",
        "adaptive",
        "off",
        {"additionalModelRequestFields": {"thinking": {"type": "disabled"}}},
    ),
    ("cohere-chat", "budget", {"budget": 500}, {"thinking": {"type": "enabled", "token_budget": 500}}),
    ("cohere-chat", "budget", {}, {"thinking": {"type": "enabled"}}),
    ("cohere-chat", "budget", "off", {"thinking": {"type": "disabled"}}),
    (
        "google-generate",
        "budget",
        {"budget": 500},
        {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 500}}},
    ),
    (
        "google-generate",
        "budget",
        {},
        {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": -1}}},
    ),
    ("google-generate", "budget", "off", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
    (
        "google-generate",
        "effort",
        {"effort": "max"},
        {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"}}},
    ),
    (
        "google-generate",
        "effort",
        "off",
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "MINIMAL"}}},
    ),
    ("ollama-chat", "budget", {"effort": "low"}, {"think": True}),
    ("ollama-chat", "effort", {"effort": "high"}, {"think": "high"}),
    ("ollama-chat", "effort", {"effort": "minimal"}, {"think": "low"}),
    ("ollama-chat", "budget", "off", {"think": False}),
    ("ollama-chat", "none", {"effort": "low"}, {"think": None}),
    (CHAT, "effort", {"effort": "high"}, {"reasoning_effort": "high"}),
    (CHAT, "effort", {"budget": 9000}, {"reasoning_effort": "high"}),
    (CHAT, "effort", "off", {"reasoning_effort": "none"}),
    (CHAT, "effort", {}, {"reasoning_effort": None}),
    ("openai-responses", "effort", {"effort": "low"}, {"reasoning": {"effort": "low", "summary": "auto"}}),
    ("openai-responses", "effort", "off", {"reasoning": {"effort": "none"}}),
    *((api, "effort", None, {"thinking": None, "reasoning": None, "think": None}) for api in MODELS),
]

HOSTS: list[tuple[str, Any, dict[str, Any]]] = [
    ("openrouter.ai", {"effort": "high"}, {"reasoning": {"effort": "high"}, "reasoning_effort": None}),
    ("openrouter.ai", {"budget": 900}, {"reasoning": {"max_tokens": 900}}),
    ("openrouter.ai", {}, {"reasoning": {"enabled": True}}),
    ("openrouter.ai", "off", {"reasoning": {"effort": "none"}}),
    ("api.deepseek.com", {"effort": "high"}, {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
    ("api.z.ai", {"effort": "high"}, {"thinking": {"type": "enabled"}, "reasoning_effort": None}),
    ("api.moonshot.ai", "off", {"thinking": {"type": "disabled"}, "reasoning_effort": None}),
]


@pytest.mark.parametrize(("api", "by", "wish", "fields"), THINKING)
def test_thinking_options_have_the_form_of_the_model(api, by, wish, fields):
    more: dict[str, Any] = {} if wish is None else {"thinking": wish}
    if by is not None:
        more["facts"] = {"thinking": by, "max_output_tokens": 64_000}
    body = request_body(api, **more)
    if "inferenceConfig" in body:
        assert body["inferenceConfig"]["maxTokens"] > 5000
    assert {key: body.get(key) for key in fields} == fields


@pytest.mark.parametrize(("host", "wish", "fields"), HOSTS)
def test_thinking_options_have_the_form_of_the_host(host, wish, fields):
    body = request_body(CHAT, thinking=wish, facts={"host": host})
    assert {key: body.get(key) for key in fields} == fields


@pytest.mark.parametrize(
    ("more", "limit", "budget"),
    [
        ({"max_tokens": 4000}, 4000, 3999),
        ({"max_tokens": 1025}, 1025, 1024),
        ({"max_tokens": 1024}, 1024, None),
        ({"facts": {"max_output_tokens": 30_000, "thinking": "budget"}}, 30_000, 20_000),
        ({"facts": {"max_output_tokens": 20_000, "thinking": "budget"}}, 20_000, 19_999),
    ],
)
def test_the_budget_is_less_than_the_limit_or_there_is_no_thinking(more, limit, budget):
    body = request_body(ANTHROPIC, thinking={"budget": 20_000}, **more)
    assert (body["max_tokens"], body.get("thinking", {}).get("budget_tokens")) == (limit, budget)


@pytest.mark.parametrize("api", [ANTHROPIC, "bedrock-converse"])
@pytest.mark.parametrize(
    ("wish", "by", "sent"),
    [
        (None, None, True),
        ("off", "budget", True),
        ({"budget": 2000}, "budget", False),
        (None, "adaptive", False),
    ],
    ids=str,
)
def test_claude_gets_no_temperature_beside_thinking(api, wish, by, sent):
    more: dict[str, Any] = {} if wish is None else {"thinking": wish}
    body = request_body(api, temperature=0.5, facts={"thinking": by} if by else {}, **more)
    assert ("temperature" in body or "temperature" in body.get("inferenceConfig", {})) is sent


def test_anthropic_gets_no_thinking_option_with_a_forced_call():
    body = request_body(ANTHROPIC, tools=[WEATHER], tool_choice="required", thinking={"budget": 2000})
    assert "thinking" not in body


MARK = {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("cache", "host", "mark"),
    [
        (None, "api.anthropic.com", None),
        ("none", "api.anthropic.com", None),
        ("short", "api.anthropic.com", MARK),
        ("long", "api.anthropic.com", MARK | {"ttl": "1h"}),
        ("long", "gateway.example", MARK),
    ],
)
def test_the_cache_ends_with_the_system_prompt_and_the_last_block_of_the_user(cache, host, mark):
    more = {} if cache is None else {"cache": cache}
    messages = (user("one"), answer(call("a")), results(result("a")), user([text("two"), text("three")]))
    body = request_body(ANTHROPIC, *messages, answer(text("pre")), system="s", facts={"host": host}, **more)
    system = {"type": "text", "text": "s"}
    assert body["system"] == ("s" if mark is None else [system | {"cache_control": mark}])
    marked = [
        block
        for message in body["messages"]
        for block in message["content"]
        if block.get("cache_control") is not None
    ]
    last = {"type": "text", "text": "three"}
    assert marked == ([] if mark is None else [last | {"cache_control": mark}])


def test_bedrock_marks_the_cache_with_a_block():
    body = request_body("bedrock-converse", system="s", cache="short")
    point = {"cachePoint": {"type": "default"}}
    assert (body["system"][-1], body["messages"][0]["content"][-1]) == (point, point)


@pytest.mark.parametrize("api", [CHAT, "openai-responses"])
@pytest.mark.parametrize(
    ("cache", "host", "key", "retention"),
    [
        (None, "api.openai.com", "s1", None),
        ("none", "api.openai.com", None, None),
        ("short", "api.openai.com", "s1", None),
        ("long", "api.openai.com", "s1", "24h"),
        ("long", None, "s1", None),
        ("long", "api.groq.com", None, None),
        ("long", "notopenai.com", None, None),
    ],
)
def test_the_session_is_the_key_of_the_cache_at_openai(api, cache, host, key, retention):
    more = {} if cache is None else {"cache": cache}
    body = request_body(api, session="s1", facts={"host": host} if host else {}, **more)
    assert (body.get("prompt_cache_key"), body.get("prompt_cache_retention")) == (key, retention)


@pytest.mark.parametrize(
    ("host", "stored"),
    [
        ("api.openai.com", False),
        ("eu.api.openai.com:443", False),
        *((host, None) for host in ("api.cerebras.ai", "api.x.ai", "llm.chutes.ai", "api.deepseek.com")),
    ],
)
def test_store_is_sent_to_openai_only(host, stored):
    assert request_body(CHAT, facts={"host": host}).get("store") is stored


@pytest.mark.parametrize(("by", "include"), [("effort", True), (None, True), ("none", False)])
def test_responses_are_not_stored_and_their_reasoning_is_requested(by, include):
    body = request_body("openai-responses", facts={"thinking": by} if by else {})
    assert body["store"] is False
    assert (body.get("include") == ["reasoning.encrypted_content"]) is include


@pytest.mark.parametrize("host", ["llm.chutes.ai", "api.mistral.ai", "api.deepseek.com"])
def test_hosts_that_know_the_older_name_of_the_limit_get_that(host):
    body = request_body(CHAT, max_tokens=9, facts={"host": host})
    assert (body.get("max_tokens"), body.get("max_completion_tokens")) == (9, None)


@pytest.mark.parametrize(
    ("facts", "role"),
    [
        ({"host": "api.openai.com", "thinking": "effort"}, "developer"),
        ({"host": "api.openai.com", "thinking": "none"}, "system"),
        ({"host": "api.openai.com"}, "system"),
        ({"host": "api.deepseek.com", "thinking": "effort"}, "system"),
    ],
    ids=str,
)
def test_the_developer_speaks_to_openais_models_that_think(facts, role):
    assert request_body(CHAT, system="s", facts=facts)["messages"][0]["role"] == role


@pytest.mark.parametrize(
    ("host", "field", "value"),
    [
        ("api.deepseek.com", "reasoning_content", "hm"),
        (
            "openrouter.ai",
            "reasoning_details",
            [{"type": "reasoning.text", "text": "hm", "signature": "c2ln"}],
        ),
        ("api.openai.com", "reasoning_content", None),
        ("api.groq.com", "reasoning_content", None),
    ],
)
def test_chat_sends_thinking_back_only_to_hosts_that_accept_it(host, field, value):
    blocks = answer(thinking("hm", "c2ln"), call("a"))
    sent = request_body(CHAT, user(), blocks, results(result("a")), facts={"host": host})["messages"][1]
    assert sent.get(field) == value


@pytest.mark.parametrize("api", [CHAT, "openai-responses"])
@pytest.mark.parametrize(
    ("facts", "wish", "sent"),
    [
        ({}, None, True),
        ({"thinking": "effort"}, None, True),
        ({"thinking": "effort"}, "off", True),
        ({"thinking": "effort"}, {"effort": "low"}, False),
        ({"thinking": "always"}, None, False),
        ({"thinking": "effort", "host": "localhost:8080"}, {"effort": "low"}, True),
    ],
)
def test_models_of_openai_get_a_temperature_only_while_they_do_not_think(api, facts, wish, sent):
    body = request_body(api, temperature=0.5, facts=facts, **({"thinking": wish} if wish else {}))
    assert ("temperature" in body) is sent


def test_a_cache_key_is_short_and_unique_per_session():
    keys = [request_body(CHAT, session=f"{'long' * 20}-{n}")["prompt_cache_key"] for n in range(2)]
    assert keys[0] != keys[1]
    assert all(len(key) <= 64 for key in keys)
    assert request_body(CHAT, session="s" * 64)["prompt_cache_key"] == "s" * 64


@pytest.mark.parametrize("api", MODELS)
def test_the_limit_is_capped_at_the_models_maximum(api):
    body = request_body(api, max_tokens=100_000, facts={"max_output_tokens": 8192})
    assert "8192" in str(body)
    assert "100000" not in str(body)


@pytest.mark.parametrize(("wish", "empty"), [({"effort": "high"}, True), ("off", False), (None, False)])
def test_deepseek_gets_reasoning_content_at_calls_while_it_thinks(wish, empty):
    turns = (user(), answer(call("a")), results(result("a")))
    facts = {"host": "api.deepseek.com"}
    body = request_body(CHAT, *turns, facts=facts, **({"thinking": wish} if wish else {}))
    assert (body["messages"][1].get("reasoning_content") == "") is empty


TOOLS = [WEATHER, {"name": "now", "parameters": {}}]
ALLOWED = {"allowed": ["weather"], "mode": "required"}


@pytest.mark.parametrize(
    "api", ["anthropic-messages", "bedrock-converse", "bedrock-invoke", "cohere-chat", "ollama-chat"]
)
def test_only_the_allowed_tools_are_sent_where_the_api_has_no_list_of_them(api):
    sent = request_body(api, tools=TOOLS, tool_choice=ALLOWED)
    assert "weather" in str(sent)
    assert "now" not in str(sent)


@pytest.mark.parametrize("api", MODELS)
def test_a_file_that_an_api_cannot_take_is_named_in_a_text(api):
    film = {"type": "audio", "media_type": "audio/midi", "file_id": "f"}
    sent = str(request_body(api, user([film, text("What is it?")])))
    takes = api in ("google-generate", "google-interactions")
    assert ("(audio of type audio/midi is left out)" in sent) is not takes


@pytest.mark.parametrize("api", MODELS)
def test_instructions_between_messages_are_never_lost(api):
    for accepted in (True, False):
        sent = request_body(
            api, user(), {"role": "system", "content": "Be brief."}, facts={"system_messages": accepted}
        )
        assert "Be brief." in str(sent)


def test_a_budget_that_is_closest_to_xhigh_is_not_sent_as_that_level():
    body = request_body(ANTHROPIC, thinking={"budget": 20_000}, facts={"thinking": "adaptive"})
    assert body["output_config"] == {"effort": "max"}


def test_documents_with_the_same_title_have_different_names_at_bedrock():
    document = {"type": "document", "media_type": "application/pdf", "data": "AA==", "title": "A: b"}
    (message,) = request_body("bedrock-converse", user([document, document, text("?")]))["messages"]
    assert [block["document"]["name"] for block in message["content"][:2]] == ["A b", "A b 2"]
