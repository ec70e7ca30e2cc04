"""Cohere's chat: `POST /v2/chat`, which streams SSE, and `POST /v1/chat`, which streams NDJSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

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
    Recording,
    Reducing,
    RequestForm,
    SmokeStreams,
    Target,
    require,
)
from streamconform.apis.payloads import Payload, as_objects
from streamconform.apis.request_forms import drop_nulls, map_messages, with_content_parts
from streamconform.apis.variants import Place, Variant, find_text, split_pairs
from streamconform.model.trial import Framing
from streamconform.wire import ndjson, sse
from streamconform.wire.reframe import write_lines, write_named_events


def _is_terminal(payload: Payload) -> bool:
    return payload.get("type") == "message-end" or payload.get("event_type") == "stream-end"


def _count_ended_calls(payloads: Sequence[Payload]) -> int:
    """Return the number of calls that have ended (v2), or that have arrived complete (v1)."""
    ended = [payload for payload in payloads if payload.get("type") == "tool-call-end"]
    whole = (payload for payload in payloads if payload.get("event_type") == "tool-calls-generation")
    return len(ended) + sum(len(as_objects(payload.get("tool_calls"))) for payload in whole)


def _find_mismatch(target: Target, recorded: Target, framed: Framing) -> str | None:
    del framed
    # The two versions stream different events, so neither can stand in for the other.
    if target.path == recorded.path:
        return None
    return f"the client requests `{target.path}`, but the recording is from `{recorded.path}`"


def _canonical(body: Json) -> Json:
    """Convert `content`, a string or parts, to parts (https://docs.cohere.com/reference/chat)."""
    made = drop_nulls(body)
    made["messages"] = map_messages(made.get("messages"), with_content_parts)
    return made


_MESSAGE: Final = ("delta", "message")
_PIECES: Final = (
    (*_MESSAGE, "content", "text"),
    (*_MESSAGE, "content", "thinking"),
    (*_MESSAGE, "tool_plan"),
    (*_MESSAGE, "tool_calls", "function", "arguments"),
)


def _find_piece(payload: Payload) -> Place | None:
    return find_text(payload, _PIECES) if str(payload.get("type")).endswith("-delta") else None


_USAGE: Final[Json] = {
    "billed_units": {"input_tokens": 9, "output_tokens": 2},
    "tokens": {"input_tokens": 9, "output_tokens": 2},
}


def _stream(model: str) -> Iterator[Json]:
    del model
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield {"type": "message-start", "id": "plain", "delta": {"message": message}}
    yield {
        "type": "content-start",
        "index": 0,
        "delta": {"message": {"content": {"type": "text", "text": ""}}},
    }
    yield {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "OK"}}}}
    yield {"type": "content-end", "index": 0}
    yield {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": _USAGE}}


def _document(model: str) -> Json:
    del model
    message = {"role": "assistant", "content": [{"type": "text", "text": "OK"}]}
    return {"id": "plain", "finish_reason": "COMPLETE", "message": message, "usage": _USAGE}


def _is_v1(target: Target) -> bool:
    return target.path.startswith("/v1/")


def _v1_stream(model: str) -> Iterator[Json]:
    yield {"is_finished": False, "event_type": "stream-start", "generation_id": "plain"}
    yield {"is_finished": False, "event_type": "text-generation", "text": "OK"}
    yield {
        "is_finished": True,
        "event_type": "stream-end",
        "finish_reason": "COMPLETE",
        "response": _v1_document(model),
    }


def _v1_document(model: str) -> Json:
    del model
    return {
        "response_id": "plain",
        "generation_id": "plain",
        "text": "OK",
        "finish_reason": "COMPLETE",
        "chat_history": [],
        "meta": {"api_version": {"version": "1"}, **_USAGE},
    }


API: Final = Api(
    name="cohere-chat",
    title="Cohere chat",
    extensions=Extensions(
        event={
            "sse": sse.encode_event(b'{"type":"future-event","delta":{"n":1}}', "future-event"),
            "ndjson": ndjson.encode_line(
                b'{"is_finished":false,"event_type":"future-event","detail":{"n":1}}'
            ),
        },
        event_level="should",
        objects=(
            (),
            ("delta",),
            ("delta", "message"),
            ("delta", "message", "content"),
            ("delta", "message", "tool_calls"),
            ("delta", "message", "tool_calls", "function"),
            ("delta", "usage"),
            ("delta", "usage", "billed_units"),
            ("tool_calls", "*"),
            ("tool_call_delta",),
            ("response",),
            ("response", "meta"),
            ("response", "meta", "billed_units"),
        ),
        field_level="should",  # the events are listed, but new events or fields are not mentioned
        source="https://docs.cohere.com/v2/docs/streaming",
    ),
    write=write_named_events,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=_count_ended_calls,
        content=("delta",),
        kinds=(("delta", "message"),),
        text_keys=("text",),
        delta_keys=("thinking", "tool_plan", "arguments"),
        error_frame={},  # none is documented: a stream that fails ends with `message-end` and a reason
        error_type=None,
        error_message="",
        source="https://docs.cohere.com/v2/docs/streaming",
    ),
    endpoints=Endpoints(streams=("/v2/chat", "/v1/chat"), find_mismatch=_find_mismatch),
    canned_replies=(
        CannedReply(
            matches=_is_v1,
            path="/v1/chat",
            content_type="application/stream+json",
            write=write_lines,
            payloads=_v1_stream,
            document=_v1_document,
        ),
        CannedReply(
            path="/v2/chat",
            content_type="text/event-stream",
            write=write_named_events,
            payloads=_stream,
            document=_document,
        ),
    ),
    requests=RequestForm(
        canonical=_canonical,
        instructions=("tools",),
        thoughts=frozenset({"thinking"}),
        call_ids=(("messages", "*", "tool_calls", "*", "id"),),
    ),
    key=Key(
        header="authorization", prefix="Bearer ", variable="COHERE_API_KEY", addresses={"CO_API_URL": ""}
    ),
    recording=Recording(),
    importing=Importing(
        stream=re.compile(r"/v[12]/chat/?$"),
        path="/v2/chat",
        types=re.compile(
            r"(message|content|tool-call|citation)-(start|delta|end)|tool-plan-delta|stream-(start|end)"
            r"|(text|citation|tool-calls|search-queries)-generation|tool-calls-chunk|search-results"
        ),
        corpus_names=("cohere-v1", "cohere-v2"),
    ),
    # https://docs.cohere.com/reference/chat
    probing=Probing(
        answer=(
            *require("name", "id", "finish_reason"),
            *require("object", "message"),
            *require('"assistant"', "message.role"),
            *require("count", "usage.billed_units.input_tokens", "usage.billed_units.output_tokens"),
        ),
        error=require("name", "message"),
        stop_sequences=("stop_sequences",),
    ),
    ordered_content=False,  # a message has one `content` and one list of `tool_calls`
    smoke=SmokeStreams(
        text_cassette="plain-text",
        text="Swifts sleep on the wing.",
        call_cassette="arguments-in-one-delta",
        call_name="get_weather",
        call_arguments={"city": "Gent"},
    ),
    reducing=Reducing(
        kept=frozenset({"event_type", "is_finished"}),  # the fields of v1
        block_index=("index",),
    ),
    variants={
        "half-pairs": Variant(
            level="may",
            sources=("content-delta-has-text", "arguments-are-json-text"),
            rewrite=split_pairs(_find_piece),
        ),
    },
)
