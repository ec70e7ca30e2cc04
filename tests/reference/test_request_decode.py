"""Reading a client's request gives the conversation from which it was built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from streamconform.model.case import CallCase
from streamconform.schemas import find_problems
from streamconform.suite.load import Sources, collect
from streamconform_reference.apis import REQUEST_BUILDERS, REQUEST_READERS
from streamconform_reference.requests.errors import RequestError

from ..for_each import for_each
from .conversations import CITY, IMAGE, IMAGE_URL

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
ANTHROPIC, OPENAI, OTHER = "anthropic-messages", "openai-chat", "ollama-chat"


# The readers serve the proxy, which passes settings on from body to body, and rejects what it cannot pass on.
NOT_READ = ("requests-custom", "requests-files", "requests-settings", "requests-versions")


def cases() -> dict[str, CallCase]:
    files = [
        path
        for api in REQUEST_READERS
        for path in sorted((ROOT / "specs" / api).glob("requests*.yaml"))
        if path.stem not in NOT_READ
    ]
    loaded = collect(Sources(ROOT / "specs", ROOT / "cassettes"), files)
    assert not loaded.problems
    return {case.id: case for case in loaded.cases if isinstance(case, CallCase) and case.kind == "request"}


CASES = cases()

# Cases whose conversation has a different form after being written as a request and read again, and why.
TOLD_OTHERWISE: Mapping[str, str] = {
    "anthropic-messages/requests-history/blank-text-alone": "blank text is not sent",
    "anthropic-messages/requests-history/blank-text-beside-a-call": "blank text is not sent",
    "anthropic-messages/requests-history/answer-of-nothing": "messages of one role in a row are one message",
    "anthropic-messages/requests/user-texts-in-a-row": "messages of one role in a row are one message",
    "anthropic-messages/requests-thinking/no-room-for-a-budget": "a limit too small for thinking is without",
    "anthropic-messages/requests-thoughts/thought-without-signature": "unsigned thinking is not sent",
    "anthropic-messages/requests-thoughts/empty-signature": "unsigned thinking is not sent",
    "openai-chat/requests-history/result-with-an-image": "images of results are shown in a user's message",
    "openai-chat/requests-history/text-beside-an-image-of-a-tool": "images of results are shown in a user's",
    "openai-chat/requests-history/long-id-of-another-api": "an id that is too long is respelled",
}

# Cases whose request loses something if it is read, and what.
READ_IN_PART: Mapping[str, str] = {
    "openai-chat/requests-vendors/reasoning-details-back-to-openrouter": "the type and id of a detail",
}


def read(case: CallCase) -> Json:
    """Return the conversation in a case's request, with the same facts."""
    request = REQUEST_BUILDERS[case.api](case.input)
    body = json.loads(json.dumps(request["body"]))
    facts = {"facts": case.input["facts"]} if "facts" in case.input else {}
    return {**REQUEST_READERS[case.api](body, request["headers"]), **facts}


def as_third_request(conversation: Json) -> Json:
    """Return the conversation as a request to a third API, without the builder's default limits."""
    messages = [
        {key: value for key, value in message.items() if key != "api"} for message in conversation["messages"]
    ]
    body: Json = REQUEST_BUILDERS[OTHER]({**conversation, "messages": messages})["body"]
    body.pop("options", None)
    return body


def test_there_are_cases() -> None:
    assert len(CASES) >= 100
    assert set(TOLD_OTHERWISE) <= set(CASES)


@for_each("name", CASES)
def test_a_request_read_and_built_again_is_the_same_request(name: str) -> None:
    case = CASES[name]
    conversation = read(case)
    assert find_problems("conversation.v1", conversation) == ()
    same = REQUEST_BUILDERS[case.api](conversation) == REQUEST_BUILDERS[case.api](case.input)
    assert same == (name not in READ_IN_PART), READ_IN_PART.get(name)


@for_each("name", CASES)
def test_a_request_keeps_its_meaning_for_another_api(name: str) -> None:
    same = as_third_request(read(CASES[name])) == as_third_request(CASES[name].input)
    assert same == (name not in TOLD_OTHERWISE), TOLD_OTHERWISE.get(name)


# Rows: fields of the body beyond the minimum, and the resulting fields of the conversation.

LEAST: Mapping[str, Json] = {
    ANTHROPIC: {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    OPENAI: {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
}
SCHEMA = {"type": "object", "properties": {}}
USE = {"type": "tool_use", "id": "t1", "name": "now", "input": {}}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "now", "arguments": '{"a":1}'}}],
}
CALL = {
    "type": "tool_call",
    "id": "t1",
    "name": "now",
    "arguments": {},
    "arguments_text": None,
    "complete": True,
    "executor": "client",
}


def thinks(signature: str | None, text: str = "", *, redacted: bool = False) -> Json:
    return {"type": "thinking", "text": text, "signature": signature, "redacted": redacted}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def answer(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def came(**fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": "t1", **fields}


def results(content: Any, **fields: Any) -> Json:
    return {"role": "tool", "results": [{"id": "t1", "name": "now", "content": content, **fields}]}


IMAGE_BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}}
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

SETTINGS: tuple[tuple[str, Json, Json], ...] = (
    (ANTHROPIC, {}, {"max_tokens": 9, "stream": False}),
    (ANTHROPIC, {"stream": True, "temperature": 0.5}, {"stream": True, "temperature": 0.5}),
    (ANTHROPIC, {"stream": None, "temperature": None, "tools": None, "thinking": None}, {"stream": False}),
    (ANTHROPIC, {"system": "Be."}, {"system": "Be."}),
    (
        ANTHROPIC,
        {"system": [text_block("One."), text_block(""), text_block("Two.")]},
        {"system": "One.\n\nTwo."},
    ),
    (ANTHROPIC, {"metadata": {"user_id": "u"}}, {"session": "u"}),
    (ANTHROPIC, {"thinking": {"type": "disabled"}}, {"thinking": "off"}),
    (ANTHROPIC, {"thinking": {"type": "enabled", "budget_tokens": 2048}}, {"thinking": {"budget": 2048}}),
    (ANTHROPIC, {"thinking": {"type": "adaptive"}}, {"thinking": {}}),
    (
        ANTHROPIC,
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}},
        {"thinking": {"effort": "max"}},
    ),
    (ANTHROPIC, {"tool_choice": {"type": "any"}}, {"tool_choice": "required"}),
    (ANTHROPIC, {"tool_choice": {"type": "none"}}, {"tool_choice": "none"}),
    (ANTHROPIC, {"tool_choice": {"type": "tool", "name": "now"}}, {"tool_choice": {"name": "now"}}),
    (
        ANTHROPIC,
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        {"tool_choice": "auto", "parallel_tool_calls": False},
    ),
    (
        ANTHROPIC,
        {
            "tools": [
                {"type": "custom", "name": "w", "description": "D", "input_schema": CITY, "strict": True}
            ]
        },
        {"tools": [{"name": "w", "description": "D", "parameters": CITY, "strict": True}]},
    ),
    (ANTHROPIC, {"system": [{**text_block("One."), **MARK}]}, {"cache": "short"}),
    (ANTHROPIC, {"tools": [{"name": "w", "input_schema": SCHEMA, **HOUR}], **MARK}, {"cache": "long"}),
    (ANTHROPIC, {"messages": [user({**text_block("a"), **MARK})]}, {"cache": "short"}),
    (
        ANTHROPIC,
        {"messages": [user(text_block("a")), answer(USE), user(came(content=[{**text_block("1"), **HOUR}]))]},
        {"cache": "long"},
    ),
    (OPENAI, {}, {"stream": False}),
    (OPENAI, {"stream": True, "temperature": 1, "n": 1}, {"stream": True, "temperature": 1}),
    (OPENAI, {"max_tokens": 5}, {"max_tokens": 5}),
    (OPENAI, {"max_tokens": 5, "max_completion_tokens": 7}, {"max_tokens": 7}),
    (OPENAI, {"reasoning_effort": "none"}, {"thinking": "off"}),
    (OPENAI, {"reasoning_effort": "low"}, {"thinking": {"effort": "low"}}),
    (OPENAI, {"thinking": {"type": "disabled"}}, {"thinking": "off"}),
    (OPENAI, {"thinking": {"type": "enabled"}}, {"thinking": {}}),
    (
        OPENAI,
        {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        {"thinking": {"effort": "high"}},
    ),
    (OPENAI, {"reasoning": {"max_tokens": 99}}, {"thinking": {"budget": 99}}),
    (OPENAI, {"reasoning": {"enabled": False}}, {"thinking": "off"}),
    (OPENAI, {"prompt_cache_key": "s", "prompt_cache_retention": "24h"}, {"session": "s", "cache": "long"}),
    (OPENAI, {"tool_choice": "required"}, {"tool_choice": "required"}),
    (
        OPENAI,
        {"tool_choice": {"type": "function", "function": {"name": "now"}}, "parallel_tool_calls": False},
        {"tool_choice": {"name": "now"}, "parallel_tool_calls": False},
    ),
    (
        OPENAI,
        {"tools": [{"type": "function", "function": {"name": "now", "strict": False}}]},
        {"tools": [{"name": "now", "parameters": {}, "strict": False}]},
    ),
)

MESSAGES: tuple[tuple[str, list[Json], list[Json]], ...] = (
    (
        ANTHROPIC,
        [user(text_block("See:"), IMAGE_BLOCK)],
        [{"role": "user", "content": [text_block("See:"), IMAGE]}],
    ),
    (
        ANTHROPIC,
        [user({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Doc"}})],
        [{"role": "user", "content": [text_block("Doc")]}],
    ),
    (
        ANTHROPIC,
        [
            user(
                {
                    "type": "search_result",
                    "source": "s",
                    "title": "t",
                    "content": [text_block("One"), text_block("Two")],
                }
            )
        ],
        [{"role": "user", "content": [text_block("One"), text_block("Two")]}],
    ),
    (
        ANTHROPIC,
        [
            user(text_block("Go")),
            answer({"type": "thinking", "thinking": "Hm", "signature": "c2ln"}, text_block("Now."), USE),
            user(came(content="9:00"), text_block("And?")),
        ],
        [
            {"role": "user", "content": [text_block("Go")]},
            answer(thinks("c2ln", "Hm"), text_block("Now."), CALL),
            results("9:00"),
            {"role": "user", "content": [text_block("And?")]},
        ],
    ),
    (
        ANTHROPIC,
        [
            user(text_block("Go")),
            answer(USE),
            user(text_block("first"), came(content=[text_block("1"), IMAGE_BLOCK], is_error=True)),
        ],
        [
            {"role": "user", "content": [text_block("Go")]},
            answer(CALL),
            results([text_block("1"), IMAGE], error=True),
            {"role": "user", "content": [text_block("first")]},
        ],
    ),
    (
        ANTHROPIC,
        [user(text_block("Go")), answer(USE), user(came())],
        [{"role": "user", "content": [text_block("Go")]}, answer(CALL), results("")],
    ),
    (
        ANTHROPIC,
        [user(text_block("Go")), answer({"type": "redacted_thinking", "data": "b3Bh"}, text_block("Ok"))],
        [
            {"role": "user", "content": [text_block("Go")]},
            answer(thinks("b3Bh", redacted=True), text_block("Ok")),
        ],
    ),
    (
        ANTHROPIC,
        [user(text_block("Go")), {"role": "assistant", "content": "Ok"}],
        [{"role": "user", "content": [text_block("Go")]}, answer(text_block("Ok"))],
    ),
    (
        OPENAI,
        [
            {
                "role": "user",
                "content": [text_block("See:"), {"type": "image_url", "image_url": {"url": IMAGE_URL}}],
            }
        ],
        [{"role": "user", "content": [text_block("See:"), IMAGE]}],
    ),
    (
        OPENAI,
        [
            {"role": "user", "content": "Go"},
            CALLED,
            {"role": "tool", "tool_call_id": "c1", "content": '{"t":9}'},
        ],
        [
            {"role": "user", "content": "Go"},
            answer({**CALL, "id": "c1", "arguments": {"a": 1}, "arguments_text": '{"a":1}'}),
            {"role": "tool", "results": [{"id": "c1", "name": "now", "content": '{"t":9}'}]},
        ],
    ),
    (
        OPENAI,
        [
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": [text_block("Ok"), {"type": "refusal", "refusal": "No"}]},
            {"role": "assistant", "reasoning_content": "Hm", "content": "Yes", "refusal": "Never"},
        ],
        [
            {"role": "user", "content": "Go"},
            answer(text_block("Ok"), {"type": "refusal", "text": "No"}),
            answer(thinks(None, "Hm"), text_block("Yes"), {"type": "refusal", "text": "Never"}),
        ],
    ),
)


def conversation(api: str, **fields: Any) -> Json:
    requested = REQUEST_READERS[api](LEAST[api] | fields, {})
    assert find_problems("conversation.v1", requested) == ()
    return requested


@pytest.mark.parametrize(("api", "given", "expected"), SETTINGS)
def test_a_setting_is_read(api: str, given: Json, expected: Json) -> None:
    requested = conversation(api, **given)
    assert {key: requested.get(key) for key in expected} == expected
    for key in ("thinking", "tools", "tool_choice", "parallel_tool_calls", "cache", "session", "system"):
        assert key in expected or key not in requested or key in given


@pytest.mark.parametrize(("api", "given", "expected"), MESSAGES)
def test_messages_are_read(api: str, given: list[Json], expected: list[Json]) -> None:
    assert conversation(api, messages=given)["messages"] == expected


def test_arguments_that_are_no_json_stay_a_text() -> None:
    broken = json.loads(json.dumps(CALLED).replace(r"{\"a\":1}", "{broken"))
    requested = conversation(OPENAI, messages=[*LEAST[OPENAI]["messages"], broken])
    [call] = requested["messages"][1]["content"]
    assert (call["arguments"], call["arguments_text"]) == (None, "{broken")


def test_system_messages_at_any_place_become_one_prompt() -> None:
    messages = [
        {"role": "system", "content": "One."},
        {"role": "user", "content": "Hi"},
        {"role": "developer", "content": [text_block("Two.")]},
    ]
    requested = conversation(OPENAI, messages=messages)
    assert requested["system"] == "One.\n\nTwo."
    assert [message["role"] for message in requested["messages"]] == ["user"]


def test_adjacent_results_belong_to_one_answer() -> None:
    two = json.loads(json.dumps(CALLED))
    two["tool_calls"].append({**two["tool_calls"][0], "id": "c2"})
    came = [{"role": "tool", "tool_call_id": each, "content": each} for each in ("c2", "c1")]
    requested = conversation(OPENAI, messages=[*LEAST[OPENAI]["messages"], two, *came])
    assert [result["id"] for result in requested["messages"][-1]["results"]] == ["c2", "c1"]


# Rows: fields of the body, and the beginning of the refusal.

REFUSALS: tuple[tuple[str, Json, str], ...] = (
    (ANTHROPIC, {"model": None}, "model: this field is required"),
    (ANTHROPIC, {"model": 7}, "model: expected text that is not empty, got `7`"),
    (ANTHROPIC, {"max_tokens": None}, "max_tokens: this field is required"),
    (ANTHROPIC, {"max_tokens": 0}, "max_tokens: expected 1 or more"),
    (ANTHROPIC, {"max_tokens": "9"}, "max_tokens: expected a whole number"),
    (ANTHROPIC, {"max_tokens": True}, "max_tokens: expected a whole number"),
    (ANTHROPIC, {"messages": None}, "messages: this field is required"),
    (ANTHROPIC, {"messages": []}, "messages: at least one message"),
    (ANTHROPIC, {"messages": ["Hi"]}, "messages.0: expected an object"),
    (
        ANTHROPIC,
        {"messages": [{"role": "system", "content": "Hi"}]},
        "messages.0.role: expected one of `user`",
    ),
    (ANTHROPIC, {"messages": [{"role": "user"}]}, "messages.0.content: this field is required"),
    (ANTHROPIC, {"messages": [{"role": "user", "content": 7}]}, "messages.0.content: expected a list"),
    (ANTHROPIC, {"messages": [user()]}, "messages.0.content: at least one block"),
    (ANTHROPIC, {"messages": [user({"type": "text"})]}, "messages.0.content.0.text: this field is required"),
    (
        ANTHROPIC,
        {"messages": [user({"type": "audio"})]},
        "messages.0.content.0.type: a block of type `audio`",
    ),
    (
        ANTHROPIC,
        {"messages": [user({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}})]},
        "messages.0.content.0.source.type: the image of a source of type `url`, not `base64`",
    ),
    (
        ANTHROPIC,
        {"messages": [user({"type": "document", "source": {"type": "base64", "data": "JVBERi0="}})]},
        "messages.0.content.0.source.type: the document of a source of type `base64`, not `text`",
    ),
    (
        ANTHROPIC,
        {"messages": [user(came())]},
        "messages.0.content.0.tool_use_id: no earlier `tool_use` has the id `t1`",
    ),
    (
        ANTHROPIC,
        {"messages": [answer({**USE, "input": "{}"})]},
        "messages.0.content.0.input: expected an object",
    ),
    (ANTHROPIC, {"tools": {}}, "tools: expected a list"),
    (ANTHROPIC, {"tools": [{"name": "w"}]}, "tools.0.input_schema: this field is required"),
    (
        ANTHROPIC,
        {"tools": [{"type": "web_search_20250305", "name": "w"}]},
        "tools.0.type: `web_search_20250305`",
    ),
    (ANTHROPIC, {"tool_choice": {"type": "some"}}, "tool_choice.type: expected one of `auto`"),
    (ANTHROPIC, {"tool_choice": "auto"}, "tool_choice: expected an object"),
    (ANTHROPIC, {"thinking": {"type": "enabled"}}, "thinking.budget_tokens: this field is required"),
    (ANTHROPIC, {"thinking": {"type": "hard"}}, "thinking.type: expected one of `disabled`"),
    (ANTHROPIC, {"thinking": True}, "thinking: expected an object"),
    (ANTHROPIC, {"stream": "yes"}, "stream: expected true or false"),
    (ANTHROPIC, {"temperature": "hot"}, "temperature: expected a number"),
    (ANTHROPIC, {"system": 7}, "system: expected a list"),
    (OPENAI, {"model": ""}, "model: expected text that"),
    (OPENAI, {"messages": []}, "messages: at least one message"),
    (OPENAI, {"messages": [{"role": "system", "content": "Hi"}]}, "messages: at least one message"),
    (OPENAI, {"messages": [{"role": "robot", "content": "Hi"}]}, "messages.0.role: expected one of `system`"),
    (OPENAI, {"messages": [{"role": "user", "content": None}]}, "messages.0.content: this field is required"),
    (
        OPENAI,
        {"messages": [user({"type": "image_url", "image_url": {"url": "https://x/y.png"}})]},
        "messages.0.content.0.image_url.url: an image that is not a base64 `data:` URL",
    ),
    (OPENAI, {"messages": [user({"type": "input_audio"})]}, "messages.0.content.0.type: a part of type"),
    (
        OPENAI,
        {"messages": [{"role": "tool", "tool_call_id": "c9", "content": "1"}]},
        "messages.0.tool_call_id: no earlier call has the id `c9`",
    ),
    (OPENAI, {"n": 2}, "n: more than one answer"),
    (OPENAI, {"tools": [{"type": "custom"}]}, "tools.0.type: a tool of type `custom`"),
    (OPENAI, {"tool_choice": "any"}, "tool_choice: expected one of `none`"),
    (OPENAI, {"tool_choice": {"type": "allowed_tools"}}, "tool_choice.type: a choice of type"),
    (OPENAI, {"reasoning_effort": "huge"}, "reasoning_effort: expected one of `none`"),
    (OPENAI, {"max_tokens": -1}, "max_tokens: expected a whole number"),
)


@pytest.mark.parametrize(("api", "given", "words"), REFUSALS)
def test_a_refusal_names_the_field(api: str, given: Json, words: str) -> None:
    with pytest.raises(RequestError) as refusal:
        REQUEST_READERS[api](LEAST[api] | given, {})
    assert (refusal.value.status, refusal.value.type) == (400, "invalid_request_error")
    assert refusal.value.message.startswith(words)
