"""A small legal stream of each API as payloads, for tests that break one rule."""

from __future__ import annotations

import base64
import json
from typing import Any

from streamconform_reference.framing import Frame

Json = dict[str, Any]
NAMED = {
    "anthropic-messages": "type",
    "openai-responses": "type",
    "cohere-chat": "type",
    "google-interactions": "event_type",
}
"""The APIs whose events have names, and the payload member with the name."""


def block(index: int, start: Json, *deltas: Json) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def tool(id_: str) -> Json:
    return {"type": "tool_use", "id": id_, "name": "now", "input": {}}


ANTHROPIC = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 1},
        },
    },
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Hm."},
        {"type": "signature_delta", "signature": "c2ln"},
    ),
    *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi."}),
    *block(2, tool("toolu_1"), {"type": "input_json_delta", "partial_json": "{}"}),
    *block(3, tool("toolu_2"), {"type": "input_json_delta", "partial_json": ""}),
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
]


def chunk(delta: Json | None, finish: str | None = None, usage: Json | None = None) -> Json:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        "usage": usage,
    }


def first_fragment(index: int) -> Json:
    function = {"name": "now", "arguments": ""}
    return {"index": index, "id": f"call_{index}", "type": "function", "function": function}


def fragment(index: int, text: str) -> Json:
    return {"index": index, "function": {"arguments": text}}


CHAT = [
    chunk({"role": "assistant", "content": None}),
    chunk({"tool_calls": [first_fragment(0)]}),
    chunk({"tool_calls": [fragment(0, "{}")]}),
    chunk({"tool_calls": [first_fragment(1)]}),
    chunk({"tool_calls": [fragment(1, "{}")]}),
    chunk({}, "tool_calls"),
    chunk(None, None, {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}),
    {"[DONE]": True},
]
CHAT_AUDIO = [
    chunk({"role": "assistant", "content": None, "audio": {"id": "audio_1", "transcript": "Hi"}}),
    chunk({"audio": {"data": "CAAI"}}),
    chunk({"audio": {"expires_at": 1730768563}}),
    *CHAT[-2:],
]
CHAT_REQUEST = {"stream_options": {"include_usage": True}}


def response(status: str, output: list[Json], usage: Json | None = None) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "m",
        "output": output,
        "usage": usage,
        "incomplete_details": None,
    }


def function_call(index: int, text: str = "{}") -> Json:
    return {
        "type": "function_call",
        "id": f"fc_{index}",
        "call_id": f"call_{index}",
        "name": "now",
        "arguments": text,
        "status": "completed",
    }


def call_events(index: int) -> list[Json]:
    of = {"item_id": f"fc_{index}", "output_index": index}
    kind = "response.function_call_arguments"
    return [
        {"type": "response.output_item.added", "output_index": index, "item": function_call(index, "")},
        {"type": f"{kind}.delta", "delta": "{}", **of},
        {"type": f"{kind}.done", "arguments": "{}", **of},
        {"type": "response.output_item.done", "output_index": index, "item": function_call(index)},
    ]


def text_events() -> list[Json]:
    of = {"item_id": "msg_0", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "Hi.", "annotations": []}
    item = {"type": "message", "id": "msg_0", "role": "assistant", "status": "completed", "content": [part]}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
        {"type": "response.content_part.added", "part": part | {"text": ""}, **of},
        {"type": "response.output_text.delta", "delta": "Hi.", **of},
        {"type": "response.output_text.done", "text": "Hi.", **of},
        {"type": "response.content_part.done", "part": part, **of},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]


def numbered(events: list[Json]) -> list[Json]:
    return [each | {"sequence_number": number} for number, each in enumerate(events)]


RESPONSES = numbered([
    {"type": "response.created", "response": response("in_progress", [])},
    {"type": "response.in_progress", "response": response("in_progress", [])},
    *text_events(),
    *call_events(1),
    *call_events(2),
    {
        "type": "response.completed",
        "response": response(
            "completed",
            [{"type": "message", "id": "msg_0"}, function_call(1), function_call(2)],
            {"input_tokens": 5, "output_tokens": 4, "total_tokens": 9},
        ),
    },
])  # fmt: skip


def candidate(*parts: Json, **more: Any) -> Json:
    return {
        "candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0} | more],
        "modelVersion": "m",
        "responseId": "r1",
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 4, "totalTokenCount": 9},
    }


GOOGLE = [
    candidate({"text": "Hi."}),
    candidate({"functionCall": {"name": "now", "willContinue": True}}),
    candidate(
        {
            "functionCall": {
                "partialArgs": [{"jsonPath": "$.city", "stringValue": "Metz"}],
                "willContinue": True,
            }
        }
    ),
    candidate({"functionCall": {}}),
    candidate({"functionCall": {"name": "now", "args": {}}}),
    candidate({"text": ""}, finishReason="STOP"),
]


def record(**message: Any) -> Json:
    reported = {"role": "assistant", "content": ""} | message
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": reported, "done": False}


def ollama_call(id_: str) -> Json:
    return {"id": id_, "function": {"index": 0, "name": "now", "arguments": {}}}


OLLAMA = [
    record(content="Hi."),
    record(tool_calls=[ollama_call("call_1"), ollama_call("call_2")]),
    record() | {"done": True, "done_reason": "stop", "eval_count": 4, "prompt_eval_count": 5},
]


def cohere(kind: str, index: int | None = None, **message: Any) -> Json:
    reported: Json = {"type": kind} | ({} if index is None else {"index": index})
    return reported | ({"delta": {"message": message}} if message else {})


def cohere_call(index: int) -> list[Json]:
    function = {"name": "now", "arguments": ""}
    start = {"id": f"now_{index}", "type": "function", "function": function}
    return [
        cohere("tool-call-start", index, tool_calls=start),
        cohere("tool-call-delta", index, tool_calls={"function": {"arguments": "{}"}}),
        cohere("tool-call-end", index),
    ]


UNITS = {"input_tokens": 5, "output_tokens": 4}
COHERE = [
    cohere("message-start", role="assistant") | {"id": "m1"},
    cohere("content-start", 0, content={"type": "text", "text": ""}),
    cohere("content-delta", 0, content={"text": "Hi."}),
    cohere("content-end", 0),
    *cohere_call(0),
    *cohere_call(1),
    {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"billed_units": UNITS}}},
]
COHERE_V1 = [
    {"event_type": "stream-start", "is_finished": False, "generation_id": "g1"},
    {"event_type": "text-generation", "is_finished": False, "text": "Hi."},
    {
        "event_type": "stream-end",
        "is_finished": True,
        "finish_reason": "COMPLETE",
        "response": {"meta": {"billed_units": UNITS}},
    },
]


def bedrock_call(index: int) -> list[Json]:
    start = {"toolUse": {"toolUseId": f"tooluse_{index}", "name": "now"}}
    return [
        {"contentBlockStart": {"contentBlockIndex": index, "start": start}},
        {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": "{}"}}}},
        {"contentBlockStop": {"contentBlockIndex": index}},
    ]


BEDROCK = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi."}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    *bedrock_call(1),
    *bedrock_call(2),
    {"messageStop": {"stopReason": "tool_use"}},
    {
        "metadata": {
            "usage": {"inputTokens": 5, "outputTokens": 4, "totalTokens": 9},
            "metrics": {"latencyMs": 1},
        }
    },
]

METRICS = {
    "inputTokenCount": 5,
    "outputTokenCount": 9,
    "invocationLatency": 2,
    "firstByteLatency": 1,
}
BEDROCK_INVOKE = [*ANTHROPIC[:-1], {"type": "message_stop", "amazon-bedrock-invocationMetrics": METRICS}]


def interaction_step(index: int, start: Json, delta: Json) -> list[Json]:
    return [
        {"event_type": "step.start", "index": index, "step": start},
        {"event_type": "step.delta", "index": index, "delta": delta},
        {"event_type": "step.stop", "index": index},
    ]


def interaction_call(index: int) -> list[Json]:
    start = {"type": "function_call", "id": f"call_{index}", "name": "now", "arguments": {}}
    return interaction_step(index, start, {"type": "arguments_delta", "arguments": "{}"})


INTERACTION = {"id": "v1_a", "object": "interaction", "model": "m"}
INTERACTIONS = [
    {"event_type": "interaction.created", "interaction": INTERACTION | {"status": "in_progress"}},
    {"event_type": "interaction.status_update", "interaction_id": "v1_a", "status": "in_progress"},
    *interaction_step(0, {"type": "thought"}, {"type": "thought_signature", "signature": "c2ln"}),
    *interaction_step(1, {"type": "model_output"}, {"type": "text", "text": "Hi."}),
    *interaction_call(2),
    *interaction_call(3),
    {
        "event_type": "interaction.completed",
        "interaction": INTERACTION
        | {
            "status": "requires_action",
            "usage": {
                "total_input_tokens": 5,
                "total_output_tokens": 3,
                "total_thought_tokens": 1,
                "total_tool_use_tokens": 0,
                "total_tokens": 9,
            },
        },
    },
]

STREAMS = {
    "anthropic-messages": ANTHROPIC,
    "openai-chat": CHAT,
    "openai-chat audio": CHAT_AUDIO,
    "openai-responses": RESPONSES,
    "google-generate": GOOGLE,
    "ollama-chat": OLLAMA,
    "cohere-chat": COHERE,
    "cohere-chat v1": COHERE_V1,
    "bedrock-converse": BEDROCK,
    "bedrock-invoke": BEDROCK_INVOKE,
    "google-interactions": INTERACTIONS,
}


def frames(api: str, payloads: list[Json]) -> list[Frame]:
    """Return the payloads as frames of the API; for Bedrock the key of a payload is its type."""
    return [_frame(api, each) for each in payloads]


def _frame(api: str, payload: Json) -> Frame:
    if api == "bedrock-invoke":
        return _invoke_frame(payload)
    if "[DONE]" in payload:
        return Frame(b"[DONE]", None, 0, 0)
    if "raw" in payload:
        return Frame(payload["raw"], None, 0, 0)
    if api == "bedrock-converse":
        ((kind, body),) = payload.items()
        type_ = "exception" if kind.endswith("Exception") else "event"
        headers = {":message-type": type_, f":{type_}-type": kind}
        return Frame(json.dumps(body).encode(), None, 0, 0, headers)
    name = payload.get("event", payload.get(NAMED[api]) if api in NAMED else None)
    data = {key: value for key, value in payload.items() if key != "event"}
    return Frame(json.dumps(data).encode(), name.encode() if name else None, 0, 0)


def _invoke_frame(payload: Json) -> Frame:
    """Return an exception, a chunk whose complete payload is in `part`, or a chunk with an event."""
    if "exception" in payload:
        headers = {":message-type": "exception", ":exception-type": payload["exception"]}
        return Frame(b'{"message":"x"}', None, 0, 0, headers)
    if "failure" in payload:
        return Frame(b"", None, 0, 0, {":message-type": "error", ":error-code": payload["failure"]})
    if "[DONE]" in payload:
        payload = {"raw": b"[DONE]"}
    data = payload["raw"] if "raw" in payload else json.dumps(payload).encode()
    part = payload.get("part", {"bytes": base64.b64encode(data).decode()})
    return Frame(json.dumps(part).encode(), None, 0, 0, {":event-type": "chunk"})
