"""The requests that are served or rejected, and those sent upstream."""

from __future__ import annotations

import asyncio
import json

import pytest

from streamconform_proxy import Route
from streamconform_proxy.bounds import ProxyBounds

from .started import REQUEST, TO_ANTHROPIC, TO_OLLAMA, TO_OPENAI, proxied, run
from .upstreams import SSE, chunk, event, last, record, saying

OWN_KEY = Route(client="anthropic-messages", upstream="openai-chat", key="key-of-the-upstream")
MAPPED = Route(
    client="anthropic-messages", upstream="ollama-chat", models={"claude-x": "qwen3:8b", "*": "llama3"}
)


def test_a_stream_is_translated():
    async def test():
        async with proxied(saying("Hel", "lo")) as setup:
            response = await setup.post()
            assert (response.status, response.headers["content-type"].partition(";")[0]) == (200, SSE)
            assert response.types[0] == "message_start"
            assert response.types[-2:] == ["message_delta", "message_stop"]
            assert response.text == "Hello"
            (requested,) = setup.upstream.received
            assert (requested.path, requested.body["stream"]) == ("/api/chat", True)
            assert requested.body["messages"] == [{"role": "user", "content": "Say hello"}]

    run(test())


def test_an_answer_without_streaming_is_one_document():
    async def test():
        async with proxied(saying("Hello")) as setup:
            response = await setup.post({**REQUEST, "stream": False})
            assert (response.status, response.headers["content-type"].partition(";")[0]) == (
                200,
                "application/json",
            )
            assert response.document["content"] == [{"type": "text", "text": "Hello"}]
            assert response.document["usage"]["output_tokens"] == 7

    run(test())


def test_messages_are_translated_to_chat():
    async def play(received, wire):
        del received
        await wire.head(kind=SSE)
        for data in (chunk({"role": "assistant", "content": "Hi"}), chunk({}, "stop"), b"data: [DONE]\n\n"):
            await wire.send(data)
        await wire.end()

    async def test():
        async with proxied(play, TO_OPENAI) as setup:
            response = await setup.post()
            assert (response.text, response.types[-1]) == ("Hi", "message_stop")
            assert setup.upstream.received[0].path == "/v1/chat/completions"

    run(test())


def test_chat_is_translated_to_messages():
    usage = {"input_tokens": 3, "output_tokens": 1}
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
        "usage": usage,
    }
    block = {"type": "text", "text": ""}

    async def play(received, wire):
        del received
        await wire.head(kind=SSE)
        await wire.send(event("message_start", message={**head, "stop_reason": None, "stop_sequence": None}))
        await wire.send(event("content_block_start", index=0, content_block=block))
        await wire.send(event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hi"}))
        await wire.send(event("content_block_stop", index=0))
        await wire.send(event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2}))
        await wire.send(event("message_stop"))
        await wire.end()

    async def test():
        async with proxied(play, TO_ANTHROPIC) as setup:
            response = await setup.post(path="/v1/chat/completions", authorization="Bearer key-of-the-client")
            texts = [
                each["choices"][0]["delta"].get("content") or ""
                for each in response.events
                if each["choices"]
            ]
            assert "".join(texts) == "Hi"
            assert response.body.endswith(b"data: [DONE]\n\n")
            (requested,) = setup.upstream.received
            assert (requested.path, requested.headers["x-api-key"]) == ("/v1/messages", "key-of-the-client")
            assert "anthropic-version" in requested.headers
            assert (await setup.post()).status == 404

    run(test())


def test_tokens_are_counted_without_the_upstream():
    async def test():
        async with proxied(saying()) as setup:
            response = await setup.post({**REQUEST, "system": "Be brief"}, "/v1/messages/count_tokens")
            assert (response.status, response.document) == (200, {"input_tokens": 6})
            assert setup.upstream.received == []

    run(test())


def test_health_and_models_are_served_without_the_upstream():
    async def test():
        async with proxied(saying(), MAPPED) as setup:
            assert (await setup.send("GET", "/health")).document["status"] == "ok"
            assert (await setup.send("HEAD", "/")).status == 200
            listed = (await setup.send("GET", "/v1/models")).document
            assert [model["id"] for model in listed["data"]] == ["claude-x"]
            assert setup.upstream.received == []
        async with proxied(saying(), TO_ANTHROPIC) as setup:
            assert (await setup.send("GET", "/v1/models")).document == {"object": "list", "data": []}

    run(test())


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("POST", "/v1/complete", 404, "not_found_error"),
        ("POST", "/v1/messages/", 404, "not_found_error"),
        ("GET", "/v1/messages", 405, "invalid_request_error"),
        ("PUT", "/v1/messages/count_tokens", 405, "invalid_request_error"),
        ("POST", "/v1/models", 405, "invalid_request_error"),
        ("OPTIONS", "/v1/messages", 405, "invalid_request_error"),
    ],
)
def test_unknown_paths_and_methods_are_rejected_in_the_clients_error_format(method, path, status, kind):
    async def test():
        async with proxied(saying()) as setup:
            response = await setup.send(method, path, data="{}")
            assert (response.status, response.document["type"]) == (status, "error")
            assert response.document["error"]["type"] == kind
            assert (status != 405) or response.headers["allow"] in ("POST", "GET, HEAD")
        async with proxied(saying(), TO_ANTHROPIC) as setup:
            response = await setup.send(method, path.replace("messages", "chat/completions"), data="{}")
            assert response.status in (404, 405)
            assert response.document["error"]["message"]

    run(test())


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"{", 400, "invalid_request_error"),
        (b"[]", 400, "invalid_request_error"),
        (b"", 400, "invalid_request_error"),
        (b"\xff\xfe", 400, "invalid_request_error"),
        (b"[" * 100_000, 400, "invalid_request_error"),
        (json.dumps({"model": "m"}).encode(), 400, "invalid_request_error"),
        (b" " * 2_000_000, 413, "request_too_large"),
    ],
)
def test_an_invalid_request_is_rejected_and_not_sent_upstream(body, status, kind):
    async def test():
        async with proxied(saying(), bounds=ProxyBounds(body=1_000_000)) as setup:
            response = await setup.post(body)
            assert (response.status, response.document["error"]["type"]) == (status, kind)
            assert setup.upstream.received == []
            assert setup.log[-1].startswith(f"POST /v1/messages {status} ")

    run(test())


def test_a_large_request_is_sent_upstream_whole():
    text = "Größe " * 500_000

    async def test():
        async with proxied(saying("x")) as setup:
            large = {**REQUEST, "messages": [{"role": "user", "content": text}]}
            assert (await setup.post(json.dumps(large).encode())).text == "x"
            (requested,) = setup.upstream.received
            assert requested.body["messages"][0]["content"] == text
            assert "transfer-encoding" not in requested.headers

    run(test())


def test_a_body_without_a_length_is_limited_too():
    async def endless():
        while True:
            yield b" " * 65536

    async def test():
        async with proxied(saying(), bounds=ProxyBounds(body=1_000_000)) as setup:
            assert (await setup.send("POST", "/v1/messages", data=endless())).status == 413

    run(test())


def test_a_body_that_does_not_arrive_is_rejected():
    async def test():
        async with proxied(saying(), bounds=ProxyBounds(receive=0.05)) as setup:
            reader, writer = await setup.connect()
            await reader.read()  # the whole answer, and the end of an idle connection
            writer.write(b"")
            writer.close()
            reader, writer = await asyncio.open_connection(*_get_address(setup))
            writer.write(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n")
            assert b" 408 " in (await reader.readline())
            writer.close()

    run(test())


def test_headers_are_limited():
    async def test():
        async with proxied(saying()) as setup:
            reader, writer = await asyncio.open_connection(*_get_address(setup))
            writer.write(b"POST /v1/messages HTTP/1.1\r\nx: " + b"a" * 65536 + b"\r\n\r\n")
            assert b" 400 " in (await reader.readline())
            writer.close()

    run(test())


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://evil.example", 403), ("null", 403), ("http://[", 403), ("http://localhost:3000", 200)],
)
def test_web_pages_of_other_sites_are_rejected(origin, status):
    async def test():
        async with proxied(saying("x")) as setup:
            assert (await setup.post(origin=origin)).status == status
            assert len(setup.upstream.received) == (status == 200)

    run(test())


@pytest.mark.parametrize(
    ("route", "pass_keys", "sent", "expected"),
    [
        (TO_OPENAI, True, {"x_api_key": "key-of-the-client"}, "Bearer key-of-the-client"),
        (TO_OPENAI, True, {"authorization": "Bearer key-of-the-client"}, "Bearer key-of-the-client"),
        (TO_OPENAI, True, {}, None),
        (TO_OPENAI, False, {"x_api_key": "key-of-the-client"}, None),
        (OWN_KEY, True, {"x_api_key": "key-of-the-client"}, "Bearer key-of-the-upstream"),
        (OWN_KEY, False, {}, "Bearer key-of-the-upstream"),
    ],
)
def test_the_upstream_gets_the_routes_key_else_the_clients(route, pass_keys, sent, expected):
    async def test():
        async with proxied(saying(), route, pass_keys=pass_keys) as setup:
            await setup.post(**sent)
            assert setup.upstream.received[0].headers.get("authorization") == expected
            assert "key-of" not in "".join(setup.log)

    run(test())


def test_model_names_are_mapped_both_ways():
    async def test():
        async with proxied(saying("x"), MAPPED) as setup:
            for name, theirs in (("claude-x", "qwen3:8b"), ("claude-y", "llama3")):
                response = await setup.post({**REQUEST, "model": name})
                assert response.events[0]["message"]["model"] == name
                assert setup.upstream.received[-1].body["model"] == theirs

    run(test())


THINKING = {**REQUEST, "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}}


def test_thinking_is_rejected_for_models_that_cannot_think():
    async def test():
        async with proxied(saying("x"), TO_OLLAMA) as setup:
            response = await setup.post({**THINKING, "model": "llama3.1:8b"})
            assert (response.status, response.document["error"]["type"]) == (400, "thinking_not_supported")
            assert setup.upstream.received == []
            assert (
                await setup.post({**REQUEST, "model": "llama3", "thinking": {"type": "disabled"}})
            ).status == 200

    run(test())


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_is_retried_without_thinking_if_the_model_rejects_it(stream):
    async def play(received, wire):
        if "think" in received.body:
            await wire.document(400, {"error": '"qwen3:8b" does not support thinking'})
        elif received.body["stream"]:
            await wire.head()
            await wire.send(record(content="Hello"))
            await wire.send(last())
            await wire.end()
        else:
            await wire.document(200, json.loads(last(content="Hello")))

    async def test():
        async with proxied(play) as setup:
            response = await setup.post({**THINKING, "stream": stream})
            assert response.status == 200
            assert (response.text if stream else response.document["content"][0]["text"]) == "Hello"
            assert [request.body.get("think") for request in setup.upstream.received] == [True, None]
            assert "without thinking" in setup.log[-1]

    run(test())


def _get_address(setup):
    return "127.0.0.1", int(setup.proxy.url.rpartition(":")[2])
