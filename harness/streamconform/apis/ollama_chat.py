"""Ollama's chat: `POST /api/chat`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from streamconform.apis.api import (
    CREATED_AT,
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
    RequestForm,
    SmokeStreams,
    require,
)
from streamconform.apis.payloads import Payload, as_object, as_objects
from streamconform.apis.request_forms import drop_nulls
from streamconform.apis.variants import (
    Place,
    Variant,
    drop,
    expect_any_id,
    find_text,
    map_payloads,
    read_at,
    set_at,
    split_pairs,
)
from streamconform.wire import ndjson
from streamconform.wire.reframe import write_lines


def _is_terminal(payload: Payload) -> bool:
    return payload.get("done") is True or bool(payload.get("error"))


def _count_ended_calls(payloads: Sequence[Payload]) -> int:
    # A call arrives complete, so it has ended.
    return sum(len(as_objects(as_object(payload.get("message")).get("tool_calls"))) for payload in payloads)


_CALLS: Final = ("message", "tool_calls")


def _find_piece(payload: Payload) -> Place | None:
    if payload.get("done") or read_at(payload, _CALLS):
        return None
    return find_text(payload, [("message", "content"), ("message", "thinking")])


def _leave_out_ids(payload: Payload) -> Sequence[Payload]:
    """Leave out the ids of calls."""
    calls = as_objects(read_at(payload, _CALLS))
    return (set_at(payload, _CALLS, [drop(call, "id") for call in calls]),) if calls else (payload,)


def _leave_out_indexes(payload: Payload) -> Sequence[Payload]:
    """Leave out the indexes of calls."""
    calls = as_objects(read_at(payload, _CALLS))
    made = [{**call, "function": drop(as_object(call.get("function")), "index")} for call in calls]
    return (set_at(payload, _CALLS, made),) if calls else (payload,)


_MILLISECOND: Final = 1_000_000
"""In nanoseconds, the unit of Ollama's durations."""


def _stream(model: str) -> Iterator[Json]:
    yield {
        "model": model,
        "created_at": CREATED_AT,
        "message": {"role": "assistant", "content": "OK"},
        "done": False,
    }
    yield _document(model) | {"message": {"role": "assistant", "content": ""}}


def _document(model: str) -> Json:
    durations = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
    return {
        "model": model,
        "created_at": CREATED_AT,
        "message": {"role": "assistant", "content": "OK"},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 9,
        "eval_count": 2,
        **dict.fromkeys(durations, _MILLISECOND),
    }


API: Final = Api(
    name="ollama-chat",
    title="Ollama chat",
    extensions=Extensions(
        event={"ndjson": ndjson.encode_line(b'{"future_record":{"n":1},"done":false}')},
        event_level="should",
        objects=(
            (),
            ("message",),
            ("message", "tool_calls", "*"),
            ("message", "tool_calls", "*", "function"),
        ),
        field_level="should",  # "stable and backwards compatible", but new fields are not mentioned
        source="https://docs.ollama.com/api/introduction",
    ),
    write=write_lines,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=_count_ended_calls,
        content=(),
        kinds=(("message",),),
        text_keys=("content",),
        # The arguments of a call are an object, not text, so the name shows which frame contains the call.
        delta_keys=("thinking", "name"),
        error_frame={
            "ndjson": ndjson.encode_line(b'{"error":"an error was encountered while running the model"}')
        },
        error_type=None,
        error_message="an error was encountered while running the model",
        source="https://docs.ollama.com/api/errors",
    ),
    endpoints=Endpoints(streams=("/api/chat",), streams_by_default=True),
    canned_replies=(
        CannedReply(
            path="/api/chat",
            content_type="application/x-ndjson",
            write=write_lines,
            payloads=_stream,
            document=_document,
        ),
    ),
    requests=RequestForm(
        canonical=drop_nulls,
        instructions=("tools",),
        thoughts=frozenset({"thinking"}),
        call_ids=(("messages", "*", "tool_calls", "*", "id"),),
    ),
    key=Key(
        header="authorization",
        prefix="Bearer ",
        variable="OLLAMA_API_KEY",  # a local server needs none
        addresses={"OLLAMA_HOST": ""},
    ),
    recording=Recording(),
    importing=Importing(
        stream=re.compile(r"/api/chat/?$"), path="/api/chat", members=(frozenset({"done", "message"}),)
    ),
    # https://github.com/ollama/ollama/blob/main/docs/api.md
    probing=Probing(
        answer=(
            *require("name", "model", "created_at"),
            *require("object", "message"),
            *require('"assistant"', "message.role"),
            *require("text", "message.content"),
            *require("true or false", "done"),
            *require("name", "done_reason", level="should"),
        ),
        error=require("name", "error"),
        stop_sequences=("options", "stop"),
    ),
    proxy=ProxyLimits(
        reasons={
            "refusal": ("refusal", "other", "stop", "tool_use"),
            "content_filter": ("content_filter", "other", "stop", "tool_use"),
            "pause": ("pause", "other", "stop", "tool_use"),
            "other": ("other", "stop", "tool_use"),
        },
        usage=("output",),
        joins_thinking=True,
        refusal_is_text=True,
    ),
    ordered_content=False,  # a message has one `content` and one list of `tool_calls`
    smoke=SmokeStreams(
        text_cassette="plain-text",
        text="A slate roof lasts a hundred years.",
        call_cassette="one-call",
        call_name="get_weather",
        call_arguments={"city": "Oslo"},
    ),
    variants={
        "half-pairs": Variant(
            level="may", sources=("pieces-are-gathered",), rewrite=split_pairs(_find_piece)
        ),
        "ids-absent": Variant(
            level="should",
            sources=("arguments-are-an-object",),
            rewrite=map_payloads(_leave_out_ids),
            expect=expect_any_id,
        ),
        "indexes-absent": Variant(
            level="should",
            sources=("arguments-are-an-object",),
            rewrite=map_payloads(_leave_out_indexes),
        ),
    },
)
