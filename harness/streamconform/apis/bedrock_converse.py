"""Amazon Bedrock's `ConverseStream`: `POST /model/{id}/converse-stream`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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
    Reducing,
    RequestForm,
    SmokeStreams,
    require,
)
from streamconform.apis.payloads import Payload, as_object
from streamconform.apis.request_forms import drop_nulls, order_results
from streamconform.apis.variants import (
    Place,
    Variant,
    add_empty_deltas,
    expect_any_end,
    find_text,
    map_payloads,
    split_pairs,
)
from streamconform.wire import eventstream
from streamconform.wire.reframe import write_messages


def _is_terminal(payload: Payload) -> bool:
    """Return whether the payload is `messageStop` or an exception; no other event has these members."""
    return "stopReason" in payload or "message" in payload


def _count_ended_calls(payloads: Sequence[Payload]) -> int:
    calls = {
        payload.get("contentBlockIndex")
        for payload in payloads
        if "toolUse" in (start := as_object(payload.get("start")))
        and as_object(start["toolUse"]).get("type") != "server_tool_use"
    }
    # The payload of `contentBlockStop` has only an index: the event's name is in the message's headers.
    return sum(
        payload.get("contentBlockIndex") in calls and not {"start", "delta"} & payload.keys()
        for payload in payloads
    )


def _find_piece(payload: Payload) -> Place | None:
    return find_text(payload, [("delta", "text"), _INPUT, ("delta", "reasoningContent", "text")])


def _find_fragment(payload: Payload) -> Place | None:
    return find_text(payload, [_INPUT])


_INPUT: Final = ("delta", "toolUse", "input")


def _leave_out_ends(payload: Payload) -> Sequence[Payload]:
    """Leave out `contentBlockStop`, the only event with an index and nothing else."""
    ends_block = "contentBlockIndex" in payload and not {"start", "delta"} & payload.keys()
    return () if ends_block else (payload,)


_VARIANTS: Final = {
    "half-pairs": Variant(
        level="may", sources=("delta-kinds", "call-input-fragments"), rewrite=split_pairs(_find_piece)
    ),
    "empty-deltas": Variant(
        level="must",
        sources=("call-input-first-fragment-is-empty",),
        rewrite=add_empty_deltas(_find_fragment),
    ),
    "ends-absent": Variant(
        level="should",
        sources=("maximhq/bifrost#4262",),
        rewrite=map_payloads(_leave_out_ends),
        expect=expect_any_end,
    ),
}


def _stream(model: str) -> Iterator[Json]:
    """Yield the events, each under its own name."""
    document = _document(model)
    yield {"messageStart": {"role": "assistant"}}
    yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "OK"}}}
    yield {"contentBlockStop": {"contentBlockIndex": 0}}
    yield {"messageStop": {"stopReason": "end_turn"}}
    yield {"metadata": {name: document[name] for name in ("usage", "metrics")}}


def _document(model: str) -> Json:
    del model
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": "OK"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 9, "outputTokens": 2, "totalTokens": 11},
        "metrics": {"latencyMs": 1},
    }


def canonical(body: Payload) -> Json:
    """Drop null members; put results that are together in the order of their calls."""
    made = drop_nulls(body)
    if "messages" in made:
        made["messages"] = order_results(made["messages"], _find_id("toolUse"), _find_id("toolResult"))
    return made


def _find_id(member: str) -> Callable[[Payload], Any]:
    return lambda block: as_object(block.get(member)).get("toolUseId")


API: Final = Api(
    name="bedrock-converse",
    title="Amazon Bedrock Converse",
    extensions=Extensions(
        event={"eventstream": eventstream.encode_event(b'{"n":1}', "futureEvent")},
        event_level="should",  # unions are open, and clients "SHOULD NOT fail"
        # structures only: `start`, `delta` and `reasoningContent` are unions, which hold one member
        objects=((), ("start", "toolUse"), ("delta", "toolUse"), ("usage",), ("metrics",)),
        field_level="must",
        source="https://smithy.io/2.0/guides/evolving-models.html",
    ),
    write=write_messages,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=_count_ended_calls,
        content=("delta",),
        kinds=(("delta",), ("start",)),
        text_keys=("text",),
        delta_keys=("input",),
        error_frame={
            "eventstream": eventstream.encode_event(
                b'{"message":"The service is currently unavailable."}',
                "serviceUnavailableException",
                "exception",
            )
        },
        error_type="serviceUnavailableException",
        error_names=("ServiceUnavailableException",),
        usage_follows=True,
        error_message="The service is currently unavailable.",
        source="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html",
    ),
    endpoints=Endpoints(
        # `+`, because the model may be an ARN, which contains a slash.
        streams=("/model/{model+}/converse-stream",),
        documents=("/model/{model+}/converse",),
        document_path=lambda path: path.removesuffix("-stream"),
    ),
    canned_replies=(
        CannedReply(
            path="/model/{model+}/converse-stream",
            content_type="application/vnd.amazon.eventstream",
            write=write_messages,
            payloads=_stream,
            document=_document,
        ),
    ),
    requests=RequestForm(
        canonical=canonical,
        instructions=("system", "toolConfig.tools"),
        thoughts=frozenset({"reasoningContent"}),
        marks=frozenset({"cachePoint"}),
        call_ids=(
            ("messages", "*", "content", "*", "toolUse", "toolUseId"),
            # "Messages can't contain duplicate document names" (maximhq/bifrost#7003)
            ("messages", "*", "content", "*", "document", "name"),
        ),
    ),
    key=Key(
        header="authorization",
        prefix="Bearer ",
        variable="AWS_BEARER_TOKEN_BEDROCK",
        addresses={"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": ""},
    ),
    importing=Importing(
        stream=re.compile(r"/converse-stream/?$"),
        document=re.compile(r"/model/.+/converse$"),
        path="/model/converse-stream",
        types=re.compile(r"message(Start|Stop)|contentBlock(Start|Delta|Stop)"),
    ),
    # https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
    probing=Probing(
        answer=(
            *require("object", "output", "output.message", "usage", "metrics"),
            *require('"assistant"', "output.message.role"),
            *require("list", "output.message.content"),
            *require("name", "stopReason"),
            *require("count", "usage.inputTokens", "usage.outputTokens", "usage.totalTokens"),
        ),
        error=require("name", "message"),
        stop_sequences=("inferenceConfig", "stopSequences"),
        tool_by_name=True,
    ),
    smoke=SmokeStreams(
        text_cassette="plain-text",
        text="The kettle is on the second shelf.",
        call_cassette="single-call",
        call_name="get_weather",
        call_arguments={"city": "Paris"},
    ),
    reducing=Reducing(block_index=("contentBlockIndex",)),
    variants=_VARIANTS,
)
