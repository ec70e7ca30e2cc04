"""Small authored Converse streams, each with a single defect or peculiarity of real servers."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

Payload = dict[str, Any]

USAGE: Payload = {
    "inputTokens": 100,
    "outputTokens": 300,
    "totalTokens": 2900,
    "cacheReadInputTokens": 2000,
    "cacheWriteInputTokens": 500,
}


def text_header(name: str, value: str) -> bytes:
    return header(name, 7, struct.pack(">H", len(value.encode())) + value.encode())


def header(name: str, kind: int, value: bytes) -> bytes:
    return bytes([len(name.encode())]) + name.encode() + bytes([kind]) + value


def message(headers: bytes, payload: bytes) -> bytes:
    """Return one message with correct lengths and checksums."""
    lengths = struct.pack(">II", len(headers) + len(payload) + 16, len(headers))
    before = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers + payload
    return before + struct.pack(">I", zlib.crc32(before))


def frame(kind: str, payload: Any) -> bytes:
    """Return an event message."""
    names = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return named(
        names, json.dumps({**payload, "p": "abcd"}, ensure_ascii=False).encode("utf-8", "backslashreplace")
    )


def named(headers: Mapping[str, str], payload: bytes) -> bytes:
    return message(b"".join(text_header(name, value) for name, value in headers.items()), payload)


def exception(kind: str, text: str = "Too many requests", **fields: Any) -> bytes:
    headers = {
        ":exception-type": kind,
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return named(headers, json.dumps({"message": text, **fields}).encode())


def failure(code: str, text: str) -> bytes:
    return named({":message-type": "error", ":error-code": code, ":error-message": text}, b"")


START = frame("messageStart", {"role": "assistant"})


def begins(index: int, **start: Any) -> bytes:
    return frame("contentBlockStart", {"contentBlockIndex": index, "start": start})


def tool(index: int, name: str = "f", **fields: Any) -> bytes:
    return begins(index, toolUse={"toolUseId": f"tooluse_{index}", "name": name, **fields})


def delta(index: int = 0, **content: Any) -> bytes:
    return frame("contentBlockDelta", {"contentBlockIndex": index, "delta": content})


def says(words: str, index: int = 0) -> bytes:
    return delta(index, text=words)


def args(fragment: Any, index: int = 0) -> bytes:
    return delta(index, toolUse={"input": fragment})


def thinks(index: int = 0, **content: Any) -> bytes:
    return delta(index, reasoningContent=content)


def stop(index: int = 0) -> bytes:
    return frame("contentBlockStop", {"contentBlockIndex": index})


def ends(reason: str | None = "end_turn") -> bytes:
    return frame("messageStop", {"stopReason": reason})


def metadata(**fields: Any) -> bytes:
    return frame("metadata", {"metrics": {"latencyMs": 9}, **fields})


def whole_text(words: str, index: int = 0) -> bytes:
    return says(words, index) + stop(index)


def whole_call(text: str, index: int = 0, name: str = "f") -> bytes:
    return tool(index, name) + args(text[:3], index) + args(text[3:], index) + stop(index)


def answer(*frames: bytes, reason: str = "end_turn") -> bytes:
    """Return a whole answer."""
    return START + b"".join(frames) + ends(reason) + metadata(usage=USAGE)


def damaged(body: bytes, at: int) -> bytes:
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


STREAMS: dict[str, bytes] = {
    "text": answer(says("Hel"), says("lo"), stop()),
    "cjk-and-emoji": answer(whole_text("天気は晴れ 🌤 é")),
    "empty-start": answer(begins(0), whole_text("Hi")),
    "text-then-call": answer(
        whole_text("I look."),
        tool(1),
        args("", 1),
        args('{"city": "Pa', 1),
        args('ris"}', 1),
        stop(1),
        reason="tool_use",
    ),
    "parallel-calls": answer(
        whole_call('{"a":1}', 0), whole_call('{"b":2}', 1, "g"), whole_call('{"c":3}', 2), reason="tool_use"
    ),
    "interleaved-calls": answer(
        tool(0),
        tool(1, "g"),
        args('{"a":', 0),
        args('{"b":', 1),
        args("1}", 0),
        args("2}", 1),
        stop(0),
        stop(1),
    ),
    "no-arguments": answer(tool(0), args(""), stop(), reason="tool_use"),
    "truncated-call": answer(tool(0), args('{"a": "par'), stop(), reason="max_tokens"),
    "malformed-call": answer(whole_call('{"a": INVALID}'), reason="tool_use"),
    "provider-tool": answer(
        tool(0, "nova_grounding", type="server_tool_use"),
        args('{"query":"x"}'),
        stop(),
        begins(
            1, toolResult={"toolUseId": "tooluse_0", "type": "nova_grounding_result", "status": "success"}
        ),
        delta(1, toolResult=[{"text": "found"}]),
        stop(1),
        says("cited", 2),
        delta(2, citation={"title": "t", "location": {"web": {"url": "https://example.com"}}}),
        stop(2),
    ),
    "reasoning-then-text": answer(
        thinks(text="hm"), thinks(text="m"), thinks(signature="c2ln"), stop(), whole_text("Yes", 1)
    ),
    "redacted-reasoning": answer(thinks(redactedContent="b3BhcXVl"), stop(), whole_text("Yes", 1)),
    "signature-without-text": answer(thinks(signature="c2ln"), whole_text("Yes", 1)),
    "no-block-stops": answer(says("I look."), tool(1), args('{"a":1}', 1), reason="tool_use"),
    "guardrail": answer(whole_text("Sorry."), reason="guardrail_intervened"),
    "window-exceeded": answer(whole_text("par"), reason="model_context_window_exceeded"),
    "malformed-output": answer(whole_text("par"), reason="malformed_tool_use"),
    "metadata-first": START + whole_text("Hi") + metadata(usage=USAGE) + ends(),
    "metadata-before-a-call-ends": START
    + tool(0)
    + args('{"a":1}')
    + metadata(usage=USAGE)
    + ends("tool_use"),
    "metrics-behind-usage": answer(whole_text("Hi")) + metadata(),
    "metadata-without-a-stop": START + whole_text("par") + metadata(usage=USAGE),
    "written-for-an-hour": START
    + whole_text("Hi")
    + ends()
    + metadata(
        usage={
            **USAGE,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 200}, {"ttl": "5m", "inputTokens": 300}],
        },
        serviceTier={"type": "flex"},
    ),
    "exception": START + says("par") + exception("throttlingException"),
    "error-message": START + says("par") + failure("InternalFailure", "it broke"),
    "exception-behind-the-stop": START + whole_text("Hi") + ends() + exception("internalServerException"),
    "unknown-event": answer(frame("future", {"contentBlockIndex": 0}), whole_text("on")),
    "damaged": damaged(answer(whole_text("Hello")), 200),
}
