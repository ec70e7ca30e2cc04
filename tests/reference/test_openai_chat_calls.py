"""Assignment of fragments to tool calls of Chat Completions, by index, id and name, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform_dev.fuzz.exchange import Answer, assert_event_rules, at
from streamconform_dev.fuzz.exchange import decode as decode_any

from .openai_chat_streams import STREAMS, call, calls, chunk, ends, frames, says, sse, thinks

Call = tuple[str | None, str, Any]


def decode(body: Any) -> Answer:
    return decode_any(body, api="openai-chat")


def made(answer: Answer) -> list[tuple[str, str, Any]]:
    blocks = [block for block in answer.content if block["type"] == "tool_call"]
    return [(block["id"], block["name"], block["arguments"]) for block in blocks]


@dataclass(frozen=True, slots=True)
class Case:
    """Entries, one chunk each or several in a tuple, and the resulting calls. An id of None means any id."""

    id: str
    entries: tuple[dict[str, Any] | tuple[dict[str, Any], ...], ...]
    calls: list[Call]


X, Y = {"x": 1}, {"y": 2}
CASES = [
    Case(
        "fragments", (call(id="a", name="f", args=""), call(args='{"x"'), call(args=":1}")), [("a", "f", X)]
    ),
    Case(
        "name-and-brace-in-one-delta",
        (call(id="a", name="f", args="{"), call(args='"x":1}')),
        [("a", "f", X)],
    ),
    Case(
        "a-new-id-in-every-fragment",
        (call(id="a", name="f", args=""), call(id="b", args='{"x":'), call(id="c", args="1}")),
        [("a", "f", X)],
    ),
    Case(
        "a-new-id-with-a-name-is-a-call",
        (call(id="a", name="f", args='{"x":1}'), call(id="b", name="g", args='{"y":2}')),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        "the-arguments-so-far-in-every-fragment",
        (call(id="a", name="f", args='{"x'), call(args='{"x":1'), call(args='{"x":1}')),
        [("a", "f", X)],
    ),
    Case(
        "a-fragment-that-repeats-the-one-before",
        (call(id="a", name="f", args='{"x":'), call(args='{"x":1}'), call(args="}")),
        [("a", "f", {"x": X})],
    ),
    Case(
        "interleaved",
        (
            call(id="a", name="f"),
            call(index=1, id="b", name="g"),
            call(args='{"x":'),
            call(index=1, args='{"y":'),
            call(args="1}"),
            call(index=1, args="2}"),
        ),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        "two-in-one-chunk",
        ((call(id="a", name="f", args='{"x":1}'), call(index=1, id="b", name="g", args='{"y":2}')),),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case("index-from-one", (call(index=1, id="a", name="f"), call(index=1, args='{"x":1}')), [("a", "f", X)]),
    Case(
        "index-with-gaps-and-out-of-order",
        (call(index=5, id="a", name="f", args='{"x":1}'), call(index=2, id="b", name="g", args='{"y":2}')),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        "one-index-two-ids",
        (call(id="a", name="f", args='{"x":1}'), call(id="b", name="g", args='{"y":'), call(args="2}")),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        "one-index-ids-alternate",
        (
            call(id="a", name="f"),
            call(id="b", name="g"),
            call(id="a", args='{"x":1}'),
            call(id="b", args='{"y":2}'),
        ),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        "one-index-no-ids-two-names",
        (call(name="f", args='{"x":1}'), call(name="g", args='{"y":2}')),
        [(None, "f", X), (None, "g", Y)],
    ),
    Case(
        "one-index-one-id-two-names",
        (call(id="a", name="f", args='{"x":1}'), call(id="a", name="g", args='{"y":2}')),
        [("a", "f", X), (None, "g", Y)],
    ),
    Case(
        "no-index-by-id",
        (
            call(index=None, id="a", name="f", args='{"x":'),
            call(index=None, id="b", name="g", args='{"y":2}'),
            call(index=None, id="a", args="1}"),
        ),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        "no-index-no-id",
        (
            call(index=None, name="f", args='{"x":'),
            call(index=None, args="1}"),
            call(index=None, name="g", args='{"y":2}'),
        ),
        [(None, "f", X), (None, "g", Y)],
    ),
    Case("index-null", (call(id="a", name="f", args='{"x":1}') | {"index": None},), [("a", "f", X)]),
    Case(
        "one-id-under-two-indexes-in-pieces",
        (
            call(id="a", name="f", args=""),
            call(index=1, id="a", name="f"),
            call(index=1, id="a", args='{"x":1}'),
        ),
        [("a", "f", X)],
    ),
    Case(
        "one-id-under-two-indexes-repeated",
        (
            call(id="a", name="f", args='{"x":1}'),
            call(index=1, id="a", name="f", args=""),
            call(index=1, args='{"x":1}'),
        ),
        [("a", "f", X)],
    ),
    Case(
        "two-calls-share-an-id",
        (call(id="a", name="f", args='{"x":1}'), call(index=1, id="a", name="f", args='{"x":2}')),
        [("a", "f", X), (None, "f", {"x": 2})],
    ),
    Case(
        "two-calls-share-an-id-in-pieces",
        (
            call(id="a", name="f", args=""),
            call(args='{"x":1}'),
            call(index=1, id="a", name="f", args=""),
            call(index=1, args='{"x":'),
            call(index=1, args="2}"),
        ),
        [("a", "f", X), (None, "f", {"x": 2})],
    ),
    Case(
        "two-names-share-an-id",
        (call(id="a", name="f", args='{"x":1}'), call(index=1, id="a", name="g", args='{"y":2}')),
        [("a", "f", X), (None, "g", Y)],
    ),
    Case(
        "same-name-and-arguments-twice",
        (call(id="a", name="f", args="{}"), call(index=1, id="b", name="f", args="{}")),
        [("a", "f", {}), ("b", "f", {})],
    ),
    Case("no-id", (call(name="f", args='{"x":'), call(args="1}")), [(None, "f", X)]),
    Case("empty-id", (call(id="", name="f", args='{"x":'), call(id="", args="1}")), [(None, "f", X)]),
    Case(
        "id-then-empty",
        (call(id="a", name="f", args='{"x":'), call(id="", name="", args="1}")),
        [("a", "f", X)],
    ),
    Case(
        "id-then-null",
        (
            call(id="a", name="f", args='{"x":'),
            {"index": 0, "id": None, "function": {"name": None, "arguments": "1}"}},
        ),
        [("a", "f", X)],
    ),
    Case("late-id", (call(name="f"), call(id="a", args='{"x":1}')), [("a", "f", X)]),
    Case("numeric-id", (call(id=123, name="f", args='{"x":1}'),), [("123", "f", X)]),
    Case(
        "id-in-function",
        ({"index": 0, "function": {"id": "a", "name": "f", "arguments": '{"x":1}'}},),
        [("a", "f", X)],
    ),
    Case("id-repeated", (call(id="a", name="f", args='{"x":'), call(id="a", args="1}")), [("a", "f", X)]),
    Case("name-repeated", (call(id="a", name="f", args=""), call(name="f", args='{"x":1}')), [("a", "f", X)]),
    Case(
        "name-in-pieces",
        (call(id="a", name="get_"), call(name="weather"), call(args='{"x":1}')),
        [("a", "get_weather", X)],
    ),
    Case("name-behind-arguments", (call(id="a", args='{"x":'), call(name="f", args="1}")), [("a", "f", X)]),
    Case(
        "one-index-twice-in-the-first-chunk",
        ((call(id="a", name="f", args=""), call(args='{"x":')), call(args="1}")),
        [("a", "f", X)],
    ),
    Case(
        "one-index-twice-for-each-of-two-calls",
        (
            (call(id="a", name="f", args='{"x"'), call(args=":1")),
            (call(args="}"), call(index=1, id="b", name="g", args='{"y"'), call(index=1, args=":2}")),
        ),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        "bare-fragments-of-both-calls",
        (
            call(id="a", name="f", args=""),
            call(index=None, args='{"x":'),
            call(index=None, args="1}"),
            call(index=1, id="b", name="g", args=""),
            call(index=None, args='{"y":2}'),
        ),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        "bare-fragments-from-the-second-on",
        (call(index=None, id="a", name="f", args='{"x"'), call(index=None, args=":1}")),
        [("a", "f", X)],
    ),
    Case(
        "bare-from-the-first", (call(index=None, args='{"x"'), call(index=None, args=":1}")), [(None, "", X)]
    ),
    Case(
        "id-name-and-type-are-null-later",
        (
            call(id="a", name="f", args="", type="function"),
            *(
                {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": each}}
                for each in ('{"x"', ":1}")
            ),
        ),
        [("a", "f", X)],
    ),
    Case("type-null", (call(id="a", name="f", args='{"x":1}', type=None),), [("a", "f", X)]),
    Case("arguments-absent", (call(id="a", name="f"),), [("a", "f", {})]),
    Case(
        "arguments-null",
        ({"index": 0, "id": "a", "function": {"name": "f", "arguments": None}},),
        [("a", "f", {})],
    ),
    Case("arguments-blank", (call(id="a", name="f", args=" "),), [("a", "f", {})]),
    Case("arguments-object", (call(id="a", name="f", args=X),), [("a", "f", X)]),
    Case(
        "arguments-object-behind-the-name", (call(id="a", name="f", args=""), call(args=X)), [("a", "f", X)]
    ),
    Case(
        "arguments-empty-object-then-text",
        (call(id="a", name="f", args={}), call(args='{"x":1}')),
        [("a", "f", X)],
    ),
    Case("arguments-number", (call(id="a", name="f", args=2),), [("a", "f", 2)]),
    Case(
        "arguments-twice",
        (call(id="a", name="f", args='{"x":1}'), call(id="a", args='{"x":1}')),
        [("a", "f", None)],
    ),
    Case("prefix-that-parses", (call(id="a", name="f", args="1"), call(args="23")), [("a", "f", 123)]),
    Case("nothing", ({"index": 0}, {}, call(index=1, args="")), []),
    Case(
        "function-null",
        (call(id="a", name="f", args='{"x":1}'), {"index": 0, "function": None}),
        [("a", "f", X)],
    ),
    Case("never-named", (call(id="a", args='{"x":1}'),), [("a", "", X)]),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_calls(case: Case) -> None:
    chunks = [calls(*entry) if isinstance(entry, tuple) else calls(entry) for entry in case.entries]
    answer = decode(sse(*chunks, ends("tool_calls")))
    found = made(answer)
    assert [(name, args) for _, name, args in found] == [(name, args) for _, name, args in case.calls]
    for (got, _, _), (want, _, _) in zip(found, case.calls, strict=True):
        assert want in (None, got)
        assert got
    assert answer.outcome["status"] == "complete"
    assert all(block["complete"] and block["executor"] == "client" for block in answer.content)
    assert_event_rules(answer)


def test_the_start_has_the_final_id_and_name_and_arrives_with_the_first_fragment() -> None:
    first = frames(calls(call(name="get_")), calls(call(name="weather", id="a")), calls(call(args="{")))
    answer = decode([first])
    assert answer.events[:2] == [
        {"type": "toolcall_start", "content_index": 0, "id": "a", "name": "get_weather"},
        {"type": "toolcall_delta", "content_index": 0, "delta": "{"},
    ]


def test_a_call_keeps_the_position_of_its_first_fragment() -> None:
    body = sse(calls(call(id="a")), says("b"), calls(call(name="f", args="{}")), ends("tool_calls"))
    assert [block["type"] for block in decode(body).content] == ["tool_call", "text"]


def test_a_call_without_an_id_has_the_same_one_in_start_and_end() -> None:
    answer = decode(sse(thinks("hm"), calls(call(name="f", args="{}")), ends("tool_calls")))
    (start,) = [event for event in answer.events if event["type"] == "toolcall_start"]
    (end,) = [event for event in answer.events if event["type"] == "toolcall_end"]
    assert start["id"] == end["tool_call"]["id"] == answer.content[1]["id"]


def test_the_legacy_function_call_is_a_call() -> None:
    pieces = [{"name": "f", "arguments": ""}, {"arguments": '{"x":'}, {"arguments": "1}"}]
    answer = decode(sse(*(chunk({"function_call": piece}) for piece in pieces), ends("function_call")))
    assert [(name, args) for _, name, args in made(answer)] == [("f", X)]
    assert at(answer.outcome, "stop") == {"reason": "tool_use", "raw": "function_call"}


def test_a_call_in_the_chunk_with_the_reason_is_whole() -> None:
    answer = decode(sse(calls(call(id="a", name="f", args='{"x":1}'), finish="tool_calls")))
    assert made(answer) == [("a", "f", X)]
    assert answer.content[0]["complete"]


def test_a_call_ends_at_the_reason_and_not_before() -> None:
    body = frames(calls(call(id="a", name="f", args="{}")))
    assert decode(body).content[0]["complete"] is False
    assert decode(body + frames(ends("tool_calls"))).content[0]["complete"] is True


def test_a_stop_between_the_fragments_of_calls_ends_none_of_them() -> None:
    pieces = (
        call(id="a", name="f", args=""),
        call(args='{"x"'),
        call(args=":1}"),
        call(index=1, id="b", name="g"),
    )
    answer = decode(sse(*(each for piece in pieces for each in (calls(piece), ends("stop")))))
    assert made(answer) == [("a", "f", X), ("b", "g", {})]
    assert all(block["complete"] for block in answer.content)
    assert_event_rules(answer)


@pytest.mark.parametrize("text", ["", " ", '{"x": "par', None])
@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_the_last_call_of_a_truncated_answer_is_not_complete(text: str | None, reason: str) -> None:
    first, last = call(id="a", name="f", args="{}"), call(index=1, id="b", name="g", args=text)
    answer = decode(sse(calls(first), calls(last), ends(reason)))
    assert [block["complete"] for block in answer.content] == [True, False]
    assert_event_rules(answer)


def test_a_malformed_call_is_complete_without_arguments() -> None:
    answer = decode(STREAMS["malformed-call"])
    (block,) = answer.content
    assert (block["complete"], block["arguments"]) == (True, None)
    assert block["arguments_text"] == '{"x": INVALID}'
    assert answer.types()[-2:] == ["toolcall_end", "done"]


def test_calls_after_an_intermediate_reason_are_new_and_end_with_the_next_one() -> None:
    first = (calls(call(name="f", args="{}")), ends("tool_calls"), calls(call(name="f", args='{"x":1}')))
    assert [(b["arguments"], b["complete"]) for b in decode(sse(*first, ends())).content] == [
        ({}, True),
        (X, True),
    ]
    assert [b["complete"] for b in decode(sse(*first)).content] == [True, False]


ENTRIES = st.builds(
    call,
    index=st.sampled_from([None, 0, 0, 1, 2]),
    id=st.sampled_from([None, "", "a", "b", 7]),
    name=st.sampled_from([None, "", "f", "g"]),
    args=st.sampled_from([None, "", " ", "{", "}", '{"x":1}', "1", {}, {"x": 1}, [1], 2, True]),
)


@given(
    entries=st.lists(st.lists(ENTRIES, max_size=2), max_size=6),
    reason=st.sampled_from([None, "tool_calls", "stop", "length"]),
)
def test_any_disorder_keeps_the_rules(entries: list[list[dict[str, Any]]], reason: str | None) -> None:
    payloads = [calls(*some) for some in entries]
    answer = decode(sse(*payloads, *([ends(reason)] if reason else [])))
    assert_event_rules(answer)
    assert (answer.outcome["status"] == "complete") is (reason is not None)


@given(
    texts=st.lists(
        st.dictionaries(st.text(max_size=3), st.text(max_size=5), max_size=2), min_size=1, max_size=4
    ),
    seed=st.randoms(use_true_random=False),
)
def test_any_interleaving_of_well_indexed_calls_is_exact(texts: list[dict[str, str]], seed: Any) -> None:
    import json

    queues = []
    for index, value in enumerate(texts):
        text = json.dumps(value)
        cut = seed.randint(0, len(text))
        queues.append(
            [
                call(index=index, id=f"id{index}", name=f"f{index}", args=""),
                call(index=index, args=text[:cut]),
                call(index=index, args=text[cut:]),
            ]
        )
    entries = [queue.pop(0) for queue in queues]
    while any(queues):
        entries.append(seed.choice([queue for queue in queues if queue]).pop(0))
    answer = decode(sse(*(calls(entry) for entry in entries), ends("tool_calls")))
    assert made(answer) == [(f"id{i}", f"f{i}", value) for i, value in enumerate(texts)]


def test_half_a_surrogate_pair_in_repeated_arguments_is_tolerated() -> None:
    fragments = (call(id="a", name="f", args='{"x":"HIGH'), call(args='{"x":"HIGH."}'))
    body = sse(*(calls(fragment) for fragment in fragments), ends("tool_calls"))
    (made_call,) = made(decode(body.replace(b"HIGH", rb"\ud83d")))
    assert made_call[:2] == ("a", "f")
