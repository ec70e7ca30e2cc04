"""Small authored Ollama streams, each with one defect or peculiarity of real servers."""

from __future__ import annotations

import json
from typing import Any

Payload = dict[str, Any]

HEAD: Payload = {"model": "llama-x", "created_at": "2026-01-01T00:00:00Z"}


def lines(*records: Payload, end: str = "\n") -> bytes:
    """Return the records as JSON lines."""
    text = "".join(f"{json.dumps(record, ensure_ascii=False)}{end}" for record in records)
    return text.encode("utf-8", "backslashreplace")


def record(content: str = "", **message: Any) -> Payload:
    return {**HEAD, "message": {"role": "assistant", "content": content, **message}, "done": False}


def thinks(words: str, content: str = "") -> Payload:
    return record(content, thinking=words)


def call(name: str = "f", arguments: Any = None, **fields: Any) -> Payload:
    index = {"index": fields.pop("index")} if "index" in fields else {}
    given = {} if arguments is None else {"arguments": arguments}
    return {**fields, "function": {**index, "name": name, **given}}


def calls(*entries: Payload) -> Payload:
    return record(tool_calls=list(entries))


def ends(reason: str | None = "stop", content: str = "", *entries: Payload, **counts: Any) -> Payload:
    message = {"tool_calls": list(entries)} if entries else {}
    given = {"done_reason": reason} if reason else {}
    metrics = counts or {"prompt_eval_count": 10, "eval_count": 5}
    return {**record(content, **message), "done": True, **given, "total_duration": 9, **metrics}


ERROR: Payload = {"error": "an error was encountered while running the model"}

STREAMS: dict[str, bytes] = {
    "text": lines(record("Hel"), record("lo"), ends()),
    "crlf": lines(record("crlf"), ends(), end="\r\n"),
    "cjk-and-emoji": lines(record("天気は晴れ 🌤 é"), ends()),
    "unicode-line-ends-in-text": lines(record("a\u2028b\u2029c\x85d"), ends()),
    "thinking-then-text": lines(thinks("h"), thinks("m"), thinks("m", "Y"), record("es"), ends()),
    "think-tags": lines(record("<think>hm"), record("</think>Yes"), ends()),
    "call": lines(calls(call("f", {"city": "Paris"}, id="call_a")), ends()),
    "call-on-the-last-record": lines(thinks("hm"), ends("stop", "", call("f", {"x": 1}, id="call_a"))),
    "calls-without-ids": lines(calls(call("f", {"x": 1}), call("f", {"x": 2})), ends()),
    "calls-of-one-index": lines(
        calls(call("f", {"x": 1}, index=0, id="a")), calls(call("g", {"y": 2}, index=0, id="b")), ends()
    ),
    "no-arguments": lines(calls(call("f")), ends()),
    "text-arguments": lines(calls(call("f", '{"x": 1}')), ends()),
    "malformed-text-arguments": lines(calls(call("f", '{"x": INVALID}')), ends()),
    "length-behind-a-call": lines(calls(call("f", {"x": 1})), ends("length")),
    "prompt-count-absent": lines(record("a"), ends(eval_count=5)),
    "cached": lines(record("a"), ends(prompt_eval_count=100, prompt_eval_cached_count=60, eval_count=5)),
    "load": lines(ends("load", total_duration=1)),
    "no-done-reason": lines(record("a"), ends(None)),
    "no-done": lines(record("a"), record("b")),
    "error-in-mid-stream": lines(record("par"), ERROR),
    "last-line-without-end": lines(record("en"), ends("stop", "d")).rstrip(b"\n"),
}
