"""The grammars: a legal stream violates no rule, and an edited one violates each rule."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from streamconform.apis import APIS
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.grammars.blocks import RULES as BLOCK_RULES
from streamconform_reference.grammars.grammar import COMMON, Deviation

from ..for_each import for_each
from .grammar_streams import (
    CHAT_REQUEST,
    STREAMS,
    Json,
    block,
    candidate,
    chunk,
    first_fragment,
    fragment,
    frames,
    function_call,
    record,
    tool,
)

Edit = Callable[[list[Json]], Any]
ELSEWHERE = {"framing"}
"""Rules that no frame can break; they have separate tests below."""


def deviations(stream: str, payloads: list[Json]) -> list[Deviation]:
    api = stream.partition(" ")[0]
    grammar = GRAMMARS[api](CHAT_REQUEST if api == "openai-chat" else None)
    found = [each for frame in frames(api, payloads) for each in grammar.receive(frame)]
    return [*found, *grammar.end()]


def put(at: int, path: str, value: Any) -> Edit:
    """Set the value at a path of a payload, or remove it if the last value of `drop` is None."""

    def edit(payloads: list[Json]) -> None:
        *holders, last = path.split(".")
        where: Any = payloads[at]
        for each in holders:
            where = where[int(each) if each.isdigit() else each]
        where[last] = value

    return edit


def drop(at: int, path: str) -> Edit:
    def edit(payloads: list[Json]) -> None:
        *holders, last = path.split(".")
        where: Any = payloads[at]
        for each in holders:
            where = where[int(each) if each.isdigit() else each]
        del where[last]

    return edit


def leave_out(at: int) -> Edit:
    return lambda payloads: payloads.pop(at)


def add(at: int, *more: Json) -> Edit:
    return lambda payloads: payloads.__setitem__(slice(at, at), copy.deepcopy(list(more)))


def end(*more: Json) -> Edit:
    return lambda payloads: payloads.extend(more)


def again(at: int) -> Edit:
    return lambda payloads: payloads.insert(at + 1, copy.deepcopy(payloads[at]))


def swap(one: int, other: int) -> Edit:
    def edit(payloads: list[Json]) -> None:
        payloads[one], payloads[other] = payloads[other], payloads[one]

    return edit


METRICS = "amazon-bedrock-invocationMetrics"
PIECE = "candidates.0.content.parts.0.functionCall"
BROKEN: dict[str, list[tuple[str, Edit]]] = {
    "anthropic-messages": [
        ("event-name", put(0, "event", "other")),
        ("start-first", leave_out(0)),
        ("one-message-start", again(0)),
        ("message-delta-last", swap(-2, -3)),
        ("message-delta-before-stop", leave_out(-2)),
        ("block-fields", drop(8, "content_block.input")),
        ("delta-fields", drop(6, "delta.text")),
        ("arguments-parse", put(9, "delta.partial_json", "{")),
        ("id-present", put(8, "content_block.id", "")),
        ("id-form", put(8, "content_block.id", "call_1")),
        ("unique-ids", put(11, "content_block.id", "toolu_1")),
        ("signature-present", leave_out(3)),
        ("no-empty-block", leave_out(6)),
        ("stop-reason-present", put(-2, "delta.stop_reason", None)),
        ("stop-reason-known", put(-2, "delta.stop_reason", "tired")),
        ("stop-fits-calls", put(-2, "delta.stop_reason", "end_turn")),
        ("index-contiguous", add(-2, *block(5, tool("toolu_3")))),
        ("block-start-once", again(5)),
        ("block-start-before-delta", leave_out(5)),
        ("no-delta-after-stop", swap(6, 7)),
        ("delta-fits-block", put(6, "delta", {"type": "thinking_delta", "thinking": "x"})),
        ("block-stop-once", again(7)),
        ("blocks-in-sequence", swap(4, 5)),
        ("blocks-stopped", leave_out(13)),
        ("no-done-marker", end({"[DONE]": True})),
        ("one-terminal", again(-1)),
        ("one-terminal", leave_out(-1)),
        ("terminal-last", end({"type": "ping"})),
        ("payload-json", add(1, {"raw": b"{oh"})),
        ("payload-object", add(1, {"raw": b"[]"})),
        ("required-field.message_delta.usage", drop(-2, "usage")),
        ("field-type.content_block_start.index", put(5, "index", "1")),
    ],
    "openai-chat": [
        ("no-event-name", put(0, "event", "chunk")),
        ("done-marker", leave_out(-1)),
        ("terminal-last", end(chunk({}))),
        ("one-terminal", leave_out(5)),
        ("one-terminal", again(5)),
        ("id-constant", put(2, "id", "c2")),
        ("model-constant", put(2, "model", "n")),
        ("role-first", drop(0, "choices.0.delta.role")),
        ("no-delta-after-stop", swap(4, 5)),
        ("finish-reason-known", put(5, "choices.0.finish_reason", "tired")),
        ("stop-fits-calls", lambda payloads: payloads.__delitem__(slice(1, 5))),
        ("index-contiguous", put(3, "choices.0.delta.tool_calls", [first_fragment(4)])),
        (
            "call-start",
            put(1, "choices.0.delta.tool_calls", [fragment(0, "")]),
        ),
        ("id-once", put(2, "choices.0.delta.tool_calls", [fragment(0, "{}") | {"id": "call_9"}])),
        ("unique-ids", put(3, "choices.0.delta.tool_calls", [first_fragment(1) | {"id": "call_0"}])),
        ("arguments-parse", put(2, "choices.0.delta.tool_calls", [fragment(0, "{")])),
        ("usage-present", leave_out(6)),
        ("usage-once", put(5, "usage", {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})),
        ("usage-total", put(6, "usage.total_tokens", 10)),
        ("choices-present", add(6, chunk(None))),
        ("required-field.chunk.choices.delta", drop(5, "choices.0.delta")),
    ],
    "openai-responses": [
        ("event-name", put(0, "event", "other")),
        ("start-first", leave_out(0)),
        ("one-created", again(0)),
        ("one-terminal", leave_out(-1)),
        ("in-progress-early", swap(1, 2)),
        ("sequence-contiguous", put(3, "sequence_number", 9)),
        ("status-fits", put(-1, "response.status", "in_progress")),
        ("id-constant", put(1, "response.id", "resp_2")),
        ("item-id-constant", put(4, "item_id", "msg_9")),
        ("blocks-in-sequence", swap(7, 8)),
        ("text-sums", put(5, "text", "Ho.")),
        ("done-fits", put(7, "item.id", "msg_9")),
        ("arguments-done", leave_out(10)),
        ("arguments-parse", put(11, "item", function_call(1, "{"))),
        ("arguments-text", put(11, "item.arguments", {})),
        ("id-present", put(8, "item.call_id", "")),
        ("unique-ids", put(12, "item.call_id", "call_1")),
        ("output-complete", put(-1, "response.output", [])),
        ("usage-present", put(-1, "response.usage", None)),
        ("usage-total", put(-1, "response.usage.total_tokens", 10)),
        ("reason-present", put(-1, "type", "response.incomplete")),
        ("delta-fits-block", put(4, "type", "response.refusal.delta")),
        ("required-field.response.output_text.delta.content_index", drop(4, "content_index")),
    ],
    "google-generate": [
        ("no-event-name", put(0, "event", "chunk")),
        ("chunk-says-something", add(1, {"modelVersion": "m", "responseId": "r1"})),
        ("one-terminal", leave_out(-1)),
        ("terminal-last", end(candidate({"text": "more"}))),
        ("part-says-something", put(0, "candidates.0.content.parts", [{}])),
        ("call-name", put(4, PIECE, {"args": {}})),
        ("call-open", leave_out(1)),
        ("partial-value", put(2, f"{PIECE}.partialArgs", [{"jsonPath": "city", "stringValue": "x"}])),
        ("usage-present", lambda payloads: [each.pop("usageMetadata") for each in payloads]),
        ("usage-total", put(-1, "usageMetadata.totalTokenCount", 10)),
        ("id-constant", put(2, "responseId", "r2")),
        ("no-done-marker", end({"[DONE]": True})),
        ("field-type.chunk.candidates.content.role", put(0, "candidates.0.content.role", "assistant")),
    ],
    "ollama-chat": [
        ("terminal-last", end(record(content="more"))),
        ("one-terminal", leave_out(-1)),
        ("one-terminal", again(-1)),
        ("model-constant", put(1, "model", "n")),
        ("done-reason-present", drop(-1, "done_reason")),
        ("stop-reason-known", put(-1, "done_reason", "tired")),
        ("unique-ids", lambda payloads: payloads[1]["message"]["tool_calls"][1].update(id="call_1")),
        ("required-field.record.message.content", drop(0, "message.content")),
        (
            "field-type.record.message.tool_calls.function.arguments",
            put(1, "message.tool_calls.0.function.arguments", "{}"),
        ),
    ],
    "cohere-chat": [
        ("event-name", put(0, "event", "other")),
        ("start-first", leave_out(0)),
        ("one-message-start", again(0)),
        ("arguments-parse", put(5, "delta.message.tool_calls.function.arguments", "{")),
        ("unique-ids", put(7, "delta.message.tool_calls.id", "now_0")),
        ("finish-reason-known", put(-1, "delta.finish_reason", "TIRED")),
        ("stop-fits-calls", lambda payloads: payloads.__delitem__(slice(4, -1))),
        ("usage-present", drop(-1, "delta.usage")),
        ("no-done-marker", add(-1, {"[DONE]": True})),
        ("index-contiguous", lambda payloads: [each.update(index=1) for each in payloads[1:4]]),
        ("one-terminal", leave_out(-1)),
        (
            "required-field.tool-call-start.delta.message.tool_calls.id",
            drop(4, "delta.message.tool_calls.id"),
        ),
    ],
    "cohere-chat v1": [("is-finished", put(1, "is_finished", True))],
    "bedrock-converse": [
        ("start-first", leave_out(0)),
        ("one-message-start", again(0)),
        ("message-stop-behind-blocks", swap(-2, -3)),
        ("one-message-stop", again(-2)),
        ("metadata-last", swap(-1, -2)),
        ("one-terminal", leave_out(-1)),
        ("exception-known", add(3, {"oddException": {"message": "x"}})),
        ("one-delta", put(1, "contentBlockDelta.delta.toolUse", {"input": ""})),
        ("arguments-parse", put(4, "contentBlockDelta.delta.toolUse.input", "{")),
        ("unique-ids", put(6, "contentBlockStart.start.toolUse.toolUseId", "tooluse_1")),
        ("stop-reason-known", put(-2, "messageStop.stopReason", "tired")),
        ("stop-fits-calls", lambda payloads: payloads.__delitem__(slice(3, -2))),
        ("usage-total", put(-1, "metadata.usage.totalTokens", 10)),
        ("block-start-before-delta", leave_out(3)),
        ("required-field.metadata.metrics", drop(-1, "metadata.metrics")),
    ],
    "google-interactions": [
        ("event-name", put(0, "event", "other")),
        ("start-first", leave_out(0)),
        ("one-created", again(0)),
        ("delta-fields", drop(3, "delta.signature")),
        ("delta-fits-block", put(6, "delta.type", "thought_summary")),
        ("call-name", put(8, "step.name", "")),
        ("arguments-parse", put(9, "delta.arguments", "{")),
        ("unique-ids", put(11, "step.id", "call_2")),
        ("status-final", put(-1, "interaction.status", "in_progress")),
        ("status-fits-calls", lambda payloads: payloads.__delitem__(slice(8, -1))),
        ("usage-present", drop(-1, "interaction.usage")),
        ("usage-total", put(-1, "interaction.usage.total_tokens", 10)),
        ("id-constant", put(1, "interaction_id", "v1_b")),
        ("no-done-marker", add(-1, {"[DONE]": True})),
        ("blocks-stopped", leave_out(13)),
        ("one-terminal", leave_out(-1)),
        ("required-field.step.start.step.type", drop(2, "step.type")),
    ],
}
BROKEN["openai-chat audio"] = [("one-terminal", leave_out(2))]
BROKEN["bedrock-invoke"] = [
    *(each for each in BROKEN["anthropic-messages"] if each[0] != "event-name"),
    ("exception-known", put(-1, "exception", "oddException")),
    ("chunk-bytes", add(3, {"part": {"p": "abcd"}})),
    ("chunk-bytes", add(3, {"part": {"bytes": "{}"}})),
    ("chunk-bytes", add(3, {"part": []})),
    ("one-terminal", end({"exception": "throttlingException"})),
    ("required-field.message_stop.amazon-bedrock-invocationMetrics", drop(-1, METRICS)),
]
LEGAL_END: dict[str, Json] = {"raised": {"exception": "throttlingException"}, "failed": {"failure": "X"}}
CASES = [
    pytest.param(stream, rule, edit, id=f"{stream}:{rule}:{number}")
    for stream, edits in BROKEN.items()
    for number, (rule, edit) in enumerate(edits)
]


@pytest.mark.parametrize("stream", STREAMS)
def test_a_legal_stream_breaks_no_rule(stream):
    assert deviations(stream, STREAMS[stream]) == []


@pytest.mark.parametrize("name", LEGAL_END)
def test_an_invoke_stream_may_end_with_an_error(name):
    assert deviations("bedrock-invoke", [*STREAMS["bedrock-invoke"][:4], LEGAL_END[name]]) == []


@for_each(("stream", "rule", "edit"), CASES)
def test_a_rule_is_broken_by_an_edit(stream, rule, edit):
    payloads = copy.deepcopy(STREAMS[stream])
    edit(payloads)
    found = deviations(stream, payloads)
    assert rule in {each.rule for each in found}
    assert all(each.source.startswith("https://") and each.message for each in found)


@pytest.mark.parametrize("api", GRAMMARS)
def test_every_rule_of_an_api_is_broken_by_some_edit(api):
    shared = {*BLOCK_RULES, *COMMON}
    own = {rule for stream, edits in BROKEN.items() if stream.startswith(api) for rule, _ in edits}
    assert {*GRAMMARS[api].rules} - shared - own == set()


def test_every_rule_that_apis_share_is_broken_by_some_edit():
    broken = {rule for edits in BROKEN.values() for rule, _ in edits}
    assert {*BLOCK_RULES, *COMMON} - broken == ELSEWHERE


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"error": {}}'])
# A document on one line is a frame of NDJSON.
@pytest.mark.parametrize("api", [api for api in GRAMMARS if "ndjson" not in APIS[api].extensions.event])
def test_a_body_that_is_not_a_stream_violates_the_framing_rule(api, body):
    assert "framing" in {each.rule for each in GRAMMARS[api].of_body([body])}


@pytest.mark.parametrize("stream", STREAMS)
def test_unknown_fields_are_legal_everywhere(stream):
    payloads = copy.deepcopy(STREAMS[stream])
    for each in payloads:
        holder = next(iter(each.values())) if stream == "bedrock-converse" else each
        if "[DONE]" not in each:
            holder["future_field"] = {"n": 1}
    assert deviations(stream, payloads) == []


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a payload, except its type."""
    keys = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    own = [(*path, key) for key, _ in keys if key not in ("type", "event_type", "[DONE]")]
    return own + [deeper for key in own for deeper in leaves(value[key[-1]], key)]


@pytest.mark.parametrize("odd", [[], 7], ids=repr)
@pytest.mark.parametrize("stream", STREAMS)
def test_no_value_of_another_type_raises(stream, odd):
    """Puts one odd value at each place in turn."""
    for number, payload in enumerate(STREAMS[stream]):
        for *holders, last in leaves(payload):
            payloads = copy.deepcopy(STREAMS[stream])
            where: Any = payloads[number]
            for key in holders:
                where = where[key]
            if not (stream == "bedrock-converse" and not holders):  # the key is the type there
                where[last] = odd
            deviations(stream, payloads)
