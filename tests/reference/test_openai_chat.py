"""Chat Completions: each bytes-to-outcome rule with the smallest stream that shows it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from streamconform_dev.fuzz import chunkings
from streamconform_dev.fuzz.exchange import Answer, assert_event_rules, at
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.apis.openai_chat.request import build_request
from streamconform_reference.document import decode_document

from .openai_chat_streams import (
    DONE,
    ERROR,
    HEAD,
    ROLE,
    STREAMS,
    call,
    calls,
    chunk,
    ends,
    frames,
    reports,
    says,
    sse,
    thinks,
    usage,
    whole,
)


def decode(body: Any, **fields: Any) -> Answer:
    return decode_any(body, api="openai-chat", **fields)


def prose(answer: Answer) -> list[tuple[str, str]]:
    return [(block["type"], block["text"]) for block in answer.content if "text" in block]


def thoughts(body: bytes) -> list[dict[str, Any]]:
    return [block for block in decode(body).content if block["type"] == "thinking"]


@dataclass(frozen=True, slots=True)
class Prose:
    """The texts of a stream's blocks, in order."""

    id: str
    body: bytes
    blocks: list[tuple[str, str]]


PROSE = [
    Prose("text", STREAMS["text"], [("text", "Hello")]),
    Prose("null-and-empty-content", whole(says(None), says(""), says("a")), [("text", "a")]),
    Prose("equal-deltas-are-no-repetition", whole(says("\n"), says("\n"), says("x")), [("text", "\n\nx")]),
    Prose("text-in-the-last-chunk", sse(says("a"), chunk({"content": "b"}, "stop")), [("text", "ab")]),
    Prose(
        "delta-null", whole({**HEAD, "choices": [{"index": 0, "delta": None}]}, says("a")), [("text", "a")]
    ),
    Prose("delta-absent", whole({**HEAD, "choices": [{"index": 0}]}, says("a")), [("text", "a")]),
    Prose(
        "index-absent",
        sse({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}),
        [("text", "a")],
    ),
    Prose("choices-null", whole({**HEAD, "choices": None}, says("a")), [("text", "a")]),
    Prose("role-empty", whole(chunk({"role": "", "content": "a"})), [("text", "a")]),
    Prose("think-tags-are-text", whole(says("<think>hm</think>a")), [("text", "<think>hm</think>a")]),
    Prose("refusal", STREAMS["refusal"], [("refusal", "I cannot")]),
    Prose("reasoning-content", whole(thinks("hm"), says("a")), [("thinking", "hm"), ("text", "a")]),
    Prose("reasoning", whole(thinks("hm", "reasoning"), says("a")), [("thinking", "hm"), ("text", "a")]),
    Prose("reasoning-text", whole(thinks("hm", "reasoning_text")), [("thinking", "hm")]),
    Prose("reasoning-twice", STREAMS["reasoning-under-two-names"], [("thinking", "hm"), ("text", "Yes")]),
    Prose(
        "reasoning-empty-and-full",
        whole(chunk({"reasoning_content": "", "reasoning": "hm"})),
        [("thinking", "hm")],
    ),
    Prose(
        "reasoning-and-text-in-one-delta",
        whole(chunk({"content": "a", "reasoning": "hm"})),
        [("thinking", "hm"), ("text", "a")],
    ),
    Prose(
        "empty-text-between-reasoning",
        whole(chunk({"content": "", "reasoning": "h"}), chunk({"content": "", "reasoning": "m"})),
        [("thinking", "hm")],
    ),
    Prose(
        "reasoning-text-reasoning",
        whole(thinks("a"), says("b"), thinks("c")),
        [("thinking", "a"), ("text", "b"), ("thinking", "c")],
    ),
    Prose(
        "channels-of-groq",
        whole(
            chunk({"role": "assistant", "content": "", "channel": "analysis"}),
            chunk({"reasoning": "hm", "channel": "analysis"}),
            chunk({"content": "a", "channel": "final"}),
        ),
        [("thinking", "hm"), ("text", "a")],
    ),
    Prose(
        "details-without-plain-text",
        whole(chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm", "index": 0}]})),
        [("thinking", "hm")],
    ),
    Prose(
        "detail-without-text",
        whole(
            chunk({"reasoning_details": [{"type": "reasoning.text", "format": "x", "index": 0}]}), says("a")
        ),
        [("text", "a")],
    ),
    Prose(
        "parts",
        whole(
            says([{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]),
            says([{"type": "thinking", "thinking": [{"type": "text", "text": "m"}], "closed": True}]),
            says([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            says("c"),
        ),
        [("thinking", "hm"), ("text", "abc")],
    ),
    Prose(
        "part-with-plain-thinking",
        whole(says([{"type": "thinking", "thinking": "hm"}])),
        [("thinking", "hm")],
    ),
    Prose("refusal-part", whole(says([{"type": "refusal", "refusal": "no"}])), [("refusal", "no")]),
    Prose("text-behind-the-reason", sse(says("a"), ends(), says("b"), ends()), [("text", "ab")]),
    Prose("nothing-behind-the-mark", sse(says("a"), ends()) + frames(says("b")), [("text", "a")]),
    Prose(
        "other-choices",
        sse(
            {**HEAD, "choices": [{"index": 1, "delta": {"content": "x"}, "finish_reason": "length"}]},
            {
                **HEAD,
                "choices": [{"index": 1, "delta": {"content": "y"}}, {"index": 0, "delta": {"content": "a"}}],
            },
            ends(),
        ),
        [("text", "a")],
    ),
    Prose(
        "message-beside-deltas-repeats-them",
        sse(
            {**HEAD, "choices": [{"index": 0, "delta": {"content": "a"}, "message": {"content": "a"}}]},
            {**HEAD, "choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}]},
        ),
        [("text", "a")],
    ),
    Prose(
        "message-alone",
        sse({**HEAD, "choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}]}),
        [("text", "a")],
    ),
    Prose(
        "azure-begins-with-an-empty-head",
        sse({"choices": [], "id": "", "model": "", "prompt_filter_results": []}, says("a"), ends()),
        [("text", "a")],
    ),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in PROSE])
def test_text_and_refusals(case: Prose) -> None:
    answer = decode(case.body)
    assert prose(answer) == case.blocks
    assert answer.outcome["status"] == "complete"
    assert_event_rules(answer)


def test_thinking_ends_before_text_begins_and_text_before_a_call() -> None:
    payloads = thinks("hm"), says("a"), calls(call(id="x", name="f", args="{}"))
    answer = decode(whole(*payloads, finish="tool_calls"))
    kinds = [kind for kind in answer.types() if not kind.endswith("_delta")]
    assert kinds == [
        *("thinking_start", "thinking_end", "text_start", "text_end"),
        *("toolcall_start", "toolcall_end", "usage", "done"),
    ]


def test_text_between_fragments_of_a_call_is_one_block() -> None:
    entry = call(id="x", name="f", args='{"a":')
    answer = decode(whole(says("a"), calls(entry), says("b"), calls(call(args="1}")), says("c")))
    assert [block["type"] for block in answer.content] == ["text", "tool_call", "text"]
    assert prose(answer) == [("text", "a"), ("text", "bc")]


@pytest.mark.parametrize("key", ["reasoning_details", "thinking_blocks"])
def test_a_signature_signs_the_thinking_before_it(key: str) -> None:
    kind = "reasoning.text" if key == "reasoning_details" else "thinking"
    signed = {"type": kind, "signature": "c2ln", "index": 0}
    (block,) = thoughts(whole(thinks("hm"), chunk({key: [signed]}), says("a")))
    assert block == {"type": "thinking", "text": "hm", "signature": "c2ln", "redacted": False}


def test_encrypted_reasoning_signs_thinking_or_is_a_block_of_its_own() -> None:
    def detail(format_: str, index: int) -> dict[str, Any]:
        one = {"type": "reasoning.encrypted", "data": "b3Bh", "format": format_, "index": index}
        return chunk({"reasoning_details": [one]})

    answer = decode(whole(thinks("hm", "reasoning"), detail("openai-responses-v1", 1), says("a")))
    assert answer.content[0]["signature"] == "b3Bh"
    alone = decode(whole(detail("openai-responses-v1", 0), says("a"))).content[0]
    assert (alone["text"], alone["signature"], alone["redacted"]) == ("", "b3Bh", False)
    redacted = thoughts(whole(detail("anthropic-claude-v1", 0), detail("anthropic-claude-v1", 1)))
    assert [block["redacted"] for block in redacted] == [True, True]
    assert [block["signature"] for block in redacted] == ["b3Bh", "b3Bh"]


def detail(kind: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": f"reasoning.{kind}", "format": "openai-responses-v1", "index": index, **fields}


@dataclass(frozen=True, slots=True)
class Sequence:
    """The details of a stream's deltas, and those that the next request returns."""

    id: str
    streamed: list[dict[str, Any]]
    sent: list[dict[str, Any]]


SEQUENCES = [
    Sequence(
        "a-summary-in-pieces-and-what-is-encrypted-at-one-index",
        [
            detail("summary", summary="Look"),
            detail("summary", summary=" up."),
            detail("encrypted", data="g", id="rs"),
        ],
        [detail("summary", summary="Look up."), detail("encrypted", data="g", id="rs")],
    ),
    Sequence(
        "a-signature-after-its-text",
        [detail("text", text="hm"), detail("text", signature="s"), detail("text", text="next")],
        [detail("text", text="hm", signature="s"), detail("text", text="next")],
    ),
    Sequence(
        "texts-at-two-indexes",
        [detail("text", text="a"), detail("text", 1, text="b"), detail("text", 1, text="c")],
        [detail("text", text="a"), detail("text", 1, text="bc")],
    ),
    Sequence(
        "summaries-of-two-items",
        [detail("summary", summary="a", id="rs_1"), detail("summary", summary="b", id="rs_2")],
        [detail("summary", summary="a", id="rs_1"), detail("summary", summary="b", id="rs_2")],
    ),
    Sequence(
        "the-same-type-before-and-after-another",
        [detail("summary", summary="a"), detail("encrypted", data="g"), detail("summary", summary="b")],
        [detail("summary", summary="a"), detail("encrypted", data="g"), detail("summary", summary="b")],
    ),
    Sequence(
        "two-that-are-encrypted",
        [detail("encrypted", data="g"), detail("encrypted", data="h")],
        [detail("encrypted", data="g"), detail("encrypted", data="h")],
    ),
    Sequence(
        "a-type-that-is-not-known",
        [detail("summary", summary="a"), detail("server_tool_call", name="x")],
        [detail("summary", summary="a"), detail("server_tool_call", name="x")],
    ),
    Sequence(
        "half-a-character-per-piece",
        [detail("text", text="\ud83d"), detail("text", text="\ude00")],
        [detail("text", text="\U0001f600")],
    ),
    Sequence("null", [detail("text", text="a", signature=None)], [detail("text", text="a", signature=None)]),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in SEQUENCES])
def test_the_details_of_openrouter_go_back_unmodified_and_in_sequence(case: Sequence) -> None:
    entry = call(id="c1", name="f", args="{}")
    deltas = [chunk({"reasoning_details": [each]}) for each in case.streamed]
    body = whole(*deltas, calls(entry), finish="tool_calls").decode("utf-8", "surrogatepass")
    streamed = decode(body.encode("ascii", "backslashreplace")).outcome
    message = {"reasoning_details": case.sent, "tool_calls": [entry]}
    document = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    at_once = decode_document(json.dumps(document).encode(), "openai-chat").to_json()
    for outcome in (streamed, at_once):
        conversation = {
            "model": "m",
            "facts": {"host": "openrouter.ai"},
            "messages": [
                {"role": "user", "content": "?"},
                {"role": "assistant", "content": outcome["content"]},
            ],
        }
        _, answer, _ = build_request(conversation)["body"]["messages"]
        assert answer["reasoning_details"] == case.sent
        assert answer["tool_calls"][0]["id"] == "c1"


def test_the_details_of_another_model_do_not_go_back() -> None:
    content = decode(whole(chunk({"reasoning_details": [detail("text", text="a")]}), says("b"))).outcome[
        "content"
    ]
    answer = {"role": "assistant", "content": content, "model": "another"}
    conversation = {"model": "m", "facts": {"host": "openrouter.ai"}, "messages": [answer]}
    assert build_request(conversation)["body"]["messages"] == [{"role": "assistant", "content": "b"}]


def test_thinking_after_a_signature_is_a_new_block() -> None:
    signed = chunk({"reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0}]})
    blocks = thoughts(whole(thinks("a"), signed, thinks("b")))
    assert [(block["text"], block["signature"]) for block in blocks] == [("a", "s"), ("b", None)]


def test_the_number_of_encrypted_reasoning_is_an_integer() -> None:
    def detail(data: str, index: Any) -> dict[str, Any]:
        one = {"type": "reasoning.encrypted", "data": data, "format": "anthropic-claude-v1", "index": index}
        return chunk({"reasoning_details": [one]})

    for index, signatures in ((0, ["ab"]), (1, ["a", "b"]), (None, ["ab"]), (True, ["ab"]), ("1", ["ab"])):
        blocks = thoughts(whole(detail("a", 0), detail("b", index)))
        assert [block["signature"] for block in blocks] == signatures, index


def test_annotations_are_citations_and_unknown_parts_other() -> None:
    body = whole(says("a", annotations=[{"type": "url_citation"}]), says([{"type": "reference", "ids": [1]}]))
    text, other = decode(body).content
    assert [citation["data"] for citation in text["citations"]] == [{"type": "url_citation"}]
    assert other["kind"] == "reference"


def test_the_last_list_of_sources_counts_and_may_come_before_the_text() -> None:
    first, last = ["https://a.example"], ["https://a.example", "https://b.example"]
    chunks = ({"citations": first}, {**says("a"), "citations": last}, {**says("b"), "citations": []})
    (text,) = decode(whole(*chunks)).content
    assert [citation["source"] for citation in text["citations"]] == last


@pytest.mark.parametrize("place", ["the start of the call", "a later fragment", "the delta"])
def test_the_signature_of_a_call_may_come_in_three_places(place: str) -> None:
    signed = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    fields = {place: signed}
    start = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": ""}}
    first = {"tool_calls": [start | fields.get("the start of the call", {})]} | fields.get("the delta", {})
    later = {"index": 0, "function": {"arguments": "{}"}} | fields.get("a later fragment", {})
    body = whole(chunk(first), chunk({"tool_calls": [later]}))
    assert decode(body).content[0]["signature"] == "c2ln"


# How an answer ends.


@dataclass(frozen=True, slots=True)
class Ending:
    id: str
    body: bytes
    status: str
    reason: str | None
    raw: str | None


A_CALL = calls(call(id="a", name="f", args="{}"))
EXPIRES: dict[str, Any] = {"audio": {"expires_at": 1730768563}}


def speaks(**audio: Any) -> dict[str, Any]:
    return chunk({"audio": audio})


TRANSCRIPT, SPEECH, EXPIRY = speaks(id="audio_1", transcript="Hi"), speaks(data="CAAI"), chunk(EXPIRES)
ENDINGS = [
    Ending("mark", sse(says("a"), ends()), "complete", "stop", "stop"),
    Ending("no-mark", frames(says("a"), ends()), "complete", "stop", "stop"),
    Ending("mark-without-space", frames(says("a"), ends()) + b"data:[DONE]\n\n", "complete", "stop", "stop"),
    Ending("mark-alone", sse(says("a")), "incomplete", None, None),
    Ending("nothing", frames(says("a")), "incomplete", None, None),
    Ending("only-the-mark", DONE, "incomplete", None, None),
    Ending("empty-reason", sse(chunk({"content": "a"}, "")), "incomplete", None, None),
    Ending("empty-reason-then-stop", sse(chunk({"content": "a"}, ""), ends()), "complete", "stop", "stop"),
    Ending("length", sse(says("a"), ends("length")), "complete", "length", "length"),
    Ending("model-length", sse(says("a"), ends("model_length")), "complete", "length", "model_length"),
    Ending("filter", sse(says("a"), ends("content_filter")), "complete", "content_filter", "content_filter"),
    Ending("sensitive", sse(says("a"), ends("sensitive")), "complete", "content_filter", "sensitive"),
    Ending("unknown", sse(says("a"), ends("novel")), "complete", "other", "novel"),
    Ending("eos", sse(says("a"), ends("eos")), "complete", "stop", "eos"),
    Ending("calls", sse(A_CALL, ends("tool_calls")), "complete", "tool_use", "tool_calls"),
    Ending(
        "calls-announced-but-none", sse(says("a"), ends("tool_calls")), "complete", "tool_use", "tool_calls"
    ),
    Ending("stop-behind-a-call", sse(A_CALL, ends()), "complete", "tool_use", "stop"),
    Ending("length-beats-calls", sse(A_CALL, ends("length")), "complete", "length", "length"),
    Ending(
        "filter-beats-calls",
        sse(A_CALL, ends("content_filter")),
        "complete",
        "content_filter",
        "content_filter",
    ),
    Ending("stop-behind-a-refusal", STREAMS["refusal"], "complete", "refusal", "stop"),
    Ending(
        "length-beats-a-refusal",
        sse(chunk({"refusal": "no"}), ends("length")),
        "complete",
        "length",
        "length",
    ),
    Ending("last-reason", sse(A_CALL, ends("tool_calls"), says("b"), ends()), "complete", "tool_use", "stop"),
    Ending("a-failure", sse(says("a"), ends("network_error")), "error", "error", "network_error"),
    Ending("stop-in-capitals", sse(says("a"), ends("STOP")), "complete", "stop", "STOP"),
    Ending("length-in-capitals", sse(says("a"), ends("LENGTH")), "complete", "length", "LENGTH"),
    Ending("gemini-limit", sse(says("a"), ends("MAX_TOKENS")), "complete", "length", "MAX_TOKENS"),
    Ending("gemini-limit-in-small-letters", sse(ends("max_tokens")), "complete", "length", "max_tokens"),
    Ending("gemini-filter", sse(ends("SAFETY")), "complete", "content_filter", "SAFETY"),
    Ending(
        "gemini-failure", sse(ends("MALFORMED_FUNCTION_CALL")), "error", "error", "MALFORMED_FUNCTION_CALL"
    ),
    Ending("calls-in-capitals", sse(A_CALL, ends("TOOL_CALLS")), "complete", "tool_use", "TOOL_CALLS"),
    Ending("audio", sse(SPEECH, EXPIRY), "complete", "stop", None),
    Ending("audio-without-a-mark", frames(SPEECH, EXPIRY), "complete", "stop", None),
    Ending("audio-and-empty-deltas", sse(SPEECH, EXPIRY, chunk(), reports()), "complete", "stop", None),
    Ending("audio-and-a-reason", sse(SPEECH, EXPIRY, ends("length")), "complete", "length", "length"),
    Ending(
        "audio-and-unknown-fields",
        sse(SPEECH, chunk({"audio": {"expires_at": 9, "new": 1}, "new": {"n": 1}})),
        "complete",
        "stop",
        None,
    ),
    Ending("audio-cut-before-its-end", sse(SPEECH), "incomplete", None, None),
    Ending("expiry-without-data", sse(TRANSCRIPT, EXPIRY), "incomplete", None, None),
    Ending("expiry-with-data", sse(SPEECH, speaks(data="AA==", expires_at=9)), "incomplete", None, None),
    Ending("expiry-with-text", sse(SPEECH, chunk({**EXPIRES, "content": "a"})), "incomplete", None, None),
    Ending("audio-after-its-end", sse(SPEECH, EXPIRY, SPEECH), "incomplete", None, None),
    Ending("text-after-the-end-of-audio", sse(SPEECH, EXPIRY, says("a")), "incomplete", None, None),
    Ending("audio-and-an-open-call", sse(A_CALL, SPEECH, EXPIRY), "incomplete", None, None),
    Ending("error-behind-the-reason", frames(says("a"), ends(), ERROR), "error", "error", "stop"),
    Ending("error-in-the-middle", STREAMS["error-in-mid-stream"], "error", "error", None),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in ENDINGS])
def test_how_it_ends(case: Ending) -> None:
    answer = decode(case.body)
    assert answer.outcome["status"] == case.status
    assert at(answer.outcome, "stop") == {"reason": case.reason, "raw": case.raw}
    assert_event_rules(answer)


def test_usage_is_emitted_before_the_end_even_if_the_reason_arrives_in_the_same_read() -> None:
    first, second = frames(says("a"), ends()), frames(reports()) + DONE
    for chunks in ([first + second], [first, second], [*chunkings.bytewise(first + second)]):
        answer = decode(chunks)
        assert answer.types()[-3:] == ["usage", "text_end", "done"]
        assert answer.outcome["usage"]["input"] == 10


# Errors.


@dataclass(frozen=True, slots=True)
class Fails:
    id: str
    frame: dict[str, Any]
    error: tuple[str | None, str | None, int | None]


FAILS = [
    Fails("object", ERROR, ("server_error", "Overloaded", None)),
    Fails("bare-string", {"error": "boom"}, (None, "boom", None)),
    Fails(
        "string-code", {"error": {"message": "m", "code": "tool_use_failed"}}, ("tool_use_failed", "m", None)
    ),
    Fails(
        "vllm",
        {"object": "error", "message": "m", "type": "BadRequestError", "param": None, "code": 400},
        ("BadRequestError", "m", 400),
    ),
    Fails(
        "openrouter",
        {**chunk({"content": ""}, "error"), "error": {"code": 502, "message": "m", "metadata": {"raw": "r"}}},
        (None, "m", 502),
    ),
    Fails(
        "openrouter-in-a-choice",
        {
            **HEAD,
            "choices": [
                {
                    "index": 0,
                    "delta": {"content": ""},
                    "finish_reason": "tool_calls",
                    "error": {
                        "code": 502,
                        "message": "m",
                        "metadata": {"error_type": "provider_unavailable"},
                    },
                }
            ],
        },
        (None, "m", 502),
    ),
    Fails("flat", {"type": "error", "message": "m", "code": "overloaded"}, ("overloaded", "m", None)),
    Fails("broken-choices", {**HEAD, "choices": 1}, ("protocol", "`choices` is not a list", None)),
    Fails(
        "broken-delta", {**HEAD, "choices": [{"delta": "x"}]}, ("protocol", "`delta` is not an object", None)
    ),
    Fails("broken-content", says(5), ("protocol", "`content` is neither text nor a list", None)),
    Fails("broken-refusal", chunk({"refusal": 5}), ("protocol", "`refusal` is not text", None)),
    Fails("broken-calls", chunk({"tool_calls": {"a": 1}}), ("protocol", "`tool_calls` is not a list", None)),
    Fails("broken-call", chunk({"tool_calls": [1]}), ("protocol", "a tool call is not an object", None)),
    Fails(
        "broken-reason",
        {**HEAD, "choices": [{"finish_reason": 5}]},
        ("protocol", "`finish_reason` is not text", None),
    ),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in FAILS])
def test_an_error_frame_keeps_earlier_content(case: Fails) -> None:
    answer = decode(frames(says("par"), case.frame))
    error = answer.outcome["error"]
    assert (error["type"], error["message"], error["status"]) == case.error
    assert (answer.outcome["status"], answer.outcome["stop"]["reason"]) == ("error", "error")
    assert prose(answer) == [("text", "par")]
    assert_event_rules(answer)


def test_an_error_leaves_open_calls_visible_and_incomplete() -> None:
    answer = decode(frames(calls(call(id="a", name="f", args="")), ERROR))
    assert [(block["id"], block["name"], block["complete"]) for block in answer.content] == [
        ("a", "f", False)
    ]
    assert answer.types() == ["toolcall_start", "error"]


@pytest.mark.parametrize("status", [200, 400])
def test_the_failed_generation_of_groq_is_a_detail_of_the_stop(status: int) -> None:
    error = {"message": "m", "type": "invalid_request_error", "code": "tool_use_failed"}
    failed = {"error": {**error, "failed_generation": "<function=f>{}</function>"}}
    bodies = [
        b"event: error\n" + frames(failed),
        json.dumps(failed).encode(),
        json.dumps(failed, indent=2).encode(),
    ]
    outcomes = [decode(body, status=status).outcome for body in bodies]
    outcomes.append(decode_document(bodies[1], "openai-chat", status).to_json())
    for outcome in outcomes:
        assert outcome["stop"]["details"] == {"failed_generation": "<function=f>{}</function>"}
        assert (outcome["error"]["type"], outcome["error"]["message"]) == ("invalid_request_error", "m")


def test_a_reason_next_to_an_error_in_the_choice_ends_no_call() -> None:
    failed = ends("tool_calls", usage=usage())
    failed["choices"][0]["error"] = {"code": 502, "message": "m"}
    outcome = decode(sse(calls(call(id="a", name="f", args="{}")), failed)).outcome
    assert (outcome["status"], outcome["content"][0]["complete"]) == ("error", False)
    assert outcome["usage"]["input"] == 10


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"error":{"message":"m"}}', b'{"choices":[]}'])
def test_a_body_that_is_no_stream_is_an_error(body: bytes) -> None:
    assert decode(body).outcome["status"] == "error"
    assert decode(body, status=500).outcome["error"]["status"] == 500


def test_an_http_error_document_is_read() -> None:
    body = b'{"error":{"message":"Bad key","type":"invalid_request_error","code":"invalid_api_key"}}'
    error = decode(body, status=401).outcome["error"]
    assert error == {"type": "invalid_request_error", "message": "Bad key", "status": 401}


# Usage.


@dataclass(frozen=True, slots=True)
class Counts:
    """The input, cache_read, cache_write, output and reasoning of a stream with these chunks after `a`."""

    id: str
    payloads: tuple[dict[str, Any], ...]
    buckets: tuple[int | None, ...]


DETAILS = {
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
COUNTS = [
    Counts("own-chunk", (ends(), reports(prompt=10, completion=5)), (10, None, None, 5, None)),
    Counts("same-chunk", (ends(usage=usage(10, 5)),), (10, None, None, 5, None)),
    Counts("details", (ends(usage=usage(10, 5, **DETAILS)),), (2, 8, None, 5, 2)),
    Counts(
        "details-null", (ends(usage=usage(10, 5, prompt_tokens_details=None)),), (10, None, None, 5, None)
    ),
    Counts(
        "cache-written",
        (ends(usage=usage(10, 5, prompt_tokens_details={"cached_tokens": 6, "cache_write_tokens": 3})),),
        (1, 6, 3, 5, None),
    ),
    Counts("more-cached-than-there-is", (ends(usage=usage(3, 5, **DETAILS)),), (0, 8, None, 5, 2)),
    Counts(
        "zero", (ends(usage=usage(0, 0, prompt_tokens_details={"cached_tokens": 0})),), (0, 0, None, 0, None)
    ),
    Counts(
        "in-the-choice",
        ({**HEAD, "choices": [{"usage": usage(), "finish_reason": "stop"}]},),
        (10, None, None, 5, None),
    ),
    Counts("x-groq", (ends(x_groq={"id": "r", "usage": usage(7, 8)}),), (7, None, None, 8, None)),
    Counts(
        "x-groq-and-own", (ends(x_groq={"usage": usage(7, 8)}, usage=usage()),), (10, None, None, 5, None)
    ),
    Counts(
        "on-every-chunk",
        (chunk(usage=usage(10, 1)), chunk(usage=usage(10, 2)), ends()),
        (10, None, None, 2, None),
    ),
    Counts("null-behind", (chunk(usage=usage()), ends(usage=None)), (10, None, None, 5, None)),
    Counts("empty-behind", (chunk(usage=usage()), ends(usage={})), (10, None, None, 5, None)),
    Counts("none", (ends(),), (None,) * 5),
    Counts(
        "no-details-behind",
        (chunk(usage=usage(10, 1, **DETAILS)), ends(usage=usage(12, 3))),
        (4, 8, None, 3, 2),
    ),
    Counts(
        "reasoning-outside-the-completion",
        (
            ends(
                usage={
                    "prompt_tokens": 291,
                    "completion_tokens": 26,
                    "total_tokens": 513,
                    "prompt_tokens_details": {"cached_tokens": 290},
                    "completion_tokens_details": {"reasoning_tokens": 196},
                }
            ),
        ),
        (1, 290, None, 222, 196),
    ),
    Counts("deepseek", (ends(usage=usage(10, 5, prompt_cache_hit_tokens=8)),), (2, 8, None, 5, None)),
    Counts("moonshot", (ends(usage=usage(10, 5, cached_tokens=8)),), (2, 8, None, 5, None)),
    Counts(
        "not-a-count",
        (ends(usage=usage(10, 5, cached_tokens=-1, reasoning_tokens="2")),),
        (10, None, None, 5, None),
    ),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in COUNTS])
def test_usage(case: Counts) -> None:
    answer = decode(sse(says("a"), *case.payloads))
    found = answer.outcome["usage"] or {}
    names = ("input", "cache_read", "cache_write", "output", "reasoning")
    assert tuple(found.get(name) for name in names) == case.buckets
    assert answer.outcome["status"] == "complete"
    if answer.outcome["usage"]:
        assert [e for e in answer.events if e["type"] == "usage"][-1]["usage"] == answer.outcome["usage"]


def test_cost_follows_from_the_buckets_and_the_tier_of_the_response() -> None:
    prices = {"input": "2.5", "output": "15", "cache_read": "0.25", "service_tier": {"flex": "0.5"}}
    body = STREAMS["cached-and-reasoning"]
    assert decode(body, pricing=prices).outcome["cost"]["total"] == "0.052"
    flex = body.replace(b'"created": 1', b'"created": 1, "service_tier": "flex"')
    assert decode(flex, pricing=prices).outcome["cost"]["total"] == "0.026"
    late = body.replace(DONE, frames({**HEAD, "choices": [], "service_tier": "flex"}) + DONE)
    assert decode(late, pricing=prices).outcome["cost"]["total"] == "0.026"
    mistral = body.replace(b'"total_tokens"', b'"service_tier": "flex", "total_tokens"')
    assert decode(mistral, pricing=prices).outcome["cost"]["total"] == "0.026"
    traffic = b'"extra_properties": {"google": {"traffic_type": "ON_DEMAND_FLEX"}}, "total_tokens"'
    vertex = body.replace(b'"total_tokens"', traffic)
    assert decode(vertex, pricing=prices).outcome["cost"]["total"] == "0.026"


def test_id_and_model_are_the_first_that_are_not_empty() -> None:
    first = {"choices": [], "id": "", "model": None}
    renamed = {**says("b"), "id": "later", "model": "later"}
    outcome = decode(sse(first, says("a"), renamed, ends())).outcome
    assert (outcome["response_id"], outcome["model"]) == ("chatcmpl-1", "gpt-x")


def test_a_role_without_content_emits_no_events() -> None:
    assert decode(frames(ROLE)).content == []
