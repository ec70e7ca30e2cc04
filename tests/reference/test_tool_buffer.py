"""Parts of calls from four providers, in any order, are assembled to the right calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from streamconform_reference import ToolBuffer, ToolChunk
from streamconform_reference.tool_buffer.chunk import ADAPTERS

PARIS, OSLO = {"city": "Paris"}, {"city": "Oslo"}


def filled(*chunks: ToolChunk) -> ToolBuffer:
    buffer = ToolBuffer()
    for chunk in chunks:
        buffer.append(chunk)
    return buffer


def made(buffer: ToolBuffer) -> list[tuple[str, str, Any, str]]:
    return [(call.id, call.name, call.arguments, call.state) for call in buffer.calls]


def kinds(buffer: ToolBuffer) -> list[str]:
    return [fault.kind for fault in buffer.faults]


def openai(*calls: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "c1",
        "choices": [{"index": 0, "delta": {"tool_calls": list(calls)}, "finish_reason": finish}],
    }


def part(index: int, arguments: str = "", **head: Any) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": head.pop("name")} if "name" in head else {})
    return {"index": index, "function": function, **head}


STREAMS: dict[str, tuple[str, Sequence[dict[str, Any]]]] = {
    "openai": (
        "openai-chat",
        (
            openai(part(0, id="a", name="weather"), part(1, id="b", name="weather")),
            openai(part(0, '{"city":')),
            openai(part(1, '{"city":"Os')),
            openai(part(0, '"Paris"}'), part(1, 'lo"}')),
            openai(finish="tool_calls"),
        ),
    ),
    "anthropic": (
        "anthropic-messages",
        (
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_stop", "index": 0},
            *(
                event
                for index, id_, city in ((1, "a", "Paris"), (2, "b", "Oslo"))
                for event in (
                    {
                        "type": "content_block_start",
                        "index": index,
                        "content_block": {"type": "tool_use", "id": id_, "name": "weather", "input": {}},
                    },
                    *(
                        {
                            "type": "content_block_delta",
                            "index": index,
                            "delta": {"type": "input_json_delta", "partial_json": text},
                        }
                        for text in ("", '{"city": "', f'{city}"}}')
                    ),
                    {"type": "content_block_stop", "index": index},
                )
            ),
            {"type": "message_stop"},
        ),
    ),
    "gemini": (
        "google-generate",
        (
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [
                                {"text": "I look."},
                                {"functionCall": {"id": "a", "name": "weather", "args": PARIS}},
                                {"functionCall": {"id": "b", "name": "weather", "args": OSLO}},
                            ]
                        }
                    }
                ]
            },
        ),
    ),
    "cohere": (
        "cohere-chat",
        tuple(
            event
            for index, id_, city in ((0, "a", "Paris"), (1, "b", "Oslo"))
            for event in (
                {
                    "type": "tool-call-start",
                    "index": index,
                    "delta": {
                        "message": {
                            "tool_calls": {"id": id_, "function": {"name": "weather", "arguments": ""}}
                        }
                    },
                },
                {
                    "type": "tool-call-delta",
                    "index": index,
                    "delta": {"message": {"tool_calls": {"function": {"arguments": f'{{"city":"{city}"}}'}}}},
                },
                {"type": "tool-call-end", "index": index},
            )
        ),
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_payloads_of_each_provider_become_the_same_calls(name):
    api, payloads = STREAMS[name]
    buffer = ToolBuffer()
    events = []
    for number, payload in enumerate(payloads):
        for chunk in ADAPTERS[api](payload, timestamp=float(number)):
            events += buffer.append(chunk)
    assert made(buffer) == [("a", "weather", PARIS, "done"), ("b", "weather", OSLO, "done")]
    assert buffer.complete
    assert buffer.faults == ()
    types = [event.to_json()["type"] for event in events]
    assert types.count("toolcall_start") == types.count("toolcall_end") == 2


def test_calls_of_gemini_without_ids_are_calls_of_their_own():
    parts = [{"functionCall": {"name": "f", "args": {"n": n}}} for n in (1, 2)]
    payload = {"candidates": [{"content": {"parts": parts}}]}
    buffer = filled(*ADAPTERS["google-generate"](payload), *ADAPTERS["google-generate"](payload))
    assert [call.arguments["n"] for call in buffer.calls] == [1, 2, 1, 2]
    assert len({call.id for call in buffer.calls}) == 4


def test_calls_of_cohere_v1_come_whole_and_counted():
    payload = {"event_type": "tool-calls-generation", "tool_calls": [{"name": "f", "parameters": PARIS}]}
    buffer = filled(*ADAPTERS["cohere-chat"](payload))
    assert [(call.name, call.arguments, call.call_sequence) for call in buffer.calls] == [("f", PARIS, 0)]


def test_an_error_of_the_provider_fails_every_call_that_is_open():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    buffer = filled(
        ToolChunk(call_index=0, id="a", name="f", args_kv_patch={}, done=True),
        ToolChunk(call_index=1, id="b", name="g", args_text_delta='{"x"'),
        *ADAPTERS["anthropic-messages"](error),
    )
    assert [call.state for call in buffer.calls] == ["done", "failed"]
    assert (buffer.calls[1].error, buffer.calls[1].error_type) == ("Overloaded", "overloaded_error")
    assert buffer.calls[1].arguments is None


@pytest.mark.parametrize("api", ADAPTERS)
@pytest.mark.parametrize("payload", [{}, {"type": 1}, {"choices": [1]}, {"candidates": {}}, {"index": "0"}])
def test_a_payload_without_a_call_has_no_piece(api, payload):
    assert ADAPTERS[api](payload) == ()


def test_the_end_of_one_answer_ends_no_call_of_another():
    buffer = filled(
        ToolChunk(turn_index=0, call_index=0, id="a", name="f", args_text_delta="{"),
        ToolChunk(turn_index=1, call_index=0, id="b", name="f", args_text_delta="{}"),
        ToolChunk(turn_index=1, done=True),
        ToolChunk(turn_index=0, args_text_delta="}", done=True),
    )
    assert made(buffer) == [("a", "f", {}, "done"), ("b", "f", {}, "done")]


def test_the_value_so_far_is_there_at_any_time_and_nothing_to_run():
    buffer = filled(ToolChunk(id="a", name="f", call_index=0, args_text_delta='{"path":"/etc/ho'))
    assert buffer.calls[0].arguments_so_far == {"path": "/etc/ho"}
    assert (buffer.calls[0].arguments, buffer.calls[0].state) == (None, "open")
    assert not buffer.complete


def test_named_arguments_join_and_replace():
    buffer = filled(
        ToolChunk(id="a", name="f", args_kv_patch={"x": 1, "y": 1}),
        ToolChunk(id="a", args_kv_patch={"y": 2}),
    )
    assert buffer.calls[0].arguments_so_far == {"x": 1, "y": 2}
    buffer.append(ToolChunk(id="a", done=True))
    assert buffer.calls[0].arguments == {"x": 1, "y": 2}


def test_a_name_may_come_after_the_id_and_before_the_arguments():
    buffer = filled(
        ToolChunk(id="a"), ToolChunk(id="a", name="f"), ToolChunk(id="a", args_text_delta="{}", done=True)
    )
    assert made(buffer) == [("a", "f", {}, "done")]
    assert buffer.faults == ()


def test_a_call_with_invalid_text_is_malformed_and_one_without_end_is_abandoned():
    buffer = filled(
        ToolChunk(id="a", name="f", args_text_delta='{"x":', done=True),
        ToolChunk(id="b", name="g", args_text_delta='{"x":1}'),
    )
    assert not buffer.complete
    buffer.finish()
    assert made(buffer) == [("a", "f", None, "malformed"), ("b", "g", None, "abandoned")]
    assert buffer.complete


def test_calls_are_complete_when_as_many_as_were_announced_have_ended():
    buffer = filled(ToolChunk(id="a", name="f", done=True, total_calls=2))
    assert not buffer.complete
    buffer.append(ToolChunk(id="b", name="f", done=True))
    assert buffer.complete


def test_an_index_counts_in_its_own_turn():
    buffer = filled(
        ToolChunk(turn_index=0, call_index=0, id="a", name="f", args_text_delta="{}", done=True),
        ToolChunk(turn_index=1, call_index=0, id="b", name="g", args_text_delta='{"x":1}', done=True),
    )
    assert [(call.turn_index, call.name) for call in buffer.calls] == [(0, "f"), (1, "g")]
    assert buffer.faults == ()


def test_the_metadata_of_a_call_is_kept():
    first = ToolChunk(
        id="a", name="f", timestamp=1.5, metadata={"p": 0.5}, parent_message_id="m", reasoning_context="why"
    )
    last = ToolChunk(id="a", timestamp=2.5, metadata={"q": 1}, done=True)
    (call,) = filled(first, last).calls
    assert (call.began, call.ended, call.metadata) == (1.5, 2.5, {"p": 0.5, "q": 1})
    assert (call.parent_message_id, call.reasoning_context) == ("m", "why")


CALL = ToolChunk(id="a", call_index=0, name="f")


@pytest.mark.parametrize(
    ("kind", "chunks"),
    [
        ("no-call", [ToolChunk(call_index=3, args_text_delta="{")]),
        ("no-call", [ToolChunk(args_text_delta="{")]),
        ("after-end", [ToolChunk(id="a", name="f", done=True), ToolChunk(id="a", args_text_delta="{")]),
        ("after-end", [CALL, ToolChunk(id="a", done=True), ToolChunk(id="a", done=True)]),
        ("index-reused", [CALL, ToolChunk(id="b", call_index=0, name="g")]),
        ("name-changed", [CALL, ToolChunk(id="a", name="g")]),
        (
            "mixed-arguments",
            [CALL, ToolChunk(id="a", args_text_delta="{"), ToolChunk(id="a", args_kv_patch={"x": 1})],
        ),
        ("too-many-calls", [ToolChunk(id="a", name="f", total_calls=1), ToolChunk(id="b", name="g")]),
        (
            "sequence",
            [ToolChunk(id="a", name="f", call_sequence=1), ToolChunk(id="b", name="g", call_sequence=1)],
        ),
        ("time", [ToolChunk(id="a", name="f", timestamp=2.0), ToolChunk(id="a", timestamp=1.0)]),
    ],
)
def test_violations_of_the_order_are_recorded_with_their_chunk(kind, chunks):
    buffer = filled(*chunks)
    assert kinds(buffer) == [kind]
    assert buffer.faults[0].piece == len(chunks) - 1


def test_another_id_at_the_same_index_is_another_call():
    buffer = filled(
        ToolChunk(id="a", call_index=0, name="f", args_text_delta='{"x":1}'),
        ToolChunk(id="b", call_index=0, name="g", args_text_delta='{"y":'),
        ToolChunk(call_index=0, args_text_delta="2}"),
        ToolChunk(done=True),
    )
    assert made(buffer) == [("a", "f", {"x": 1}, "done"), ("b", "g", {"y": 2}, "done")]
