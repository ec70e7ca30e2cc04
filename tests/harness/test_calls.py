"""Cases without bytes have one trial and one check each, only for adapters that have the function."""

from __future__ import annotations

import asyncio
import json
import re
import sys

import pytest

from streamconform.adapters import protocol
from streamconform.adapters.connect import Connection
from streamconform.adapters.interface import Errored, Greeting, Observation, Output, Skipped
from streamconform.adapters.program import Program
from streamconform.errors import SourceError
from streamconform.judge.judge import explain_unclaimed, judge
from streamconform.known_failures.context import get_checked_paths
from streamconform.model.capability import CAPABILITIES, OF_STREAMS
from streamconform.model.leaf import AnyOf, Literally
from streamconform.model.trial import DELIVERIES, Call
from streamconform.run.plan import explain_skip
from streamconform.schemas import find_problems
from streamconform.suite.expand import expand
from streamconform.suite.lint import lint_all
from streamconform.suite.load import Sources, load
from streamconform.suite.select import find_id, matches, parse_shard, select_apis

from . import builders

GOOD = """\
spec: 1
kind: partial
topic: partial
cases:
  - id: open-brace
    title: An object that has only begun
    input: "{"
    level: should
    why: It is an object
    tags: [object]
    sources: [https://docs.example.org]
    guards: [a/b#1]
    expect: {output: {}}
  - id: number
    title: Digits at the end
    input: '{"a":1'
    tags: [number]
    sources: [https://docs.example.org]
    expect: {any_of: [{a: 1}, {}], why: it may go on}
    level: should
"""
THREADS = """\
threads: 1
entries:
  a/b#1: {says: The object is lost., kinds: [k], paths: [function], read: 2026-11-22}
"""
KINDS = """\
kinds: 1
groups: {functions: Functions}
entries:
  k: {group: functions, title: Loses an object, paths: []}
apis: {}
"""


@pytest.fixture
def sources(tmp_path):
    made = Sources(tmp_path / "specs", tmp_path / "cassettes")
    (made.specs / "common").mkdir(parents=True)
    made.cassettes.mkdir()
    return made


def write(sources, text, name="common/partial.yaml"):
    path = sources.specs / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


def verdict(call, answer):
    found = judge(call, answer, CAPABILITIES, lambda _: None)
    return found.verdict, found.culprit


def test_a_case_without_bytes_has_the_common_fields(sources):
    write(sources, GOOD)
    write(sources, THREADS, "threads.yaml")
    write(sources, KINDS, "kinds.yaml")
    one, other = load(sources)
    assert (one.id, one.api, one.kind, one.input) == ("common/partial/open-brace", None, "partial", "{")
    assert (one.level, one.why, one.guards, one.line) == ("should", "It is an object", ("a/b#1",), 5)
    assert one.expect == Literally({})
    assert other.expect == AnyOf(({"a": 1}, {}), "it may go on")
    assert lint_all(sources, strict=True) == (2, [])


@pytest.mark.parametrize(
    ("before", "after", "line", "says"),
    [
        ("kind: partial", "kind: partial\napi: openai-chat", 3, "unknown key `api`"),
        ('input: "{"', "input: {}", 7, "is not a string"),
        ('    input: "{"\n', "", 5, "key `input` is missing"),
        ("{output: {}}", "{output: {}, why: so}", 13, "unknown key `why`"),
        (", why: it may go on", "", 19, "key `why` is missing"),
        ("any_of: [{a: 1}, {}]", "any_of: [{}]", 19, "too short"),
        ("level: should", "cassette: small", 8, "unknown key `cassette`"),
        ("kind: partial", "kind: dialogue", 2, "is not one of `stream`, `document`, `heal`, `partial`"),
        ("id: number", "id: open-brace", 14, "duplicate case"),
    ],
)
def test_a_mistake_is_reported_at_its_line(sources, before, after, line, says):
    assert before in GOOD
    write(sources, GOOD.replace(before, after))
    with pytest.raises(SourceError) as raised:
        load(sources)
    assert any(problem.line == line and says in problem.message for problem in raised.value.problems), (
        raised.value
    )


def test_its_spec_must_be_in_the_common_folder(sources):
    write(sources, GOOD, "openai-chat/partial.yaml")
    with pytest.raises(SourceError, match="move the file from `openai-chat` to `common`"):
        load(sources)


def test_it_is_one_trial_in_every_delivery():
    case = builders.call().case
    for deliveries, faults in (((), "none"), (DELIVERIES, "all")):
        (only,) = expand([case], deliveries, "http", 3, faults)
        assert only == Call(case)
        assert (only.id, only.delivery, only.level) == (case.id, None, "must")


@pytest.mark.parametrize(
    ("pattern", "means"),
    [("common/**", True), ("**", True), ("small", True), ("common/partial/small", True)]
    + [(word, False) for word in ("common/partial/small@*", "**@whole", "common/heal/**", "small@")],
)
def test_patterns_mean_it_without_a_delivery(pattern, means):
    assert matches(pattern, builders.call().id) == means


def test_call_cases_are_selected_separately_from_apis():
    call, stream = builders.call().case, builders.case()
    ids = (stream.id, call.id)
    assert find_id("partial/small", ids) == call.id
    assert select_apis(ids, [stream.api]) == (stream.id,)
    assert sum(parse_shard(f"{k}/3").includes(call.id) for k in (1, 2, 3)) == 1


@pytest.mark.parametrize(
    ("expect", "got", "holds"),
    [
        (Literally({"a": 1}), {"a": 1.0}, True),
        (Literally({"a": 1}), {"a": True}, False),
        (Literally({"a": 1}), {"a": 1, "b": 2}, False),
        (Literally(None), None, True),
        (AnyOf(({}, None), "either"), None, True),
        (AnyOf(({}, {"a": [1]}), "either"), {"a": [1]}, True),
        (AnyOf(({}, {"a": [1]}), "either"), {"a": []}, False),
    ],
)
def test_the_output_is_compared_as_a_json_value(expect, got, holds):
    found = judge(builders.call(expect=expect), Output(got), CAPABILITIES, lambda _: None)
    assert (found.verdict, found.passed) == (("pass", 1) if holds else ("fail", 0))
    assert [check.path for check in found.checks] == ([] if holds else ["output"])


def test_an_integer_that_not_every_language_holds_is_no_must():
    assert verdict(builders.call(expect=Literally({"id": 2**53 + 1})), Output({"id": 2**53})) == (
        "warn",
        "implementation",
    )
    assert verdict(builders.call(level="may"), Output(1)) == ("pass", "implementation")


def test_an_answer_of_the_other_kind_is_the_adapters_fault():
    assert verdict(builders.call(), Observation({})) == ("faulted", "adapter")
    assert verdict(builders.trial(), Output({})) == ("faulted", "adapter")
    assert verdict(builders.call(), Skipped("no")) == ("fail", "adapter")
    assert verdict(builders.call(), Errored("oops")) == ("faulted", "adapter")


def test_functions_are_never_claimed_by_silence():
    call, heal = builders.call().case, builders.call(kind="heal").case
    assert Greeting(name="x").claims(None) == OF_STREAMS
    assert explain_skip(call, Greeting(name="x")) == "partial_json is not claimed"
    named = Greeting(name="x", apis=frozenset(), capabilities=frozenset({"partial_json"}))
    assert explain_skip(call, named) is None
    assert explain_skip(heal, named) == "heal is not claimed"
    by_api = Greeting(name="x", capabilities={"a": frozenset({"usage"}), "b": frozenset({"heal"})})
    assert explain_skip(heal, by_api) is None
    assert explain_unclaimed(call, CAPABILITIES) is None


def test_known_failures_can_name_its_one_check():
    assert get_checked_paths(builders.call(), CAPABILITIES).certain == {"output"}


def test_the_message_matches_the_protocol_and_does_not_reveal_the_expectation():
    call = builders.call(expect=Literally({"secret": 1}))
    line = protocol.encode_request("7", call, events=True)
    message = json.loads(line)
    assert message == {"op": "call", "id": "7", "function": "partial", "api": None, "input": "{"}
    assert find_problems("protocol.v1", message, "call") == ()


ADAPTERS = """\
def streams_only(run):
    return {"status": "complete", "content": []}

def both(run):
    return {"status": "complete", "content": []}

both.heal = lambda api, given: {"api": api, "given": given}

async def partial(api, given):
    return {"async": given}

both.partial = partial

def picky(run):
    return None

picky.capabilities = ["usage", "heal", "partial_json"]
picky.partial = lambda api, given: 1 / 0

def by_api(run):
    return None

by_api.capabilities = {"openai-chat": ["usage", "heal"]}

def wild(run):
    return None

wild.partial = lambda api, given: float("nan")
"""


def hosted(folder, monkeypatch, name, *calls):
    """Return an adapter's greeting and answers."""
    (folder / "mine.py").write_text(ADAPTERS, "utf-8")
    monkeypatch.chdir(folder)
    connection = Connection(
        "python:mine", (sys.executable, "-m", "streamconform.adapters.host", f"mine:{name}")
    )

    async def run_program():
        program = Program(connection)
        try:
            greeting = await program.start()
            return greeting, [await program.run(call, 20.0, events=False) for call in calls]
        finally:
            await program.stop()

    return asyncio.run(run_program())


def test_an_adapter_has_the_functions_that_are_its_attributes(tmp_path, monkeypatch):
    heal, partial = builders.call([1], kind="heal"), builders.call("{")
    greeting, answers = hosted(tmp_path, monkeypatch, "both", heal, partial, builders.trial())
    assert greeting.capabilities == OF_STREAMS | {"heal", "partial_json"}
    assert answers[:2] == [Output({"api": None, "given": [1]}), Output({"async": "{"})]
    assert isinstance(answers[2], Observation)


def test_an_adapter_without_capabilities_and_functions_claims_all_of_streams(tmp_path, monkeypatch):
    greeting, _ = hosted(tmp_path, monkeypatch, "streams_only")
    assert greeting.capabilities is None
    assert greeting.claims(None) == OF_STREAMS


def test_a_capability_without_its_function_is_not_claimed(tmp_path, monkeypatch):
    assert hosted(tmp_path, monkeypatch, "picky")[0].capabilities == {"usage", "partial_json"}
    assert hosted(tmp_path, monkeypatch, "by_api")[0].capabilities == {"openai-chat": {"usage"}}


def test_a_function_that_raises_is_the_adapters_fault(tmp_path, monkeypatch):
    _, (answer, skipped) = hosted(tmp_path, monkeypatch, "picky", builders.call(), builders.call(kind="heal"))
    assert isinstance(answer, Errored)
    assert answer.message == "ZeroDivisionError: division by zero"
    assert skipped == Skipped("the adapter has no function `heal`")


def test_an_output_that_json_does_not_have_is_the_failure_of_the_library(tmp_path, monkeypatch):
    _, (answer,) = hosted(tmp_path, monkeypatch, "wild", builders.call())
    assert answer == Output("NaN")
    assert verdict(builders.call(), answer) == ("fail", "implementation")


COUNTS = """\
spec: 1
kind: tokens
topic: tokens
cases:
  - id: longer-text
    title: Longer text counts more
    input: [{messages: [a]}, {messages: [a, b]}, {messages: [a, b, c]}]
    tags: [count_tokens]
    evidence: [json-text]
    expect: {counts: ORDER}
"""


@pytest.mark.parametrize(
    ("order", "counts", "message"),
    [
        ("equal", [3, 3, 3], None),
        ("equal", [3, 3, 4], "input 2 has 4 tokens, but input 1, which must have the same number, has 3"),
        ("equal", [3, 2, 2], "input 1 has 2 tokens, fewer than input 0, which has 3"),
        ("increasing", [0, 1, 7], None),
        ("increasing", [1, 2, 2], "input 2 is longer than input 1, but both have 2 tokens"),
        ("non_decreasing", [1, 1, 2], None),
        ("non_decreasing", [1, 0, 2], "input 1 has 0 tokens, fewer than input 0, which has 1"),
        ("non_decreasing", [1, 1.5, 2], "expected a token count for input 1, got 1.5"),
        ("non_decreasing", [True, 1, 2], "expected a token count for input 0, got true"),
        ("non_decreasing", [-1, 1, 2], "expected a token count for input 0, got -1"),
    ],
)
def test_counts_are_compared_with_each_other(sources, order, counts, message):
    write(sources, COUNTS.replace("ORDER", order), "common/tokens.yaml")
    (case,) = load(sources)
    judgement = judge(Call(case), Output(counts), frozenset({"count_tokens"}), lambda _: None)
    assert judgement.verdict == ("pass" if message is None else "fail")
    assert [check.message for check in judgement.checks] == ([] if message is None else [message])


def test_several_counts_need_several_inputs(sources):
    text = COUNTS.replace("ORDER", "equal")
    write(sources, re.sub(r"input: .*", "input: {messages: [a]}", text), "common/tokens.yaml")
    with pytest.raises(SourceError):
        load(sources)
