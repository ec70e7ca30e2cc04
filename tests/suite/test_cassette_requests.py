"""Every adapter gets a request that a real client could send, even if the answer is an error.

There are request decoders for three APIs; all APIs are checked for the fields that clients read or rebuild.
"""

from __future__ import annotations

import pytest

from streamconform.model.case import Case, RoundTripCase
from streamconform_reference.apis import anthropic_messages, openai_chat
from streamconform_reference.requests.errors import RequestError

from ..bundled_suite import cases

LOADS_A_MODEL = {"document-load", "load", "unload"}
"""Ollama documents a request with an empty list of messages: it loads or unloads the model."""
DECODERS = {
    "anthropic-messages": anthropic_messages.request_decode.read_conversation,
    "bedrock-invoke": anthropic_messages.request_decode.read_conversation,
    "openai-chat": openai_chat.request_decode.read_conversation,
}
LIMITS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxTokens",
    "maxOutputTokens",
    "num_predict",
)
OPTIONS = ("inferenceConfig", "generationConfig", "generation_config", "options")
ROLES = {
    "anthropic-messages": {"user", "assistant"},
    "bedrock-converse": {"user", "assistant"},
    "bedrock-invoke": {"user", "assistant"},
    "cohere-chat": {"system", "user", "assistant", "tool"},
    "google-generate": {"user", "model"},
    "ollama-chat": {"system", "user", "assistant", "tool"},
    "openai-chat": {"developer", "system", "user", "assistant", "tool", "function"},
}


def list_cassettes():
    used = {}
    for case in cases():
        match case:
            case Case():
                used[case.api, case.cassette.name] = case.cassette
            case RoundTripCase(answers=answers):
                for part in answers:
                    used[part.api, part.cassette.name] = part.cassette
            case _:
                pass
    return list(used.values())


def list_problems(api, name, body, model):
    """Yield what a client could not send: a missing model or message, a nameless function, a wrong limit."""
    if model is None:
        yield "no model"
    if api in ROLES:
        yield from _check_messages(api, name, body)
    elif not isinstance(body.get("input"), str | list) or not body["input"]:
        yield "no input"
    for options in (body, *(body.get(key) or {} for key in OPTIONS)):
        for key in LIMITS:
            limit = options.get(key, 1)
            if type(limit) is not int or limit < 1:
                yield f"{key} is {limit}"
    for tool in list_functions(body):
        if not isinstance(tool.get("name"), str) or not tool["name"]:
            yield f"a function without a name: {tool}"
        schema = tool.get("parameters") or tool.get("input_schema") or tool.get("inputSchema", {}).get("json")
        if schema and str(schema.get("type")).lower() != "object":
            yield f"the schema of `{tool.get('name')}` is no object"


def _check_messages(api, name, body):
    messages = body.get("contents") if api == "google-generate" else body.get("messages")
    # Version 1 of Cohere's API has one `message` beside the history, and none beside tool results.
    if messages is None and (body.get("message") or body.get("tool_results")):
        return
    if not isinstance(messages, list) or not (messages or name in LOADS_A_MODEL):
        yield "no messages"
        return
    content = "parts" if api == "google-generate" else "content"
    for message in messages:
        role = message.get("role", "user" if api == "google-generate" else None)
        if role not in ROLES[api]:
            yield f"a message with the role {role}"
        elif not (message.get(content) or message.get("tool_calls") or role in ("tool", "function")):
            yield f"a message without {content}"


def list_functions(body):
    """Yield the declarations of the client's functions; the provider's own tools have no schema."""
    tools = [*body.get("tools", ()), *body.get("toolConfig", {}).get("tools", ())]
    for tool in tools:
        if "functionDeclarations" in tool:
            yield from tool["functionDeclarations"]
        elif tool.get("type") == "function":
            yield tool.get("function", tool)
        elif "toolSpec" in tool:
            yield tool["toolSpec"]
        elif "input_schema" in tool or "parameter_definitions" in tool:
            yield tool
    yield from body.get("functions", ())


@pytest.mark.parametrize(
    ("api", "body", "problem"),
    [
        ("openai-chat", {"model": "m"}, "no messages"),
        ("openai-chat", {"messages": []}, "no messages"),
        ("openai-chat", {"messages": [{"content": "Hi."}]}, "a message with the role None"),
        ("google-generate", {"contents": [{"role": "user"}]}, "a message without parts"),
        ("openai-responses", {"input": []}, "no input"),
        ("openai-responses", {"input": "Hi.", "max_output_tokens": -1}, "max_output_tokens is -1"),
        (
            "openai-responses",
            {"input": "Hi.", "tools": [{"type": "function", "parameters": {"type": "object"}}]},
            "a function without a name: {'type': 'function', 'parameters': {'type': 'object'}}",
        ),
        (
            "google-interactions",
            {"input": "Hi.", "tools": [{"type": "function", "name": "f", "parameters": {"type": "array"}}]},
            "the schema of `f` is no object",
        ),
    ],
)
def test_an_invalid_request_is_found(api, body, problem):
    assert [*list_problems(api, "name", body, "m")] == [problem]


def test_every_cassette_has_a_request_that_a_client_could_send():
    problems = {
        f"{cassette.api}/{cassette.name}": found
        for cassette in list_cassettes()
        if (found := [*list_problems(cassette.api, cassette.name, cassette.request.body, cassette.model)])
    }
    assert problems == {}


def test_the_reference_decodes_every_request_of_the_apis_that_its_proxy_serves():
    """A request that is valid, but that no other API can represent, is not decoded."""
    refused = {}
    for cassette in list_cassettes():
        if decode := DECODERS.get(cassette.api):
            try:
                decode({"model": cassette.model, **cassette.request.body}, {})
            except RequestError as error:
                if "cannot be passed on to another API" not in error.message:
                    refused[f"{cassette.api}/{cassette.name}"] = error.message
    assert refused == {}
