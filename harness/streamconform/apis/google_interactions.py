"""Gemini's Interactions: `POST /v1beta/interactions`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

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
    Recording,
    Reducing,
    RequestForm,
    SmokeStreams,
    require,
)
from streamconform.apis.payloads import Payload, as_object, read_payload
from streamconform.apis.request_forms import as_parts, drop_nulls, map_messages
from streamconform.apis.variants import Place, Variant, find_text, split_pairs
from streamconform.wire import sse

_TERMINALS: Final = ("interaction.completed", "interaction.complete", "error")
"""The second name was used until June 2026, and compatible servers still send it."""


def _is_terminal(payload: Payload) -> bool:
    return payload.get("event_type") in _TERMINALS or (
        "event_type" not in payload and bool(payload.get("error"))
    )


def _count_ended_calls(payloads: Sequence[Payload]) -> int:
    """Return the number of stopped calls of the client's functions."""
    calls = {
        payload.get("index")
        for payload in payloads
        if as_object(payload.get("step")).get("type") == "function_call"
    }
    return sum(
        payload.get("event_type") == "step.stop" and payload.get("index") in calls for payload in payloads
    )


_PIECES: Final = (("delta", "text"), ("delta", "arguments"), ("delta", "content", "text"))


def _find_piece(payload: Payload) -> Place | None:
    return find_text(payload, _PIECES) if payload.get("event_type") == "step.delta" else None


def _write(payloads: Iterable[bytes]) -> bytes:
    """Return SSE events, each named after the `event_type` of its payload, followed by `[DONE]`."""
    events = [sse.encode_event(payload, _read_name(payload)) for payload in payloads]
    return b"".join(events) + sse.encode_event(b"[DONE]", "done")


def _read_name(payload: bytes) -> str | None:
    name = read_payload(payload).get("event_type")
    return name if isinstance(name, str) else None


def _canonical(body: Json) -> Json:
    """Convert `input` (text, contents or steps) to steps, and a step's text to a content list.

    Null and absent members are equivalent. https://ai.google.dev/api/interactions-api#CreateInteraction
    """
    made = drop_nulls(body)
    sent = made.get("input")
    if isinstance(sent, Mapping):
        sent = [sent]
    if isinstance(sent, str) or (isinstance(sent, list) and not any(map(_is_step, sent))):
        sent = [{"type": "user_input", "content": sent}]
    return {**made, "input": map_messages(sent, _canonical_step)} if "input" in made else made


def _is_step(item: Any) -> bool:
    type_ = str(as_object(item).get("type"))
    return type_ in ("user_input", "model_output", "thought") or type_.endswith(("_call", "_result"))


def _canonical_step(step: Json) -> Json:
    content = step.get("content")
    if isinstance(content, Mapping):
        content = [content]
    made = {**step, "content": as_parts(content, "text")} if "content" in step else step
    # `is_error` is false by default
    return {key: value for key, value in made.items() if (key, value) != ("is_error", False)}


def _stream(model: str) -> Iterator[Json]:
    whole = _interaction(model)
    begun = {name: whole[name] for name in ("id", "object", "model")} | {"status": "in_progress"}
    ended = {name: value for name, value in whole.items() if name != "steps"}
    yield {"event_type": "interaction.created", "interaction": begun}
    yield {"event_type": "interaction.status_update", "interaction_id": whole["id"], "status": "in_progress"}
    yield {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}}
    yield {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "OK"}}
    yield {"event_type": "step.stop", "index": 0}
    yield {"event_type": "interaction.completed", "interaction": ended}


def _interaction(model: str) -> Json:
    return {
        "id": "v1_plain",
        "object": "interaction",
        "model": model,
        "status": "completed",
        "created": CREATED_AT,
        "updated": CREATED_AT,
        "steps": [{"type": "model_output", "content": [{"type": "text", "text": "OK"}]}],
        "usage": {
            "total_input_tokens": 9,
            "total_cached_tokens": 0,
            "total_output_tokens": 2,
            "total_thought_tokens": 0,
            "total_tool_use_tokens": 0,
            "total_tokens": 11,
        },
    }


_ERROR: Final = {"code": "service_unavailable", "message": "The model is overloaded. Please try again later."}

API: Final = Api(
    name="google-interactions",
    title="Google Gemini Interactions",
    extensions=Extensions(
        event={
            "sse": sse.encode_event(b'{"event_type":"future.event","detail":{"n":1}}', "future.event"),
        },
        event_level="must",
        objects=((), ("interaction",), ("interaction", "usage"), ("step",), ("delta",), ("error",)),
        field_level="must",
        source="https://google.aip.dev/180",
    ),
    write=_write,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=_count_ended_calls,
        content=("delta", "step"),
        kinds=(("step",), ("content",)),
        text_keys=("text",),
        text_types=(),
        delta_keys=("arguments", "signature"),
        error_frame={
            "sse": sse.encode_event(
                json.dumps({"event_type": "error", "error": _ERROR}, separators=(",", ":")).encode(), "error"
            )
        },
        error_type=_ERROR["code"],
        error_message=_ERROR["message"],
        source="https://ai.google.dev/gemini-api/docs/interactions/api-errors",
    ),
    endpoints=Endpoints(streams=("/{version}/interactions", "/interactions")),
    canned_replies=(
        CannedReply(
            path="/{version}/interactions",
            content_type="text/event-stream",
            write=_write,
            payloads=_stream,
            document=_interaction,
        ),
    ),
    requests=RequestForm(
        canonical=_canonical,
        messages="input",
        previous=("previous_interaction_id", "continuation_token"),
        kept_answer="previous_interaction_id",
        instructions=("system_instruction", "tools"),
        thoughts=frozenset({"thought"}),
        call_ids=(("input", "*", "function_call", "id"),),
    ),
    key=Key(header="x-goog-api-key", variable="GEMINI_API_KEY", addresses={"GOOGLE_GEMINI_BASE_URL": ""}),
    recording=Recording(host="generativelanguage.googleapis.com"),
    importing=Importing(
        stream=re.compile(r"/interactions/?$"),
        path="/v1beta/interactions",
        types=re.compile(r"(interaction|step|content)\..+"),
    ),
    probing=Probing(
        answer=(
            *require("name", "id", "model", "status"),
            *require('"interaction"', "object"),
            *require("list", "steps"),
            *require("name", "steps[].type"),
            *require("object", "usage"),
            *require("count", "usage.total_input_tokens", "usage.total_output_tokens", "usage.total_tokens"),
        ),
        error=(*require("object", "error"), *require("name", "error.code", "error.message")),
        stop_sequences=("generation_config", "stop_sequences"),
        tool_by_name=True,
        tool_types=True,
    ),
    thoughts_on_request=True,  # `thinking_summaries`; signatures are sent without it
    smoke=SmokeStreams(
        text_cassette="plain-text",
        text="The ferry leaves at seven.",
        call_cassette="single-call",
        call_name="get_tide",
        call_arguments={"harbor": "Oban"},
    ),
    reducing=Reducing(block_index=("index",)),
    variants={
        "half-pairs": Variant(
            level="may", sources=("text-delta", "arguments-delta"), rewrite=split_pairs(_find_piece)
        ),
    },
)
