"""Typed decoding accepts exactly what the published schemas accept."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform.judge import decode
from streamconform.model import event as ev
from streamconform.model import outcome as oc
from streamconform.model.event import BLOCK_EVENTS
from streamconform.model.outcome import REASONS, Cost, Usage
from streamconform.schemas import build_validator

OUTCOMES = build_validator("outcome.v1")
EVENTS = build_validator("event.v1")

texts = st.none() | st.text(max_size=5)
flags = st.none() | st.booleans()
counts = st.none() | st.integers(0, 2**70) | st.sampled_from((0.0, 5.0, 1e300))
money = st.none() | st.from_regex(r"\A-?[0-9]{1,15}(\.[0-9]{1,30})?\Z")
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def optional(**fields):
    return st.fixed_dictionaries({}, optional=fields)


def with_type(type_, required=None, /, **fields):
    return st.fixed_dictionaries({"type": st.just(type_)} | (required or {}), optional=fields)


calls = {
    "id": texts,
    "name": texts,
    "arguments": anything,
    "arguments_text": texts,
    "complete": flags,
    "executor": st.sampled_from((None, "client", "provider")),
}
thoughts = {"text": texts, "signature": texts, "redacted": flags}
blocks = st.one_of(
    with_type("text", {"text": st.text(max_size=5)}),
    with_type("refusal", {"text": st.text(max_size=5)}),
    with_type("thinking", **thoughts),
    with_type("tool_call", **calls),
    with_type("other", kind=texts, data=anything),
)
stops = st.none() | optional(reason=st.sampled_from((None, *REASONS)), raw=texts)
usages = st.none() | optional(**dict.fromkeys(Usage.__slots__, counts))
costs = st.none() | optional(
    **(dict.fromkeys(Cost.__slots__, money) | {"currency": st.sampled_from(("USD", None))})
)
errors = st.none() | optional(type=texts, message=texts, status=counts)
outcomes = st.fixed_dictionaries(
    {
        "status": st.sampled_from(("complete", "incomplete", "error")),
        "content": st.lists(blocks, max_size=3),
    },
    optional={
        "stop": stops,
        "usage": usages,
        "cost": costs,
        "error": errors,
        "model": texts,
        "response_id": texts,
        "extra": anything,
    },
)
at = {"content_index": st.integers(0, 9) | st.just(3.0)}
written = st.text(max_size=5)
events = st.one_of(
    *(with_type(f"{kind}_start", at) for kind in ("text", "thinking", "refusal")),
    with_type("toolcall_start", at, id=texts, name=texts),
    *(with_type(f"{k}_delta", at | {"delta": written}) for k in ("text", "thinking", "refusal", "toolcall")),
    *(with_type(f"{kind}_end", at | {"text": written}) for kind in ("text", "refusal")),
    with_type("thinking_end", at, **thoughts),
    with_type("toolcall_end", at | {"tool_call": optional(type=st.just("tool_call"), **calls)}),
    with_type("usage", usage=usages, cost=costs),
    with_type("done", stop=stops),
    with_type("error", {"status": st.sampled_from(("incomplete", "error"))}, error=errors),
)
WRONG = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1.5,
    -0.0,
    float("1e999"),
    2**100,
    "",
    "x",
    "stop",
    "1\n",
    "1e5",
    "٣",
    ".5",
    [],
    {},
    [[]],
    {"type": "text"},
)


def places(value, so_far=()):
    """Return the paths of all values inside `value`."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [so_far, *(path for name, child in children for path in places(child, (*so_far, name)))]


@st.composite
def mutated(draw, valid):
    """Return a valid value with one of its parts removed or replaced."""
    value = copy.deepcopy(draw(valid))
    *way, last = draw(st.sampled_from([path for path in places(value) if path]))
    parent = value
    for step in way:
        parent = parent[step]
    if draw(st.booleans()) and isinstance(parent, dict):
        del parent[last]
    else:
        parent[last] = draw(st.sampled_from(WRONG) | anything)
    return value


def accepted(reader, value):
    try:
        reader(value)
    except decode.MalformedError:
        return False
    return True


@given(outcomes)
def test_every_outcome_that_fits_the_schema_is_read(value):
    assert OUTCOMES.is_valid(value)
    decode.decode_outcome(value)


@given(mutated(outcomes))
def test_an_outcome_is_read_just_when_it_fits_the_schema(value):
    assert accepted(decode.decode_outcome, value) == OUTCOMES.is_valid(value)


@given(events)
def test_every_event_that_fits_the_schema_is_read(value):
    assert EVENTS.is_valid(value)
    decode.decode_event(value)


@given(mutated(events))
def test_an_event_is_read_just_when_it_fits_the_schema(value):
    assert accepted(decode.decode_event, value) == EVENTS.is_valid(value)


@pytest.mark.parametrize("field", ["status", "content", "stop", "usage", "cost", "error", "model"])
def test_anything_in_a_field_is_read_just_when_it_fits_the_schema(field):
    for value in WRONG:
        whole = {"status": "complete", "content": []} | {field: value}
        assert accepted(decode.decode_outcome, whole) == OUTCOMES.is_valid(whole), value


@pytest.mark.parametrize("name", [*BLOCK_EVENTS, "usage", "done", "error", "", None, 1])
def test_anything_as_an_index_is_read_just_when_it_fits_the_schema(name):
    for value in WRONG:
        rest = {"delta": "x", "text": "x", "tool_call": {}, "status": "error"}
        whole = {"type": name, "content_index": value} | rest
        assert accepted(decode.decode_event, whole) == EVENTS.is_valid(whole), value


def test_anything_at_the_top_is_read_just_when_it_fits_the_schema():
    for value in WRONG:
        assert accepted(decode.decode_outcome, value) == OUTCOMES.is_valid(value), value
        assert accepted(decode.decode_event, value) == EVENTS.is_valid(value), value
        assert accepted(decode.decode_block, value) == build_validator("outcome.v1", "block").is_valid(
            value
        ), value


def test_deep_arguments_are_not_walked():
    """The size of Python's stack must not decide whether a value is malformed."""
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    call = {"type": "tool_call", "arguments": deep}
    assert decode.decode_outcome({"status": "complete", "content": [call]}).content[0].arguments is deep


def test_an_omitted_field_is_null():
    stated = {
        "status": "complete",
        "content": [{"type": "thinking"}, {"type": "tool_call", "executor": None}],
    }
    nulls = stated | dict.fromkeys(("stop", "usage", "cost", "error", "model", "response_id"))
    assert decode.decode_outcome(stated) == decode.decode_outcome(nulls)


def test_an_outcome_without_a_stop_reason_and_usage_has_empty_ones():
    assert decode.decode_outcome({"status": "complete", "content": []}) == oc.Outcome(
        status="complete",
        content=(),
        absent=frozenset(
            {"model", "response_id", "continuation", "stop.raw", "stop.sequence", "stop.details"}
        ),
    )


@pytest.mark.parametrize("kind", [["text"], {"text": 1}, None, "image"], ids=str)
def test_a_block_of_no_known_type_is_malformed(kind):
    with pytest.raises(decode.MalformedError):
        decode.decode_block({"type": kind, "text": "Hi"})


@pytest.mark.parametrize("currency", ["EUR", "usd", "", 1], ids=str)
def test_a_cost_in_another_currency_is_malformed(currency):
    with pytest.raises(decode.MalformedError):
        decode.decode_outcome({"status": "complete", "content": [], "cost": {"currency": currency}})


CITATION = {
    "source": "https://example.org",
    "title": "T",
    "quote": "q",
    "start": 0,
    "end": 2,
    "data": {"x": 1},
}
CALL = {
    "type": "tool_call",
    "id": "toolu_1",
    "name": "f",
    "arguments": {"a": 1},
    "arguments_text": '{"a":1}',
    "complete": True,
    "executor": "provider",
    "signature": "s3",
}
DECODED_CALL = oc.ToolCall(
    id="toolu_1",
    name="f",
    arguments={"a": 1},
    arguments_text='{"a":1}',
    complete=True,
    executor="provider",
    signature="s3",
)
DECODED_BLOCKS = [
    (
        {"type": "text", "text": "a", "phase": "commentary", "signature": "s1", "citations": [CITATION]},
        oc.Text("a", "commentary", "s1", (CITATION,)),
    ),
    ({"type": "text", "text": "a", "citations": None}, oc.Text("a")),
    ({"type": "refusal", "text": "no"}, oc.Refusal("no")),
    (
        {"type": "thinking", "text": "t", "signature": "s2", "redacted": True},
        oc.Thinking("t", "s2", redacted=True),
    ),
    ({"type": "thinking", "text": None, "redacted": None}, oc.Thinking()),
    (CALL, DECODED_CALL),
    (
        CALL | {"executor": None, "complete": False},
        replace(DECODED_CALL, executor="client", complete=False),
    ),
    ({"type": "other", "kind": "image", "data": [1]}, oc.Other("image", [1])),
]


@pytest.mark.parametrize(("value", "expected"), DECODED_BLOCKS, ids=lambda each: str(each)[:40])
def test_every_field_of_a_block_is_decoded(value, expected):
    assert decode.decode_block(value) == expected


OPTIONAL_BLOCK_KEYS = {
    "text": {"phase", "signature", "citations", "echo"},
    "thinking": {"signature", "redacted", "echo"},
    "tool_call": {"id", "arguments_text", "complete", "signature", "echo"},
}
"""The keys of each block that a library may not expose; the others are always judged."""


@pytest.mark.parametrize("value", [row for row, _ in DECODED_BLOCKS], ids=lambda each: str(each)[:40])
def test_a_block_lists_the_optional_keys_that_are_left_out(value):
    optional = OPTIONAL_BLOCK_KEYS.get(value["type"], set())
    assert getattr(decode.decode_block(value), "absent", set()) == optional - value.keys()
    required = {key: part for key, part in value.items() if key not in optional}
    assert getattr(decode.decode_block(required), "absent", set()) == optional


USAGE = {name: n for n, name in enumerate(Usage.__slots__)}
COST = {name: f"0.{n}" for n, name in enumerate(Cost.__slots__) if name != "currency"}
STOP = {"reason": "length", "raw": "max_tokens", "sequence": "END", "details": {"x": 1}}
ERROR = {"type": "overloaded_error", "message": "Overloaded", "status": 529}
IDS = {"model": "m", "response_id": "r", "continuation": "c", "echo": {"container": "d"}}
WHOLE = {
    "status": "error",
    "content": [CALL],
    "stop": STOP,
    "usage": USAGE,
    "cost": COST,
    "error": ERROR,
} | IDS


def test_every_field_of_an_outcome_is_decoded():
    assert decode.decode_outcome(WHOLE) == oc.Outcome(
        status="error",
        content=(DECODED_CALL,),
        stop=oc.Stop("length", "max_tokens", "END", {"x": 1}),
        usage=Usage(**USAGE),
        cost=Cost(**COST),
        error=oc.Error("overloaded_error", "Overloaded", 529),
        **IDS,
    )
    assert decode.decode_outcome(WHOLE).absent == frozenset()


ABSENT_PATHS = [
    ("model", {"model"}),
    ("response_id", {"response_id"}),
    ("continuation", {"continuation"}),
    ("echo", {"echo"}),
    ("stop", {"stop.reason", "stop.raw", "stop.sequence", "stop.details"}),
    ("stop.raw", {"stop.raw"}),
    ("stop.sequence", {"stop.sequence"}),
    ("stop.details", {"stop.details"}),
    ("stop.reason", set()),  # an adapter that reports `stop` reports the reason
    ("error.type", {"error.type"}),
    ("error.status", {"error.status"}),
    ("error.message", set()),  # an adapter that claims `errors` reports it
    *((f"usage.{name}", {f"usage.{name}"}) for name in USAGE),
    *((f"cost.{name}", {f"cost.{name}"}) for name in COST),
    # A claimed group that is missing reports nothing, so its paths are judged as null.
    *((name, set()) for name in ("usage", "cost", "error", "status")),
]


@pytest.mark.parametrize(("path", "absent"), ABSENT_PATHS, ids=[path for path, _ in ABSENT_PATHS])
def test_an_outcome_lists_the_optional_paths_that_are_left_out(path, absent):
    value = copy.deepcopy(WHOLE)
    group, _, name = path.partition(".")
    if name:
        del value[group][name]
    elif path != "status":
        del value[group]
    assert decode.decode_outcome(value).absent == absent


@pytest.mark.parametrize("group", ["usage", "cost", "error"])
@pytest.mark.parametrize("empty", [None, {}, {"input": None}], ids=str)
def test_a_group_without_a_value_leaves_nothing_out(group, empty):
    assert decode.decode_outcome(WHOLE | {group: empty}).absent == frozenset()


@pytest.mark.parametrize("empty", [None, {}], ids=str)
def test_a_stop_without_keys_exposes_only_the_reason(empty):
    absent = decode.decode_outcome(WHOLE | {"stop": empty}).absent
    assert absent == {"stop.raw", "stop.sequence", "stop.details"}


DECODED_EVENTS = [
    *(
        ({"type": f"{type_}_start", "content_index": 2}, ev.BlockStart(type_, 2))
        for type_ in ("text", "thinking", "refusal")
    ),
    (
        {"type": "text_start", "content_index": 0, "id": "i", "name": "n"},
        ev.BlockStart("text", 0),
    ),
    (
        {"type": "toolcall_start", "content_index": 1, "id": "i", "name": "n"},
        ev.BlockStart("tool_call", 1, "i", "n"),
    ),
    *(
        ({"type": f"{name}_delta", "content_index": 3.0, "delta": "d"}, ev.BlockDelta(type_, 3, "d"))
        for name, type_ in (("text", "text"), ("thinking", "thinking"), ("toolcall", "tool_call"))
    ),
    ({"type": "text_end", "content_index": 0, "text": "a"}, ev.BlockEnd("text", 0, oc.Text("a"))),
    ({"type": "refusal_end", "content_index": 0, "text": "a"}, ev.BlockEnd("refusal", 0, oc.Refusal("a"))),
    (
        {"type": "thinking_end", "content_index": 0, "text": "a", "signature": "s"},
        ev.BlockEnd("thinking", 0, oc.Thinking("a", "s")),
    ),
    (
        {"type": "toolcall_end", "content_index": 1, "tool_call": CALL},
        ev.BlockEnd("tool_call", 1, DECODED_CALL),
    ),
    (
        {"type": "toolcall_end", "content_index": 1, "tool_call": {"name": "f"}},
        ev.BlockEnd("tool_call", 1, oc.ToolCall(name="f")),
    ),
    ({"type": "usage", "usage": USAGE, "cost": COST}, ev.UsageReport(Usage(**USAGE), Cost(**COST))),
    ({"type": "usage"}, ev.UsageReport(Usage(), None)),
    ({"type": "done", "stop": STOP}, ev.Done(oc.Stop("length", "max_tokens", "END", {"x": 1}))),
    ({"type": "done"}, ev.Done(oc.Stop())),
    (
        {"type": "error", "status": "error", "error": ERROR},
        ev.Failed("error", oc.Error("overloaded_error", "Overloaded", 529)),
    ),
    ({"type": "error", "status": "incomplete"}, ev.Failed("incomplete", None)),
]


@pytest.mark.parametrize(("value", "expected"), DECODED_EVENTS, ids=lambda each: str(each)[:60])
def test_every_field_of_an_event_is_decoded(value, expected):
    assert decode.decode_event(value) == expected


def test_events_are_decoded_in_order():
    values = [value for value, _ in DECODED_EVENTS]
    assert decode.decode_events(values) == tuple(expected for _, expected in DECODED_EVENTS)


@pytest.mark.parametrize("value", [None, {}, "text", (), [None], [{"type": "end"}]], ids=str)
def test_anything_but_a_list_of_events_is_malformed(value):
    with pytest.raises(decode.MalformedError):
        decode.decode_events(value)


CITATION_FIELDS = ("source", "title", "quote", "start", "end", "data")
CITING = build_validator("outcome.v1", "block")


@pytest.mark.parametrize("field", CITATION_FIELDS)
def test_a_citation_is_accepted_exactly_if_it_fits_the_schema(field):
    for value in WRONG:
        block = {"type": "text", "text": "a", "citations": [{field: value}]}
        assert accepted(decode.decode_block, block) == CITING.is_valid(block), value


@pytest.mark.parametrize("field", ["phase", "signature", "citations", "text"])
def test_any_field_of_a_text_is_accepted_exactly_if_it_fits_the_schema(field):
    for value in WRONG:
        block = {"type": "text", "text": "a"} | {field: value}
        assert accepted(decode.decode_block, block) == CITING.is_valid(block), value
