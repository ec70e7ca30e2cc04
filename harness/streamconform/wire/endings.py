"""How a stream of each api ends: its terminal frame, what ends a call, and the frame by which it fails.

What a broken stream may still say follows from this (DESIGN 4, rule 5), without any parser's help.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamconform.model.trial import Framing
from streamconform.wire import eventstream, ndjson, sse

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is known of the end of an api's streams."""

    terminal: Callable[[Payload], bool]
    """Whether a payload is the terminal signal; an error frame is one."""
    calls_ended: Callable[[Sequence[Payload]], int]
    """How many tool calls had ended, of the client and of the provider, after these payloads."""
    content: tuple[str, ...]
    """Members of a payload that carry content; some servers send such payloads behind the terminal one."""
    error_frame: Mapping[Framing, bytes]
    """A frame by which the provider fails in mid-stream, in each framing in which it is documented."""
    error_type: str | None
    """What the error of that frame is called, where the provider names a type."""
    error_message: str
    source: str
    """Where the provider documents the terminal signal and the error frame."""


def read(payload: bytes) -> Payload:
    """Return the JSON object in `payload`; empty where there is none."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _anthropic_terminal(payload: Payload) -> bool:
    return payload.get("type") in ("message_stop", "error")


def _anthropic_calls(payloads: Sequence[Payload]) -> int:
    calls = {
        each.get("index")
        for each in payloads
        if str(_object(each.get("content_block")).get("type")).endswith("tool_use")
    }
    return sum(each.get("type") == "content_block_stop" and each.get("index") in calls for each in payloads)


def _chat_terminal(payload: Payload) -> bool:
    return bool(payload.get("error")) or any(
        each.get("index", 0) == 0 and each.get("finish_reason") for each in _objects(payload.get("choices"))
    )


def _none_before_the_end(payloads: Sequence[Payload]) -> int:
    """Return 0: only the terminal signal ends a call."""
    del payloads
    return 0


def _responses_terminal(payload: Payload) -> bool:
    ends = ("response.completed", "response.incomplete", "response.failed", "error")
    return payload.get("type") in ends or ("type" not in payload and bool(payload.get("error")))


def _responses_calls(payloads: Sequence[Payload]) -> int:
    """Return how many items ended: each by `…_call_….done` or by its `response.output_item.done`."""
    ended = set()
    for each in payloads:
        type_ = str(each.get("type"))
        item = _object(each.get("item"))
        of_call = str(item.get("type")).endswith("_call")
        if (type_ == "response.output_item.done" and of_call) or (
            "_call" in type_ and type_.endswith((".done", ".completed"))
        ):
            # a server that sends no index names the item
            ended.add(each.get("output_index", each.get("item_id", item.get("id"))))
    return len(ended)


def _google_terminal(payload: Payload) -> bool:
    blocked = _object(payload.get("promptFeedback")).get("blockReason")
    return bool(payload.get("error") or blocked) or any(
        each.get("index", 0) == 0 and each.get("finishReason") for each in _objects(payload.get("candidates"))
    )


def _google_calls(payloads: Sequence[Payload]) -> int:
    """Return how many parts hold a call that is whole, or that closes one which came in pieces."""
    parts = (
        part
        for payload in payloads
        for candidate in _objects(payload.get("candidates"))
        for part in _objects(_object(candidate.get("content")).get("parts"))
    )
    calls = [part[name] for part in parts for name in ("functionCall", "toolCall") if name in part]
    return len([call for call in calls if _object(call).get("willContinue") is not True])


def _ollama_terminal(payload: Payload) -> bool:
    return payload.get("done") is True or bool(payload.get("error"))


def _ollama_calls(payloads: Sequence[Payload]) -> int:
    return sum(len(_objects(_object(each.get("message")).get("tool_calls"))) for each in payloads)


def _cohere_terminal(payload: Payload) -> bool:
    return payload.get("type") == "message-end" or payload.get("event_type") == "stream-end"


def _cohere_calls(payloads: Sequence[Payload]) -> int:
    """Return how many calls were ended (v2), or came whole (v1)."""
    ended = [each for each in payloads if each.get("type") == "tool-call-end"]
    whole = (each for each in payloads if each.get("event_type") == "tool-calls-generation")
    return len(ended) + sum(len(_objects(each.get("tool_calls"))) for each in whole)


def _bedrock_terminal(payload: Payload) -> bool:
    """Return whether it is `messageStop` or an exception, which alone have these members."""
    return "stopReason" in payload or "message" in payload


def _bedrock_calls(payloads: Sequence[Payload]) -> int:
    calls = {each.get("contentBlockIndex") for each in payloads if "toolUse" in _object(each.get("start"))}
    return sum(
        each.get("contentBlockIndex") in calls and not {"start", "delta"} & each.keys() for each in payloads
    )


def _object(value: Any) -> Payload:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Payload]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


ENDINGS: Final[Mapping[str, Ending]] = {
    "anthropic-messages": Ending(
        terminal=_anthropic_terminal,
        calls_ended=_anthropic_calls,
        content=("delta", "content_block"),
        error_frame={
            "sse": sse.event(
                b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "error"
            )
        },
        error_type="overloaded_error",
        error_message="Overloaded",
        source="https://docs.claude.com/en/docs/build-with-claude/streaming#error-events",
    ),
    "openai-chat": Ending(
        terminal=_chat_terminal,
        calls_ended=_none_before_the_end,
        content=("choices",),
        error_frame={
            "sse": sse.event(
                b'{"error":{"message":"The server had an error while processing your request.",'
                b'"type":"server_error","param":null,"code":null}}',
                None,
            )
        },
        error_type="server_error",
        error_message="The server had an error while processing your request.",
        source="https://platform.openai.com/docs/guides/error-codes",
    ),
    "openai-responses": Ending(
        terminal=_responses_terminal,
        calls_ended=_responses_calls,
        content=("delta", "item"),
        # as the server sends it; the reference documents the same members without the inner object
        error_frame={
            "sse": sse.event(
                b'{"type":"error","sequence_number":99,"error":{"type":"server_error","code":"server_error",'
                b'"message":"The server had an error while processing your request.","param":null}}',
                "error",
            )
        },
        error_type="server_error",
        error_message="The server had an error while processing your request.",
        source="https://platform.openai.com/docs/api-reference/responses-streaming/error",
    ),
    "google-generate": Ending(
        terminal=_google_terminal,
        calls_ended=_google_calls,
        content=("candidates",),
        error_frame={
            "sse": sse.event(
                b'{"error":{"code":503,"message":"The model is overloaded. Please try again later.",'
                b'"status":"UNAVAILABLE"}}',
                None,
            )
        },
        error_type="UNAVAILABLE",
        error_message="The model is overloaded. Please try again later.",
        source="https://ai.google.dev/gemini-api/docs/troubleshooting",
    ),
    "ollama-chat": Ending(
        terminal=_ollama_terminal,
        calls_ended=_ollama_calls,
        content=(),
        error_frame={"ndjson": ndjson.line(b'{"error":"an error was encountered while running the model"}')},
        error_type=None,
        error_message="an error was encountered while running the model",
        source="https://docs.ollama.com/api/errors",
    ),
    "cohere-chat": Ending(
        terminal=_cohere_terminal,
        calls_ended=_cohere_calls,
        content=("delta",),
        error_frame={},  # none is documented: a stream that fails ends with `message-end` and a reason
        error_type=None,
        error_message="",
        source="https://docs.cohere.com/v2/docs/streaming",
    ),
    "bedrock-converse": Ending(
        terminal=_bedrock_terminal,
        calls_ended=_bedrock_calls,
        content=("delta",),
        error_frame={
            "eventstream": eventstream.event(
                b'{"message":"The service is currently unavailable."}',
                "serviceUnavailableException",
                "exception",
            )
        },
        error_type="serviceUnavailableException",
        error_message="The service is currently unavailable.",
        source="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html",
    ),
}
"""A row for each api."""
