"""Details of the Cohere encoders, version 2 and version 1."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from streamconform_reference.apis import DECODERS, ENCODERS
from streamconform_reference.apis.cohere_chat.losses_v1 import V1_LOSSES
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.encoding.encoder import apply_losses, encode
from streamconform_reference.outcome import Citation, Error, Other, Outcome, Stop, Text, Usage

from .generated_outcomes import outcomes
from .outcomes import CALLED, EXAMPLES, SIGNED, a_call, whole

API = "cohere-chat"
V1 = {"framing": "v1"}
CITATION = {"start": 0, "end": 2, "text": "Hi", "document_ids": ["d"]}


def events(outcome: Outcome) -> list[dict[str, Any]]:
    body = encode(ENCODERS, API, outcome).removesuffix(b"data: [DONE]\n\n")
    return [json.loads(frame.split(b"data: ", 1)[1]) for frame in body.split(b"\n\n") if frame]


def records(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in encode(ENCODERS, API, outcome, **V1).splitlines()]


def assert_written_by_version_1(outcome: Outcome) -> None:
    body = encode(ENCODERS, API, outcome, **V1)
    decoder = DECODERS[API]()
    decoder.receive_data(body)
    decoder.receive_eof()
    can_say = apply_losses({API: V1_LOSSES}, API, outcome)
    assert decoder.outcome == can_say
    assert apply_losses({API: V1_LOSSES}, API, can_say) == can_say
    found = GRAMMARS[API].of_body([body])
    allowed = {"one-terminal"} if outcome.status == "incomplete" else set()
    assert [each for each in found if each.level == "must" and each.rule not in allowed] == []


def test_content_and_calls_are_counted_apart() -> None:
    given = whole(SIGNED, Text("Hi"), a_call(), a_call(id="toolu_2"), stop=CALLED)
    starts = [
        (each["type"], each["index"])
        for each in events(given)
        if each["type"].endswith(("t-start", "l-start"))
    ]
    assert starts == [
        ("content-start", 0),
        ("content-start", 1),
        ("tool-call-start", 0),
        ("tool-call-start", 1),
    ]


@pytest.mark.parametrize(
    ("error", "delta"),
    [
        (Error(None, None, None), {"finish_reason": "ERROR"}),
        (Error("TIMEOUT", "Late.", 504), {"finish_reason": "TIMEOUT", "error": "Late."}),
        (
            Error("overloaded_error", "Busy.", 529),
            {"finish_reason": "ERROR", "error": "Busy.", "error_type": "overloaded_error"},
        ),
    ],
)
def test_a_failed_answer_has_its_error_in_the_last_event(error: Error, delta: dict[str, str]) -> None:
    last = events(whole(Text("Hi"), status="error", stop=Stop("error", None), error=error))[-1]
    assert last == {"type": "message-end", "delta": {"usage": {}, **delta}}


def test_cache_tokens_are_billed_as_input() -> None:
    usage = Usage(input=1, cache_read=2, cache_write=3, output=7, reasoning=4, web_searches=1)
    assert events(whole(Text("Hi"), usage=usage))[-1]["delta"]["usage"] == {
        "billed_units": {"input_tokens": 6, "output_tokens": 7, "search_units": 1},
        "tokens": {"input_tokens": 6, "output_tokens": 7, "reasoning_tokens": 4},
        "cached_tokens": 2,
    }


def test_a_stream_ends_as_every_recorded_one() -> None:
    assert encode(ENCODERS, API, whole(Text("Hi"))).endswith(b"\n\ndata: [DONE]\n\n")
    assert b"[DONE]" not in encode(ENCODERS, API, EXAMPLES["broke off"])


def test_null_arguments_differ_from_no_arguments() -> None:
    fragments = [
        event["delta"]["message"]["tool_calls"]["function"]["arguments"]
        for event in events(EXAMPLES["null as arguments"])
        if event["type"] == "tool-call-delta"
    ]
    assert "".join(fragments) == "null{"


@pytest.mark.parametrize("name", EXAMPLES)
def test_version_1_encodes_the_examples(name: str) -> None:
    assert_written_by_version_1(EXAMPLES[name])


@settings(max_examples=60)
@drawn(given=outcomes())
def test_version_1_encodes_any_outcome(given: Outcome) -> None:
    assert_written_by_version_1(given)


def test_every_row_of_version_1_applies_to_an_example() -> None:
    idle = {loss.name for loss in V1_LOSSES}
    for outcome in EXAMPLES.values():
        before = outcome
        for loss in V1_LOSSES:
            after = loss.apply(before)
            if after != before:
                idle.discard(loss.name)
            before = after
    assert idle == set()


def test_version_1_writes_all_calls_in_one_event_and_repeats_the_answer_at_the_end() -> None:
    given = whole(Text("Hi"), a_call(), a_call(id="toolu_2"), stop=CALLED)
    *_, calls, last = records(given)
    assert calls["event_type"] == "tool-calls-generation"
    assert calls["tool_calls"] == [{"name": "f", "parameters": {"x": 1}}] * 2
    assert last["event_type"] == "stream-end"
    assert last["is_finished"] is True
    assert last["finish_reason"] == last["response"]["finish_reason"] == "COMPLETE"
    assert (last["response"]["text"], last["response"]["tool_calls"]) == ("Hi", calls["tool_calls"])


def test_version_1_writes_its_own_blocks_unchanged() -> None:
    own = [
        Other("search_query", {"text": "x", "generation_id": "g"}),
        Other("search_result", {"search_query": {"text": "x"}, "document_ids": ["d"]}),
        Other("document", {"id": "d", "title": "X"}),
        Text("Hi", citations=(Citation(source="d", start=0, end=2, data=CITATION),)),
    ]
    assert apply_losses({API: V1_LOSSES}, API, whole(*own)).content == tuple(own)
    assert_written_by_version_1(whole(*own))
    assert records(whole(*own))[-1]["response"]["citations"] == [CITATION]
