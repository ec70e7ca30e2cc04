"""Small authored OpenAI Responses streams, each with one defect or peculiarity of real servers."""

from __future__ import annotations

import json
from typing import Any

Payload = dict[str, Any]

USAGE: Payload = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 8},
    "total_tokens": 120,
}


def sse(*payloads: Payload, end: str = "\n", escaped: bool = False) -> bytes:
    """Return the payloads as server-sent events."""
    frames = []
    for payload in payloads:
        data = json.dumps(payload, ensure_ascii=escaped)
        frames.append(f"event: {payload['type']}{end}data: {data}{end}{end}")
    return "".join(frames).encode("utf-8", "surrogatepass")


def response(status: str = "in_progress", **fields: Any) -> Payload:
    head = {"id": "resp_1", "object": "response", "model": "gpt-x", "service_tier": "auto"}
    return {**head, "status": status, "output": [], "usage": None, **fields}


def event(kind: str, index: int | None = 0, **fields: Any) -> Payload:
    place = {} if index is None else {"output_index": index}
    return {"type": f"response.{kind}", **place, **fields}


CREATED: Payload = {"type": "response.created", "response": response()}
PROGRESS: Payload = {"type": "response.in_progress", "response": response()}


def completed(*output: Payload, status: str = "completed", **fields: Any) -> Payload:
    """Return the end event, by default with an empty list of items."""
    ends = {"usage": USAGE, "service_tier": "default", "output": list(output), **fields}
    return {"type": "response.completed", "response": response(status, **ends)}


def incomplete(reason: str | None = "max_output_tokens", *output: Payload) -> Payload:
    details = {"reason": reason} if reason else None
    ends = response("incomplete", usage=USAGE, output=list(output), incomplete_details=details)
    return {"type": "response.incomplete", "response": ends}


def failed(code: str = "rate_limit_exceeded", message: str = "slow down") -> Payload:
    error = {"code": code, "message": message}
    return {"type": "response.failed", "response": response("failed", error=error)}


def added(item: Payload, index: int | None = 0) -> Payload:
    return event("output_item.added", index, item=item)


def done(item: Payload, index: int | None = 0) -> Payload:
    return event("output_item.done", index, item=item)


def message(*parts: Payload, status: str = "completed", id_: str = "msg_1") -> Payload:
    return {"id": id_, "type": "message", "role": "assistant", "status": status, "content": list(parts)}


def output_text(words: str, *annotations: Payload) -> Payload:
    return {"type": "output_text", "text": words, "annotations": list(annotations)}


def call(number: int = 1, arguments: Any = "", *, name: str = "f", **fields: Any) -> Payload:
    ids = {"id": f"fc_{number}", "call_id": f"call_{number}"}
    return {**ids, "type": "function_call", "name": name, "arguments": arguments, **fields}


def custom(text: str = "", name: str = "sql") -> Payload:
    ids = {"id": "ctc_1", "call_id": "call_1"}
    return {**ids, "type": "custom_tool_call", "name": name, "input": text}


def reasoning(*summary: str, **fields: Any) -> Payload:
    parts = [{"type": "summary_text", "text": words} for words in summary]
    return {"id": "rs_1", "type": "reasoning", "summary": parts, **fields}


def part_added(kind: str = "output_text", index: int = 0, part: int = 0, **fields: Any) -> Payload:
    content = {"type": kind, ("refusal" if kind == "refusal" else "text"): "", **fields}
    return event("content_part.added", index, content_index=part, part=content)


def says(words: str, index: int = 0, part: int = 0, **fields: Any) -> Payload:
    return event("output_text.delta", index, content_index=part, delta=words, item_id="msg_1", **fields)


def args(fragment: str, index: int = 0, number: int = 1) -> Payload:
    return event("function_call_arguments.delta", index, delta=fragment, item_id=f"fc_{number}")


def args_done(arguments: str, index: int = 0, number: int = 1) -> Payload:
    return event("function_call_arguments.done", index, arguments=arguments, item_id=f"fc_{number}")


def thinks(words: str, part: int = 0, index: int = 0) -> Payload:
    return event("reasoning_summary_text.delta", index, summary_index=part, delta=words, item_id="rs_1")


def whole_text(words: str, index: int = 0) -> tuple[Payload, ...]:
    """Return a message in the documented form."""
    place = {"content_index": 0, "item_id": "msg_1"}
    half = len(words) // 2
    return (
        added(message(status="in_progress"), index),
        part_added(index=index),
        says(words[:half], index),
        says(words[half:], index),
        event("output_text.done", index, text=words, **place),
        event("content_part.done", index, part=output_text(words), **place),
        done(message(output_text(words)), index),
    )


def whole_call(arguments: str, index: int = 0, number: int = 1) -> tuple[Payload, ...]:
    """Return a call in the documented form."""
    half = len(arguments) // 2
    return (
        added(call(number), index),
        args(arguments[:half], index, number),
        args(arguments[half:], index, number),
        args_done(arguments, index, number),
        done(call(number, arguments), index),
    )


def answer(*payloads: Payload, end: Payload | None = None) -> bytes:
    """Return a complete stream with these events."""
    return sse(CREATED, PROGRESS, *payloads, end or completed())


WEB_SEARCH: Payload = {"id": "ws_1", "type": "web_search_call", "status": "completed"}
SEARCHED: Payload = {**WEB_SEARCH, "action": {"type": "search", "query": "x"}}
CITATION: Payload = {"type": "url_citation", "url": "https://example.com"}

STREAMS: dict[str, bytes] = {
    "text": answer(*whole_text("Hello"), end=completed(message(output_text("Hello")))),
    "cjk-and-emoji": answer(*whole_text("天気は晴れ 🌤 é")),
    "call": answer(*whole_call('{"city": "Paris"}')),
    "phases": answer(
        done({**message(output_text("Looking.")), "phase": "commentary"}),
        done({**message(output_text("Found."), id_="msg_2"), "phase": "final_answer"}, 1),
    ),
    "approval": answer(
        done(
            {
                "type": "mcp_approval_request",
                "id": "mcpr_1",
                "server_label": "s",
                "name": "f",
                "arguments": "{}",
            }
        )
    ),
    "parallel-interleaved": answer(
        added(call(1, name="a"), 0),
        added(call(2, name="b"), 1),
        args('{"x":', 0, 1),
        args('{"y":', 1, 2),
        args("1}", 0, 1),
        args("2}", 1, 2),
        args_done('{"x":1}', 0, 1),
        args_done('{"y":2}', 1, 2),
        done(call(1, '{"x":1}', name="a"), 0),
        done(call(2, '{"y":2}', name="b"), 1),
    ),
    "rotating-ids": answer(
        added(message(id_="A1")),
        part_added() | {"item_id": "A2"},
        says("Hel") | {"item_id": "A3"},
        says("lo") | {"item_id": "A4"},
        done(message(output_text("Hello"), id_="A5")),
        added(call(1) | {"id": "B1"}, 1),
        args('{"a":', 1) | {"item_id": "B2"},
        args("1}", 1) | {"item_id": "B3"},
        done(call(1, '{"a":1}') | {"id": "B4"}, 1),
    ),
    "arguments-only-in-done": answer(added(call()), args_done('{"a":1}'), done(call(1, '{"a":1}'))),
    "arguments-only-in-the-item": answer(added(call()), done(call(1, '{"a":1}'))),
    "ciphertext-deltas": answer(added(call()), args("x9f"), args_done('{"a":1}'), done(call(1, '{"a":1}'))),
    "no-arguments": answer(*whole_call("{}")),
    "custom-tool": answer(
        added(custom()),
        event("custom_tool_call_input.delta", delta="SELECT "),
        event("custom_tool_call_input.delta", delta="1"),
        event("custom_tool_call_input.done", input="SELECT 1"),
        done(custom("SELECT 1")),
    ),
    "reasoning": answer(
        added(reasoning(encrypted_content="c3RhcnQ")),
        event("reasoning_summary_part.added", summary_index=0, part={"type": "summary_text", "text": ""}),
        thinks("**a**"),
        thinks("**b**", 1),
        thinks("!", 1),
        done(reasoning("**a**", "**b**!", encrypted_content="ZG9uZQ")),
        *whole_call('{"a":1}', 1),
    ),
    "hosted-tool": answer(
        added({**WEB_SEARCH, "status": "in_progress"}),
        event("web_search_call.searching", item_id="ws_1"),
        done(SEARCHED),
        *whole_text("cited", 1),
        event("output_text.annotation.added", 1, content_index=0, annotation_index=0, annotation=CITATION),
        end=completed(SEARCHED, tool_usage={"web_search": {"num_requests": 1}}),
    ),
    "refusal": answer(
        added(message()),
        part_added("refusal"),
        event("refusal.delta", content_index=0, delta="I can"),
        event("refusal.delta", content_index=0, delta="not"),
        event("refusal.done", content_index=0, refusal="I cannot"),
        done(message({"type": "refusal", "refusal": "I cannot"})),
    ),
    "length": answer(*whole_text("par"), end=incomplete("max_output_tokens")),
    "truncated-call": answer(
        added(call()),
        args('{"a": "par'),
        args_done('{"a": "par'),
        done(call(1, '{"a": "par', status="incomplete")),
        end=incomplete("max_output_tokens"),
    ),
    "only-the-end": answer(
        end=completed(reasoning("t"), message(output_text("hi")), call(1, '{"a":1}'), SEARCHED)
    ),
    "error-nested": sse(
        CREATED,
        says("par"),
        {
            "type": "error",
            "error": {"type": "too_many", "code": "rate_limit_exceeded", "message": "slow down"},
        },
        failed(),
    ),
    "error-flat": sse(
        CREATED, says("par"), {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}
    ),
    "failed": sse(CREATED, says("par"), failed()),
    "crlf": sse(CREATED, *whole_text("crlf"), completed(), end="\r\n"),
    "llama-cpp": sse(
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}},
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}},
        added(reasoning(encrypted_content="", content=[]), None),
        event("reasoning_text.delta", None, item_id="rs_1", delta="hm"),
        event("reasoning_text.delta", None, item_id="rs_1", delta="m"),
        added(message(status="in_progress"), None),
        event("content_part.added", None, item_id="msg_1", part=output_text("")),
        event("output_text.delta", None, item_id="msg_1", delta="Hel"),
        added({"type": "function_call", "call_id": "fc_a", "name": "a", "arguments": ""}, None),
        event("function_call_arguments.delta", None, item_id="fc_a", delta='{"x":1}'),
        event("output_text.delta", None, item_id="msg_1", delta="lo"),
        added({"type": "function_call", "call_id": "fc_b", "name": "b", "arguments": ""}, None),
        event("function_call_arguments.delta", None, item_id="fc_b", delta='{"y":2}'),
        done(reasoning(encrypted_content="", content=[{"type": "reasoning_text", "text": "hmm"}]), None),
        event("output_text.done", None, item_id="msg_1", text="Hello"),
        event("content_part.done", None, item_id="msg_1", part=output_text("Hello")),
        done(message(output_text("Hello")), None),
        done({"type": "function_call", "call_id": "fc_a", "name": "a", "arguments": '{"x":1}'}, None),
        done({"type": "function_call", "call_id": "fc_b", "name": "b", "arguments": '{"y":2}'}, None),
        completed(
            reasoning(content=[{"type": "reasoning_text", "text": "hmm"}]),
            message(output_text("Hello")),
            {"type": "function_call", "call_id": "fc_a", "name": "a", "arguments": '{"x":1}'},
            {"type": "function_call", "call_id": "fc_b", "name": "b", "arguments": '{"y":2}'},
        ),
    ),
    "parts-counted-from-one": answer(
        added(message()),
        part_added(part=1),
        says("Hel", part=1),
        says("lo", part=1),
        done(message(output_text("Hello"))),
    ),
}
