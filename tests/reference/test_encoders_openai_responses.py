"""Details of the OpenAI Responses encoder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamconform_reference.apis import DECODERS, DOCUMENT_WRITERS, ENCODERS, LOSSES
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.apis.openai_responses.answer import CITATIONS
from streamconform_reference.encoding.encoder import PlacedBlock, apply_losses, encode
from streamconform_reference.events import Done, ToolCallDelta, ToolCallStart
from streamconform_reference.outcome import (
    Error,
    Other,
    Outcome,
    Refusal,
    Stop,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .outcomes import CALLED, CUT, EXAMPLES, HALF, SIGNED, WEB_SEARCH, a_call, whole

API = "openai-responses"
CITATION = {"type": "url_citation", "url": "https://x.test", "start_index": 0, "end_index": 2}
Event = dict[str, Any]


def read(body: bytes) -> list[Event]:
    """Return the payloads, after checking that each has the name of its event."""
    found = []
    for frame in filter(None, body.split(b"\n\n")):
        name, data = frame.split(b"\n")
        payload = json.loads(data.removeprefix(b"data: "))
        assert name == b"event: " + payload["type"].encode()
        found.append(payload)
    return found


def written_events(outcome: Outcome) -> list[Event]:
    return read(encode(ENCODERS, API, outcome))


def kinds(outcome: Outcome) -> list[str]:
    return [event["type"].removeprefix("response.") for event in written_events(outcome)]


def test_an_answer_begins_is_at_work_and_ends_with_itself() -> None:
    assert kinds(whole(Text("Hi"))) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_events_are_counted_from_zero(name: str) -> None:
    numbers = [event["sequence_number"] for event in written_events(EXAMPLES[name])]
    assert numbers == list(range(len(numbers)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_last_response_holds_the_items_in_their_order(name: str) -> None:
    events = written_events(EXAMPLES[name])
    if EXAMPLES[name].status != "complete":
        return
    done = {event["output_index"]: event["item"] for event in events if "output_item.done" in event["type"]}
    assert events[-1]["response"]["output"] == [done[index] for index in sorted(done)]
    names = [item["id"] for item in done.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("stop", "status", "details"),
    [
        (Stop("stop", "end_turn"), "completed", None),
        (CUT, "incomplete", {"reason": "max_output_tokens"}),
        (Stop("content_filter", "SAFETY"), "incomplete", {"reason": "content_filter"}),
        (Stop("refusal", "refusal"), "incomplete", {"reason": "content_filter"}),
        (Stop("pause", "pause_turn"), "incomplete", {"reason": "pause_turn"}),
        (Stop("other", None), "incomplete", {"reason": "other"}),
    ],
)
def test_only_a_complete_answer_is_completed(stop: Stop, status: str, details: dict[str, str] | None) -> None:
    last = written_events(whole(Text("Hi"), stop=stop))[-1]
    assert last["type"] == f"response.{status}"
    assert (last["response"]["status"], last["response"]["incomplete_details"]) == (status, details)


def test_a_refusal_in_words_is_a_part_of_a_completed_answer() -> None:
    given = whole(Refusal("No."), stop=Stop("refusal", "refusal"))
    assert kinds(given)[3:6] == ["content_part.added", "refusal.delta", "refusal.done"]
    assert apply_losses(LOSSES, API, given).stop == Stop("refusal", "completed")


def test_a_failed_answer_has_its_error_in_its_response() -> None:
    error = Error("overloaded_error", "Busy.", 529)
    last = written_events(whole(Text("Hi"), status="error", stop=Stop("error", None), error=error))[-1]
    assert last["type"] == "response.failed"
    assert last["response"]["error"] == {"code": "overloaded_error", "message": "Busy."}
    assert last["response"]["usage"] is None


def test_calls_side_by_side_are_written_side_by_side() -> None:
    encoder = ENCODERS[API](model="m", response_id="resp_1")
    encoder.opening()
    written = [
        encoder.piece(ToolCallStart(0, "call_1", "f")),
        encoder.piece(ToolCallStart(1, "call_2", "g")),
        encoder.piece(ToolCallDelta(0, '{"x"')),
        encoder.piece(ToolCallDelta(1, "{")),
    ]
    assert [read(each)[0]["output_index"] for each in written] == [0, 1, 0, 1]
    first, second = (read(each)[0] for each in written[:2])
    assert first["item"]["id"] != second["item"]["id"]
    assert (first["item"]["call_id"], second["item"]["name"]) == ("call_1", "g")


def test_thinking_is_a_summary_and_its_signature_is_encrypted_content() -> None:
    (reasoning,) = written_events(whole(SIGNED))[-1]["response"]["output"]
    assert reasoning["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert reasoning["encrypted_content"] == "c2ln"


def test_redacted_thinking_is_reasoning_without_a_summary() -> None:
    given = whole(Thinking(text="", signature="ZW5j", redacted=True))
    (reasoning,) = written_events(given)[-1]["response"]["output"]
    assert (reasoning["summary"], reasoning["encrypted_content"]) == ([], "ZW5j")


def test_a_citation_is_written_while_its_text_is_open_and_repeated_in_its_part() -> None:
    events = written_events(whole(Text("Hi", citations=(CITATIONS.read(CITATION),))))
    at = next(place for place, event in enumerate(events) if "annotation.added" in event["type"])
    assert events[at]["annotation"] == CITATION
    assert events[at + 1]["type"] == "response.output_text.done"
    assert events[-1]["response"]["output"][0]["content"][0]["annotations"] == [CITATION]


def test_a_hosted_call_is_written_with_its_result() -> None:
    encoder = ENCODERS[API](model="m", response_id="r")
    encoder.opening()
    assert encoder.piece(ToolCallStart(0, "ws_1", "web_search", "provider")) == b""
    added, done = read(encoder.piece(PlacedBlock(1, Other("web_search_call", WEB_SEARCH))))
    assert added["item"] == {"type": "web_search_call", "id": "ws_1"}
    assert done["item"] == WEB_SEARCH


def test_a_call_of_free_text_is_one_of_a_custom_tool() -> None:
    given = whole(a_call(arguments="ls", arguments_text="ls"), stop=CALLED)
    assert apply_losses(LOSSES, API, given).content == given.content
    assert kinds(given)[2:6] == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    (item,) = written_events(given)[-1]["response"]["output"]
    assert (item["type"], item["input"]) == ("custom_tool_call", "ls")


def test_free_text_that_never_ended_is_never_run() -> None:
    encoder = ENCODERS[API](model="m", response_id="r")
    parts = [
        ToolCallStart(0, "call_1", "shell", free_text=True),
        ToolCallDelta(0, "rm -r /tmp/x"),
        Done(Stop("stop", "stop")),
    ]
    decoder = DECODERS[API]()
    decoder.receive_data(encoder.opening() + b"".join(encoder.piece(part) for part in parts))
    (call,) = decoder.outcome.content
    assert isinstance(call, ToolCall)
    assert (call.complete, call.arguments) == (False, None)
    assert decoder.outcome.stop.reason == "length"


def test_a_call_that_another_provider_ran_is_never_one_for_the_client() -> None:
    given = whole(a_call(id="srvtoolu_1", name="web_search", executor="provider"), Text("Hi"))
    assert [item["type"] for item in written_events(given)[-1]["response"]["output"]] == ["message"]


def test_a_call_that_was_cut_off_is_an_incomplete_item() -> None:
    events = written_events(whole(a_call(**HALF), stop=CUT))
    assert "response.function_call_arguments.done" not in [event["type"] for event in events]
    assert events[-1]["response"]["output"][0]["status"] == "incomplete"


def test_input_includes_cache_tokens() -> None:
    usage = Usage(input=1, cache_read=2, cache_write=3, output=7, reasoning=4, web_searches=1)
    response = written_events(whole(Text("Hi"), usage=usage))[-1]["response"]
    assert response["usage"] == {
        "input_tokens": 6,
        "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 3},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 13,
    }
    assert response["tool_usage"] == {"web_search": {"num_requests": 1}}


def test_the_document_is_the_last_response() -> None:
    given = EXAMPLES["everything at its usual place"]
    assert DOCUMENT_WRITERS[API](given, model="m", response_id="r") == written_events(given)[-1]["response"]


def test_items_that_come_inside_a_text_wait_for_its_end() -> None:
    item = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []}
    given = whole(Text("Hi"), Other("mcp_list_tools", item), a_call(), stop=CALLED)
    body = encode(ENCODERS, API, given)
    assert [each.rule for each in GRAMMARS[API].of_body([body])] == []
    assert [each["type"] for each in read(body)[-1]["response"]["output"]] == [
        "message",
        "mcp_list_tools",
        "function_call",
    ]
