"""Anthropic Messages: `POST /v1/messages`."""

from __future__ import annotations

import re
from typing import Final

from streamconform.apis import anthropic
from streamconform.apis.api import (
    Api,
    CannedReply,
    Ending,
    Endpoints,
    Extensions,
    Importing,
    Key,
    Probing,
    ProxyLimits,
    Recording,
    RequestForm,
    SmokeStreams,
    TokenCounting,
    require,
)
from streamconform.apis.variants import Variant, map_payloads
from streamconform.wire import sse
from streamconform.wire.reframe import write_named_events

_VERTEX: Final = "/projects/{project}/locations/{location}/publishers/anthropic/models/{model}"
_VERTEX_METHODS: Final = ("streamRawPredict", "rawPredict")
"""Source: https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude"""

API: Final = Api(
    name="anthropic-messages",
    title="Anthropic Messages",
    extensions=Extensions(
        event={"sse": sse.encode_event(b'{"type":"future_event","detail":{"n":1}}', "future_event")},
        event_level="must",
        objects=anthropic.OBJECTS,
        field_level="must",
        source="https://docs.claude.com/en/api/versioning",
    ),
    write=write_named_events,
    ending=Ending(
        is_terminal=anthropic.is_terminal,
        count_ended_calls=anthropic.count_ended_calls,
        is_settled=anthropic.is_settled,
        content=anthropic.CONTENT,
        kinds=anthropic.KINDS,
        text_keys=anthropic.TEXT_KEYS,
        delta_keys=anthropic.DELTA_KEYS,
        error_frame={
            "sse": sse.encode_event(
                b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "error"
            )
        },
        error_type="overloaded_error",
        error_message="Overloaded",
        source="https://docs.claude.com/en/docs/build-with-claude/streaming#error-events",
    ),
    endpoints=Endpoints(
        streams=(
            "/v1/messages",
            "/messages",
            *(f"{version}{_VERTEX}:{method}" for version in ("/v1", "") for method in _VERTEX_METHODS),
        )
    ),
    canned_replies=(
        CannedReply(
            path="/v1/messages",
            content_type="text/event-stream",
            write=write_named_events,
            payloads=anthropic.stream,
            document=anthropic.message,
        ),
    ),
    requests=RequestForm(
        canonical=anthropic.canonical,
        instructions=anthropic.INSTRUCTIONS,
        thoughts=anthropic.THOUGHTS,
        marks=anthropic.CACHE_MARKS,
        call_ids=anthropic.CALL_IDS,
    ),
    opt_ins=anthropic.OPT_INS,
    key=Key(header="x-api-key", variable="ANTHROPIC_API_KEY", addresses={"ANTHROPIC_BASE_URL": ""}),
    recording=Recording(headers={"anthropic-version": "2023-06-01"}, host="api.anthropic.com"),
    importing=Importing(
        stream=re.compile(r"/messages/?$|/publishers/anthropic/.*:streamRawPredict$"),
        document=re.compile(r":rawPredict$"),
        path="/v1/messages",
        types=anthropic.TYPES,
    ),
    # https://docs.claude.com/en/api/messages and https://docs.claude.com/en/api/errors
    probing=Probing(
        answer=anthropic.ANSWER,
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
    reducing=anthropic.REDUCING,
    variants={
        "half-pairs": anthropic.HALF_PAIRS,
        "empty-deltas": anthropic.EMPTY_DELTAS,
        "ends-late": Variant(
            level="should", sources=("llama-cpp-blocks-overlap",), rewrite=anthropic.end_blocks_late
        ),
        "ends-twice": Variant(
            level="should",
            sources=("BerriAI/litellm#37273",),
            rewrite=map_payloads(anthropic.end_blocks_twice),
        ),
    },
)
