"""Small authored Chat Completions streams, each with one defect or peculiarity of real servers."""

from __future__ import annotations

import json
from typing import Any

Payload = dict[str, Any]

DONE = b"data: [DONE]\n\n"
HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x"}


def frames(*payloads: Payload, end: str = "\n") -> bytes:
    """Return the payloads as server-sent events, without `[DONE]`."""
    text = "".join(f"data: {json.dumps(p, ensure_ascii=False)}{end}{end}" for p in payloads)
    return text.encode("utf-8", "surrogatepass")


def sse(*payloads: Payload, end: str = "\n") -> bytes:
    return frames(*payloads, end=end) + DONE.replace(b"\n", end.encode())


def chunk(delta: Payload | None = None, finish: str | None = None, **fields: Any) -> Payload:
    choice = {"index": 0, "delta": delta or {}, "logprobs": None, "finish_reason": finish}
    return {**HEAD, "choices": [choice], **fields}


def says(content: Any, **fields: Any) -> Payload:
    return chunk({"content": content, **fields})


def thinks(text: str, key: str = "reasoning_content") -> Payload:
    return chunk({key: text})


def call(
    *,
    index: Any = 0,
    id: Any = None,  # noqa: A002
    name: Any = None,
    args: Any = None,
    **fields: Any,
) -> Payload:
    """Return an entry of `tool_calls`, without fields that are None."""
    function = {key: value for key, value in (("name", name), ("arguments", args)) if value is not None}
    own = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {**own, "function": function, **fields}


def calls(*entries: Payload, finish: str | None = None) -> Payload:
    return chunk({"tool_calls": list(entries)}, finish)


def ends(finish: str = "stop", **fields: Any) -> Payload:
    return chunk({}, finish, **fields)


def usage(prompt: int = 10, completion: int = 5, **fields: Any) -> Payload:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**counts, **fields}


def reports(**fields: Any) -> Payload:
    return {**HEAD, "choices": [], "usage": usage(**fields)}


ROLE = chunk({"role": "assistant", "content": "", "refusal": None})
ERROR: Payload = {"error": {"message": "Overloaded", "type": "server_error", "param": None, "code": None}}


def whole(*payloads: Payload, finish: str = "stop") -> bytes:
    """Return an answer with these chunks."""
    return sse(ROLE, *payloads, ends(finish), reports())


STREAMS: dict[str, bytes] = {
    "text": whole(says("Hel"), says("lo")),
    "empty-deltas": whole(says("Hel"), says(""), says("lo"), says("")),
    "cjk-and-emoji": whole(says("天気は晴れ 🌤 é")),
    "unicode-line-ends-in-text": whole(says("a\u2028b\u2029c\x85d")),
    "crlf": sse(ROLE, says("crlf"), ends(), end="\r\n"),
    "no-done-mark": frames(ROLE, says("end"), ends()),
    "no-finish-reason": sse(ROLE, says("end")),
    "no-finish-reason-in-a-call": sse(ROLE, calls(call(id="a", name="f", args='{"x":1}'))),
    "refusal": whole(chunk({"refusal": "I can"}), chunk({"refusal": "not"})),
    "thinking-then-text": whole(thinks("hm"), thinks("m"), says("Yes")),
    "reasoning-in-a-content-part": whole(
        says([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}]), says("Yes")
    ),
    "an-id-per-fragment": whole(
        calls(call(id="a", name="f", args="")),
        calls(call(id="b", args='{"x":')),
        calls(call(id="c", args="1}")),
        finish="tool_calls",
    ),
    "arguments-so-far": whole(
        calls(call(id="a", name="f", args='{"x"')),
        calls(call(args='{"x":1')),
        calls(call(args='{"x":1}')),
        finish="tool_calls",
    ),
    "reasoning-under-two-names": whole(chunk({"reasoning": "hm", "reasoning_content": "hm"}), says("Yes")),
    "signed-call": whole(
        calls(
            call(id="call_a", name="f", args="{}", extra_content={"google": {"thought_signature": "c2ln"}})
        ),
        finish="tool_calls",
    ),
    "sources-in-a-list": whole({**says("Hi"), "citations": ["https://a.example", "https://b.example"]}),
    "sources-in-a-delta": whole(
        says("Hi", annotations=[{"type": "url_citation", "url_citation": {"url": "https://a.example"}}])
    ),
    "call": whole(
        calls(call(id="call_a", name="f", args="", type="function")),
        calls(call(args='{"city": "Pa')),
        calls(call(args='ris"}')),
        finish="tool_calls",
    ),
    "stop-inside-a-call": whole(
        calls(call(id="call_a", name="f", args="", type="function")),
        ends(),
        calls(call(args='{"city": "Paris"}')),
    ),
    "parallel-interleaved": whole(
        calls(call(id="a", name="f", args="")),
        calls(call(index=1, id="b", name="g", args="")),
        calls(call(args='{"x":'), call(index=1, args='{"y":')),
        calls(call(index=1, args="2}"), call(args="1}")),
        finish="tool_calls",
    ),
    "one-index-two-ids": whole(
        calls(call(id="a", name="f", args='{"x":1}')),
        calls(call(id="b", name="g", args='{"y":')),
        calls(call(id="b", args="2}")),
        finish="tool_calls",
    ),
    "name-repeated": whole(
        calls(call(id="a", name="f", args="")),
        calls(call(id="a", name="f", args='{"x":')),
        calls(call(id="a", name="f", args="1}")),
        finish="tool_calls",
    ),
    "no-index": whole(
        calls(call(index=None, id="a", name="f", args='{"x":1}')),
        calls(call(index=None, id="b", name="g", args='{"y":2}')),
    ),
    "object-arguments": whole(calls(call(id="a", name="f", args={"x": [1, {}]})), finish="tool_calls"),
    "no-arguments": whole(calls(call(id="a", name="f")), finish="tool_calls"),
    "stop-behind-a-call": whole(calls(call(id="a", name="f", args='{"x":1}'))),
    "truncated-call": whole(calls(call(id="a", name="f", args='{"x": "par')), finish="length"),
    "malformed-call": whole(calls(call(id="a", name="f", args='{"x": INVALID}')), finish="tool_calls"),
    "usage-on-every-chunk": sse(
        chunk({"content": "a"}, usage=usage(10, 1)),
        chunk({"content": "b"}, usage=usage(10, 2)),
        ends(usage=usage(10, 3)),
    ),
    "usage-then-null": sse(says("a"), chunk({"content": "b"}, usage=usage(10, 3)), ends(usage=None)),
    "cached-and-reasoning": sse(
        says("a"),
        ends(),
        reports(
            prompt=10000,
            completion=3000,
            prompt_tokens_details={"cached_tokens": 8000},
            completion_tokens_details={"reasoning_tokens": 2200},
        ),
    ),
    "chunk-without-choices": sse(ROLE, {"object": "guardrail.trace"}, says("on"), ends(), reports()),
    "error-in-mid-stream": frames(ROLE, says("par"), ERROR),
    "last-frame-without-blank-line": frames(ROLE, says("end"), ends()).rstrip(b"\n"),
}
