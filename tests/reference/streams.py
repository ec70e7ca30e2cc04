"""Small authored Anthropic streams, each with one defect or peculiarity of real servers."""

from __future__ import annotations

import json
from typing import Any

Payload = dict[str, Any]


def sse(*payloads: Payload, names: bool = True, end: str = "\n") -> bytes:
    """Return the payloads as server-sent events."""
    frames = []
    for payload in payloads:
        name = f"event: {payload['type']}{end}" if names else ""
        frames.append(f"{name}data: {json.dumps(payload, ensure_ascii=False)}{end}{end}")
    return "".join(frames).encode("utf-8", "surrogatepass")


def start(**usage: Any) -> Payload:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x"}
    counts = usage or {"input_tokens": 10, "output_tokens": 1}
    return {"type": "message_start", "message": {**message, "content": [], "usage": counts}}


def block(index: int, kind: str, **fields: Any) -> Payload:
    content = {"type": kind, **fields}
    return {"type": "content_block_start", "index": index, "content_block": content}


def text(index: int = 0, initial: str = "") -> Payload:
    return block(index, "text", text=initial)


def tool(index: int, name: str = "f", *, kind: str = "tool_use", **fields: Any) -> Payload:
    return block(index, kind, **{"id": f"toolu_{index}", "name": name, "input": {}, **fields})


def delta(index: int, kind: str, **fields: Any) -> Payload:
    content = {"type": kind, **fields}
    return {"type": "content_block_delta", "index": index, "delta": content}


def says(words: str, index: int = 0) -> Payload:
    return delta(index, "text_delta", text=words)


def args(index: int, fragment: str) -> Payload:
    return delta(index, "input_json_delta", partial_json=fragment)


def stop(index: int = 0) -> Payload:
    return {"type": "content_block_stop", "index": index}


def ends(reason: str | None = "end_turn", **usage: Any) -> Payload:
    counts = usage or {"output_tokens": 5}
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": counts}


PING: Payload = {"type": "ping"}
STOP: Payload = {"type": "message_stop"}
ERROR: Payload = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def message(*blocks: Payload, reason: str = "end_turn") -> bytes:
    """Return a whole answer with these blocks."""
    return sse(start(), *blocks, ends(reason), STOP)


def whole_text(words: str, index: int = 0) -> tuple[Payload, ...]:
    return text(index), says(words, index), stop(index)


STREAMS: dict[str, bytes] = {
    "text": message(text(), says("Hel"), PING, says("lo"), stop()),
    "cjk-and-emoji": message(*whole_text("天気は晴れ 🌤 é")),
    "unicode-line-ends-in-text": message(*whole_text("a\u2028b\u2029c\x85d")),
    "thinking-then-call": message(
        block(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="hmm"),
        delta(0, "signature_delta", signature="c2ln"),
        stop(0),
        block(1, "redacted_thinking", data="b3BhcXVl"),
        stop(1),
        block(2, "thinking", thinking="", signature=""),
        delta(2, "signature_delta", signature="b21pdHRlZA"),
        stop(2),
        tool(3),
        args(3, ""),
        args(3, '{"city": "Pa'),
        args(3, 'ris"}'),
        stop(3),
        reason="tool_use",
    ),
    "parallel-interleaved": message(
        tool(0, "a"),
        tool(1, "b"),
        args(0, '{"x":'),
        args(1, '{"y":'),
        args(0, "1}"),
        args(1, "2}"),
        stop(0),
        stop(1),
        reason="tool_use",
    ),
    "no-arguments": message(tool(0), args(0, ""), stop(0), reason="tool_use"),
    "prefilled-input": message(tool(0, input={"player": 1}), stop(0), reason="tool_use"),
    "malformed-call": message(tool(0), args(0, '{"a": INVALID}'), stop(0), reason="tool_use"),
    "truncated-call": message(tool(0), args(0, '{"a": "par'), stop(0), reason="max_tokens"),
    "provider-tool": message(
        tool(0, "web_search", kind="server_tool_use"),
        args(0, '{"query":"x"}'),
        stop(0),
        block(1, "web_search_tool_result", tool_use_id="toolu_0", content=[]),
        stop(1),
        text(2),
        delta(2, "citations_delta", citation={"url": "https://example.com"}),
        says("cited", 2),
        stop(2),
    ),
    "cached": sse(
        start(
            input_tokens=3,
            cache_creation_input_tokens=9000,
            cache_read_input_tokens=40000,
            cache_creation={"ephemeral_5m_input_tokens": 6000, "ephemeral_1h_input_tokens": 3000},
            output_tokens=1,
        ),
        *whole_text("hi"),
        ends(output_tokens=550),
        STOP,
    ),
    "input-grows": sse(
        start(input_tokens=43, output_tokens=1),
        *whole_text("hi"),
        ends(input_tokens=61, output_tokens=9, cache_read_input_tokens=7),
        STOP,
    ),
    "pause": message(*whole_text("wait"), reason="pause_turn"),
    "unknown-event": sse(start(), {"type": "vertex_event"}, *whole_text("on"), ends(), STOP),
    "error-in-mid-stream": sse(start(), text(), says("par"), ERROR),
    "error-after-a-malformed-call": sse(start(), tool(0), args(0, "{"), stop(0), ERROR),
    "last-frame-without-blank-line": message(*whole_text("end")).rstrip(b"\n"),
    "crlf": sse(start(), *whole_text("crlf"), ends(), STOP, end="\r\n"),
    "cr": sse(start(), *whole_text("cr"), ends(), STOP, end="\r"),
    "no-event-names": sse(start(), *whole_text("bare"), ends(), STOP, names=False),
}
