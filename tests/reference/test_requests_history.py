"""Answers in requests: every block is sent back unchanged and in order, if the model may read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from streamconform_reference.adapter import build_request
from streamconform_reference.apis import DECODERS
from streamconform_reference.requests.conversation import RequestCallIds

from ..for_each import for_each
from .conversations import (
    APIS,
    answer,
    call,
    other,
    request_body,
    request_messages,
    result,
    results,
    text,
    thinking,
    user,
)
from .samples import SAMPLES

STREAMS = [pytest.param(api, name, id=f"{api}-{name}") for api, each in SAMPLES.items() for name in each]
IN_ORDER = (
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    "google-interactions",
    "openai-responses",
)
OBJECTS = (
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "google-generate",
    "google-interactions",
    "ollama-chat",
)
TEXTS = ("cohere-chat", "openai-chat", "openai-responses")


def content(api: str, *blocks: dict[str, Any], **more: Any) -> Any:
    """Return an answer with these blocks in a request, after the user's text."""
    sent = request_messages(api, user(), answer(*blocks), user("go on"), **more)
    match api:
        case "openai-responses" | "google-interactions":
            return sent[1:-1]
        case "google-generate":
            return sent[1]["parts"]
        case "anthropic-messages" | "bedrock-converse" | "bedrock-invoke":
            return sent[1]["content"]
        case _:
            return sent[1]


def leaves(value: Any) -> Iterator[Any]:
    """Yield the texts in a JSON value, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


@for_each(("api", "name"), STREAMS)
def test_the_blocks_of_an_outcome_are_sent_back_in_order(api, name):
    decoder = DECODERS[api](status=200)
    decoder.receive_data(SAMPLES[api][name])
    decoder.receive_eof()
    blocks = decoder.outcome.to_json()["content"]
    conversation = {"model": "m", "messages": [user(), answer(*blocks), user("go on")]}
    sent = list(leaves(build_request(api, conversation)["body"]))
    words = [
        block["name"] if block["type"] == "tool_call" else block["text"]
        for block in blocks
        if (block["type"] == "tool_call" and block["complete"] and block["executor"] == "client")
        or (block["type"] == "text" and block["text"].strip())
    ]
    if api in IN_ORDER:
        rest = iter(sent)
        assert all(word in rest for word in words)
    else:
        assert all(any(word in str(leaf) for leaf in sent) for word in words)


def test_anthropic_gets_thinking_back_unchanged_and_in_place():
    blocks = (
        thinking("first", "c2ln/+=="),
        call("toolu_1"),
        thinking("", "b25seQ=="),
        thinking("", "b3BhcXVl", redacted=True),
        call("toolu_2"),
    )
    assert content("anthropic-messages", *blocks) == [
        {"type": "thinking", "thinking": "first", "signature": "c2ln/+=="},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Metz"}},
        {"type": "thinking", "thinking": "", "signature": "b25seQ=="},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Metz"}},
    ]


def test_bedrock_gets_reasoning_back():
    blocks = (thinking("first", "c2ln"), thinking("", "b3BhcXVl", redacted=True), text("Yes."))
    assert content("bedrock-converse", *blocks) == [
        {"reasoningContent": {"reasoningText": {"text": "first", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "b3BhcXVl"}},
        {"text": "Yes."},
    ]


def test_a_reasoning_item_is_directly_before_the_item_after_it():
    blocks = (thinking("why", "Z0FBQQ=="), call("call_1", arguments_text='{"city": "Metz"}', arguments=None))
    blocks[1]["arguments"] = {"city": "Metz"}
    assert content("openai-responses", *blocks)[:2] == [
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "why"}],
            "encrypted_content": "Z0FBQQ==",
        },
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Metz"}'},
    ]


GOOGLE: dict[str, tuple[list[dict[str, Any]], list[tuple[str, Any]]]] = {
    "on the call": (
        [call("a", signature="s"), call("b")],
        [("functionCall", "s"), ("functionCall", None)],
    ),
    "on the text": ([text("t") | {"signature": "s"}], [("text", "s")]),
    "on the call behind a text": (
        [text("t"), call("a", signature="s")],
        [("text", None), ("functionCall", "s")],
    ),
    "on the thought": ([thinking("hm", "s"), text("t")], [("text", "s"), ("text", None)]),
    "on text and call": (
        [text("t") | {"signature": "s"}, call("a", signature="u")],
        [("text", "s"), ("functionCall", "u")],
    ),
    "on an empty text": (
        [call("a"), text("") | {"signature": "s"}],
        [("functionCall", None), ("text", "s")],
    ),
    "on an empty thought": ([thinking("", "s"), call("a")], [("text", "s"), ("functionCall", None)]),
    "on code": (
        [thinking("", "s"), other("executableCode", {"code": "1"})],
        [("executableCode", "s")],
    ),
    "nowhere": ([thinking("hm"), text("t")], [("text", None), ("text", None)]),
}


@pytest.mark.parametrize(("blocks", "parts"), GOOGLE.values(), ids=list(GOOGLE))
def test_google_gets_a_signature_back_on_its_own_part(blocks, parts):
    sent = content("google-generate", *blocks)
    assert [
        (next(key for key in part if key in dict(parts)), part.get("thoughtSignature")) for part in sent
    ] == (parts)
    assert all(part.get("thoughtSignature", "") is not None for part in sent)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("whose", [{"model": "another"}, {"api": "another"}], ids=["model", "api"])
def test_thinking_of_another_model_or_api_is_not_sent(api, whose):
    blocks = (thinking("secret", "c2VjcmV0"), thinking("", "b3BhcXVl", redacted=True), text("Yes."))
    sent = json.dumps(request_messages(api, user(), answer(*blocks, **whose), user("go on")))
    assert "Yes." in sent
    assert not any(word in sent for word in ("secret", "c2VjcmV0", "b3BhcXVl"))


@pytest.mark.parametrize(
    ("model", "signature"), [("gemini-3-pro", "skip_thought_signature_validator"), ("gemini-2.5-pro", None)]
)
def test_the_first_call_of_another_model_has_the_placeholder_signature_at_gemini_3(model, signature):
    foreign = answer(call("a"), call("b"), model="claude")
    body = request_body("google-generate", user(), foreign, user(), model=model)
    parts = body["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [signature, None]


@pytest.mark.parametrize("api", ["anthropic-messages", "bedrock-converse", "openai-responses"])
@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([thinking("hm", "s")], id="thinking alone"),
        pytest.param([thinking("hm")], id="thinking that nothing signs"),
        pytest.param([text("")], id="empty text"),
        pytest.param(
            [thinking("hm", "s"), call("a", arguments_text="{", complete=False)], id="call that had not ended"
        ),
    ],
)
def test_an_empty_answer_is_omitted(api, blocks):
    sent = request_messages(api, user("one"), answer(*blocks), user("two"))
    assert all(message["role"] == "user" for message in sent)


@pytest.mark.parametrize("api", OBJECTS)
def test_a_malformed_call_is_wrapped_if_arguments_are_objects(api):
    broken = call("call_1", arguments_text='{"city": ')
    sent = json.dumps(
        request_messages(api, user(), answer(broken), results(result("call_1", "bad", error=True)))
    )
    assert json.dumps({"INVALID_JSON": '{"city": '}) in sent


@pytest.mark.parametrize("api", TEXTS)
def test_a_malformed_call_is_json_if_arguments_are_text(api):
    sent = request_messages(api, user(), answer(call("call_1", arguments_text='{"city": ')))[1]
    function = sent if api == "openai-responses" else sent["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == {"INVALID_JSON": '{"city": '}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"arguments": {}, "arguments_text": ""}, "{}"),
        ({"arguments": {}, "arguments_text": None}, "{}"),
        ({"arguments": None, "arguments_text": "null"}, "{}"),
        ({"arguments": {"a": 1}, "arguments_text": '{ "a": 1 }'}, '{ "a": 1 }'),
        ({"arguments": {"a": 1}, "arguments_text": '{"a": 2}'}, '{"a":1}'),
        ({"arguments": {"a": 1}, "arguments_text": None}, '{"a":1}'),
    ],
)
def test_arguments_are_sent_as_equivalent_text(given, sent):
    block = call("call_1", arguments_text="") | given
    assert content("openai-chat", block)["tool_calls"][0]["function"]["arguments"] == sent


def test_free_text_is_the_input_of_a_custom_call():
    sent = request_messages(
        "openai-responses", user(), answer(call("call_1", "sh", "ls -l")), results(result("call_1"))
    )
    assert sent[1:] == [
        {"type": "custom_tool_call", "call_id": "call_1", "name": "sh", "input": "ls -l"},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "sunny"},
    ]


def test_provider_calls_go_back_between_the_blocks():
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    blocks = (
        call("srvtoolu_1", "web_search", {"query": "x"}, executor="provider"),
        other("web_search_tool_result", found),
        text("Found.") | {"citations": [{"data": {"type": "web_search_result_location", "url": "u"}}]},
    )
    assert content("anthropic-messages", *blocks) == [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        found,
        {
            "type": "text",
            "text": "Found.",
            "citations": [{"type": "web_search_result_location", "url": "u"}],
        },
    ]


def test_an_item_of_an_answer_that_was_retried_goes_back_once_or_without_its_id():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    retried = answer(thinking("A.", "gAAA"), other("web_search_call", search), text("One."))
    sent = request_messages("openai-responses", user(), retried, retried, user("go on"))
    ids = [item["id"] for item in sent if "id" in item]
    assert ids == ["ws_1"]
    assert [item["type"] for item in sent].count("message") == 4


@pytest.mark.parametrize(
    ("api", "given"),
    [
        ("anthropic-messages", "call|a.b"),
        ("bedrock-converse", "x" * 65),
        ("openai-chat", "y" * 41),
        ("openai-responses", "z" * 65),
    ],
)
def test_an_id_that_the_api_does_not_take_is_respelled_in_call_and_result_alike(api, given):
    sent = json.dumps(request_messages(api, user(), answer(call(given)), results(result(given, "found it"))))
    assert json.dumps(given) not in sent
    assert "found it" in sent


def test_ids_have_the_pattern_that_the_facts_name_and_are_unique():
    messages = (user(), answer(call("call_0")), results(result("call_0")), user(), answer(call("call_0")))
    facts = {"tool_ids": "^[a-zA-Z0-9]{9}$"}
    sent = request_messages("openai-chat", *messages, user(), facts=facts)
    ids = [message["tool_calls"][0]["id"] for message in sent if "tool_calls" in message]
    answered = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert ids == answered
    assert len(set(ids)) == len(ids)
    assert all(len(each) == 9 and each.isalnum() for each in ids)


def test_an_id_stays_unchanged_if_no_spelling_fits():
    assert RequestCallIds("[0-9]{3}").choose("call_a") == "call_a"
