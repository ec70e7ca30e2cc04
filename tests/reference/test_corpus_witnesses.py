"""Recorded streams compared with their own final answers, their records, and other framings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from streamconform.apis.payloads import Payload, read_payload
from streamconform.model.case import Case
from streamconform.wire import invoke_stream
from streamconform_dev.corpus.captures import check_each, streams
from streamconform_dev.fuzz.exchange import Answer, assert_event_rules
from streamconform_dev.fuzz.exchange import decode as decode_any
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.document import decode_document

from .bedrock_converse_streams import damaged

pytestmark = pytest.mark.corpus

TERMINAL = ("response.completed", "response.incomplete", "response.failed")

# Files in which the deltas and the final answer differ, with the fields and the reason. The deltas are right.
EDITED = "its source shortened the deltas or the final text by hand, so one is no part of the other"
EXCEPTIONS: Mapping[str, tuple[frozenset[str], str]] = {
    "vercel-ai__openai-azure-gpt5-reasoning-multi-summary-no-encryption": (frozenset({"text"}), EDITED),
    "vercel-ai__openai-azure-gpt5-reasoning-multi-summary-with-encryption": (frozenset({"text"}), EDITED),
    "vercel-ai__openai-openai-shell-container.1": (frozenset({"text"}), EDITED),
}


def decode(case: Case, body: bytes | None = None) -> Answer:
    return decode_any(case.cassette.body if body is None else body, api=case.api, pricing=None)


def document(case: Case, value: Any) -> dict[str, Any]:
    """Return the outcome of an answer in a single chunk."""
    return dict(decode_document(json.dumps(value).encode(), case.api).to_json())


def payloads(body: bytes) -> list[dict[str, Any]]:
    """Return the payloads of SSE or of a JSON array, read from the whole body."""
    if body.lstrip().startswith(b"["):
        elements: list[dict[str, Any]] = json.loads(body)
        return elements
    lines = (line[5:] for line in body.splitlines() if line.startswith(b"data:"))
    return [json.loads(line) for line in lines if line.strip() != b"[DONE]"]


def sse(chunks: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: %s\r\n\r\n" % json.dumps(chunk).encode() for chunk in chunks)


def texts(outcome: dict[str, Any], kind: str) -> list[str]:
    return [block["text"] for block in outcome["content"] if block["type"] == kind]


def others(outcome: dict[str, Any], kind: str) -> list[str]:
    blocks = (block for block in outcome["content"] if block["type"] == "other" and block["kind"] == kind)
    return sorted(json.dumps(block["data"], sort_keys=True) for block in blocks)


def essence(outcome: dict[str, Any], call: tuple[str, ...]) -> dict[str, Any]:
    """Return the parts that deltas and a final answer share, calls by these fields, in a fixed order."""
    calls = ([each[name] for name in call] for each in outcome["content"] if each["type"] == "tool_call")
    return {
        "text": "".join(texts(outcome, "text")),
        "refusal": "".join(texts(outcome, "refusal")),
        "thinking": texts(outcome, "thinking"),
        "calls": sorted(map(json.dumps, calls)),
        "citations": others(outcome, "citation"),
        "usage": outcome["usage"],
        "stop": outcome["stop"],
        "status": outcome["status"],
    }


def test_an_interaction_is_the_sum_of_its_deltas() -> None:
    check_each(streams("bonus/google-interactions"), assert_interaction_matches_its_deltas)


def assert_interaction_matches_its_deltas(case: Case) -> None:
    found = decode(case).outcome
    deltas = [(each.get("index"), each["delta"]) for each in payloads(case.cassette.body) if "delta" in each]
    joined: dict[str, str] = {"text": "", "thinking": ""}
    arguments: dict[int, str] = {}
    for index, delta in deltas:
        match delta["type"]:
            case "text":
                joined["text"] += delta["text"]
            case "thought_summary":
                joined["thinking"] += delta["content"]["text"]
            case "arguments_delta":
                arguments[index] = arguments.get(index, "") + delta["arguments"]
    assert {kind: "".join(texts(found, kind)) for kind in joined} == joined
    calls = [
        each for each in found["content"] if each["type"] == "tool_call" and each["executor"] == "client"
    ]
    assert [call["arguments"] for call in calls] == [json.loads(text) for text in arguments.values()]
    last = payloads(case.cassette.body)[-1]["interaction"]
    usage = last["usage"]
    assert found["stop"]["raw"] == last["status"]
    assert found["usage"]["output"] == usage["total_output_tokens"] + usage["total_thought_tokens"]
    searched = any(delta["type"] == "google_search_call" for _, delta in deltas)
    tools = 0 if searched else usage["total_tool_use_tokens"]
    assert found["usage"]["input"] == usage["total_input_tokens"] + tools - usage["total_cached_tokens"]


def test_the_events_of_cohere_v1_match_its_final_answer() -> None:
    check_each(streams("cohere-v1"), assert_events_match_final_answer)


def assert_events_match_final_answer(case: Case) -> None:
    lines = case.cassette.body.splitlines()
    last = json.loads(lines[-1])
    reported = ("text", "tool_calls", "citations", "documents", "search_results", "search_queries")
    alone = {
        **last,
        "response": {key: value for key, value in last["response"].items() if key not in reported},
    }
    streamed = decode(case, b"\n".join([*lines[:-1], json.dumps(alone).encode()])).outcome
    whole = document(case, {"finish_reason": last["finish_reason"], **last["response"]})
    fields = ("name", "arguments", "complete")
    assert essence(streamed, fields) == essence(whole, fields)
    assert streamed["response_id"] == whole["response_id"]
    # The final answer names the cited documents, while the events name all that were found.
    assert set(others(whole, "document")) <= set(others(streamed, "document"))


def test_the_deltas_of_responses_match_the_final_answer() -> None:
    check_each(streams("openai-responses"), assert_deltas_match_final_answer)


def assert_deltas_match_final_answer(case: Case) -> None:
    frames = payloads(case.cassette.body)
    end = next((at for at, frame in enumerate(frames) if frame["type"] in TERMINAL), None)
    final = {} if end is None else frames[end].get("response", {})
    if end is None or not final.get("output"):
        return
    alone = {**frames[end], "response": {key: value for key, value in final.items() if key != "output"}}
    fields = ("name", "id", "arguments", "complete", "executor")
    streamed = essence(decode(case, sse([*frames[:end], alone])).outcome, fields)
    whole = essence(document(case, final), fields)
    differing = {key for key in whole if whole[key] != streamed[key]}
    assert differing == EXCEPTIONS.get(case.cassette.name, (frozenset(), ""))[0]


def test_both_framings_of_google_are_there() -> None:
    assert {case.cassette.body.lstrip()[:1] for case in streams("google-generate")} == {b"d", b"["}


def test_both_framings_of_google_give_the_same_outcome() -> None:
    check_each(streams("google-generate"), assert_framings_give_same_outcome)


def assert_framings_give_same_outcome(case: Case) -> None:
    chunks = payloads(case.cassette.body)
    expected = decode(case).outcome
    assert decode(case, json.dumps(chunks).encode()).outcome == expected
    assert decode(case, sse(chunks)).outcome == expected
    if len(chunks) == 1:
        assert document(case, chunks[0]) == expected


def test_an_answer_of_ollama_is_the_sum_of_its_records() -> None:
    check_each(streams("ollama-chat"), assert_is_sum_of_records)


def assert_is_sum_of_records(case: Case) -> None:
    messages = [json.loads(line)["message"] for line in case.cassette.body.splitlines() if line]
    outcome = decode(case).outcome
    for kind, key in (("text", "content"), ("thinking", "thinking")):
        assert "".join(texts(outcome, kind)) == "".join(message.get(key) or "" for message in messages)
    calls = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
    found = [block for block in outcome["content"] if block["type"] == "tool_call"]
    assert [(call["name"], call["arguments"]) for call in calls] == [
        (block["name"], block["arguments"]) for block in found
    ]


def test_a_bit_that_fell_over_is_an_error_on_bedrock() -> None:
    check_each(streams("bedrock-converse"), assert_flipped_bits_are_errors)


def assert_flipped_bits_are_errors(case: Case) -> None:
    end = case.cassette.body.index(b"messageStop")
    for fifth in range(5):
        broken = decode(case, damaged(case.cassette.body, end * fifth // 5))
        assert broken.outcome["status"] == "error"
        assert_event_rules(broken)


def invoked() -> list[tuple[Case, list[Payload]]]:
    """Return the recordings of InvokeModel with one of Anthropic's models, and their events."""
    cases = [case for case in streams() if case.api == "bedrock-invoke"]
    found = [
        (case, [read_payload(frame.payload) for frame in invoke_stream.split(case.cassette.body)])
        for case in cases
    ]
    return [(case, events) for case, events in found if events and events[0].get("type") == "message_start"]


def test_an_answer_of_anthropic_through_bedrock_is_the_sum_of_its_events() -> None:
    events_of = {case.id: events for case, events in invoked()}
    assert len(events_of) == 12
    check_each(
        [case for case, _ in invoked()], lambda case: assert_is_sum_of_events(case, events_of[case.id])
    )


def assert_is_sum_of_events(case: Case, events: list[Payload]) -> None:
    outcome = decode(case).outcome
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(texts(outcome, "text")) == "".join(delta.get("text", "") for delta in deltas)
    calls = "".join(delta.get("partial_json", "") for delta in deltas)
    assert calls == "".join(block.get("arguments_text") or "" for block in outcome["content"])
    (last,) = (event for event in events if event["type"] == "message_delta")
    assert outcome["stop"]["raw"] == last["delta"]["stop_reason"]
    assert outcome["usage"]["output"] == last["usage"]["output_tokens"]
    assert GRAMMARS[case.api].of_body([case.cassette.body]) == []
