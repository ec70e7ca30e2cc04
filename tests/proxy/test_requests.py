"""What is served, what is refused and how, and what goes upstream."""

from __future__ import annotations

import asyncio
import json

import pytest
from streamconform_proxy import Route
from streamconform_proxy.bounds import ProxyBounds

from .started import ASKED, TO_ANTHROPIC, TO_OLLAMA, TO_OPENAI, proxied, run
from .upstreams import SSE, chunk, event, last, record, saying

OWN_KEY = Route(client="anthropic-messages", upstream="openai-chat", key="key-of-the-upstream")
MAPPED = Route(
    client="anthropic-messages", upstream="ollama-chat", models={"claude-x": "qwen3:8b", "*": "llama3"}
)


def test_a_stream_is_translated():
    async def test():
        async with proxied(saying("Hel", "lo")) as between:
            got = await between.post()
            assert (got.status, got.headers["content-type"].partition(";")[0]) == (200, SSE)
            assert got.types[0] == "message_start"
            assert got.types[-2:] == ["message_delta", "message_stop"]
            assert got.text == "Hello"
            (asked,) = between.upstream.received
            assert (asked.path, asked.body["stream"]) == ("/api/chat", True)
            assert asked.body["messages"] == [{"role": "user", "content": "Say hello"}]

    run(test())


def test_an_answer_without_streaming_is_one_document():
    async def test():
        async with proxied(saying("Hello")) as between:
            got = await between.post({**ASKED, "stream": False})
            assert (got.status, got.headers["content-type"].partition(";")[0]) == (200, "application/json")
            assert got.document["content"] == [{"type": "text", "text": "Hello"}]
            assert got.document["usage"]["output_tokens"] == 7

    run(test())


def test_messages_are_asked_of_a_server_that_speaks_chat():
    async def play(received, wire):
        del received
        await wire.head(kind=SSE)
        for data in (chunk({"role": "assistant", "content": "Hi"}), chunk({}, "stop"), b"data: [DONE]\n\n"):
            await wire.send(data)
        await wire.end()

    async def test():
        async with proxied(play, TO_OPENAI) as between:
            got = await between.post()
            assert (got.text, got.types[-1]) == ("Hi", "message_stop")
            assert between.upstream.received[0].path == "/v1/chat/completions"

    run(test())


def test_chat_is_asked_of_a_server_that_speaks_messages():
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
        async with proxied(play, TO_ANTHROPIC) as between:
            got = await between.post(path="/v1/chat/completions", authorization="Bearer key-of-the-client")
            texts = [
                each["choices"][0]["delta"].get("content") or "" for each in got.events if each["choices"]
            ]
            assert "".join(texts) == "Hi"
            assert got.body.endswith(b"data: [DONE]\n\n")
            (asked,) = between.upstream.received
            assert (asked.path, asked.headers["x-api-key"]) == ("/v1/messages", "key-of-the-client")
            assert "anthropic-version" in asked.headers
            assert (await between.post()).status == 404

    run(test())


def test_tokens_are_counted_without_the_upstream():
    async def test():
        async with proxied(saying()) as between:
            got = await between.post({**ASKED, "system": "Be brief"}, "/v1/messages/count_tokens")
            assert (got.status, got.document) == (200, {"input_tokens": 6})
            assert between.upstream.received == []

    run(test())


def test_what_the_proxy_says_of_itself_is_small_and_asks_nobody():
    async def test():
        async with proxied(saying(), MAPPED) as between:
            assert (await between.ask("GET", "/health")).document["status"] == "ok"
            assert (await between.ask("HEAD", "/")).status == 200
            listed = (await between.ask("GET", "/v1/models")).document
            assert [each["id"] for each in listed["data"]] == ["claude-x"]
            assert between.upstream.received == []
        async with proxied(saying(), TO_ANTHROPIC) as between:
            assert (await between.ask("GET", "/v1/models")).document == {"object": "list", "data": []}

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
def test_what_is_not_served_is_refused_in_the_envelope_of_the_api(method, path, status, kind):
    async def test():
        async with proxied(saying()) as between:
            got = await between.ask(method, path, data="{}")
            assert (got.status, got.document["type"]) == (status, "error")
            assert got.document["error"]["type"] == kind
            assert (status != 405) or got.headers["allow"] in ("POST", "GET, HEAD")
        async with proxied(saying(), TO_ANTHROPIC) as between:
            got = await between.ask(method, path.replace("messages", "chat/completions"), data="{}")
            assert got.status in (404, 405)
            assert got.document["error"]["message"]

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
def test_a_request_that_is_none_is_refused_and_nobody_is_asked(body, status, kind):
    async def test():
        async with proxied(saying(), bounds=ProxyBounds(body=1_000_000)) as between:
            got = await between.post(body)
            assert (got.status, got.document["error"]["type"]) == (status, kind)
            assert between.upstream.received == []
            assert between.log[-1].startswith(f"POST /v1/messages {status} ")

    run(test())


def test_a_large_request_goes_upstream_whole():
    text = "Größe " * 500_000

    async def test():
        async with proxied(saying("x")) as between:
            large = {**ASKED, "messages": [{"role": "user", "content": text}]}
            assert (await between.post(json.dumps(large).encode())).text == "x"
            (asked,) = between.upstream.received
            assert asked.body["messages"][0]["content"] == text
            assert "transfer-encoding" not in asked.headers

    run(test())


def test_a_body_without_a_length_is_bounded_too():
    async def endless():
        while True:
            yield b" " * 65536

    async def test():
        async with proxied(saying(), bounds=ProxyBounds(body=1_000_000)) as between:
            assert (await between.ask("POST", "/v1/messages", data=endless())).status == 413

    run(test())


def test_a_body_that_does_not_come_is_refused():
    async def test():
        async with proxied(saying(), bounds=ProxyBounds(receive=0.05)) as between:
            reader, writer = await between.connect()
            await reader.read()  # the whole answer, and the end of an idle connection
            writer.write(b"")
            writer.close()
            reader, writer = await asyncio.open_connection(*_place(between))
            writer.write(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n")
            assert b" 408 " in (await reader.readline())
            writer.close()

    run(test())


def test_headers_are_bounded():
    async def test():
        async with proxied(saying()) as between:
            reader, writer = await asyncio.open_connection(*_place(between))
            writer.write(b"POST /v1/messages HTTP/1.1\r\nx: " + b"a" * 65536 + b"\r\n\r\n")
            assert b" 400 " in (await reader.readline())
            writer.close()

    run(test())


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://evil.example", 403), ("null", 403), ("http://[", 403), ("http://localhost:3000", 200)],
)
def test_pages_of_other_sites_do_not_get_at_the_keys(origin, status):
    async def test():
        async with proxied(saying("x")) as between:
            assert (await between.post(origin=origin)).status == status
            assert len(between.upstream.received) == (status == 200)

    run(test())


@pytest.mark.parametrize(
    ("route", "pass_keys", "sent", "got"),
    [
        (TO_OPENAI, True, {"x_api_key": "key-of-the-client"}, "Bearer key-of-the-client"),
        (TO_OPENAI, True, {"authorization": "Bearer key-of-the-client"}, "Bearer key-of-the-client"),
        (TO_OPENAI, True, {}, None),
        (TO_OPENAI, False, {"x_api_key": "key-of-the-client"}, None),
        (OWN_KEY, True, {"x_api_key": "key-of-the-client"}, "Bearer key-of-the-upstream"),
        (OWN_KEY, False, {}, "Bearer key-of-the-upstream"),
    ],
)
def test_the_upstream_gets_its_own_key_else_the_clients(route, pass_keys, sent, got):
    async def test():
        async with proxied(saying(), route, pass_keys=pass_keys) as between:
            await between.post(**sent)
            assert between.upstream.received[0].headers.get("authorization") == got
            assert "key-of" not in "".join(between.log)

    run(test())


def test_models_are_asked_for_by_the_upstreams_names_and_answered_by_the_clients():
    async def test():
        async with proxied(saying("x"), MAPPED) as between:
            for name, theirs in (("claude-x", "qwen3:8b"), ("claude-y", "llama3")):
                got = await between.post({**ASKED, "model": name})
                assert got.events[0]["message"]["model"] == name
                assert between.upstream.received[-1].body["model"] == theirs

    run(test())


THINKING = {**ASKED, "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}}


def test_thinking_is_refused_for_models_that_are_not_on_the_list():
    async def test():
        async with proxied(saying("x"), TO_OLLAMA) as between:
            got = await between.post({**THINKING, "model": "llama3.1:8b"})
            assert (got.status, got.document["error"]["type"]) == (400, "thinking_not_supported")
            assert between.upstream.received == []
            assert (
                await between.post({**ASKED, "model": "llama3", "thinking": {"type": "disabled"}})
            ).status == 200

    run(test())


@pytest.mark.parametrize("stream", [True, False])
def test_a_model_on_the_list_that_refuses_to_think_is_asked_again_without(stream):
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
        async with proxied(play) as between:
            got = await between.post({**THINKING, "stream": stream})
            assert got.status == 200
            assert (got.text if stream else got.document["content"][0]["text"]) == "Hello"
            assert [each.body.get("think") for each in between.upstream.received] == [True, None]
            assert "without thinking" in between.log[-1]

    run(test())


def _place(between):
    return "127.0.0.1", int(between.proxy.url.rpartition(":")[2])
