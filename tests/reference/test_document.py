"""A non-streaming answer has the same outcome as the equivalent stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz.exchange import PRICES, decode
from streamconform_reference import DECODERS, decode_document
from streamconform_reference.apis import DOCUMENT_READERS

from ..for_each import for_each
from . import openai_chat_streams as chat
from . import streams as anthropic

GOOGLE = "google-interactions"


def outcome(document: Any, api: str, **fields: Any) -> dict[str, Any]:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return decode_document(body, api, **fields).to_json()


def test_a_chat_document_equals_its_stream() -> None:
    entries = [
        chat.call(index=None, id="a", name="f", args='{"x":1}', type="function"),
        chat.call(index=None, id="b", name="g", args="", type="function"),
    ]
    message = {
        "role": "assistant",
        "reasoning": "hm",
        "content": "Hi",
        "refusal": None,
        "tool_calls": entries,
    }
    usage = chat.usage(10, 5, prompt_tokens_details={"cached_tokens": 8})
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    document = {
        **chat.HEAD,
        "object": "chat.completion",
        "choices": [choice],
        "usage": usage,
        "service_tier": "flex",
    }
    stream = chat.sse(
        chat.thinks("hm", "reasoning"),
        chat.says("Hi"),
        chat.calls(chat.call(id="a", name="f", args='{"x":1}')),
        chat.calls(chat.call(index=1, id="b", name="g", args="")),
        chat.ends("tool_calls", usage=usage, service_tier="flex"),
    )
    prices = {**PRICES, "service_tier": {"flex": "0.5"}}
    expected = decode(stream, api="openai-chat", pricing=prices).outcome
    assert outcome(document, "openai-chat", pricing=prices) == expected
    assert expected["status"] == "complete"


def test_two_calls_of_a_document_with_one_id_are_two_calls() -> None:
    entries = [chat.call(index=None, id="a", name="f", args=args) for args in ('{"x":1}', '{"x":2}')]
    choice = {"message": {"tool_calls": entries}, "finish_reason": "tool_calls"}
    blocks = outcome({"choices": [choice]}, "openai-chat")["content"]
    assert [block["arguments"] for block in blocks] == [{"x": 1}, {"x": 2}]
    assert len({block["id"] for block in blocks}) == 2


def test_a_message_equals_its_stream_but_for_the_text_of_its_calls() -> None:
    start = anthropic.start()["message"]
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {"x": 1}},
    ]
    usage = {"input_tokens": 10, "output_tokens": 5}
    document = {**start, "content": content, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}
    stream = anthropic.message(
        anthropic.block(0, "thinking", thinking="", signature=""),
        anthropic.delta(0, "thinking_delta", thinking="hm"),
        anthropic.delta(0, "signature_delta", signature="c2ln"),
        anthropic.stop(0),
        *anthropic.whole_text("Hi", 1),
        anthropic.tool(2),
        anthropic.args(2, '{"x":1}'),
        anthropic.stop(2),
        reason="tool_use",
    )
    expected = decode(stream).outcome
    assert expected["content"][2].pop("arguments_text") == '{"x":1}'
    found = outcome(document, "anthropic-messages", pricing=PRICES)
    assert found["content"][2].pop("arguments_text") is None
    assert found == expected


@for_each("api", sorted(DOCUMENT_READERS))
@for_each(
    ("body", "status", "error"),
    [
        (b'{"type":"error","error":{"type":"t","message":"m"}}', 529, ("t", "m", 529)),
        (b'{"type":"error","error":{"type":"t","message":"m"}}', 200, ("t", "m", None)),
        (b'{"error":{"type":"t","message":"m"}}', 200, ("t", "m", None)),
        (b"<html>", 502, (None, "<html>", 502)),
        (b"", 500, (None, None, 500)),
        (b"<html>", 200, ("protocol", None, None)),
        (b"", 200, ("protocol", None, None)),
        (b"[]", 200, ("protocol", None, None)),
        (b"{}", 200, ("protocol", None, None)),
    ],
)
def test_an_error_document(api: str, body: bytes, status: int, error: tuple[Any, ...]) -> None:
    found = outcome(body, api, status=status)
    assert found["status"] == "error"
    assert (found["error"]["type"], found["error"]["status"]) == (error[0], error[2])
    assert error[0] == "protocol" or found["error"]["message"] == error[1]


@pytest.mark.parametrize("api", sorted(DOCUMENT_READERS))
@given(body=st.binary(max_size=80))
def test_no_document_raises(api: str, body: bytes) -> None:
    assert decode_document(body, api).status in ("error", "incomplete")


def test_every_api_that_streams_reads_documents() -> None:
    assert set(DOCUMENT_READERS) == set(DECODERS)


def test_a_call_of_a_custom_tool_has_its_input_as_text() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT 1;"}}
    choice = {"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}
    (block,) = outcome({"choices": [choice]}, "openai-chat")["content"]
    assert (block["name"], block["arguments"], block["complete"]) == ("run_sql", "SELECT 1;", True)


def test_a_choice_without_a_message_keeps_its_reason_and_the_usage() -> None:
    choice = {"index": 0, "finish_reason": "content_filter", "content_filter_results": {"hate": {}}}
    answer = outcome({"choices": [choice], "usage": chat.usage()}, "openai-chat")
    assert (answer["status"], answer["stop"]["reason"]) == ("complete", "content_filter")
    assert (answer["content"], answer["usage"]["input"]) == ([], 10)


def test_a_choice_without_a_message_and_a_reason_is_no_answer() -> None:
    assert outcome({"choices": [{"index": 0}]}, "openai-chat")["status"] == "error"


def test_a_document_without_a_reason_is_whole_if_it_has_an_answer() -> None:
    entry = chat.call(index=None, id="a", name="f", args='{"x":1}')
    for message, reason in (({"content": "Hi"}, "stop"), ({"tool_calls": [entry]}, "tool_use")):
        answer = outcome({"choices": [{"index": 0, "message": message, "logprobs": None}]}, "openai-chat")
        assert (answer["status"], answer["stop"]["reason"]) == ("complete", reason)
        assert answer["stop"]["raw"] is None
        assert all(block.get("complete", True) for block in answer["content"])
    nothing = {"choices": [{"index": 0, "message": {"content": None}, "finish_reason": None}]}
    assert outcome(nothing, "openai-chat")["status"] == "incomplete"


@pytest.mark.parametrize("message", [{"content": "a", "tool_calls": [chat.call(id="a", name="f")]}, None])
def test_an_error_in_a_choice_of_a_document_is_a_failed_answer(message: Any) -> None:
    choice = {"message": message, "finish_reason": "stop", "error": {"code": 502, "message": "m"}}
    answer = outcome({"choices": [choice]}, "openai-chat")
    assert (answer["status"], answer["error"]["message"], answer["error"]["status"]) == ("error", "m", 502)


def test_a_document_that_is_no_answer_reports_its_own_message() -> None:
    error = outcome({"message": "no route to the model"}, "bedrock-converse")["error"]
    assert (error["type"], error["message"]) == ("protocol", "no route to the model")


@pytest.mark.parametrize(
    ("api", "document", "error"),
    [
        (
            "bedrock-converse",
            {"__type": "ThrottlingException", "message": "Slow down."},
            {"type": "throttlingException", "message": "Slow down."},
        ),
        ("cohere-chat", {"message": "invalid request"}, {"message": "invalid request"}),
    ],
)
def test_an_error_document_is_a_failed_answer(
    api: str, document: dict[str, Any], error: dict[str, str]
) -> None:
    failed = outcome(document, api)
    assert failed["status"] == "error"
    assert error.items() <= failed["error"].items()


INTERACTION = {"id": "v1_a", "object": "interaction", "model": "gemini-3-flash"}


def test_the_outputs_of_the_first_schema_are_the_content() -> None:
    outputs = [
        {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Hi", "annotations": [{"type": "url_citation", "url": "https://a.example"}]},
        {"type": "function_call", "id": "c1", "name": "f", "arguments": {"x": 1}},
        {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["q"]}},
        {"type": "google_search_result", "call_id": "s1", "result": []},
    ]
    usage = {"total_input_tokens": 3, "total_output_tokens": 4}
    answer = outcome({**INTERACTION, "status": "requires_action", "outputs": outputs, "usage": usage}, GOOGLE)
    thought, text, call, search, result = answer["content"]
    assert (thought["text"], thought["signature"]) == ("hm", "c2ln")
    assert (text["text"], text["citations"][0]["source"]) == ("Hi", "https://a.example")
    assert (call["name"], call["arguments"], call["complete"]) == ("f", {"x": 1}, True)
    assert (search["name"], search["executor"], result["kind"]) == (
        *("google_search", "provider"),
        "google_search_result",
    )
    assert (answer["status"], answer["stop"]["reason"], answer["usage"]["output"]) == (
        *("complete", "tool_use"),
        4,
    )


@pytest.mark.parametrize("listed", [{}, {"steps": []}, {"outputs": []}, {"steps": None, "outputs": None}])
def test_a_completed_interaction_that_lists_nothing_is_no_success(listed: dict[str, Any]) -> None:
    answer = outcome({**INTERACTION, "status": "completed", **listed}, GOOGLE)
    assert (answer["status"], answer["error"]["type"]) == ("error", "protocol")


def test_an_interaction_that_still_runs_is_incomplete() -> None:
    answer = outcome({**INTERACTION, "status": "in_progress"}, GOOGLE)
    assert (answer["status"], answer["response_id"]) == ("incomplete", "v1_a")


def test_an_image_in_a_document_of_interactions_is_a_block() -> None:
    image = {"type": "image", "mime_type": "image/png", "data": "aQ=="}
    steps = [{"type": "model_output", "content": [{"type": "text", "text": "See:"}, image]}]
    document = {"id": "i", "object": "interaction", "model": "m", "status": "completed", "steps": steps}
    text, block = outcome(document, "google-interactions")["content"]
    assert text["text"] == "See:"
    assert (block["type"], block["kind"], block["data"]) == ("other", "image", image)
