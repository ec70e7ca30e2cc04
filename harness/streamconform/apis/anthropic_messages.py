"""Anthropic Messages: `POST /v1/messages`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamconform.apis.api import (
    Api,
    CannedReply,
    Ending,
    Endpoints,
    Extensions,
    Importing,
    Json,
    Key,
    Probing,
    ProxyLimits,
    Recording,
    Reducing,
    RequestForm,
    SmokeStreams,
    TokenCounting,
    require,
)
from streamconform.apis.payloads import Payload, as_object
from streamconform.apis.request_forms import as_parts, drop_nulls, map_messages
from streamconform.wire import sse
from streamconform.wire.reframe import write_named_events


def _is_terminal(payload: Payload) -> bool:
    return payload.get("type") in ("message_stop", "error")


def _is_settled(payload: Payload) -> bool:
    """`message_delta` brings the stop reason and the cumulative usage; `message_stop` has no content."""
    return payload.get("type") == "message_delta" and bool(as_object(payload.get("delta")).get("stop_reason"))


def _count_ended_calls(payloads: Sequence[Payload]) -> int:
    calls = {
        payload.get("index")
        for payload in payloads
        if str(as_object(payload.get("content_block")).get("type")).endswith("tool_use")
    }
    return sum(
        payload.get("type") == "content_block_stop" and payload.get("index") in calls for payload in payloads
    )


def _canonical(body: Json) -> Json:
    """`system`, `content` and a result's `content` are a string or blocks; turns of one role are joined.

    The results of one answer in several messages are not joined: the documentation requires one message.
    https://docs.claude.com/en/api/messages, https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use
    """
    made = drop_nulls(body)
    if "system" in made:
        made["system"] = as_parts(made["system"], "text")
    made["messages"] = _join_turns(map_messages(made.get("messages"), _canonical_message))
    return made


def _join_turns(messages: Any) -> Any:
    """Return messages with neighbours of one role joined, unless the later one has tool results."""
    if not isinstance(messages, list):
        return messages
    made: list[Any] = []
    for message in messages:
        if made and _continues(made[-1], message):
            made[-1] = {**made[-1], "content": [*made[-1]["content"], *message["content"]]}
        else:
            made.append(message)
    return made


def _continues(before: Any, message: Any) -> bool:
    if not (isinstance(before, Mapping) and isinstance(message, Mapping)):
        return False
    former, parts = before.get("content"), message.get("content")
    if not (isinstance(former, list) and isinstance(parts, list)):
        return False
    if before.get("role") != message.get("role"):
        return False
    return not any(isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts)


def _canonical_message(message: Json) -> Json:
    content = as_parts(message.get("content"), "text")
    if isinstance(content, list):
        content = [
            {**block, "content": as_parts(block.get("content"), "text")}
            if isinstance(block, Mapping) and block.get("type") == "tool_result" and "content" in block
            else block
            for block in content
        ]
    return {**message, "content": content}


def _stream(model: str) -> Iterator[Json]:
    begun = _message(model) | {"content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun | {"usage": {"input_tokens": 9, "output_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "OK"}}
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 2},
    }
    yield {"type": "message_stop"}


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


API: Final = Api(
    name="anthropic-messages",
    title="Anthropic Messages",
    extensions=Extensions(
        event={"sse": sse.encode_event(b'{"type":"future_event","detail":{"n":1}}', "future_event")},
        event_level="must",
        objects=(
            (),
            ("message",),
            ("message", "usage"),
            ("content_block",),
            ("delta",),
            ("usage",),
            ("error",),
        ),
        field_level="must",
        source="https://docs.claude.com/en/api/versioning",
    ),
    write=write_named_events,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=_count_ended_calls,
        is_settled=_is_settled,
        content=("delta", "content_block"),
        text_keys=("text",),
        delta_keys=("thinking", "partial_json"),
        error_frame={
            "sse": sse.encode_event(
                b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "error"
            )
        },
        error_type="overloaded_error",
        error_message="Overloaded",
        source="https://docs.claude.com/en/docs/build-with-claude/streaming#error-events",
    ),
    endpoints=Endpoints(streams=("/v1/messages", "/messages")),
    canned_replies=(
        CannedReply(
            path="/v1/messages",
            content_type="text/event-stream",
            write=write_named_events,
            payloads=_stream,
            document=_message,
        ),
    ),
    requests=RequestForm(
        canonical=_canonical,
        call_ids=(("messages", "*", "content", "*", "tool_use", "id"),),
    ),
    key=Key(header="x-api-key", variable="ANTHROPIC_API_KEY"),
    recording=Recording(headers={"anthropic-version": "2023-06-01"}, host="api.anthropic.com"),
    importing=Importing(
        stream=re.compile(r"/messages/?$|/publishers/anthropic/.*:streamRawPredict$"),
        document=re.compile(r":rawPredict$"),
        path="/v1/messages",
    ),
    # https://docs.claude.com/en/api/messages and https://docs.claude.com/en/api/errors
    probing=Probing(
        answer=(
            *require("name", "id", "model", "stop_reason", "content[].type"),
            *require('"message"', "type"),
            *require('"assistant"', "role"),
            *require("list", "content"),
            *require("text or null", "stop_sequence"),
            *require("count", "usage.input_tokens", "usage.output_tokens"),
            *require("object", "usage"),
        ),
        error=(
            *require('"error"', "type"),
            *require("object", "error"),
            *require("name", "error.type", "error.message"),
        ),
        stop_sequences=("stop_sequences",),
        tool_by_name=True,
        parallel_calls_off=True,
        tool_types=True,
        token_counting=TokenCounting(
            path="/count_tokens",
            members=frozenset({"model", "messages", "system", "tools"}),
            count="input_tokens",
        ),
    ),
    proxy=ProxyLimits(
        reasons={
            "content_filter": ("content_filter", "refusal"),
            "other": ("other", "stop", "tool_use"),
        },
        usage=("input", "output", "cache_read", "cache_write"),
        refusal_is_text=True,
    ),
    smoke=SmokeStreams(
        text_cassette="single-text-block",
        text="Nairobi lies about 1,795 metres above sea level.",
        call_cassette="first-delta-empty",
        call_name="convert_units",
        call_arguments={"value": 26.2, "to": "km"},
    ),
    reducing=Reducing(
        # of citations and of the results of server tools
        kept=frozenset(
            {
                "citation",
                "cited_text",
                "document_index",
                "document_title",
                "encrypted_content",
                "encrypted_index",
                "title",
                "tool_use_id",
                "url",
            }
        ),
        block_index=("index",),
    ),
)
