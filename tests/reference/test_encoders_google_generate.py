"""Details of the Gemini encoder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from streamconform_reference.apis import ENCODERS, LOSSES
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.encoding.encoder import apply_losses, encode
from streamconform_reference.events import Done, ToolCallDelta, ToolCallEnd, ToolCallStart
from streamconform_reference.outcome import Error, Other, Outcome, Stop, Text, Thinking, Usage

from .outcomes import CALLED, EXAMPLES, SEALED, SIGNED, a_call, whole

API = "google-generate"
PICTURE = Other("inlineData", {"mimeType": "image/png", "data": "AA=="})


def chunks(outcome: Outcome) -> list[dict[str, Any]]:
    body = encode(ENCODERS, API, outcome)
    return [json.loads(frame.removeprefix(b"data: ")) for frame in body.split(b"\n\n") if frame]


def parts(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the parts of an outcome's stream, except the empty one at its end."""
    found = [
        part
        for chunk in chunks(outcome)
        for candidate in chunk.get("candidates", ())
        for part in candidate["content"]["parts"]
    ]
    assert found.pop() == {"text": ""}
    return found


CALL = {"functionCall": {"id": "toolu_1", "name": "f", "args": {"x": 1}}}
THOUGHT = {"text": "hm", "thought": True}
SEALED_THOUGHT = {"text": "", "thought": True, "thoughtSignature": "c2ln"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ((a_call(signature="c2ln"),), [{**CALL, "thoughtSignature": "c2ln"}]),
        ((SIGNED, a_call()), [THOUGHT, SEALED_THOUGHT, CALL]),
        ((Text("Hi", signature="c2ln"),), [{"text": "Hi"}, {"text": "", "thoughtSignature": "c2ln"}]),
        ((SEALED, Text("Hi")), [{**SEALED_THOUGHT, "thoughtSignature": "c2VhbGVk"}, {"text": "Hi"}]),
    ],
)
def test_a_signature_is_on_its_call_or_on_an_empty_part_after_its_text(
    content: tuple[Any, ...], expected: list[dict[str, Any]]
) -> None:
    assert parts(whole(*content, stop=CALLED)) == expected


def test_a_call_is_written_when_it_is_whole() -> None:
    encoder = ENCODERS[API](model="m", response_id="r")
    assert encoder.piece(ToolCallStart(0, "toolu_1", "f")) == b""
    assert encoder.piece(ToolCallDelta(0, '{"x":1}')) == b""
    assert b'"functionCall"' in encoder.piece(ToolCallEnd(0, a_call()))


@pytest.mark.parametrize(
    "arguments", [{"arguments": None, "arguments_text": "{oops"}, {"arguments": [1], "arguments_text": "[1]"}]
)
def test_a_call_with_arguments_other_than_an_object_fails_as_the_api_allows(
    arguments: dict[str, Any],
) -> None:
    last = chunks(whole(Text("Hi"), a_call(**arguments), stop=CALLED))[-1]
    assert last["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"
    assert last["candidates"][0]["finishMessage"] == "Malformed function call: f"
    assert last["usageMetadata"]["totalTokenCount"] == 8


def test_a_blocked_prompt_has_no_candidates() -> None:
    (chunk,) = chunks(whole(stop=Stop("content_filter", "JAILBREAK")))
    assert chunk["promptFeedback"] == {"blockReason": "JAILBREAK"}
    assert "candidates" not in chunk


def test_a_block_reason_is_not_a_finish_reason() -> None:
    last = chunks(whole(Text("Hi"), stop=Stop("content_filter", "JAILBREAK")))[-1]
    assert last["candidates"][0]["finishReason"] == "SAFETY"


def test_the_total_is_the_sum_of_disjoint_counts() -> None:
    usage = Usage(input=10, cache_read=4, cache_write=1, output=9, reasoning=5)
    assert chunks(whole(Text("Hi"), usage=usage))[-1]["usageMetadata"] == {
        "promptTokenCount": 15,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 4,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 24,
    }


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Error("overloaded_error", "Busy.", 529), {"code": 529, "message": "Busy.", "status": "UNAVAILABLE"}),
        (
            Error("rate_limit_error", "Slow.", 429),
            {"code": 429, "message": "Slow.", "status": "RESOURCE_EXHAUSTED"},
        ),
        (Error("NOT_FOUND", None, None), {"code": 404, "message": "NOT_FOUND", "status": "NOT_FOUND"}),
        (Error("strange", "Hm.", None), {"code": 500, "message": "Hm.", "status": "UNKNOWN"}),
    ],
)
def test_an_error_has_code_message_and_status(error: Error, expected: dict[str, Any]) -> None:
    failed = whole(Text("Hi"), status="error", stop=Stop("error", None), error=error)
    assert chunks(failed)[-1] == {"error": expected}


def test_a_whole_array_is_one_json_document() -> None:
    outcome = EXAMPLES["everything at its usual place"]
    body = encode(ENCODERS, API, outcome, framing="json_array")
    elements = json.loads(body)
    assert elements[-1]["candidates"][0]["finishReason"] == "STOP"
    assert [deviation.rule for deviation in GRAMMARS[API].of_body([body])] == []


def test_an_array_that_breaks_off_is_not_closed() -> None:
    body = encode(ENCODERS, API, EXAMPLES["broke off"], framing="json_array")
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)


def test_every_chunk_names_model_and_answer() -> None:
    for outcome in EXAMPLES.values():
        for chunk in chunks(outcome):
            assert "error" in chunk or {"modelVersion", "responseId"} <= chunk.keys()


def test_an_encoder_that_never_began_ends_the_answer() -> None:
    encoder = ENCODERS[API](model="m", response_id="r", framing="json_array")
    body = encoder.opening() + encoder.piece(Done(Stop("stop", None)))
    assert json.loads(body)[0]["candidates"][0]["finishReason"] == "STOP"


def test_a_second_report_about_the_candidate_replaces_the_first() -> None:
    first, second = (Other("groundingMetadata", {"webSearchQueries": [query]}) for query in ("x", "y"))
    given = whole(first, Text("Hi"), second)
    assert apply_losses(LOSSES, API, given).content == (second, Text("Hi"))


def test_the_signature_of_thinking_is_apart_from_its_text() -> None:
    unsigned = Thinking(text="a", signature=None, redacted=False)
    given = whole(unsigned, unsigned, SIGNED, SIGNED)
    assert apply_losses(LOSSES, API, given).content == (
        replace(unsigned, text="aahm"),
        replace(SIGNED, text=""),
        replace(unsigned, text="hm"),
        replace(SIGNED, text=""),
    )
