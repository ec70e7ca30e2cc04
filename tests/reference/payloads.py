"""Payloads that a decoder may receive: the API's words, in any order and of any type."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hypothesis import strategies as st

from streamconform_reference.apis.anthropic_messages import content as messages_content
from streamconform_reference.apis.anthropic_messages import decode as messages
from streamconform_reference.apis.bedrock_converse import content as converse_content
from streamconform_reference.apis.bedrock_converse import decode as converse
from streamconform_reference.apis.bedrock_converse.failures import EXCEPTIONS
from streamconform_reference.apis.cohere_chat import v1, v2
from streamconform_reference.apis.google_generate.decode import METADATA, PARTS
from streamconform_reference.apis.google_generate.reasons import STOP_REASONS as GOOGLE_REASONS
from streamconform_reference.apis.ollama_chat import decode as ollama
from streamconform_reference.apis.openai_chat import decode as chat
from streamconform_reference.apis.openai_chat.reasoning import DETAIL_FORMS, DETAIL_KEYS, TEXT_KEYS
from streamconform_reference.apis.openai_chat.reasons import STOP_REASONS
from streamconform_reference.apis.openai_responses import decode as responses
from streamconform_reference.apis.openai_responses.calls import CALLS as HOSTED_CALLS

from .bedrock_converse_streams import frame
from .google_generate_streams import array

Payload = dict[str, Any]
Payloads = st.SearchStrategy[Any]

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.just(2**70), st.floats(), st.just("x"))


def draw_values(leaves: Payloads, keys: st.SearchStrategy[str]) -> Payloads:
    """Return values of any shape, with these leaves and keys."""
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=8,
    )


def draw_objects(keys: st.SearchStrategy[str], values: Payloads, **fields: Payloads) -> Payloads:
    """Return objects of any keys, with `fields` that are often valid."""
    return st.builds(
        lambda rest, known: {**rest, **known},
        st.dictionaries(keys, values, max_size=4),
        st.fixed_dictionaries(fields),
    )


def words(text: str, *tables: Iterable[str]) -> st.SearchStrategy[str]:
    return st.sampled_from([*text.split(), *(word for table in tables for word in table)])


def draw_messages() -> Payloads:
    keys = words(
        "type index delta text content_block message usage error id name input partial_json thinking "
        "signature content stop_reason iterations"
    )
    types = words("compaction", messages.HANDLERS, messages_content.BLOCK_STARTS, messages_content.DELTAS)
    return draw_objects(keys, draw_values(SCALARS | types, keys), type=types)


def draw_chat() -> Payloads:
    names = words("error x", STOP_REASONS, chat.PARTS, DETAIL_FORMS) | st.just("")
    fields = (*chat.FIELDS, *TEXT_KEYS, *DETAIL_KEYS)
    keys = words(
        "choices delta message finish_reason index id model usage error object function name arguments "
        "type text thinking signature data summary x_groq prompt_tokens completion_tokens total_tokens "
        "prompt_tokens_details service_tier",
        fields,
    )
    values = draw_values(SCALARS | names, keys)
    choice = {
        "delta": st.dictionaries(st.sampled_from(fields), values, max_size=3) | values,
        "finish_reason": names | values,
        "index": SCALARS,
    }
    choices = st.lists(st.fixed_dictionaries({}, optional=choice), max_size=2)
    return st.fixed_dictionaries(
        {}, optional={"choices": choices | values, "usage": values, "error": SCALARS | values}
    )


def draw_responses() -> Payloads:
    keys = words(
        "type item part response delta text arguments input code refusal annotation annotations content "
        "summary output usage status error tools id call_id item_id name output_index content_index "
        "summary_index action encrypted_content incomplete_details environment"
    )
    kinds = words("message reasoning output_text refusal reasoning_text", responses.HANDLERS, HOSTED_CALLS)
    values = draw_values(SCALARS | kinds, keys)
    holders = st.dictionaries(
        words("item part response"), draw_objects(keys, values, type=kinds), min_size=1, max_size=1
    )
    return st.builds(
        lambda payload, holder: {**payload, **holder}, draw_objects(keys, values, type=kinds), holders
    )


def draw_cohere() -> Payloads:
    keys = words(
        "index delta message content type text thinking tool_plan tool_calls function arguments id name "
        "citations usage billed_units input_tokens error finish_reason response tool_call_delta parameters "
        "meta generation_id"
    )
    values = draw_values(SCALARS, keys)
    return draw_objects(keys, values, type=words("future", v2.HANDLERS)) | draw_objects(
        keys, values, event_type=words("", v1.HANDLERS)
    )


def draw_converse() -> st.SearchStrategy[tuple[str, Payload]]:
    keys = words("contentBlockIndex delta start usage inputTokens input signature stopReason text")
    inner = keys | words("", converse_content.DELTAS, converse_content.STARTS)
    kinds = words("future", converse.HANDLERS, EXCEPTIONS)
    return st.tuples(kinds, st.dictionaries(keys, draw_values(SCALARS, inner), max_size=4))


def draw_google() -> Payloads:
    names = words("$.a $.a[0] $.b[1].c $ f", GOOGLE_REASONS) | st.just("")
    keys = words(
        "candidates content parts text thought thoughtSignature finishReason index name args id "
        "partialArgs willContinue jsonPath stringValue numberValue nullValue usageMetadata "
        "promptTokenCount promptFeedback blockReason error",
        PARTS,
        METADATA,
    )
    values = draw_values(SCALARS | names, keys)
    entry = {"jsonPath": names, "stringValue": SCALARS, "numberValue": SCALARS, "willContinue": SCALARS}
    call = {
        "name": st.sampled_from(["f", "g", ""]),
        "args": values,
        "id": st.sampled_from(["a", "", None]),
        "partialArgs": st.lists(st.fixed_dictionaries({}, optional=entry), max_size=3),
        "willContinue": st.booleans(),
    }
    part = {
        "text": st.text(max_size=3) | SCALARS,
        "thought": SCALARS,
        "thoughtSignature": SCALARS,
        "functionCall": st.fixed_dictionaries({}, optional=call) | values,
        "toolCall": values,
    }
    parts = st.fixed_dictionaries({"parts": st.lists(st.fixed_dictionaries({}, optional=part), max_size=3)})
    candidate = {"content": parts | values, "finishReason": names | values, "index": SCALARS}
    candidates = st.lists(st.fixed_dictionaries({}, optional=candidate), max_size=2)
    return draw_objects(keys, values, candidates=candidates) | values


def draw_ollama() -> Payloads:
    keys = words(
        "message done done_reason error model eval_count prompt_eval_count function name arguments id "
        "index role",
        ["error parsing"],
        ollama.FIELDS,
    )
    values = draw_values(SCALARS | words('{"x":1} {"x"', ollama.STOP_REASONS) | st.just(""), keys)
    call = {"id": SCALARS, "function": st.dictionaries(keys, values, max_size=3) | values}
    message = {
        "content": st.text(max_size=3) | values,
        "thinking": st.text(max_size=3) | values,
        "tool_calls": st.lists(st.fixed_dictionaries({}, optional=call), max_size=3) | values,
    }
    return draw_objects(keys, values, message=st.fixed_dictionaries({}, optional=message)) | values


def write_sse(payloads: list[Any]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(payload).encode() for payload in payloads)


def write_lines(payloads: list[Any]) -> bytes:
    return b"".join(json.dumps(payload).encode() + b"\n" for payload in payloads)


def write_messages(payloads: list[tuple[str, Payload]]) -> bytes:
    return b"".join(frame(kind, payload) for kind, payload in payloads)


FORMS: Mapping[str, tuple[Payloads, Callable[[list[Any]], bytes]]] = {
    "anthropic-messages": (draw_messages(), write_sse),
    "openai-chat": (draw_chat(), write_sse),
    "openai-responses": (draw_responses(), write_sse),
    "cohere-chat": (draw_cohere(), write_sse),
    "bedrock-converse": (draw_converse(), write_messages),
    "google-generate": (draw_google(), write_sse),
    "google-generate, array": (draw_google(), lambda payloads: array(*payloads)),
    "ollama-chat": (draw_ollama(), write_lines),
}
"""Maps an API, and its second framing, to its payloads and to a function that frames them."""

BODIES = {form: st.lists(payloads, max_size=8).map(write) for form, (payloads, write) in FORMS.items()}
"""Maps an API, and its second framing, to bodies."""
