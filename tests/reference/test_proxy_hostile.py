"""The proxy translates or rejects anything that a client or an upstream sends."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from streamconform_dev.fuzz.chunkings import at_random
from streamconform_proxy import (
    ROUTES,
    Route,
    StreamRelay,
    build_token_count,
    build_upstream_failure,
    is_thinking_refusal,
    relay_document,
    translate_request,
)
from streamconform_reference.requests.errors import RequestError

from ..for_each import for_each
from .samples import SAMPLES
from .test_proxy_relay import TYPES, build_request

Json = dict[str, Any]
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1e300,
    2**70,
    "",
    "x",
    "\ud800",
    [],
    [[]],
    ["x"],
    {},
    {"type": []},
    {"a": {}},
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
ANTHROPIC: Json = {
    "model": "qwen3",
    "max_tokens": 3000,
    "stream": True,
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "stop_sequences": ["a"],
    "metadata": {"user_id": "u"},
    "system": [{"type": "text", "text": "Be.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    "tools": [{"name": "f", "description": "F.", "input_schema": SCHEMA, "strict": True}],
    "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hi"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
                {"type": "document", "source": {"type": "text", "data": "Doc"}},
                {"type": "search_result", "content": [{"type": "text", "text": "Found"}]},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "b3Bh"},
                {"type": "text", "text": "Well", "citations": [{"type": "page_location"}]},
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": "b"}},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no"}],
                }
            ],
        },
    ],
}
OPENAI: Json = {
    "model": "claude-x",
    "max_completion_tokens": 3000,
    "stream": True,
    "stream_options": {"include_usage": True},
    "stop": ["a"],
    "top_p": 0.5,
    "reasoning_effort": "low",
    "reasoning": {"max_tokens": 9},
    "thinking": {"type": "enabled"},
    "prompt_cache_key": "s",
    "prompt_cache_retention": "24h",
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": True}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "parallel_tool_calls": False,
    "messages": [
        {"role": "system", "content": "Be."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hi"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
            ],
        },
        {
            "role": "assistant",
            "content": "Well",
            "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "signature": "c2ln"}],
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "no"},
    ],
}
BODIES = {"anthropic-messages": ANTHROPIC, "openai-chat": OPENAI}


def find_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values inside a value."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from find_paths(value[key], (*path, key))


def replace_value(body: Json, path: tuple[Any, ...], value: Any) -> Json:
    copy = json.loads(json.dumps(body))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return copy  # type: ignore[no-any-return]


@pytest.mark.parametrize("names", ROUTES, ids=" ".join)
def test_a_request_with_any_value_anywhere_is_translated_or_rejected(names: tuple[str, str]) -> None:
    route = Route(client=names[0], upstream=names[1])
    body = BODIES[names[0]]
    assert translate_request(route, json.dumps(body).encode(), {}).content
    seen = {True: 0, False: 0}
    for path in find_paths(body):
        for value in ODD:
            try:
                sent = translate_request(route, json.dumps(replace_value(body, path, value)).encode(), {})
            except RequestError as refusal:
                assert (refusal.status, bool(refusal.message)) == (400, True)  # noqa: PT017 - one or the other
                seen[False] += 1
            else:
                assert json.loads(sent.content)
                seen[True] += 1
    assert min(seen.values()) > 100


@for_each("path", list(find_paths(ANTHROPIC)), ids=lambda path: ".".join(map(str, path)))
def test_a_token_count_of_any_request_is_a_number_or_rejected(path: tuple[Any, ...]) -> None:
    for value in ODD:
        body = json.dumps(replace_value(ANTHROPIC, path, value)).encode()
        try:
            answer = build_token_count(body)
        except RequestError as refusal:
            assert refusal.status == 400  # noqa: PT017 - one or the other
        else:
            assert json.loads(answer.body)["input_tokens"] >= 0


@pytest.mark.parametrize("names", ROUTES, ids=" ".join)
def test_a_damaged_answer_ends(names: tuple[str, str]) -> None:
    streamed, document = build_request(*names), build_request(*names, stream=False)
    headers = {"content-type": TYPES[names[1]]}
    rng = random.Random(8)  # noqa: S311 - damage, not secrets
    for name, sample in SAMPLES[names[1]].items():
        for _ in range(6):
            damaged = bytearray(sample)
            for _ in range(rng.randrange(1, 6)):
                place = rng.randrange(len(damaged))
                damaged[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(4))
            relay = StreamRelay(streamed, headers=headers)
            output = b"".join(relay.receive(chunk) for chunk in at_random(bytes(damaged), 1)) + relay.end()
            assert relay.ended, name
            assert output, name
            answer = relay_document(document, headers=headers, body=bytes(damaged))
            assert json.loads(answer.body), name


@pytest.mark.parametrize("names", ROUTES, ids=" ".join)
@pytest.mark.parametrize("api", SAMPLES)
def test_the_answer_of_another_api_ends(names: tuple[str, str], api: str) -> None:
    for sample in SAMPLES[api].values():
        relay = StreamRelay(build_request(*names), headers={"content-type": TYPES[names[1]]})
        output = relay.receive(sample) + relay.end()
        assert (relay.ended, bool(output)) == (True, True)


@pytest.mark.parametrize("value", ODD)
def test_failures_of_any_form_are_reported(value: Any) -> None:
    for document in (value, {"error": value}, {"error": {"message": value, "type": value}}):
        body = json.dumps(document).encode()
        answer = build_upstream_failure(build_request(*ROUTES[0]), status=400, headers={}, body=body)
        assert json.loads(answer.body)["error"]["message"]
        assert is_thinking_refusal(400, body) is False
