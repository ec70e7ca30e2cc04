"""Gemini: the outcome of each form of stream, in both framings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from streamconform_dev.fuzz import chunkings
from streamconform_dev.fuzz.exchange import (
    Answer,
    Case,
    assert_event_rules,
    assert_outcome,
    call_block,
    text_block,
    without_empty_fields,
)
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.document import decode_document

from ..for_each import for_each
from .google_generate_streams import (
    BARE_ERROR,
    ERROR,
    HEAD,
    SIGNATURE,
    STREAMED_ARGUMENTS,
    STREAMS,
    Payload,
    array,
    call,
    candidate,
    chunk,
    ends,
    goes_on,
    opens,
    partial,
    says,
    sse,
    text,
    thought,
    usage,
)


def decode(body: Any, **fields: Any) -> Answer:
    return decode_any(body, api="google-generate", **fields)


def signed(signature: str = SIGNATURE, words: str = "") -> dict[str, Any]:
    return {"type": "thinking", "text": words, "signature": signature, "redacted": False}


def signed_text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "signature": SIGNATURE}


COMPLETE = {"status": "complete", "stop": {"reason": "stop", "raw": "STOP"}, "error": None}
CALLED = {"status": "complete", "stop": {"reason": "tool_use", "raw": "STOP"}}
FAILED = {
    "status": "error",
    "error": {"type": "UNAVAILABLE", "message": "Overloaded", "status": 503},
    "content": [text_block("par")],
}

CASES = [
    Case(
        "deltas-are-one-block",
        STREAMS["text"],
        {**COMPLETE, "content": [text_block("Hello")], "model": "gemini-x", "response_id": "resp_1"},
    ),
    Case("an-array", STREAMS["array"], {**COMPLETE, "content": [text_block('Hello },{ " ] \\')]}),
    Case("an-array-in-lines", STREAMS["array-in-lines"], {**COMPLETE, "content": [text_block("Hello")]}),
    Case(
        "white-space-before-an-array",
        b" \r\n" + STREAMS["array"],
        {"status": "complete", "content.length": 1},
    ),
    Case(
        "thinking-is-marked",
        STREAMS["thinking-then-text"],
        {"content": [{**signed(words="hmm"), "signature": None}, text_block("Yes")], "usage.reasoning": 7},
    ),
    Case(
        "thinking-and-text-in-one-chunk",
        sse(chunk(thought("hm"), text("Yes")), ends()),
        {"content.0.text": "hm", "content.1.text": "Yes"},
    ),
    Case(
        "the-signature-of-a-call-does-not-sign-the-thinking-before-it",
        STREAMS["signed-call"],
        {
            **CALLED,
            "content": [
                {**signed(words="hm"), "signature": None},
                call_block("f", {"x": 1}, "call_1", signature=SIGNATURE),
            ],
        },
    ),
    Case(
        "a-signature-belongs-to-its-call-only",
        sse(says("a"), chunk(call("f", signature=SIGNATURE), call("g")), ends()),
        {
            "content": [
                text_block("a"),
                call_block("f", {}, "call_1", signature=SIGNATURE),
                call_block("g", {}, "call_2"),
            ]
        },
    ),
    Case(
        "each-signature-is-kept",
        sse(chunk(call("f", signature="c2ln")), chunk(call("f", signature="bmF0")), ends()),
        {"content.0.signature": "c2ln", "content.1.signature": "bmF0", "content.length": 2},
    ),
    Case(
        "signed-text-is-a-block-of-its-own",
        STREAMS["signed-text"],
        {**COMPLETE, "content": [text_block("a"), signed_text("b"), text_block("c")]},
    ),
    Case(
        "a-signature-on-empty-text-is-kept",
        STREAMS["signed-empty-text"],
        {**COMPLETE, "content": [text_block("a"), signed_text("")]},
    ),
    Case(
        "thinking-behind-a-signature-is-a-new-block",
        sse(chunk(thought("a", thoughtSignature=SIGNATURE)), chunk(thought("b")), ends()),
        {"content": [signed(words="a"), {**signed(words="b"), "signature": None}]},
    ),
    Case(
        "a-part-with-nothing-but-a-signature",
        sse(chunk({"thoughtSignature": SIGNATURE}), ends()),
        {"content": [signed_text("")]},
    ),
    Case(
        "a-call-is-whole-in-its-part",
        STREAMS["call"],
        {**CALLED, "content": [call_block("f", {"x": 1}, "call_0")]},
    ),
    Case("an-id-is-kept", STREAMS["call-with-id"], {"content.0.id": "fc_1"}),
    Case(
        "no-arguments-are-an-empty-object",
        STREAMS["no-arguments"],
        {"content.0": call_block("f", {}, "call_0")},
    ),
    Case(
        "parallel-calls-in-one-chunk",
        STREAMS["parallel-in-one-chunk"],
        {
            "content": [
                text_block("a"),
                call_block("f", {"x": 1}, "call_1"),
                call_block("g", {"y": 2}, "call_2"),
            ]
        },
    ),
    Case(
        "parallel-calls-of-one-name",
        STREAMS["parallel-of-one-name"],
        {"content": [call_block("f", {"x": 1}, "call_0"), call_block("f", {"x": 2}, "call_1")]},
    ),
    Case(
        "a-call-sent-again-is-the-same-call",
        sse(
            chunk(call("f", {"x": 1}, id="a", signature=SIGNATURE)),
            chunk(call("f", {"x": 1}, id="a")),
            ends(),
        ),
        {"content": [call_block("f", {"x": 1}, "a", signature=SIGNATURE)]},
    ),
    Case(
        "another-call-with-that-id-is-another-call",
        sse(chunk(call("f", {"x": 1}, id="a")), chunk(call("f", {"x": 2}, id="a")), ends()),
        {"content": [call_block("f", {"x": 1}, "a"), call_block("f", {"x": 2}, "a_2")]},
    ),
    Case(
        "arguments-as-text-are-a-fragment",
        sse(chunk(call("f", '{"x": 1}')), ends()),
        {"content.0": call_block("f", {"x": 1}, "call_0", arguments_text='{"x": 1}')},
    ),
    Case(
        "arguments-that-come-value-by-value",
        STREAMS["streamed-arguments"],
        {
            **CALLED,
            "content": [
                call_block(
                    "f", {"city": "Boston", "days": [{"n": 1, "rain": None}, {"rain": True}]}, "call_0"
                )
            ],
        },
    ),
    Case(
        "streamed-arguments-that-nothing-closes",
        STREAMS["streamed-arguments-never-closed"],
        {**CALLED, "content": [call_block("f", {"x": "a"}, "call_0")]},
    ),
    Case(
        "the-next-call-closes-the-last-one",
        sse(opens("f"), chunk(goes_on(partial("$.x", numberValue=1))), opens("f"), chunk(goes_on()), ends()),
        {**CALLED, "content": [call_block("f", {"x": 1}, "call_0"), call_block("f", {}, "call_1")]},
    ),
    Case(
        "a-name-repeated-with-values-is-no-new-call",
        sse(
            opens("f", id="a"),
            chunk(call("f", id="a", partialArgs=[partial("$.x", numberValue=1)], willContinue=True)),
            chunk(goes_on(more=False)),
            ends(),
        ),
        {"content": [call_block("f", {"x": 1}, "a")]},
    ),
    Case(
        "a-part-without-a-name-is-no-call",
        sse(chunk(goes_on(partial("$.x", numberValue=1))), chunk({"functionCall": {}}), says("a"), ends()),
        {**COMPLETE, "content": [text_block("a")]},
    ),
    Case(
        "a-truncated-call-is-not-complete",
        STREAMS["truncated-call"],
        {"stop.reason": "length", "content": [call_block("f", None, "call_0", complete=False)]},
    ),
    Case(
        "a-whole-call-before-the-limit-is-complete",
        sse(chunk(call("f", {"x": 1})), ends("MAX_TOKENS")),
        {"stop": {"reason": "length", "raw": "MAX_TOKENS"}, "content.0.complete": True},
    ),
    Case(
        "a-call-of-the-providers-own-tool",
        sse(
            chunk({"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "x"}, "id": "t"}}),
            chunk({"toolResponse": {"id": "t", "response": {}}}),
            ends(),
        ),
        {
            **COMPLETE,
            "content.0": call_block("GOOGLE_SEARCH_WEB", {"q": "x"}, "t", executor="provider"),
            "content.1.kind": "toolResponse",
        },
    ),
    Case(
        "code-that-the-provider-ran",
        STREAMS["code"],
        {
            **COMPLETE,
            "content": [
                {
                    "type": "other",
                    "kind": "executableCode",
                    "data": {"language": "PYTHON", "code": "print(1)"},
                },
                {
                    "type": "other",
                    "kind": "codeExecutionResult",
                    "data": {"outcome": "OUTCOME_OK", "output": "1"},
                },
                text_block("1"),
            ],
        },
    ),
    Case(
        "an-image-ends-the-text",
        sse(says("a"), chunk({"inlineData": {"mimeType": "image/png", "data": "eA=="}}), says("b"), ends()),
        {"content.0": text_block("a"), "content.1.kind": "inlineData", "content.2": text_block("b")},
    ),
    Case(
        "the-last-grounding-counts-and-cuts-no-text",
        STREAMS["grounded"],
        {
            "content.0": text_block("ab"),
            "content.1": {
                "type": "other",
                "kind": "groundingMetadata",
                "data": {"webSearchQueries": ["q", "r"]},
            },
            "content.length": 2,
        },
    ),
    Case(
        "the-first-reason-is-not-the-end",
        STREAMS["first-reason-is-not-the-last"],
        {**COMPLETE, "content": [text_block("a")]},
    ),
    Case(
        "the-last-of-several-reasons-counts",
        sse(chunk(text("a"), finish="STOP"), ends("MAX_TOKENS")),
        {"stop": {"reason": "length", "raw": "MAX_TOKENS"}},
    ),
    Case(
        "a-candidate-without-parts",
        STREAMS["content-without-parts"],
        {**COMPLETE, "content": [text_block("a")]},
    ),
    Case(
        "a-candidate-without-content", sse(says("a"), chunk(finish="STOP")), {**COMPLETE, "content.length": 1}
    ),
    Case("empty-content", sse(chunk(content={}), chunk(finish="STOP")), {**COMPLETE, "content": []}),
    Case(
        "usage-behind-the-reason-without-candidates",
        STREAMS["usage-only-chunk"],
        {**COMPLETE, "usage.output": 6},
    ),
    Case(
        "other-candidates-are-ignored",
        sse(
            {"candidates": [candidate(text("b"), index=1), candidate(text("a"), index=0)]},
            {
                "candidates": [
                    candidate(text("a"), finish="STOP"),
                    candidate(text("b"), finish="SAFETY", index=1),
                ]
            },
            {"candidates": [candidate(text("b"), finish="MAX_TOKENS", index=1)]},
        ),
        {**COMPLETE, "content": [text_block("aa")]},
    ),
    Case(
        "a-blocked-prompt",
        STREAMS["blocked-prompt"],
        {
            "status": "complete",
            "stop": {"reason": "content_filter", "raw": "SAFETY"},
            "content": [],
            "usage.input": 9,
            "error": None,
        },
    ),
    Case(
        "a-blocked-prompt-with-a-message",
        sse({"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "Not allowed here."}}),
        {
            "stop.reason": "content_filter",
            "stop.raw": "OTHER",
            "stop.details": {"blockReasonMessage": "Not allowed here."},
        },
    ),
    Case(
        "a-reason-with-a-message",
        sse(says("a"), chunk(finish="SAFETY", finishMessage="Unsafe.")),
        {"stop.reason": "content_filter", "stop.details": {"finishMessage": "Unsafe."}},
    ),
    Case(
        "feedback-that-blocks-nothing",
        sse({"promptFeedback": {"safetyRatings": []}}, says("a")),
        {"status": "incomplete"},
    ),
    Case(
        "a-filtered-answer-keeps-its-text",
        STREAMS["filtered"],
        {"stop": {"reason": "content_filter", "raw": "RECITATION"}, "content": [text_block("a")]},
    ),
    Case(
        "a-reason-that-names-a-failure",
        sse(says("a"), chunk(finish="MALFORMED_FUNCTION_CALL", finishMessage="bad call")),
        {
            "status": "error",
            "stop": {"reason": "error", "raw": "MALFORMED_FUNCTION_CALL"},
            "error": {"type": "MALFORMED_FUNCTION_CALL", "message": "bad call", "status": None},
            "content": [text_block("a")],
        },
    ),
    Case("a-reason-as-a-number", sse(says("a"), ends(2)), {"stop": {"reason": "length", "raw": "2"}}),
    Case("a-number-beyond-the-enum", sse(says("a"), ends(99)), {"stop": {"reason": "other", "raw": "99"}}),
    Case("an-unknown-reason", sse(says("a"), ends("NEW")), {"stop": {"reason": "other", "raw": "NEW"}}),
    Case(
        "no-reason-is-a-cut",
        STREAMS["no-reason"],
        {"status": "incomplete", "stop": {"reason": None, "raw": None}, "content": [text_block("a")]},
    ),
    Case("an-error-in-mid-stream", STREAMS["error-in-mid-stream"], FAILED),
    Case("an-error-as-bare-json", STREAMS["bare-error"], FAILED),
    Case("an-error-as-a-bare-array", sse(says("par")) + b"[" + BARE_ERROR + b"]\n", FAILED),
    Case(
        "an-error-as-an-array-in-an-event",
        sse(says("par")) + b"data: [%s]\n\n" % json.dumps(ERROR).encode(),
        FAILED,
    ),
    Case("an-error-in-the-array", STREAMS["error-in-an-array"], FAILED),
    Case("an-error-behind-the-array", array(says("par")) + b"\n[" + BARE_ERROR + b"]", FAILED),
    Case(
        "an-error-behind-the-reason", sse(says("a"), ends(), ERROR), {"status": "error", "stop.raw": "STOP"}
    ),
    Case("half-a-bare-error-is-a-cut", sse(says("par")) + BARE_ERROR[:30], {"status": "incomplete"}),
    Case("a-done-mark-says-nothing", sse(says("a")) + b"data: [DONE]\n\n", {"status": "incomplete"}),
    Case(
        "an-unknown-chunk-says-nothing", sse({"x": 1}, says("a"), ends()), {**COMPLETE, "content.length": 1}
    ),
    Case(
        "an-unknown-part-says-nothing",
        sse(chunk({"hologram": {}}, text("a")), ends()),
        {**COMPLETE, "content": [text_block("a")]},
    ),
    Case(
        "last-frame-without-blank-line",
        STREAMS["last-frame-without-blank-line"],
        {**COMPLETE, "content.length": 1},
    ),
    Case(
        "first-id-and-model-count", sse(says("a"), {**ends(), "responseId": "x"}), {"response_id": "resp_1"}
    ),
]


@for_each("case", CASES, ids=lambda case: case.id)
def test_a_stream_has_the_expected_outcome(case: Case) -> None:
    assert_outcome(case, "google-generate")


BROKEN: tuple[Payload, ...] = (
    {"candidates": {}},
    chunk(content="a"),
    chunk(content={"parts": "a"}),
    chunk(content={"parts": ["a"]}),
    chunk({"text": 1}),
    chunk({"functionCall": "f"}),
    chunk({"toolCall": "f"}),
    chunk(finish=[1]),
    chunk(finish=True),
    {"promptFeedback": {"blockReason": [1]}},
    chunk(call("f", partialArgs={})),
    chunk(call("f", partialArgs=[1])),
    chunk(call("f", partialArgs=[{"stringValue": "a"}])),
    chunk(call("f", partialArgs=[partial("x", stringValue="a")])),
    chunk(call("f", partialArgs=[partial("$.x[", stringValue="a")])),
    chunk(call("f", partialArgs=[partial("$" + ".a" * 65, stringValue="a")])),
    chunk(call("f", partialArgs=[partial("$.x[999]", stringValue="a")])),
    chunk(call("f", partialArgs=[partial("$.x[0]", numberValue=1), partial("$.x.y", numberValue=1)])),
    chunk(call("f", partialArgs=[partial("$.x", numberValue=1), partial("$.x.y", numberValue=1)])),
)


@pytest.mark.parametrize("payload", BROKEN, ids=str)
def test_a_broken_chunk_is_a_protocol_error_and_keeps_earlier_content(payload: Payload) -> None:
    answer = decode(sse(says("a"), payload, says("b"), ends()))
    assert answer.outcome["status"] == "error"
    assert answer.outcome["error"]["type"] == "protocol"
    assert answer.content[0] == text_block("a")
    assert_event_rules(answer)


@dataclass(frozen=True, slots=True)
class Place:
    id: str
    entries: tuple[Payload, ...]
    arguments: Any


PLACES = [
    Place(
        "quoted",
        (partial("$['a b']", numberValue=1), partial('$["c\\"d"].e', boolValue=False)),
        {"a b": 1, 'c"d': {"e": False}},
    ),
    Place("escaped", (partial("$['\\u00e9\\'']", numberValue=1),), {"é'": 1}),
    Place("the-root", (partial("$", structValue={"a": 1}),), {"a": 1}),
    Place("a-list", (partial("$.a", listValue=[1]),), {"a": [1]}),
    Place("nested-arrays", (partial("$.a[0][1]", numberValue=1),), {"a": [[None, 1]]}),
    Place("an-element-left-out", (partial("$.a[1].b", numberValue=1),), {"a": [None, {"b": 1}]}),
    Place(
        "null-then-an-object",
        (partial("$.a", nullValue="NULL_VALUE"), partial("$.a.b", numberValue=1)),
        {"a": {"b": 1}},
    ),
    Place(
        "text-that-ended-is-replaced",
        (partial("$.a", stringValue="x"), partial("$.a", stringValue="y")),
        {"a": "y"},
    ),
    Place(
        "text-that-goes-on-is-joined",
        (partial("$.a", stringValue="x", more=True), partial("$.a", stringValue="y")),
        {"a": "xy"},
    ),
    Place(
        "text-then-a-number",
        (partial("$.a", stringValue="x", more=True), partial("$.a", numberValue=2)),
        {"a": 2},
    ),
    Place(
        "no-value", (partial("$.a"), partial("$.b", more=True), partial("$.b", stringValue="x")), {"b": "x"}
    ),
]


@pytest.mark.parametrize("place", [pytest.param(place, id=place.id) for place in PLACES])
def test_partial_arguments_are_put_in_their_places(place: Place) -> None:
    answer = decode(sse(opens(), *(chunk(goes_on(entry)) for entry in place.entries), ends()))
    assert answer.content == [call_block("f", place.arguments, "call_0")]
    at_once = decode(sse(chunk(call("f", partialArgs=list(place.entries))), ends()))
    assert at_once.content == answer.content


@dataclass(frozen=True, slots=True)
class Counts:
    """`buckets` are input, cache_read, output and reasoning."""

    id: str
    reports: tuple[Payload, ...]
    buckets: tuple[int | None, ...]


COUNTS = [
    Counts("plain", (usage(9, 23),), (9, None, 23, None)),
    Counts(
        "thoughts-are-beside-the-candidates", (usage(9, 23, thoughtsTokenCount=185),), (9, None, 208, 185)
    ),
    Counts(
        "cache-and-tools",
        (usage(1000, 200, cachedContentTokenCount=600, toolUsePromptTokenCount=50, thoughtsTokenCount=300),),
        (450, 600, 500, 300),
    ),
    Counts("thoughts-only", (usage(9, None, thoughtsTokenCount=50),), (9, None, 50, 50)),
    Counts("nothing-written", (usage(9, None),), (9, None, None, None)),
    Counts("the-last-report-counts", (usage(9, 1), usage(9, 2), usage(9, 3)), (9, None, 3, None)),
    Counts(
        "a-later-absence-erases-nothing",
        (usage(9, 1, thoughtsTokenCount=4), usage(10, None)),
        (10, None, 5, 4),
    ),
    Counts(
        "a-later-cache-report",
        (usage(100, 1), usage(None, None, cachedContentTokenCount=40)),
        (60, 40, 1, None),
    ),
    Counts("vertex-reports-traffic-first", ({"trafficType": "ON_DEMAND"}, usage(9, 1)), (9, None, 1, None)),
    Counts(
        "nulls-and-nonsense",
        ({**usage(9, 1), "thoughtsTokenCount": None, "cachedContentTokenCount": -1},),
        (9, None, 1, None),
    ),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in COUNTS])
def test_usage(case: Counts) -> None:
    answer = decode(sse(*(chunk(text("a"), counts=report) for report in case.reports), chunk(finish="STOP")))
    found = answer.outcome["usage"]
    assert tuple(found[name] for name in ("input", "cache_read", "output", "reasoning")) == case.buckets
    assert [e for e in answer.events if e["type"] == "usage"][-1]["usage"] == found


def test_cost_counts_thoughts_and_the_cache_once() -> None:
    prices = {"input": "0.30", "cache_read": "0.03", "output": "2.50"}
    outcome = decode(STREAMS["cached-and-tools"], pricing=prices).outcome
    assert outcome["cost"]["total"] == "0.001403"


# Responses that are not a stream


@pytest.mark.parametrize(
    "form", [b"%s", b"[%s]", b"\r\n [\n%s\n]\n"], ids=["object", "array", "indented-array"]
)
@pytest.mark.parametrize("status", [200, 503])
def test_an_error_document(form: bytes, status: int) -> None:
    body = form % BARE_ERROR.strip()
    for chunks in ([body], chunkings.bytewise(body)):
        outcome = decode(chunks, status=status).outcome
        assert outcome["error"] == FAILED["error"]
        assert outcome["status"] == "error"


@pytest.mark.parametrize(
    "body",
    [b"", b" \n", b"<html>", json.dumps(ends()).encode(), b"\xef\xbb", b"[", b"[]", b"data", b" " * 2000],
)
def test_a_body_without_chunks_is_never_complete(body: bytes) -> None:
    assert decode(body).outcome["status"] != "complete"


def test_a_document_in_place_of_a_stream_is_a_protocol_error() -> None:
    assert decode(json.dumps(ends()).encode()).outcome["error"]["type"] == "protocol"


def test_an_answer_without_streaming_equals_its_stream() -> None:
    parts = (thought("hm"), text("Hi"), call("f", {"x": 1}, signature=SIGNATURE))
    document = chunk(*parts, finish="STOP", counts=usage(9, 5, thoughtsTokenCount=2))
    stream = sse(
        *(chunk(part) for part in parts), chunk(finish="STOP", counts=usage(9, 5, thoughtsTokenCount=2))
    )
    whole = without_empty_fields(decode_document(json.dumps(document).encode(), "google-generate").to_json())
    assert whole == without_empty_fields(decode(stream, pricing=None).outcome)
    assert whole["status"] == "complete"
    blocked = without_empty_fields(
        decode_document(b'{"promptFeedback": {"blockReason": "OTHER"}}', "google-generate").to_json()
    )
    assert blocked["stop"] == {"reason": "content_filter", "raw": "OTHER"}


# Events.


def test_a_call_starts_when_it_opens_and_ends_when_it_closes() -> None:
    answer = decode(sse(*STREAMED_ARGUMENTS, says("a"), ends()))
    assert answer.types()[:3] == ["toolcall_start", "toolcall_end", "text_start"]


def test_a_call_that_is_whole_ends_before_the_next_chunk() -> None:
    answer = decode(sse(chunk(call("f", {"x": 1}))))
    assert answer.types() == ["toolcall_start", "toolcall_end", "error"]


def test_a_short_path_does_not_make_a_long_array() -> None:
    entries = [partial(f"$.a{n}[{256 + 1}]", numberValue=n) for n in range(3)]
    assert decode(sse(chunk(call("f", partialArgs=entries)), ends())).outcome["error"]["type"] == "protocol"


def test_a_head_without_content_emits_no_events() -> None:
    assert decode(sse(HEAD)).content == []


@pytest.mark.parametrize(
    ("traffic", "factor"),
    [
        ("ON_DEMAND", "1"),
        ("ON_DEMAND_FLEX", "0.5"),
        ("ON_DEMAND_PRIORITY", "1.8"),
        ("PROVISIONED_THROUGHPUT", "0"),
        ("TRAFFIC_TYPE_UNSPECIFIED", "1"),
    ],
)
def test_the_traffic_type_of_vertex_is_the_tier_that_served_the_request(traffic: str, factor: str) -> None:
    tiers = {"flex": "0.5", "priority": "1.8", "provisioned": "0"}
    prices = {"input": "1", "output": "1", "service_tier": tiers}
    counts = {"promptTokenCount": 1_000_000, "candidatesTokenCount": 0}
    # As in recordings: all chunks have the type, and only the last one has counts.
    streamed = sse(
        {**says("a"), "usageMetadata": {"trafficType": traffic}}, {**ends(), "usageMetadata": counts}
    )
    repeated = sse({**ends(), "usageMetadata": {**counts, "trafficType": traffic}})
    for body in (streamed, repeated):
        assert decode(body, pricing=prices).outcome["cost"]["total"] == factor


def test_the_service_tier_counts_before_the_traffic_type() -> None:
    counts = {"promptTokenCount": 1_000_000, "trafficType": "ON_DEMAND_FLEX", "serviceTier": "priority"}
    prices = {"input": "1", "output": "1", "service_tier": {"flex": "0.5", "priority": "1.8"}}
    outcome = decode(sse({**ends(), "usageMetadata": counts}), pricing=prices).outcome
    assert outcome["cost"]["total"] == "1.8"
