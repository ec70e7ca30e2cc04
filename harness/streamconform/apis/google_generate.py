"""Gemini's `streamGenerateContent`, on Google AI and Vertex AI: SSE (`alt=sse`), or a JSON array."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    OptIn,
    Probing,
    Reducing,
    RequestForm,
    SmokeStreams,
    Target,
    require,
)
from streamconform.apis.payloads import Payload, as_object, as_objects
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
from streamconform.model.trial import Framing
from streamconform.wire import json_array, sse
from streamconform.wire.reframe import write_events


def _is_terminal(payload: Payload) -> bool:
    # A blocked prompt has no candidates. Candidate 0 is the answer, and its index may be absent
    # (specs/POLICY.md, "Several choices or candidates").
    blocked = as_object(payload.get("promptFeedback")).get("blockReason")
    return bool(payload.get("error") or blocked) or any(
        candidate.get("index", 0) == 0 and candidate.get("finishReason")
        for candidate in as_objects(payload.get("candidates"))
    )


def _count_ended_calls(payloads: Sequence[Payload]) -> int:
    """Return the number of parts that contain a complete call, or end a call that arrived in pieces."""
    parts = (
        part
        for payload in payloads
        for candidate in as_objects(payload.get("candidates"))
        for part in as_objects(as_object(candidate.get("content")).get("parts"))
    )
    calls = [as_object(part["functionCall"]) for part in parts if "functionCall" in part]
    return len([call for call in calls if call.get("willContinue") is not True])


_PARTS: Final = ("candidates", 0, "content", "parts")
_TEXT: Final = (*_PARTS, 0, "text")


def _find_piece(payload: Payload) -> Place | None:
    """Return the place of the text in a chunk that has one candidate with one part, and does not end it."""
    candidates = as_objects(payload.get("candidates"))
    parts = as_objects(read_at(payload, _PARTS))
    if len(candidates) != 1 or candidates[0].get("finishReason") or len(parts) != 1:
        return None
    return find_text(payload, [_TEXT]) if not parts[0].keys() - {"text", "thought"} else None


def _leave_out_ids(payload: Payload) -> Sequence[Payload]:
    """Leave out the ids of calls."""
    parts = read_at(payload, _PARTS)
    if not as_objects(parts):
        return (payload,)
    return (set_at(payload, _PARTS, [_leave_out_id(part) for part in parts]),)


def _leave_out_id(part: Any) -> Any:
    call = as_object(as_object(part).get("functionCall"))
    return {**part, "functionCall": drop(call, "id")} if "id" in call else part


def _stop_in_every_chunk(payload: Payload) -> Sequence[Payload]:
    """Give a chunk without a reason the reason `STOP`, unless it has a piece of a call's arguments."""
    candidates = as_objects(payload.get("candidates"))
    calls = [as_object(part.get("functionCall")) for part in as_objects(read_at(payload, _PARTS))]
    if len(candidates) != 1 or candidates[0].get("finishReason") or not as_objects(read_at(payload, _PARTS)):
        return (payload,)
    if any("partialArgs" in call or call.get("willContinue") for call in calls):
        return (payload,)
    return ({**payload, "candidates": [{**candidates[0], "finishReason": "STOP"}]},)


def _wants_sse(target: Target) -> bool:
    return target.query.get("alt") == ["sse"]


def _wants_array(target: Target) -> bool:
    return not _wants_sse(target)


def _find_mismatch(target: Target, recorded: Target, framed: Framing) -> str | None:
    del recorded
    if _wants_sse(target) == (framed == "sse"):
        return None
    if framed == "sse":
        return "the client requests a JSON array (no `alt=sse`); the recording is SSE"
    return "the client requests SSE (`alt=sse`); the recording is a JSON array"


_SNAKE: Final = re.compile(r"_([a-z0-9])")
_OPAQUE: Final = frozenset({"args", "response", "properties"})
"""Members whose keys are chosen by the user."""
_BYTES: Final = frozenset({"thoughtSignature", "data"})
"""Members that contain bytes, as base64 in either alphabet (google-genai writes - and _)."""
_STANDARD_ALPHABET: Final = str.maketrans("-_", "+/")
_NO_SIGNATURE: Final = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})
"""Values that stand in for a signature (https://ai.google.dev/gemini-api/docs/thought-signatures)."""


def _canonical(body: Json) -> Json:
    """Convert keys to camel case, bytes to the standard base64 alphabet, and schema types to lower case.

    The API accepts both forms of each: https://protobuf.dev/programming-guides/json/ and
    https://ai.google.dev/api/caching#Schema
    """
    made: Json = _camel_case(body)
    system = made.get("systemInstruction")
    if isinstance(system, Mapping):
        made["systemInstruction"] = {key: value for key, value in system.items() if key != "role"}
    for declaration in _declarations(made.get("tools")):
        schema = declaration.pop("parametersJsonSchema", None) or declaration.get("parameters")
        if schema is not None:
            declaration["parameters"] = _lower_types(schema)
    return made


def _declarations(tools: Any) -> Iterator[Json]:
    """Yield the function declarations of all tools; other tools are skipped."""
    for tool in tools if isinstance(tools, list) else ():
        declared = tool.get("functionDeclarations") if isinstance(tool, Mapping) else None
        for declaration in declared if isinstance(declared, list) else ():
            if isinstance(declaration, dict):
                yield declaration


def _camel_case(value: Any) -> Any:
    if isinstance(value, list):
        return [_camel_case(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    named = {_SNAKE.sub(lambda found: found[1].upper(), key): item for key, item in value.items()}
    return {key: _canonical_member(key, item) for key, item in named.items()}


def _canonical_member(key: str, value: Any) -> Any:
    if key in _OPAQUE or key.startswith("parameters"):
        return value
    if key in _BYTES and isinstance(value, str):
        # These stand-ins are not base64, so their underscores must stay.
        return value if value in _NO_SIGNATURE else value.translate(_STANDARD_ALPHABET)
    return _camel_case(value)


def _streams_arguments(body: Payload) -> bool:
    config = as_object(as_object(body.get("toolConfig")).get("functionCallingConfig"))
    return config.get("streamFunctionCallArguments") is True


def _lower_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_lower_types(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: item.lower() if key == "type" and isinstance(item, str) else _lower_types(item)
        for key, item in schema.items()
    }


def _stream(model: str) -> Iterator[Json]:
    yield _response(model)


def _response(model: str) -> Json:
    content = {"role": "model", "parts": [{"text": "OK"}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11},
        "modelVersion": model,
        "responseId": "plain",
    }


def _write_array(payloads: Iterable[bytes]) -> bytes:
    return b"[" + json_array.SEPARATOR.join(payloads) + b"\n]\n"


_MODELS: Final = (
    "/{version}/models/{model}",
    "/models/{model}",
    "/{version}/publishers/{publisher}/models/{model}",
    "/{version}/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}",
)


def _get_document_path(path: str) -> str:
    """Return the path of `generateContent`, which has no `alt=sse`."""
    target, _, query = path.partition("?")
    kept = "&".join(part for part in query.split("&") if part and not part.startswith("alt="))
    return target.replace(":streamGenerateContent", ":generateContent") + (f"?{kept}" if kept else "")


_PATH: Final = f"{_MODELS[0]}:streamGenerateContent"

API: Final = Api(
    name="google-generate",
    title="Google Gemini generateContent",
    extensions=Extensions(
        event={
            "sse": sse.encode_event(b'{"futureChunk":{"n":1}}', None),
            "json_array": json_array.encode_element(b'{"futureChunk":{"n":1}}'),
        },
        event_level="should",  # the documentation does not mention chunks without a known field
        objects=(
            (),
            ("candidates", "*"),
            ("candidates", "*", "content"),
            ("candidates", "*", "content", "parts", "*"),
            ("usageMetadata",),
            ("promptFeedback",),
            ("error",),
        ),
        field_level="must",
        source="https://google.aip.dev/180",
    ),
    write=write_events,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=_count_ended_calls,
        content=("candidates",),
        kinds=(("candidates", "*", "content", "parts", "*"),),
        text_keys=("text",),
        # The arguments of a call are an object, not text, so the name shows which frame contains the call.
        delta_keys=("name",),
        error_frame={
            "sse": sse.encode_event(
                b'{"error":{"code":503,"message":"The model is overloaded. Please try again later.",'
                b'"status":"UNAVAILABLE"}}',
                None,
            )
        },
        error_type="UNAVAILABLE",
        usage_follows=True,
        error_message="The model is overloaded. Please try again later.",
        source="https://ai.google.dev/gemini-api/docs/troubleshooting",
    ),
    endpoints=Endpoints(
        streams=tuple(f"{path}:streamGenerateContent" for path in _MODELS),
        documents=tuple(f"{path}:generateContent" for path in _MODELS),
        document_path=_get_document_path,
        find_mismatch=_find_mismatch,
    ),
    canned_replies=(
        CannedReply(
            matches=_wants_sse,
            path=_PATH,
            content_type="text/event-stream",
            write=write_events,
            payloads=_stream,
            document=_response,
        ),
        CannedReply(
            matches=_wants_array,
            path=_PATH,
            content_type="application/json",
            write=_write_array,
            payloads=_stream,
            document=_response,
        ),
    ),
    requests=RequestForm(
        canonical=_canonical,
        messages="contents",
        previous=("continuationToken",),
        instructions=("systemInstruction", "tools"),
        thoughts=frozenset({"thought"}),
        call_ids=(("contents", "*", "parts", "*", "functionCall", "id"),),
    ),
    # https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling
    opt_ins=(OptIn("the streaming of arguments (`streamFunctionCallArguments`)", _streams_arguments),),
    key=Key(header="x-goog-api-key", variable="GEMINI_API_KEY", addresses={"GOOGLE_GEMINI_BASE_URL": ""}),
    importing=Importing(
        stream=re.compile(r":streamGenerateContent$"),
        document=re.compile(r":generateContent$"),
        path="/v1beta/models/gemini:streamGenerateContent",
        members=(frozenset({"candidates"}), frozenset({"promptFeedback"})),
    ),
    # https://ai.google.dev/api/generate-content
    probing=Probing(
        answer=(
            *require("list", "candidates"),
            *require("name", "candidates[].finishReason"),
            *require("object", "usageMetadata"),
            *require("count", "usageMetadata.promptTokenCount", "usageMetadata.totalTokenCount"),
            *require("name", "modelVersion", "responseId", level="should"),
        ),
        error=(
            *require("object", "error"),
            *require("count", "error.code"),
            *require("name", "error.message", "error.status"),
        ),
        stop_sequences=("generationConfig", "stopSequences"),
        tool_by_name=True,
    ),
    thoughts_on_request=True,  # `includeThoughts` in the request
    smoke=SmokeStreams(
        text_cassette="several-chunks",
        text="Marble is limestone that heat and pressure have changed. Its veins are what was clay.",
        call_cassette="one-call",
        call_name="get_weather",
        call_arguments={"city": "Porto", "unit": "celsius"},
    ),
    reducing=Reducing(kept=frozenset({"data", "mimeType"})),  # of inline data
    variants={
        "half-pairs": Variant(level="may", sources=("texts-are-appended",), rewrite=split_pairs(_find_piece)),
        "ids-absent": Variant(
            level="should",
            sources=("call-id-is-optional",),
            rewrite=map_payloads(_leave_out_ids),
            expect=expect_any_id,
        ),
        "reasons-early": Variant(
            level="should", sources=("songquanpeng/one-api#1408",), rewrite=map_payloads(_stop_in_every_chunk)
        ),
    },
)
