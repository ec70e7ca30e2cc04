"""Small authored Gemini streams, each with one defect or peculiarity of real servers."""

from __future__ import annotations

import json
from typing import Any

Payload = dict[str, Any]

HEAD: Payload = {"modelVersion": "gemini-x", "responseId": "resp_1"}
SIGNATURE = "c2lnbmF0dXJl"


def sse(*payloads: Payload, end: str = "\r\n") -> bytes:
    """Return the payloads as server-sent events, like with `alt=sse`."""
    frames = (f"data: {json.dumps(payload, ensure_ascii=False)}{end}{end}" for payload in payloads)
    return "".join(frames).encode("utf-8", "surrogatepass")


def array(*payloads: Payload, indent: int | None = 2) -> bytes:
    """Return the payloads as one array, like without `alt=sse`."""
    elements = [json.dumps(payload, ensure_ascii=False, indent=indent).encode() for payload in payloads]
    return b"[" + b"\n,\r\n".join(elements) + b"\n]"


def usage(prompt: int | None = 10, candidates: int | None = 5, **more: int) -> Payload:
    counts = {"promptTokenCount": prompt, "candidatesTokenCount": candidates, **more}
    return {name: count for name, count in counts.items() if count is not None}


def candidate(*parts: Payload, finish: Any = None, **fields: Any) -> Payload:
    content: Payload = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    return {**content, **({"finishReason": finish} if finish is not None else {}), **fields}


def chunk(*parts: Payload, finish: Any = None, counts: Payload | None = None, **fields: Any) -> Payload:
    """Return a chunk of candidate 0; `fields` are the candidate's."""
    reported = {"usageMetadata": counts} if counts else {}
    return {"candidates": [candidate(*parts, finish=finish, **fields)], **reported, **HEAD}


def text(words: str, **fields: Any) -> Payload:
    return {"text": words, **fields}


def thought(words: str, **fields: Any) -> Payload:
    return {"text": words, "thought": True, **fields}


def call(name: str = "f", args: Any = None, *, signature: str = "", **fields: Any) -> Payload:
    function = {"name": name, **({} if args is None else {"args": args}), **fields}
    return {"functionCall": function, **({"thoughtSignature": signature} if signature else {})}


def goes_on(*entries: Payload, more: bool = True) -> Payload:
    """Return a part with partial arguments for the open call; it is empty if there are no entries."""
    function: Payload = {"partialArgs": list(entries)} if entries else {}
    return {"functionCall": {**function, **({"willContinue": True} if more else {})}}


def partial(path: str, *, more: bool = False, **value: Any) -> Payload:
    return {"jsonPath": path, **value, **({"willContinue": True} if more else {})}


def says(words: str) -> Payload:
    return chunk(text(words))


def ends(reason: Any = "STOP", *parts: Payload, **counts: Any) -> Payload:
    return chunk(*parts, finish=reason, counts=usage(**counts))


def opens(name: str = "f", **fields: Any) -> Payload:
    return chunk(call(name, willContinue=True, **fields))


ERROR: Payload = {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}
BARE_ERROR: bytes = json.dumps(ERROR, indent=2).encode() + b"\n"

STREAMED_ARGUMENTS: tuple[Payload, ...] = (
    opens(),
    chunk(goes_on(partial("$.city", stringValue="Bos", more=True))),
    chunk(goes_on(partial("$.city", stringValue="ton", more=True))),
    chunk(goes_on(partial("$.city", stringValue=""))),
    chunk(goes_on(partial("$.days[0].n", numberValue=1), partial("$.days[0].rain", nullValue="NULL_VALUE"))),
    chunk(goes_on()),
    chunk(goes_on(partial("$.days[1].rain", boolValue=True))),
    chunk(goes_on(more=False)),
)

STREAMS: dict[str, bytes] = {
    "text": sse(says("Hel"), says("lo"), ends("STOP")),
    "array": array(says("Hel"), says('lo },{ " ] \\'), ends()),
    "array-in-lines": array(says("Hel"), says("lo"), ends(), indent=None),
    "cjk-and-emoji": sse(says("天気は晴れ 🌤 é"), ends()),
    "lf": sse(says("lf"), ends(), end="\n"),
    "thinking-then-text": sse(chunk(thought("hm"), thought("m")), says("Yes"), ends(thoughtsTokenCount=7)),
    "signed-call": sse(
        chunk(thought("hm")), chunk(call("f", {"x": 1}, signature=SIGNATURE)), ends("STOP", text(""))
    ),
    "signed-text": sse(says("a"), chunk(text("b", thoughtSignature=SIGNATURE)), says("c"), ends()),
    "signed-empty-text": sse(says("a"), ends("STOP", text("", thoughtSignature=SIGNATURE))),
    "call": sse(chunk(call("f", {"x": 1}), finish="STOP", counts=usage())),
    "call-with-id": sse(chunk(call("f", {"x": 1}, id="fc_1")), ends()),
    "no-arguments": sse(chunk(call("f")), ends()),
    "parallel-in-one-chunk": sse(chunk(text("a"), call("f", {"x": 1}), call("g", {"y": 2})), ends()),
    "parallel-of-one-name": sse(chunk(call("f", {"x": 1})), chunk(call("f", {"x": 2})), ends()),
    "streamed-arguments": sse(*STREAMED_ARGUMENTS, ends()),
    "streamed-arguments-never-closed": sse(
        opens(), chunk(goes_on(partial("$.x", stringValue="a"), more=False)), ends("STOP", text(""))
    ),
    "truncated-call": sse(
        opens(), chunk(goes_on(partial("$.x", stringValue="a", more=True))), ends("MAX_TOKENS")
    ),
    "truncated-text": sse(says("a"), ends("MAX_TOKENS")),
    "code": sse(
        chunk({"executableCode": {"language": "PYTHON", "code": "print(1)"}}),
        chunk({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
        says("1"),
        ends(),
    ),
    "grounded": sse(
        chunk(text("a"), groundingMetadata={"webSearchQueries": ["q"]}),
        chunk(text("b"), groundingMetadata={"webSearchQueries": ["q", "r"]}),
        ends(),
    ),
    "first-reason-is-not-the-last": sse(chunk(finish="STOP"), says("a"), ends()),
    "content-without-parts": sse(says("a"), chunk(finish="STOP", content={"role": "model"})),
    "usage-only-chunk": sse(says("a"), ends(), {"usageMetadata": usage(10, 6), **HEAD}),
    "usage-on-every-chunk": sse(
        chunk(text("a"), counts=usage(10, 1)), chunk(text("b"), counts=usage(10, 2)), ends(candidates=3)
    ),
    "cached-and-tools": sse(
        says("a"),
        ends(
            "STOP",
            prompt=1000,
            cachedContentTokenCount=600,
            toolUsePromptTokenCount=50,
            candidates=200,
            thoughtsTokenCount=300,
        ),
    ),
    "blocked-prompt": sse(
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": usage(9, None), **HEAD}
    ),
    "filtered": sse(says("a"), ends("RECITATION")),
    "malformed-call": sse(says("a"), ends("MALFORMED_FUNCTION_CALL")),
    "malformed-call-that-is-open": sse(opens(), ends("MALFORMED_FUNCTION_CALL")),
    "no-reason": sse(says("a")),
    "error-in-mid-stream": sse(says("par"), ERROR),
    "error-behind-the-reason": sse(says("a"), ends(), ERROR),
    "bare-error": sse(says("par")) + BARE_ERROR,
    "error-in-an-array": array(says("par"), ERROR),
    "last-frame-without-blank-line": sse(says("end"), ends()).rstrip(b"\r\n"),
    "search": sse(
        chunk(text("At noon.")),
        chunk(
            finish="STOP",
            counts=usage(10, 5, toolUsePromptTokenCount=100),
            groundingMetadata={"webSearchQueries": ["high water"]},
        ),
    ),
}
