"""OpenAI Responses: `POST /v1/responses`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from streamconform.apis import openai
from streamconform.apis.api import (
    CREATED,
    Api,
    CannedReply,
    Ending,
    Endpoints,
    Extensions,
    Importing,
    Json,
    OptIn,
    Probing,
    Reducing,
    RepeatedText,
    RequestForm,
    SmokeStreams,
    Sockets,
    require,
)
from streamconform.apis.openai_responses_variants import RESPONSES_VARIANTS
from streamconform.apis.payloads import Payload, as_object
from streamconform.apis.request_forms import as_parts, declares_tool, drop_nulls, map_messages
from streamconform.wire import sse, websocket
from streamconform.wire.reframe import write_named_events

CLIENT_CALLS: Final = (
    *("function_call", "custom_tool_call", "computer_call"),
    *("shell_call", "local_shell_call", "apply_patch_call", "tool_search_call"),
)
"""The types of calls that the client may have to run; OpenAI runs all others itself."""


def _is_terminal(payload: Payload) -> bool:
    ends = ("response.completed", "response.incomplete", "response.failed", "error")
    return payload.get("type") in ends or ("type" not in payload and bool(payload.get("error")))


def _fits_http(body: Json, events: Sequence[Payload]) -> bool:
    """Return whether nothing is of a WebSocket only: a lane, warm-up, steering, or an output left out."""
    kinds = [str(event.get("type")) for event in events]
    return (
        not {"generate", "stream_id"} & body.keys()
        and not any("stream_id" in event for event in events)
        and all(kind.startswith("response.") and not kind.startswith("response.steer.") for kind in kinds)
        and [n for n, event in enumerate(events, 1) if _is_terminal(event)] == [len(events)]
        and "output" in as_object(events[-1].get("response"))
    )


def _count_ended_calls(payloads: Sequence[Payload]) -> int:
    """Return the number of calls ended by a `…_call_….done` or by their `response.output_item.done`."""
    # A set, because most calls have both events.
    ended: set[tuple[object, int]] = set()
    reused: Counter[object] = Counter()
    for payload in payloads:
        type_ = str(payload.get("type"))
        item = as_object(payload.get("item"))
        # a server that omits the index sends the item's id
        place = payload.get("output_index", payload.get("item_id", item.get("id")))
        is_call = item.get("type") in CLIENT_CALLS
        # a server that gives every item the same index starts the next call where one has ended
        if is_call and type_ == "response.output_item.added" and (place, reused[place]) in ended:
            reused[place] += 1
        ends_call = type_.startswith(tuple(f"response.{name}" for name in CLIENT_CALLS))
        if (is_call and type_ == "response.output_item.done") or (ends_call and type_.endswith(".done")):
            ended.add((place, reused[place]))
    return len(ended)


def _canonical(body: Json) -> Json:
    """Convert `input` to items, `content` and `output` to parts, and `instructions` to a system message.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    made = drop_nulls(body)
    sent = made.get("input")
    items = [{"role": "user", "content": sent}] if isinstance(sent, str) else sent
    items = map_messages(items, _canonical_item)
    if isinstance(items, list) and isinstance(made.get("instructions"), str):
        system = {"type": "message", "role": "system", "content": made.pop("instructions")}
        items = [_canonical_item(system), *items]
    return {**made, "input": items}


def _canonical_item(item: Json) -> Json:
    if item.get("type") in ("function_call_output", "custom_tool_call_output"):
        return {**item, "output": as_parts(item.get("output"), "input_text")}
    if item.get("type", "message") != "message" or "role" not in item:
        return item
    role = "system" if item["role"] == "developer" else item["role"]
    part = "output_text" if role == "assistant" else "input_text"
    return {**item, "type": "message", "role": role, "content": as_parts(item.get("content"), part)}


def _stream(model: str) -> Iterator[Json]:
    for number, event in enumerate(_events(model)):
        yield event | {"sequence_number": number}


def _events(model: str) -> Iterator[Json]:
    whole = _response(model)
    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    (item,) = whole["output"]
    (part,) = item["content"]
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    yield {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": item | {"status": "in_progress", "content": []},
    }
    yield {"type": "response.content_part.added", **place, "part": part | {"text": ""}}
    yield {"type": "response.output_text.delta", **place, "delta": "OK", "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": "OK", "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": whole}


def _response(model: str) -> Json:
    part = {"type": "output_text", "text": "OK", "annotations": [], "logprobs": []}
    return {
        "id": "resp_plain",
        "object": "response",
        "created_at": CREATED,
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


API: Final = Api(
    name="openai-responses",
    title="OpenAI Responses",
    extensions=Extensions(
        event={
            "sse": sse.encode_event(
                b'{"type":"response.future_event","detail":{"n":1}}', "response.future_event"
            ),
            "websocket": websocket.encode_frame(b'{"type":"response.future_event","detail":{"n":1}}'),
        },
        event_level="must",
        objects=((), ("item",), ("part",), ("response",), ("response", "usage"), ("error",)),
        field_level="must",
        source="https://platform.openai.com/docs/api-reference/backward-compatibility",
    ),
    write=write_named_events,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=_count_ended_calls,
        content=("delta", "item"),
        kinds=(("item",),),
        text_keys=("delta",),
        text_types=("response.output_text.delta",),
        delta_keys=("delta",),
        # as the server sends it; the reference documents the same members without the inner object
        error_frame={
            "sse": sse.encode_event(
                b'{"type":"error","sequence_number":99,"error":{"type":"server_error","code":"server_error",'
                b'"message":"The server had an error while processing your request.","param":null}}',
                "error",
            ),
            # https://platform.openai.com/docs/guides/websocket-mode
            "websocket": websocket.encode_frame(
                b'{"type":"error","status":500,"error":{"type":"server_error","code":"server_error",'
                b'"message":"The server had an error while processing your request.","param":null}}'
            ),
        },
        error_type="server_error",
        error_message="The server had an error while processing your request.",
        source="https://platform.openai.com/docs/api-reference/responses-streaming/error",
    ),
    endpoints=Endpoints(streams=("/v1/responses", "/responses", "/openai/v1/responses", "/openai/responses")),
    canned_replies=(
        CannedReply(
            path="/v1/responses",
            content_type="text/event-stream",
            write=write_named_events,
            payloads=_stream,
            document=_response,
        ),
    ),
    # https://developers.openai.com/api/docs/guides/websocket-mode
    sockets=Sockets(
        request="response.create", lane="stream_id", warm_up={"generate": False}, fits_http=_fits_http
    ),
    requests=RequestForm(
        canonical=_canonical,
        messages="input",
        previous=("previous_response_id",),
        kept_answer="previous_response_id",
        instructions=("instructions", "tools"),
        thoughts=frozenset({"reasoning"}),
        call_ids=(
            ("input", "*", "function_call", "call_id"),
            ("input", "*", "custom_tool_call", "call_id"),
            ("input", "*", "reasoning", "id"),  # "Duplicate item found" (vercel/ai#14843)
        ),
    ),
    opt_ins=(
        openai.CUSTOM_TOOLS,
        OptIn("the computer tool (`type: computer`)", declares_tool("computer")),
        OptIn("a named lane (`stream_id`)", lambda body: "stream_id" in body),
    ),
    key=openai.KEY,
    recording=openai.RECORDING,
    importing=Importing(
        stream=re.compile(r"/responses/?$"),
        path="/v1/responses",
        types=re.compile(r"response\..+"),
    ),
    # https://platform.openai.com/docs/api-reference
    probing=Probing(
        answer=(
            *require("name", "id", "model", "status", "output[].type"),
            *require('"response"', "object"),
            *require("number", "created_at"),
            *require("list", "output"),
            *require("object", "usage"),
            *require("count", "usage.input_tokens", "usage.output_tokens", "usage.total_tokens"),
        ),
        error=openai.ERROR,
        tool_by_name=True,
        parallel_calls_off=True,
        tool_types=True,
    ),
    smoke=SmokeStreams(
        text_cassette="one-message",
        text="Lake Baikal is 1,642 metres deep at its deepest.",
        call_cassette="one-call",
        call_name="get_weather",
        call_arguments={"city": "Accra"},
    ),
    reducing=Reducing(
        # fields of the response, its usage and error, of items, of annotations, and of hosted tools
        kept=frozenset(
            {
                "action",
                "annotation_index",
                "annotations",
                "cached_tokens",
                "call_id",
                "content",
                "incomplete_details",
                "input_tokens_details",
                "instructions",
                "message",
                "metadata",
                "name",
                "output_tokens_details",
                "parallel_tool_calls",
                "param",
                "queries",
                "query",
                "reason",
                "reasoning_tokens",
                "results",
                "role",
                "summary",
                "temperature",
                "tool_choice",
                "tools",
                "top_p",
            }
        ),
        block_index=("output_index",),
        repeated={
            "response.output_text.delta": RepeatedText("content", "text"),
            "response.refusal.delta": RepeatedText("content", "refusal"),
            "response.reasoning_text.delta": RepeatedText("content", "text"),
            "response.reasoning_summary_text.delta": RepeatedText("summary", "text"),
            "response.function_call_arguments.delta": RepeatedText(None, "arguments"),
            "response.custom_tool_call_input.delta": RepeatedText(None, "input"),
        },
        final_items=("response", "output"),
    ),
    variants=RESPONSES_VARIANTS,
)
