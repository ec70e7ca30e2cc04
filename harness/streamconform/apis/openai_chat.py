"""OpenAI Chat Completions: `POST /v1/chat/completions`."""

from __future__ import annotations

import re
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
    Probing,
    ProxyLimits,
    Reducing,
    RequestForm,
    SmokeStreams,
    require,
)
from streamconform.apis.openai_chat_variants import CHAT_VARIANTS
from streamconform.apis.openai_chat_vendors import VENDOR_ERRORS, VENDOR_PAYLOADS
from streamconform.apis.payloads import Payload, as_objects
from streamconform.apis.request_forms import as_parts, drop_nulls, map_messages
from streamconform.wire import sse
from streamconform.wire.reframe import write_events_and_done


def _is_terminal(payload: Payload) -> bool:
    # Choice 0 is the answer, and its index may be absent (specs/POLICY.md, "Several choices or candidates").
    return bool(payload.get("error")) or any(
        choice.get("index", 0) == 0
        and (choice.get("finish_reason") or choice.get("error") or _ends_audio(choice.get("delta")))
        for choice in as_objects(payload.get("choices"))
    )


def _ends_audio(delta: object) -> bool:
    """Whether a delta has only the time at which its audio expires: OpenAI sends audio no other end."""
    audio = delta.get("audio") if isinstance(delta, dict) else None
    if not isinstance(audio, dict):
        return False
    return bool(audio.get("expires_at")) and not (audio.get("data") or audio.get("transcript"))


def _count_ended_calls(payloads: Sequence[Payload]) -> int:
    """Return 0: only the terminal event ends a call."""
    del payloads
    return 0


def _canonical(body: Json) -> Json:
    """Convert `content` to parts, `refusal` to one of these parts, and the role `developer` to `system`.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    made = drop_nulls(body)
    made["messages"] = map_messages(made.get("messages"), _canonical_message)
    return made


def _canonical_message(message: Json) -> Json:
    role = "system" if message.get("role") == "developer" else message.get("role")
    made = {**message, "role": role}
    if "content" in made:
        made["content"] = as_parts(made["content"], "text")
    if role == "assistant" and isinstance(made.get("refusal"), str):
        parts = made["content"] if isinstance(made.get("content"), list) else []
        made["content"] = [*parts, {"type": "refusal", "refusal": made.pop("refusal")}]
    return made


_USAGE: Final[Json] = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}


def _stream(model: str) -> Iterator[Json]:
    head = {"id": "chatcmpl-plain", "object": "chat.completion.chunk", "created": CREATED, "model": model}
    deltas: tuple[Json, ...] = ({"role": "assistant", "content": ""}, {"content": "OK"})
    for delta in deltas:
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield head | {"choices": [], "usage": _USAGE}


def _completion(model: str) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": "OK"}, "finish_reason": "stop"}
    head = {"id": "chatcmpl-plain", "object": "chat.completion", "created": CREATED, "model": model}
    return head | {"choices": [choice], "usage": _USAGE}


API: Final = Api(
    name="openai-chat",
    title="OpenAI Chat Completions",
    extensions=Extensions(
        event={"sse": sse.encode_event(b'{"object":"chat.completion.future","detail":{"n":1}}', None)},
        event_level="should",
        objects=(
            (),
            ("choices", "*"),
            ("choices", "*", "delta"),
            ("choices", "*", "delta", "tool_calls", "*"),
            ("choices", "*", "delta", "tool_calls", "*", "function"),
            ("usage",),
            ("usage", "prompt_tokens_details"),
            ("usage", "completion_tokens_details"),
            ("error",),
        ),
        field_level="must",
        source="https://platform.openai.com/docs/api-reference/backward-compatibility",
    ),
    write=write_events_and_done,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=_count_ended_calls,
        content=("choices",),
        kinds=(("choices", "*", "delta"),),
        text_keys=("content",),
        delta_keys=("reasoning_content", "refusal", "arguments"),
        error_frame={
            "sse": sse.encode_event(
                b'{"error":{"message":"The server had an error while processing your request.",'
                b'"type":"server_error","param":null,"code":null}}',
                None,
            )
        },
        error_type="server_error",
        usage_follows=True,
        error_message="The server had an error while processing your request.",
        source="https://platform.openai.com/docs/guides/error-codes",
    ),
    endpoints=Endpoints(
        streams=(
            "/v1/chat/completions",
            "/chat/completions",
            # Azure's two forms, of which Groq uses the first, and OpenRouter's.
            "/openai/v1/chat/completions",
            "/openai/deployments/{deployment}/chat/completions",
            "/api/v1/chat/completions",
        )
    ),
    canned_replies=(
        CannedReply(
            path="/v1/chat/completions",
            content_type="text/event-stream",
            write=write_events_and_done,
            payloads=_stream,
            document=_completion,
        ),
    ),
    requests=RequestForm(
        canonical=_canonical,
        instructions=("tools",),  # the system prompt is a message
        thoughts=frozenset({"reasoning_content", "reasoning", "reasoning_details", "thinking"}),
        marks=frozenset({"cache_control"}),
        call_ids=(("messages", "*", "tool_calls", "*", "id"),),
    ),
    opt_ins=(openai.CUSTOM_TOOLS,),
    key=openai.KEY,
    recording=openai.RECORDING,
    importing=Importing(
        stream=re.compile(r"/chat/completions/?$"),
        path="/v1/chat/completions",
        types=re.compile(r"chat\.completion(\.chunk)?"),
        members=(frozenset({"choices"}),),
    ),
    # https://platform.openai.com/docs/api-reference
    probing=Probing(
        answer=(
            *require("name", "id", "model", "choices[].finish_reason"),
            *require('"chat.completion"', "object"),
            *require("list", "choices"),
            *require("count", "created", "choices[].index"),
            *require('"assistant"', "choices[].message.role"),
            *require("text or null", "choices[].message.content"),
            *require("object", "choices[].message", "usage"),
            *require("count", "usage.prompt_tokens", "usage.completion_tokens", "usage.total_tokens"),
        ),
        error=openai.ERROR,
        stop_sequences=("stop",),
        tool_by_name=True,
        parallel_calls_off=True,
        tool_types=True,
    ),
    proxy=ProxyLimits(
        reasons={
            "refusal": ("refusal", "content_filter", "stop"),
            "pause": ("pause", "other", "stop", "tool_use"),
            "other": ("other", "stop", "tool_use"),
        },
        usage=("input", "output", "cache_read"),
        joins_thinking=True,
    ),
    ordered_content=False,  # a message has one `content` and one list of `tool_calls`
    smoke=SmokeStreams(
        text_cassette="text-plain",
        text="Cork floats because most of it is air.",
        call_cassette="first-fragment-with-brace",
        call_name="get_weather",
        call_arguments={"city": "Split"},
        values=("raw_stop",),  # without `stream_options`, a stream has no usage
    ),
    reducing=Reducing(
        kept=frozenset({"code", "param"}),  # fields of errors
        block_index=("choices", 0, "delta", "tool_calls", 0, "index"),
    ),
    variants=CHAT_VARIANTS,
    vendor_payloads=VENDOR_PAYLOADS,
    vendor_errors=VENDOR_ERRORS,
)
