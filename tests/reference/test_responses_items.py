"""OpenAI Responses: whatever ids an item's events have, and whichever of them arrive, it is one item."""

from __future__ import annotations

from typing import Any

import pytest

from streamconform_dev.fuzz.exchange import assert_event_rules, decode

from ..for_each import for_each
from .openai_responses_streams import CREATED, Payload, added, args, completed, done, event, sse

# Each type of item, finished, with its blocks: https://platform.openai.com/docs/api-reference/responses/object
ITEMS: dict[str, tuple[Payload, list[str]]] = {
    "message": (
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
        ["text"],
    ),
    "refusal": (
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        ["refusal"],
    ),
    "reasoning": ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}, ["thinking"]),
    "encrypted": ({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, ["thinking"]),
    "function": (
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"x":1}'},
        ["tool_call"],
    ),
    "custom": ({"type": "custom_tool_call", "call_id": "call_1", "name": "f", "input": "x"}, ["tool_call"]),
    "mcp": (
        {"type": "mcp_call", "name": "f", "arguments": "{}", "server_label": "s", "output": "o"},
        ["tool_call", "other"],
    ),
    "failed-mcp": (
        {
            "type": "mcp_call",
            "name": "f",
            "arguments": "{}",
            "server_label": "s",
            "status": "failed",
            "error": {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "It broke."}]},
        },
        ["tool_call", "other"],
    ),
    "web-search": (
        {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}},
        ["tool_call", "other"],
    ),
    "code": (
        {"type": "code_interpreter_call", "code": "1", "container_id": "c", "outputs": []},
        ["tool_call", "other"],
    ),
    "compaction": ({"type": "compaction", "encrypted_content": "gAAA"}, ["other"]),
}
STARTS = {"content": [], "summary": [], "input": "", "code": "", "encrypted_content": None}


def begun(item: Payload) -> Payload:
    """Return the item as it is in its first event."""
    empty = STARTS | ({"arguments": ""} if "arguments" in item else {})
    return item | {key: value for key, value in empty.items() if key in item}


def lives(item: Payload) -> dict[str, list[Payload]]:
    """Return the events of an item in a stream, by what is odd about them."""

    def named(name: str, data: Payload = item) -> Payload:
        return data | {"id": name}

    start = added(named("a", begun(item)))
    return {
        "plain": [start, done(named("a")), completed(named("a"))],
        "another-id-per-event": [start, done(named("b")), completed(named("c"))],
        "no-ids": [added(begun(item)), done(item), completed(item)],
        "no-index": [
            added(named("a", begun(item)), None),
            done(named("a"), None),
            completed(named("a")),
        ],
        "everything-twice": [start, start, done(named("a")), done(named("a")), completed(named("a"))],
        "twice-with-another-id": [start, done(named("b")), done(named("c")), completed(named("d"))],
        "no-start": [done(named("a")), completed(named("a"))],
        "no-end": [start, completed(named("a"))],
        "only-in-the-response": [completed(named("a"))],
        "not-in-the-response": [start, done(named("a")), completed()],
        "an-empty-start-twice-in-the-response": [start, done(named("a")), completed(named("a"), named("a"))],
    }


@for_each("life", lives({}))
@for_each("kind", ITEMS)
def test_an_item_is_one_item_whatever_its_events_are(kind: str, life: str) -> None:
    item, blocks = ITEMS[kind]
    answer = decode(sse(CREATED, *lives(item)[life]), api="openai-responses")
    assert answer.outcome["status"] == "complete"
    assert [block["type"] for block in answer.content] == blocks
    expected = decode(sse(CREATED, *lives(item)["plain"]), api="openai-responses")
    assert content(answer.content) == content(expected.content)
    assert_event_rules(answer)


def content(blocks: list[dict[str, Any]]) -> list[Any]:
    """Return what the blocks say, without the ids that the server made up."""
    return [
        {key: block.get(key) for key in ("text", "signature", "name", "arguments", "complete", "executor")}
        for block in blocks
    ]


@pytest.mark.parametrize("kind", ["message", "refusal", "reasoning", "encrypted"])
def test_an_item_with_an_empty_end_is_that_of_the_response(kind: str) -> None:
    item, blocks = ITEMS[kind]
    start = begun(item) | {"id": "a"}
    answer = decode(
        sse(CREATED, added(start), done(start), completed(item | {"id": "a"})), api="openai-responses"
    )
    assert [block["type"] for block in answer.content] == blocks
    assert content(answer.content) == content(decode(sse(completed(item)), api="openai-responses").content)
    assert_event_rules(answer)


def test_two_items_with_equal_content_at_two_indexes_are_two() -> None:
    item, _ = ITEMS["message"]
    events = [each for index in (0, 1) for each in (added(item | {"id": f"m{index}"}, index),)]
    ends = [done(item | {"id": f"m{index}"}, index) for index in (0, 1)]
    answer = decode(sse(CREATED, *events, *ends, completed()), api="openai-responses")
    assert [block["text"] for block in answer.content] == ["Hi", "Hi"]


def test_ends_of_an_item_that_never_began_add_nothing_if_they_are_empty() -> None:
    call = ITEMS["function"][0] | {"id": "fc_1"}
    empty = {"type": "message", "id": "msg_9", "role": "assistant", "content": []}
    events = [
        added(begun(call)),
        args('{"x":1}'),
        event("output_text.done", 1, item_id="msg_9", content_index=0, text=""),
        event(
            "content_part.done", 1, item_id="msg_9", content_index=0, part={"type": "output_text", "text": ""}
        ),
        done(empty, 1),
        done(call),
    ]
    answer = decode(sse(CREATED, *events, completed(call)), api="openai-responses")
    assert [(block["type"], block["arguments"]) for block in answer.content] == [("tool_call", {"x": 1})]


def test_fragments_that_name_no_item_belong_to_the_open_call() -> None:
    calls = [
        {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": "f", "arguments": ""}
        for n in (1, 2)
    ]
    events: list[Payload] = []
    for index, item in enumerate(calls):
        events += [
            added(item, index),
            *(event("function_call_arguments.delta", None, delta=d) for d in ('{"n":', f"{index}}}")),
        ]
    for ends in ([], [event("function_call_arguments.done", None, arguments='{"n":1}')]):
        answer = decode(sse(CREATED, *events, *ends, completed()), api="openai-responses")
        assert [block["arguments"] for block in answer.content] == [{"n": 0}, {"n": 1}]


@pytest.mark.parametrize("part_events", [True, False])
def test_a_refusal_needs_no_events_of_its_part(part_events: bool) -> None:  # noqa: FBT001
    item = {"type": "message", "id": "m", "role": "assistant", "content": []}
    part = event("content_part.added", item_id="m", content_index=0, part={"type": "refusal", "refusal": ""})
    deltas = [event("refusal.delta", item_id="m", content_index=0, delta=each) for each in ("I can", "not.")]
    events = [added(item), *([part] if part_events else []), *deltas]
    answer = decode(sse(CREATED, *events, completed()), api="openai-responses")
    assert [(block["type"], block["text"]) for block in answer.content] == [("refusal", "I cannot.")]
    assert answer.outcome["stop"]["reason"] == "refusal"


def test_keepalive_events_change_nothing() -> None:
    item, _ = ITEMS["message"]
    alive = {"type": "keepalive", "sequence_number": 3}
    answer = decode(
        sse(CREATED, alive, added(begun(item)), alive, done(item), alive, completed(item)),
        api="openai-responses",
    )
    assert [block["text"] for block in answer.content] == ["Hi"]
