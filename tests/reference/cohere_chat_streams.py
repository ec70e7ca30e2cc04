"""Small authored Cohere streams of both versions, each with one defect or peculiarity of real servers."""

from __future__ import annotations

import json
from typing import Any

Payload = dict[str, Any]

DONE = b"data: [DONE]\n\n"
USAGE: Payload = {
    "billed_units": {"input_tokens": 119, "output_tokens": 44},
    "tokens": {"input_tokens": 1549, "output_tokens": 95},
    "cached_tokens": 1504,
}


def sse(*payloads: Payload, end: str = "\n") -> bytes:
    """Return events of v2 as server-sent events."""
    frames = []
    for payload in payloads:
        data = json.dumps(payload, ensure_ascii=False)
        frames.append(f"event: {payload['type']}{end}data: {data}{end}{end}")
    return "".join(frames).encode("utf-8", "surrogatepass")


def delta(kind: str, index: int | None = None, **message: Any) -> Payload:
    place = {} if index is None else {"index": index}
    return {"type": kind, **place, "delta": {"message": message}}


START: Payload = {
    "id": "reply-1",
    **delta("message-start", role="assistant", content=[], tool_plan="", tool_calls=[], citations=[]),
}


def begins(index: int | None = 0, kind: str = "text", words: str = "") -> Payload:
    return delta("content-start", index, content={"type": kind, kind: words})


def says(words: str, index: int | None = 0, kind: str = "text") -> Payload:
    return delta("content-delta", index, content={kind: words})


def ends(index: int | None = 0) -> Payload:
    return {"type": "content-end", **({} if index is None else {"index": index})}


def plans(words: str) -> Payload:
    return delta("tool-plan-delta", tool_plan=words)


def calls(index: int | None = 0, name: str = "f", args: Any = "", **fields: Any) -> Payload:
    call = {"id": f"{name}_{index or 0}", "type": "function", "function": {"name": name, "arguments": args}}
    return delta("tool-call-start", index, tool_calls={**call, **fields})


def args(fragment: Any, index: int | None = 0) -> Payload:
    return delta("tool-call-delta", index, tool_calls={"function": {"arguments": fragment}})


def called(index: int | None = 0) -> Payload:
    return {"type": "tool-call-end", **({} if index is None else {"index": index})}


def cites(citation: Payload, index: int = 0) -> tuple[Payload, Payload]:
    return delta("citation-start", index, citations=citation), {"type": "citation-end", "index": index}


def over(reason: str | None = "COMPLETE", usage: Payload | None = USAGE, **fields: Any) -> Payload:
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": usage, **fields}}


def whole_text(words: str, index: int = 0, kind: str = "text") -> tuple[Payload, ...]:
    return begins(index, kind), says(words, index, kind), ends(index)


def whole_call(text: str, index: int = 0, name: str = "f") -> tuple[Payload, ...]:
    return calls(index, name), args(text[:3], index), args(text[3:], index), called(index)


def answer(*payloads: Payload, reason: str = "COMPLETE") -> bytes:
    """Return a whole answer of v2."""
    return sse(START, *payloads, over(reason)) + DONE


# Version 1.

V1_USAGE: Payload = {
    "billed_units": {"input_tokens": 21, "output_tokens": 32},
    "tokens": {"input_tokens": 919},
}
V1_START: Payload = {"is_finished": False, "event_type": "stream-start", "generation_id": "reply-1"}


def ndjson(*payloads: Payload) -> bytes:
    """Return events of v1 as JSON lines."""
    return b"".join(json.dumps(payload, ensure_ascii=False).encode() + b"\n" for payload in payloads)


def event(kind: str, **fields: Any) -> Payload:
    return {"is_finished": False, "event_type": kind, **fields}


def v1_says(words: str) -> Payload:
    return event("text-generation", text=words)


def v1_plans(words: str) -> Payload:
    return event("tool-calls-chunk", text=words)


def piece(**fields: Any) -> Payload:
    return event("tool-calls-chunk", tool_call_delta=fields)


def v1_call(name: str = "f", **parameters: Any) -> Payload:
    return {"name": name, "parameters": parameters}


def v1_calls(*entries: Payload, text: str = "") -> Payload:
    return event("tool-calls-generation", text=text, tool_calls=list(entries))


def response(text: str = "", **fields: Any) -> Payload:
    ids = {"response_id": "response-1", "text": text, "generation_id": "reply-1", "chat_history": []}
    return {**ids, "finish_reason": "COMPLETE", "meta": V1_USAGE, **fields}


def v1_over(text: str = "", *entries: Payload, reason: str = "COMPLETE", **fields: Any) -> Payload:
    whole = response(
        text, finish_reason=reason, **({"tool_calls": list(entries)} if entries else {}), **fields
    )
    return {"is_finished": True, "event_type": "stream-end", "response": whole, "finish_reason": reason}


CITATION: Payload = {"start": 0, "end": 2, "text": "Hi", "sources": [{"type": "document", "id": "doc:0"}]}
V1_CITATION: Payload = {"start": 0, "end": 2, "text": "Hi", "document_ids": ["doc_0"]}

STREAMS: dict[str, bytes] = {
    "text": answer(begins(), says("Hel"), says("lo"), ends()),
    "cjk-and-emoji": answer(*whole_text("天気は晴れ 🌤 é")),
    "crlf": sse(START, *whole_text("crlf"), over(), end="\r\n"),
    "thinking-then-text": answer(*whole_text("hmm", 0, "thinking"), *whole_text("Yes", 1)),
    "plan-then-parallel-calls": answer(
        plans("I will"),
        plans(" look."),
        *whole_call('{"a":1}', 0, "f"),
        *whole_call('{"b":2}', 1, "g"),
        reason="TOOL_CALL",
    ),
    "thinking-then-call-of-the-same-index": answer(
        *whole_text("hmm", 0, "thinking"), *whole_call('{"a":1}'), reason="TOOL_CALL"
    ),
    "no-index": answer(
        calls(None, "f", id="x"),
        args('{"a":', None),
        args("1}", None),
        called(None),
        calls(None, "g", id="y"),
        args('{"b":2}', None),
        called(None),
    ),
    "no-parameters": answer(plans("Now."), calls(0, "now"), called(), reason="TOOL_CALL"),
    "null-parameters": answer(calls(0, "now"), args("null"), called(), reason="TOOL_CALL"),
    "complete-behind-a-call": answer(*whole_call('{"a":1}')),
    "truncated-call": answer(calls(), args('{"a": "par'), reason="MAX_TOKENS"),
    "malformed-call": answer(*whole_call('{"a": INVALID}'), reason="TOOL_CALL"),
    "truncated-text": answer(*whole_text("par"), reason="MAX_TOKENS"),
    "citation": answer(*whole_text("Hi"), *cites(CITATION)),
    "citation-of-two-sources": answer(
        *whole_text("Hi"), *cites({**CITATION, "sources": [{"id": "doc:0"}, {"id": "doc:1"}]})
    ),
    "reasoning-tokens": sse(
        START,
        *whole_text("hmm", 0, "thinking"),
        over(
            usage={
                "billed_units": {"input_tokens": 84, "output_tokens": 314},
                "tokens": {"input_tokens": 1501, "output_tokens": 346, "reasoning_tokens": 304},
                "cached_tokens": 1008,
            }
        ),
    ),
    "error-at-the-end": sse(
        START,
        plans("I will"),
        over("ERROR", {}, error="invalid tool generation", error_type="INVALID_TOOL_GENERATION"),
    )
    + DONE,
    "done-without-an-end": sse(START, begins(), says("par")) + DONE,
    "unknown-event": answer({"type": "debug", "prompt": "x"}, {"type": "future"}, *whole_text("on")),
    "error-in-mid-stream": sse(START, begins(), says("par")) + b'data: {"message":"internal error"}\n\n',
    "last-frame-without-blank-line": sse(START, *whole_text("end"), over()).rstrip(b"\n"),
    "v1-text": ndjson(V1_START, v1_says("Hel"), v1_says("lo"), v1_over("Hello")),
    "v1-cjk-and-emoji": ndjson(V1_START, v1_says("天気は晴れ 🌤 é"), v1_over("天気は晴れ 🌤 é")),
    "v1-call-in-pieces": ndjson(
        V1_START,
        v1_plans("I will"),
        v1_plans(" look."),
        piece(name="f"),
        piece(parameters='{\n "a":'),
        piece(parameters=" 1\n}"),
        v1_calls(v1_call(a=1), text="I will look."),
        v1_over("I will look.", v1_call(a=1)),
    ),
    "v1-numbered-calls-in-pieces": ndjson(
        V1_START,
        piece(index=0, name="f"),
        piece(index=0, parameters='{"a":1}'),
        piece(index=1, name="g"),
        piece(index=1, parameters='{"b":2}'),
        v1_calls(v1_call(a=1), v1_call("g", b=2)),
        v1_over("", v1_call(a=1), v1_call("g", b=2)),
    ),
    "v1-whole-call": ndjson(V1_START, v1_calls(v1_call(a=1)), v1_over("", v1_call(a=1))),
    "v1-search": ndjson(
        V1_START,
        event("search-results", documents=[{"id": "doc_0"}]),
        v1_says("Hi"),
        event("citation-generation", citations=[V1_CITATION]),
        v1_over("Hi", citations=[V1_CITATION], documents=[{"id": "doc_0"}]),
    ),
    "v1-truncated": ndjson(V1_START, v1_says("par"), v1_over("par", reason="ERROR_LIMIT")),
    "v1-error": ndjson(V1_START, v1_says("par"), v1_over("par", reason="ERROR")),
    "v1-last-line-without-end": ndjson(V1_START, v1_says("end"), v1_over("end")).rstrip(b"\n"),
}
