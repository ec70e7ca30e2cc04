"""Tool results in requests: the right role and order, one per call, and nothing invented."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamconform_reference.requests.conversation import NO_RESULT

from .conversations import (
    APIS,
    IMAGE,
    IMAGE_URL,
    answer,
    call,
    request_body,
    request_messages,
    result,
    results,
    text,
    user,
)

TWO = (
    user("Metz and Nancy?"),
    answer(call("call_a"), call("call_b")),
    results(result("call_b", "rain", error=True), result("call_a", "sun")),
    user("And?"),
)

ANTHROPIC_SENT: list[Any] = [
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "call_a", "content": "sun"},
            {"type": "tool_result", "tool_use_id": "call_b", "content": "rain", "is_error": True},
            {"type": "text", "text": "And?"},
        ],
    }
]
SENT: dict[str, list[Any]] = {
    "anthropic-messages": ANTHROPIC_SENT,
    "bedrock-invoke": ANTHROPIC_SENT,
    "bedrock-converse": [
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "call_a",
                        "content": [{"text": "sun"}],
                        "status": "success",
                    }
                },
                {"toolResult": {"toolUseId": "call_b", "content": [{"text": "rain"}], "status": "error"}},
                {"text": "And?"},
            ],
        }
    ],
    "cohere-chat": [
        {"role": "tool", "tool_call_id": "call_a", "content": "sun"},
        {"role": "tool", "tool_call_id": "call_b", "content": "rain"},
        {"role": "user", "content": "And?"},
    ],
    "google-generate": [
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "call_a", "name": "weather", "response": {"output": "sun"}}},
                {"functionResponse": {"id": "call_b", "name": "weather", "response": {"error": "rain"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "And?"}]},
    ],
    "google-interactions": [
        {"type": "function_result", "call_id": "call_a", "name": "weather", "result": "sun"},
        {
            "type": "function_result",
            "call_id": "call_b",
            "name": "weather",
            "result": "rain",
            "is_error": True,
        },
        {"type": "user_input", "content": [{"type": "text", "text": "And?"}]},
    ],
    "ollama-chat": [
        {"role": "tool", "content": "sun", "tool_name": "weather", "tool_call_id": "call_a"},
        {"role": "tool", "content": "rain", "tool_name": "weather", "tool_call_id": "call_b"},
        {"role": "user", "content": "And?"},
    ],
    "openai-chat": [
        {"role": "tool", "tool_call_id": "call_a", "content": "sun"},
        {"role": "tool", "tool_call_id": "call_b", "content": "rain"},
        {"role": "user", "content": "And?"},
    ],
    "openai-responses": [
        {"type": "function_call_output", "call_id": "call_a", "output": "sun"},
        {"type": "function_call_output", "call_id": "call_b", "output": "rain"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And?"}]},
    ],
}

JSON = {"degrees": 21}
JSON_SENT: dict[str, Any] = {
    "anthropic-messages": '{"degrees":21}',
    "bedrock-converse": [{"json": JSON}],
    "bedrock-invoke": '{"degrees":21}',
    "cohere-chat": [{"type": "document", "document": {"data": JSON}}],
    "google-generate": {"output": JSON},
    "google-interactions": JSON,
    "ollama-chat": '{"degrees":21}',
    "openai-chat": '{"degrees":21}',
    "openai-responses": '{"degrees":21}',
}


def content_of(api: str, message: Any) -> Any:
    """Return the content of a message with one result."""
    match api:
        case "anthropic-messages" | "bedrock-invoke":
            return message["content"][0].get("content")
        case "bedrock-converse":
            return message["content"][0]["toolResult"]["content"]
        case "google-generate":
            return message["parts"][0]["functionResponse"]["response"]
        case "openai-responses":
            return message["output"]
        case "google-interactions":
            return message["result"]
        case _:
            return message["content"]


def one(api: str, content: Any) -> Any:
    """Return the request's form of a result with this content."""
    sent = request_messages(api, user(), answer(call("call_a")), results(result("call_a", content)))
    return content_of(api, sent[2])


@pytest.mark.parametrize("api", APIS)
def test_results_follow_their_calls_in_the_order_of_the_calls(api):
    sent = request_messages(api, *TWO)
    assert sent[-len(SENT[api]) :] == SENT[api]


@pytest.mark.parametrize("api", APIS)
def test_results_come_before_the_users_earlier_text(api):
    first, calls, outcomes, more = TWO
    assert request_messages(api, first, calls, more, outcomes) == request_messages(api, *TWO)


@pytest.mark.parametrize("api", APIS)
def test_a_call_without_a_result_gets_an_error(api):
    sent = request_messages(
        api, user(), answer(call("call_a"), call("call_b")), results(result("call_a")), user("And?")
    )
    assert sent == request_messages(
        api,
        user(),
        answer(call("call_a"), call("call_b")),
        results(result("call_a"), result("call_b", NO_RESULT, error=True)),
        user("And?"),
    )
    assert NO_RESULT in json.dumps(sent)


@pytest.mark.parametrize("api", APIS)
def test_a_result_without_a_call_is_omitted(api):
    stray = results(result("call_a", "sun"), result("call_z", "stray"))
    sent = request_messages(api, user(), answer(call("call_a")), stray)
    assert sent == request_messages(api, user(), answer(call("call_a")), results(result("call_a", "sun")))


@pytest.mark.parametrize("api", APIS)
def test_an_unfinished_call_is_omitted_with_its_result(api):
    cut = call("call_b", arguments=None, arguments_text='{"ci', complete=False)
    given = (user(), answer(text("Let me see."), call("call_a"), cut))
    both = results(result("call_a"), result("call_b"))
    assert request_messages(api, *given, both) == request_messages(
        api, user(), answer(text("Let me see."), call("call_a")), results(result("call_a"))
    )


@pytest.mark.parametrize("api", APIS)
def test_json_stays_json(api):
    assert one(api, [{"type": "json", "value": JSON}]) == JSON_SENT[api]


@pytest.mark.parametrize(
    ("api", "sent"),
    [
        ("bedrock-converse", [{"text": "[1,2]"}]),
        ("cohere-chat", "[1,2]"),
        ("google-generate", {"output": [1, 2]}),
    ],
)
def test_json_other_than_an_object_is_text_if_only_objects_are_accepted(api, sent):
    assert one(api, [{"type": "json", "value": [1, 2]}]) == sent


def test_an_object_with_the_key_error_is_no_failure_at_google():
    assert one("google-generate", [{"type": "json", "value": {"error": None}}]) == {"output": {"error": None}}


@pytest.mark.parametrize(
    ("api", "sent"),
    [
        ("anthropic-messages", None),
        ("bedrock-converse", [{"text": "(no output)"}]),
        ("openai-chat", ""),
        ("openai-responses", ""),
        ("google-generate", {"output": ""}),
    ],
)
def test_an_empty_result_has_the_form_that_the_api_accepts(api, sent):
    assert one(api, "") == sent


def test_an_image_is_a_block_of_the_result_at_anthropic_and_bedrock():
    source = {"type": "base64", "media_type": "image/png", "data": IMAGE["data"]}
    sent = one("anthropic-messages", [text("see"), IMAGE])
    assert sent == [{"type": "text", "text": "see"}, {"type": "image", "source": source}]
    sent = one("bedrock-converse", [text("see"), IMAGE])
    assert sent == [{"text": "see"}, {"image": {"format": "png", "source": {"bytes": IMAGE["data"]}}}]


def test_an_image_is_a_part_of_the_output_at_responses():
    assert one("openai-responses", [text("see"), IMAGE]) == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": IMAGE_URL, "detail": "auto"},
    ]


@pytest.mark.parametrize("api", ["openai-chat", "cohere-chat"])
def test_images_follow_all_results_if_a_result_cannot_hold_them(api):
    sent = request_messages(
        api,
        user(),
        answer(call("call_a"), call("call_b")),
        results(result("call_a", [text("see"), IMAGE]), result("call_b")),
    )
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert sent[2]["content"] == "see\n(the images of this result follow the results)"
    assert sent[4]["content"][1:] == [{"type": "image_url", "image_url": {"url": IMAGE_URL}}]


@pytest.mark.parametrize(
    ("model", "inside"),
    [("gemini-3-pro", True), ("gemini-flash-latest", True), ("gemini-2.5-pro", False), ("gemma-3", False)],
)
def test_images_are_inside_of_the_response_for_gemini_3_and_beside_it_before(model, inside):
    body = request_body(
        "google-generate",
        user(),
        answer(call("call_a")),
        results(result("call_a", [text("see"), IMAGE])),
        model=model,
    )
    response, *beside = body["contents"][2]["parts"]
    blob = [{"inlineData": {"mimeType": "image/png", "data": IMAGE["data"]}}]
    assert (response["functionResponse"].get("parts", []), beside) == ((blob, []) if inside else ([], blob))


def test_an_image_of_a_result_is_a_field_of_its_message_at_ollama():
    sent = request_messages("ollama-chat", user(), answer(call("call_a")), results(result("call_a", [IMAGE])))
    assert sent[2]["images"] == [IMAGE["data"]]


def test_bedrock_replaces_an_unsupported_image_by_text():
    sent = one("bedrock-converse", [IMAGE | {"media_type": "image/tiff"}])
    assert sent == [{"text": "(an image of type image/tiff is left out)"}]


def test_a_history_with_calls_names_its_tools_at_bedrock():
    body = request_body("bedrock-converse", *TWO)
    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["weather"]
