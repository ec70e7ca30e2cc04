"""The client's view of an upstream's answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from streamconform_dev.fuzz.chunkings import at_random, bytewise
from streamconform_proxy import (
    Route,
    StreamRelay,
    UpstreamRequest,
    build_refusal,
    build_token_count,
    build_upstream_failure,
    relay_document,
    translate_request,
)
from streamconform_reference import decode_document
from streamconform_reference.apis import DECODERS
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.outcome import Outcome, ToolCall
from streamconform_reference.requests.errors import RequestError
from streamconform_reference.tokens import count_tokens

from ..for_each import for_each
from . import ollama_chat_streams as ollama
from . import openai_chat_streams as chat
from . import streams as messages
from .proxied import CHAT, MESSAGES, OLLAMA, Row

Json = dict[str, Any]
ANTHROPIC, OPENAI = "anthropic-messages", "openai-chat"
TYPES = {
    "ollama-chat": "application/x-ndjson",
    "openai-chat": "text/event-stream",
    "anthropic-messages": "text/event-stream; charset=utf-8",
}

ROWS: Mapping[tuple[str, str, str], Row] = {
    **{(ANTHROPIC, "ollama-chat", name): row for name, row in OLLAMA.items()},
    **{(ANTHROPIC, OPENAI, name): row for name, row in CHAT.items()},
    **{(OPENAI, ANTHROPIC, name): row for name, row in MESSAGES.items()},
}
ENDED = {key: row for key, row in ROWS.items() if "error" not in row.written.split()}


def count_ids() -> Callable[[int], str]:
    numbers = count()
    return lambda length: f"{next(numbers):0{length}d}"


def build_request(
    client: str, upstream: str, *, thinking: bool = True, stream: bool = True, eager: bool = False
) -> UpstreamRequest:
    body: Json = {
        "model": "qwen3:8b",
        "stream": stream,
        "max_tokens": 2000,
        "messages": [{"role": "user", "content": "What is it that you think?"}],
        "stream_options": {"include_usage": True},
    }
    if thinking and client == ANTHROPIC:
        body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    elif thinking:
        body["reasoning_effort"] = "low"
    headers = {"anthropic-beta": "fine-grained-tool-streaming-2025-05-14"} if eager else {}
    return translate_request(Route(client=client, upstream=upstream), json.dumps(body).encode(), headers)


def build_relay(client: str, upstream: str, row: Row | None = None) -> StreamRelay:
    row = row or Row(b"", "")
    request = build_request(client, upstream, thinking=row.thinking, eager=row.eager)
    return StreamRelay(request, headers={"content-type": TYPES[upstream]}, new_id=count_ids(), created=7)


def run_relay(relay: StreamRelay, chunks: Iterable[bytes]) -> bytes:
    return b"".join(relay.receive(chunk) for chunk in chunks) + relay.end()


def translate_row(client: str, upstream: str, row: Row) -> bytes:
    return run_relay(build_relay(client, upstream, row), [row.body])


# Summaries of the output


def read_payloads(body: bytes) -> list[Json]:
    """Return the payloads; a comment between them is a ping."""
    payloads: list[Json] = []
    for frame in body.decode().split("\n\n"):
        data = [line.removeprefix("data: ") for line in frame.split("\n") if line.startswith("data: ")]
        if data and data != ["[DONE]"]:
            payloads.append(json.loads(data[0]))
        elif frame.startswith(":"):
            payloads.append({"type": "ping"})
    return payloads


def summarize(client: str, body: bytes) -> str:
    words = (
        summarize_anthropic(read_payloads(body))
        if client == ANTHROPIC
        else summarize_openai(read_payloads(body))
    )
    return " | ".join(words)


def summarize_anthropic(reported: list[Json]) -> list[str]:
    """Return a summary of the output after the start and its ping: a word or two per block and the end."""
    words: list[str] = []
    inside = False
    for payload in reported[2:] if reported[0]["type"] == "message_start" else reported:
        match payload:
            case {"type": "content_block_start", "index": index, "content_block": block}:
                call = f" {block['id']} {block['name']} " if block["type"] == "tool_use" else ""
                words.append(f"{index}:{block['type']}{call}")
                inside = True
            case {"type": "content_block_delta", "delta": {"partial_json": str(text)}}:
                words[-1] += text
            case {"type": "content_block_delta", "delta": {"signature": signature}}:
                words[-1] += f" sign={signature}"
            case {"type": "content_block_delta", "delta": delta}:
                words[-1] += f" +{delta.get('text', delta.get('thinking'))}"
            case {"type": "content_block_stop"}:
                words[-1] += " end"
                inside = False
            case {"type": "message_delta", "delta": delta, "usage": usage}:
                words.append(f"{delta['stop_reason']} {summarize_anthropic_usage(usage)}")
            case {"type": "error", "error": error}:
                words.append(f"error {error['type']}: {error['message']}")
            case {"type": "ping"} if inside:
                pass
            case {"type": kind}:
                words.append(kind.removeprefix("message_"))
    return words


def summarize_anthropic_usage(usage: Json) -> str:
    cached = f" cached={usage['cache_read_input_tokens']}" if "cache_read_input_tokens" in usage else ""
    thought = usage.get("output_tokens_details", {}).get("thinking_tokens")
    more = "" if thought is None else f" thought={thought}"
    return f"{usage['input_tokens']}/{usage['output_tokens']}{cached}{more}"


def summarize_openai(reported: list[Json]) -> list[str]:
    words: list[str] = []
    for payload in reported:
        if "error" in payload:
            words.append(f"error {payload['error']['type']}: {payload['error']['message']}")
        elif payload.get("type") == "ping":
            words.append("ping")
        elif not payload["choices"]:
            usage = payload["usage"]
            words[-1] += f" {usage['total_tokens']}={usage['prompt_tokens']}+{usage['completion_tokens']}"
        else:
            words += summarize_choice(payload["choices"][0])
    return words


def summarize_choice(choice: Json) -> Iterable[str]:
    delta = choice["delta"]
    if delta.get("role"):
        yield "role"
    elif delta.get("content"):
        yield f"+{delta['content']}"
    if delta.get("reasoning_content"):
        yield f"think={delta['reasoning_content']}"
    for call in delta.get("tool_calls", ()):
        function = call["function"]
        start = f"{call['id']} {function['name']}" if "id" in call else ""
        yield f"{call['index']}:{start}{function['arguments']}"
    if choice["finish_reason"]:
        yield choice["finish_reason"]


@for_each("key", ROWS, ids=" ".join)
def test_a_client_gets(key: tuple[str, str, str]) -> None:
    client, upstream, _ = key
    row = ROWS[key]
    expected = re.escape(row.written).replace(r"\*", ".*")
    reported = summarize(client, translate_row(client, upstream, row))
    assert re.fullmatch(expected, reported), f"\nexpected {row.written}\n     got {reported}"


@for_each("key", ROWS, ids=" ".join)
def test_the_cuts_between_reads_do_not_matter(key: tuple[str, str, str]) -> None:
    client, upstream, _ = key
    row = ROWS[key]
    once = translate_row(client, upstream, row)
    for chunks in (bytewise(row.body), *(at_random(row.body, seed) for seed in range(3))):
        assert run_relay(build_relay(client, upstream, row), chunks) == once


@for_each("key", ENDED, ids=" ".join)
def test_it_is_a_legal_stream(key: tuple[str, str, str]) -> None:
    client, upstream, _ = key
    row = ROWS[key]
    tools = [{"name": "f", "eager_input_streaming": row.eager}]
    found = GRAMMARS[client].of_body([translate_row(client, upstream, row)], {"tools": tools})
    assert [each for each in found if each.level != "may"] == []


@pytest.mark.parametrize("key", [key for key in ROWS if key not in ENDED], ids=" ".join)
def test_an_answer_that_failed_has_no_end(key: tuple[str, str, str]) -> None:
    client, upstream, _ = key
    body = translate_row(client, upstream, ROWS[key])
    assert body.count(b'"error"') >= 1
    assert b"message_stop" not in body
    assert b"[DONE]" not in body
    assert decode(client, body).status == "error"


@for_each("key", ENDED, ids=" ".join)
def test_the_answer_without_streaming_is_the_same(key: tuple[str, str, str]) -> None:
    client, upstream, _ = key
    row = ROWS[key]
    request = build_request(client, upstream, thinking=row.thinking, stream=False)
    answer = relay_document(
        request, headers={"content-type": TYPES[upstream]}, body=row.body, new_id=count_ids()
    )
    assert answer.status == 200
    streamed, one = decode(client, translate_row(client, upstream, row)), decode_document(answer.body, client)
    if not row.eager:
        runnable = [
            block for block in drop_argument_texts(streamed) if getattr(block, "arguments", True) is not None
        ]
        assert drop_argument_texts(one) == runnable
    assert (one.stop, one.usage, one.model) == (streamed.stop, streamed.usage, streamed.model)


def decode(api: str, body: bytes) -> Outcome:
    decoder = DECODERS[api]()
    decoder.receive_data(body)
    decoder.receive_eof()
    return decoder.outcome


def drop_argument_texts(outcome: Outcome) -> list[Any]:
    """Return the blocks without the text of arguments, which documents of some APIs lack."""
    return [
        replace(block, arguments_text=None) if isinstance(block, ToolCall) else block
        for block in outcome.content
    ]


def test_arguments_are_streamed_on_request() -> None:
    fragments = ["", '{"x"', ":", "1}"]
    body = chat.whole(
        chat.calls(chat.call(id="a", name="f", args=fragments[0])),
        *(chat.calls(chat.call(args=fragment)) for fragment in fragments[1:]),
        finish="tool_calls",
    )
    for eager, expected in ((True, fragments), (False, ["", "ping", "ping", "ping", '{"x":1}'])):
        output = read_payloads(run_relay(build_relay(ANTHROPIC, OPENAI, Row(body, "", eager=eager)), [body]))
        start = next(n for n, payload in enumerate(output) if payload["type"] == "content_block_start")
        inside = output[start + 1 : start + 1 + len(expected)]
        assert [
            payload.get("delta", {}).get("partial_json", payload["type"]) for payload in inside
        ] == expected
        assert output[start + 1 + len(expected)]["type"] == "content_block_stop"


# Before, between and after the records


def test_a_stream_starts_with_the_first_record() -> None:
    relay = build_relay(ANTHROPIC, "ollama-chat")
    first = ollama.lines(ollama.record(""))
    assert relay.receive(first[:-1]) == b""
    assert [payload["type"] for payload in read_payloads(relay.receive(first[-1:]))] == [
        "message_start",
        "ping",
    ]
    [text, delta] = read_payloads(relay.receive(ollama.lines(ollama.record("Hi"))))
    assert (text["type"], delta["delta"]["text"]) == ("content_block_start", "Hi")


def test_a_ping_starts_a_stream() -> None:
    relay = build_relay(ANTHROPIC, "ollama-chat")
    assert [payload["type"] for payload in read_payloads(relay.ping())] == ["message_start", "ping"]
    assert [payload["type"] for payload in read_payloads(relay.ping())] == ["ping"]
    rest = run_relay(relay, [OLLAMA["text"].body])
    assert b"message_start" not in rest
    assert relay.ping() == b""


def test_the_start_has_estimated_input_tokens_and_the_clients_model() -> None:
    [start, *_] = read_payloads(translate_row(ANTHROPIC, "ollama-chat", OLLAMA["text"]))
    assert start["message"]["usage"] == {"input_tokens": 7, "output_tokens": 0}
    assert (start["message"]["model"], start["message"]["id"]) == ("qwen3:8b", f"msg_{0:024d}")


def test_nothing_follows_the_end() -> None:
    relay = build_relay(ANTHROPIC, "ollama-chat")
    assert not relay.ended
    relay.receive(OLLAMA["text"].body)
    assert relay.ended
    assert relay.receive(OLLAMA["text"].body) + relay.end() + relay.break_off("late") + relay.ping() == b""


def test_a_connection_that_breaks_is_an_error() -> None:
    relay = build_relay(ANTHROPIC, OPENAI)
    relay.receive(chat.frames(chat.says("par")))
    [error] = read_payloads(relay.break_off("the upstream is gone"))
    assert error == {"type": "error", "error": {"type": "api_error", "message": "the upstream is gone"}}
    assert relay.ended
    assert relay.early_failure is None


@pytest.mark.parametrize(
    ("client", "upstream", "body", "status", "kind"),
    [
        (ANTHROPIC, "ollama-chat", ollama.lines(ollama.ERROR), 502, "api_error"),
        (ANTHROPIC, "ollama-chat", b"", 502, "api_error"),
        (ANTHROPIC, "ollama-chat", b"<html>", 502, "api_error"),
        (ANTHROPIC, OPENAI, chat.frames(chat.ERROR), 502, "api_error"),
        (ANTHROPIC, OPENAI, chat.frames({"error": {"message": "m", "code": 429}}), 429, "rate_limit_error"),
        (OPENAI, ANTHROPIC, messages.sse(messages.ERROR), 503, "overloaded_error"),
    ],
)
def test_a_failure_before_the_answer_has_a_status(
    client: str, upstream: str, body: bytes, status: int, kind: str
) -> None:
    relay = build_relay(client, upstream)
    [event] = read_payloads(run_relay(relay, [body]))
    assert relay.ended
    assert relay.early_failure is not None
    assert (relay.early_failure.status, json.loads(relay.early_failure.body)) == (status, event)
    assert event["error"]["type"] == kind
    request = build_request(client, upstream, stream=False)
    answer = relay_document(request, headers={"content-type": TYPES[upstream]}, body=body)
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (status, kind)


def test_a_document_is_relayed_as_a_stream() -> None:
    document = {
        "id": "x",
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    relay = StreamRelay(
        build_request(ANTHROPIC, OPENAI), headers={"content-type": "application/json"}, new_id=count_ids()
    )
    body = run_relay(relay, bytewise(json.dumps(document).encode()))
    assert summarize(ANTHROPIC, body) == "0:text +Hi end | end_turn 3/1 | stop"
    assert relay.ended


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "text/plain", None])
@pytest.mark.parametrize(
    ("upstream", "document"),
    [
        ("ollama-chat", ollama.ends("stop", "Hi")),
        (
            OPENAI,
            {
                "model": "m",
                "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
                "usage": chat.usage(),
            },
        ),
    ],
)
def test_a_document_is_an_answer_without_streaming(upstream: str, document: Json, kind: str | None) -> None:
    headers = {"content-type": kind} if kind else {}
    answer = relay_document(
        build_request(ANTHROPIC, upstream, stream=False),
        headers=headers,
        body=json.dumps(document).encode(),
        new_id=count_ids(),
    )
    assert answer.status == 200
    assert json.loads(answer.body) == {
        "id": f"msg_{0:024d}",
        "type": "message",
        "role": "assistant",
        "model": "qwen3:8b",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def test_an_endless_document_is_not_buffered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamconform_proxy.relay.MAX_DOCUMENT", 100)
    relay = StreamRelay(
        build_request(ANTHROPIC, OPENAI), headers={"content-type": "application/json"}, new_id=count_ids()
    )
    assert relay.receive(b"[" * 100) == b""
    output = relay.receive(b"[")
    assert (
        summarize(ANTHROPIC, output)
        == "error api_error: the upstream sent more than 100 bytes, but no stream"
    )
    assert relay.ended


def test_clients_that_request_usage_get_it() -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    request = translate_request(Route(client=OPENAI, upstream=ANTHROPIC), json.dumps(body).encode(), {})
    relay = StreamRelay(request, headers={"content-type": "text/event-stream"}, new_id=count_ids())
    output = run_relay(relay, [MESSAGES["text"].body])
    assert b"usage" not in output
    assert output.endswith(b"data: [DONE]\n\n")


def test_ids_are_random_hex_digits() -> None:
    body = OLLAMA["two calls without ids"].body
    seen = set()
    for _ in range(20):
        relay = StreamRelay(build_request(ANTHROPIC, "ollama-chat"), headers={})
        seen |= set(re.findall(rb'"id":"(toolu_[0-9a-f]{16}|msg_[0-9a-f]{24})"', run_relay(relay, [body])))
    assert len(seen) == 60


# Failures of the upstream, by status


@pytest.mark.parametrize(
    ("upstream", "status", "kind"),
    [
        (400, 400, "invalid_request_error"),
        (401, 401, "authentication_error"),
        (403, 403, "permission_error"),
        (404, 404, "not_found_error"),
        (413, 413, "request_too_large"),
        (422, 422, "invalid_request_error"),
        (429, 429, "rate_limit_error"),
        (500, 500, "api_error"),
        (502, 502, "api_error"),
        (503, 529, "overloaded_error"),
        (504, 504, "timeout_error"),
        (529, 529, "overloaded_error"),
    ],
)
def test_a_failure_has_the_type_of_its_status(upstream: int, status: int, kind: str) -> None:
    headers = {"retry-after": "7", "content-type": "application/json", "set-cookie": "x"}
    body = json.dumps({"error": "m is not there"}).encode()
    answer = build_upstream_failure(
        build_request(ANTHROPIC, "ollama-chat"), status=upstream, headers=headers, body=body
    )
    assert answer.status == status
    assert json.loads(answer.body) == {
        "type": "error",
        "error": {"type": kind, "message": "m is not there"},
    }
    assert answer.headers == {"content-type": "application/json", "retry-after": "7"}


@pytest.mark.parametrize("body", [b"", b"{}", b"<html>Bad gateway</html>", b"\xff\xfe", b"[" * 1000])
def test_a_failure_without_a_message_gets_one(body: bytes) -> None:
    answer = build_upstream_failure(build_request(OPENAI, ANTHROPIC), status=529, headers={}, body=body)
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["type"], error["param"], error["code"]) == (
        503,
        "overloaded_error",
        None,
        None,
    )
    assert error["message"]


@pytest.mark.parametrize("api", [ANTHROPIC, OPENAI])
def test_a_refusal_has_the_error_format_of_the_client(api: str) -> None:
    answer = build_refusal(api, RequestError(400, "thinking_not_supported", "no"), {"x-request-id": "r"})
    assert (answer.status, answer.headers["x-request-id"]) == (400, "r")
    decoder = DECODERS[api](status=400)
    decoder.receive_data(answer.body)
    decoder.receive_eof()
    error = decoder.outcome.error
    assert error is not None
    assert (error.type, error.message, error.status) == ("thinking_not_supported", "no", 400)


# Counting.


def test_tokens_are_counted_without_the_upstream() -> None:
    body = {
        "model": "m",
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [messages.tool(0)["content_block"]]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_0", "content": "sun"}],
            },
        ],
    }
    answer = build_token_count(json.dumps(body).encode())
    assert (answer.status, json.loads(answer.body)) == (200, {"input_tokens": count_tokens(body)})


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"model":"m"}', b'{"messages":[]}', b'{"model":"m","messages":["x"]}']
)
def test_an_uncountable_request_is_rejected(body: bytes) -> None:
    with pytest.raises(RequestError) as refusal:
        build_token_count(body)
    assert refusal.value.status == 400


def test_the_client_always_gets_whole_frames() -> None:
    relay, framing = build_relay(ANTHROPIC, "ollama-chat"), SseFraming()
    frames = 0
    for chunk in bytewise(OLLAMA["thinking, then text"].body):
        frames += len(framing.receive(relay.receive(chunk)))
    assert framing.end() == []
    assert frames == len(
        read_payloads(translate_row(ANTHROPIC, "ollama-chat", OLLAMA["thinking, then text"]))
    )
