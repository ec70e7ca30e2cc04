"""The shortest answer of each api, in every form that a client can ask for: it says `OK`. Pure.

It answers requests that are judged for what they are, so nothing in it matters but that any client reads it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from streamconform.model.case import NOTHING_EXPECTED, Case
from streamconform.model.cassette import Authored, Cassette, Request
from streamconform.model.trial import Trial
from streamconform.replay.endpoints import STREAMS
from streamconform.wire import eventstream, sse

Json = dict[str, Any]

SSE: Final = "text/event-stream"
AT: Final = 1_760_000_000
"""Seconds of some day."""
DAY: Final = "2025-10-09T08:53:20Z"
MILLISECOND: Final = 1_000_000
"""Nanoseconds, in which Ollama counts."""


def plain(api: str, target: str, id_: str, model: str) -> Trial:
    """Return the answer to a request for `target`, as a stream and, as its twin, in one piece."""
    form = _form(api, target)
    path = "/v1/chat" if form == "cohere-chat v1" else STREAMS[api][0]
    type_, stream, document = FORMS[form]
    body = stream(model)
    cassette = Cassette(
        api=api,
        name="plain",
        request=Request(method="POST", path=path, headers={}, body={"model": model, "stream": True}),
        status=200,
        headers={"content-type": type_},
        body=body,
        suffix="",
        marks=(),
        provenance=Authored("", note="an answer to requests that are judged"),
        twin=json.dumps(document(model)).encode(),
    )
    case = Case(id=id_, api=api, title="the shortest answer", cassette=cassette, expect=NOTHING_EXPECTED)
    return Trial(case, "recorded", "must", (body,))


def _form(api: str, target: str) -> str:
    path, _, query = target.partition("?")
    if api == "cohere-chat" and path.startswith("/v1/"):
        return "cohere-chat v1"
    if api == "google-generate" and parse_qs(query).get("alt") != ["sse"]:
        return "google-generate array"
    return api


def _sse(*payloads: Json, named: bool = True) -> bytes:
    return b"".join(
        sse.event(json.dumps(each).encode(), each["type"] if named else None) for each in payloads
    )


def _lines(*payloads: Json) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in payloads)


def _anthropic(model: str) -> bytes:
    begun = _message(model) | {"content": [], "stop_reason": None}
    return _sse(
        {"type": "message_start", "message": begun | {"usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "OK"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    )


def _message(model: str) -> Json:
    return {
        "id": "msg_plain",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": "OK"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 2},
    }


CHAT_USAGE: Final[Json] = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}


def _chat(model: str) -> bytes:
    head = {"id": "chatcmpl-plain", "object": "chat.completion.chunk", "created": AT, "model": model}
    deltas: tuple[Json, ...] = ({"role": "assistant", "content": ""}, {"content": "OK"})
    choices: list[Json] = [{"index": 0, "delta": each, "finish_reason": None} for each in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    chunks = [head | {"choices": [each]} for each in choices]
    return _sse(*chunks, head | {"choices": [], "usage": CHAT_USAGE}, named=False) + b"data: [DONE]\n\n"


def _completion(model: str) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": "OK"}, "finish_reason": "stop"}
    head = {"id": "chatcmpl-plain", "object": "chat.completion", "created": AT, "model": model}
    return head | {"choices": [choice], "usage": CHAT_USAGE}


def _responses(model: str) -> bytes:
    whole = _response(model)
    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    (item,) = whole["output"]
    (part,) = item["content"]
    at = {"item_id": item["id"], "output_index": 0}
    there = at | {"content_index": 0}
    events: tuple[Json, ...] = (
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": item | {"status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **there, "part": part | {"text": ""}},
        {"type": "response.output_text.delta", **there, "delta": "OK", "logprobs": []},
        {"type": "response.output_text.done", **there, "text": "OK", "logprobs": []},
        {"type": "response.content_part.done", **there, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    )
    return _sse(*(each | {"sequence_number": i} for i, each in enumerate(events)))


def _response(model: str) -> Json:
    part = {"type": "output_text", "text": "OK", "annotations": [], "logprobs": []}
    return {
        "id": "resp_plain",
        "object": "response",
        "created_at": AT,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [
            {
                "id": "msg_plain",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        ],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 11,
        },
    }


def _google(model: str) -> Json:
    content = {"role": "model", "parts": [{"text": "OK"}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11},
        "modelVersion": model,
        "responseId": "plain",
    }


def _google_array(model: str) -> bytes:
    return b"[" + json.dumps(_google(model)).encode() + b"\n]\n"


def _ollama(model: str) -> bytes:
    return _lines(
        {
            "model": model,
            "created_at": DAY,
            "message": {"role": "assistant", "content": "OK"},
            "done": False,
        },
        _ollama_last(model) | {"message": {"role": "assistant", "content": ""}},
    )


def _ollama_last(model: str) -> Json:
    durations = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
    return {
        "model": model,
        "created_at": DAY,
        "message": {"role": "assistant", "content": "OK"},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 9,
        "eval_count": 2,
        **dict.fromkeys(durations, MILLISECOND),
    }


COHERE_USAGE: Final[Json] = {
    "billed_units": {"input_tokens": 9, "output_tokens": 2},
    "tokens": {"input_tokens": 9, "output_tokens": 2},
}


def _cohere(model: str) -> bytes:
    del model
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    return _sse(
        {"type": "message-start", "id": "plain", "delta": {"message": message}},
        {
            "type": "content-start",
            "index": 0,
            "delta": {"message": {"content": {"type": "text", "text": ""}}},
        },
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "OK"}}}},
        {"type": "content-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": COHERE_USAGE}},
    )


def _cohere_document(model: str) -> Json:
    del model
    message = {"role": "assistant", "content": [{"type": "text", "text": "OK"}]}
    return {"id": "plain", "finish_reason": "COMPLETE", "message": message, "usage": COHERE_USAGE}


def _cohere_v1(model: str) -> bytes:
    return _lines(
        {"is_finished": False, "event_type": "stream-start", "generation_id": "plain"},
        {"is_finished": False, "event_type": "text-generation", "text": "OK"},
        {
            "is_finished": True,
            "event_type": "stream-end",
            "finish_reason": "COMPLETE",
            "response": _cohere_v1_document(model),
        },
    )


def _cohere_v1_document(model: str) -> Json:
    del model
    told = {"response_id": "plain", "generation_id": "plain", "text": "OK", "finish_reason": "COMPLETE"}
    return told | {"chat_history": [], "meta": {"api_version": {"version": "1"}, **COHERE_USAGE}}


def _bedrock(model: str) -> bytes:
    document = _bedrock_document(model)
    events: tuple[tuple[str, Json], ...] = (
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "OK"}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": "end_turn"}),
        ("metadata", {name: document[name] for name in ("usage", "metrics")}),
    )
    return b"".join(eventstream.event(json.dumps(each).encode(), name) for name, each in events)


def _bedrock_document(model: str) -> Json:
    del model
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": "OK"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 9, "outputTokens": 2, "totalTokens": 11},
        "metrics": {"latencyMs": 1},
    }


FORMS: Final[Mapping[str, tuple[str, Callable[[str], bytes], Callable[[str], Json]]]] = {
    "anthropic-messages": (SSE, _anthropic, _message),
    "openai-chat": (SSE, _chat, _completion),
    "openai-responses": (SSE, _responses, _response),
    "google-generate": (SSE, lambda model: _sse(_google(model), named=False), _google),
    "google-generate array": ("application/json", _google_array, _google),
    "ollama-chat": ("application/x-ndjson", _ollama, _ollama_last),
    "cohere-chat": (SSE, _cohere, _cohere_document),
    "cohere-chat v1": ("application/stream+json", _cohere_v1, _cohere_v1_document),
    "bedrock-converse": ("application/vnd.amazon.eventstream", _bedrock, _bedrock_document),
}
"""Of each form the content type, the stream and the document, for a model."""
