"""Typed decoding accepts exactly what the published schemas accept."""

from __future__ import annotations

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streamconform.judge import decode
from streamconform.model.event import BLOCK_EVENTS
from streamconform.model.outcome import REASONS, Cost, Usage
from streamconform.schemas import build_validator

OUTCOMES = build_validator("outcome.v1")
EVENTS = build_validator("event.v1")
EXAMPLES = settings(
    max_examples=150, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)

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
    """Return the paths of everything inside `value`."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [so_far, *(path for name, child in children for path in places(child, (*so_far, name)))]


@st.composite
def mutated(draw, valid):
    """Return a valid value with one place dropped or holding something else."""
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


@EXAMPLES
@given(outcomes)
def test_every_outcome_that_fits_the_schema_is_read(value):
    assert OUTCOMES.is_valid(value)
    decode.decode_outcome(value)


@EXAMPLES
@given(mutated(outcomes))
def test_an_outcome_is_read_just_when_it_fits_the_schema(value):
    assert accepted(decode.decode_outcome, value) == OUTCOMES.is_valid(value)


@EXAMPLES
@given(events)
def test_every_event_that_fits_the_schema_is_read(value):
    assert EVENTS.is_valid(value)
    decode.decode_event(value)


@EXAMPLES
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
    """Python's stack must not decide what is malformed."""
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    call = {"type": "tool_call", "arguments": deep}
    assert decode.decode_outcome({"status": "complete", "content": [call]}).content[0].arguments is deep


def test_an_omitted_field_is_null():
    said = {"status": "complete", "content": [{"type": "thinking"}, {"type": "tool_call", "executor": None}]}
    nulls = said | dict.fromkeys(("stop", "usage", "cost", "error", "model", "response_id"))
    assert decode.decode_outcome(said) == decode.decode_outcome(nulls)
