"""Content of broken streams: each wrong value fails one check, and prefixes pass."""

from __future__ import annotations

import pytest

from streamconform.adapters.interface import Observation
from streamconform.judge import decode
from streamconform.judge.judge import judge
from streamconform.judge.partial import compare_partial
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import Expectation, ExpectedBlock, Partial
from streamconform.model.leaf import Literally
from streamconform.model.trial import Delivered, Trial
from streamconform.model.verdict import Check
from streamconform.suite import expectation

from . import builders

WHOLE = expectation.parse(
    {
        "status": "complete",
        "stop": "tool_use",
        "content": [
            {"thinking": {"text": "Two cities.", "signature": "c2ln"}},
            {"text": "I'll check both."},
            {"tool_call": {"name": "get_weather", "id": "toolu_1", "arguments": {"city": "Paris"}}},
            {"tool_call": {"name": "get_weather", "id": "toolu_2", "arguments": {"city": "Oslo"}}},
        ],
    }
)
BROKEN = Expectation(
    WHOLE.content, {"status": Literally("incomplete"), "stop.reason": Literally(None)}, Partial(calls_ended=1)
)
PARIS = {
    "type": "tool_call",
    "id": "toolu_1",
    "name": "get_weather",
    "arguments": {"city": "Paris"},
    "complete": True,
}
OSLO = {**PARIS, "id": "toolu_2", "arguments": {"city": "Oslo"}}
OPEN = {**OSLO, "arguments": None, "arguments_text": '{"ci', "complete": False}
TEXT = {"type": "text", "text": "I'll check both."}

TRUE = {
    "nothing": [],
    "the beginning of a thought": [{"type": "thinking", "text": "Two"}],
    "a provisional signature": [{"type": "thinking", "text": "Two", "signature": "x"}],
    "a thought that is not signed yet": [{"type": "thinking", "text": "Two cities."}, TEXT],
    "one call ended, one open": [TEXT, PARIS, OPEN],
    "a call that nobody calls complete": [TEXT, {**PARIS, "arguments": None, "complete": False}],
    "a name that has not come yet": [TEXT, {**OPEN, "name": None}],
}
UNTRUE = {
    "content.1.text": [{"type": "text", "text": "I'll check them."}],
    "content.length": [TEXT, PARIS, {**OPEN}, {**OPEN, "id": "toolu_3"}],
    "content.complete_calls": [TEXT, PARIS, OSLO],
    "content.2.tool_call.arguments": [TEXT, {**PARIS, "arguments": {"city": "Par"}}],
    "content.3.tool_call.name": [TEXT, {**OPEN, "name": "get_time"}],
}


def judged(content, **more):
    case = builders.case()
    trial = Trial(case, "cut-after-frame.3", "must", Delivered((case.cassette.body[:200],), BROKEN))
    answer = Observation({"status": "incomplete", "content": content} | more)
    return judge(trial, answer, CAPABILITIES - {"events"}, lambda _: None)


@pytest.mark.parametrize("stated", TRUE)
def test_a_prefix_of_the_whole_content_passes(stated):
    assert judged(TRUE[stated]).verdict == "pass"


@pytest.mark.parametrize("path", UNTRUE)
def test_content_that_is_not_a_prefix_fails_at_its_path(path):
    found = judged(UNTRUE[path])
    assert found.verdict == "fail"
    assert path in [check.path for check in found.checks]


def test_a_broken_stream_that_is_called_complete_fails():
    found = judged([TEXT], status="complete", stop={"reason": "stop", "raw": "end_turn"})
    assert [check.path for check in found.checks] == ["status", "stop.reason"]


BOTH = [{"text": "I'll check both."}, {"other": {"kind": "image"}}, {"tool_call": {"name": "get_weather"}}]
IMAGE = {"type": "other", "kind": "image"}


def compared(expected, got, *, text_arrived=0, **options):
    blocks = tuple(
        block if isinstance(block, ExpectedBlock) else expectation.parse_block(block) for block in expected
    )
    expect = Expectation(blocks, {}, Partial(calls_ended=1, text_arrived=text_arrived))
    content = [decode.decode_block(block) for block in got]
    checks = compare_partial(expect, content, CAPABILITIES, "must", **options)
    return {check.path: check for check in checks if check.verdict != "pass"}


def test_each_rule_shows_both_numbers():
    got = [{"type": "text", "text": "I'll"}, IMAGE, PARIS, OSLO]
    assert compared(BOTH, got, text_arrived=5) == {
        "content.length": Check(
            path="content.length",
            level="must",
            verdict="fail",
            expected=2,
            got=3,
            message="blocks that are not in the complete stream: tool_call",
        ),
        "content.complete_calls": Check(
            path="content.complete_calls",
            level="must",
            verdict="fail",
            expected=1,
            got=2,
            message=(
                "2 calls are reported as executable, but only 1 had ended when the stream broke; each of the"
                " others must be left out, or have `complete: false` or `arguments: null`;"
                ' got get_weather({"city": "Paris"}), get_weather({"city": "Oslo"})'
            ),
        ),
        "content.kept": Check(
            path="content.kept",
            level="should",
            verdict="warn",
            expected=5,
            got=4,
            message="5 characters of text had arrived before the break, but the content has only 4",
        ),
    }


def test_a_cut_call_is_shown_without_the_arguments_that_nobody_can_know():
    expect = Expectation(WHOLE.content, {}, Partial(calls_ended=0))
    hostile = {**PARIS, "name": "get_\u202eweather", "arguments": {"city": "\x1b[31m" + "x" * 10**5}}
    for call, shown in (
        (PARIS | {"arguments": {"city": "Par"}}, 'get_weather({"city": "Par"})'),
        (hostile, 'get_\\u202eweather({"city": "\\u001b[31m'),
    ):
        checks = compare_partial(expect, [decode.decode_block(call)], CAPABILITIES, "must")
        failed = {check.path: check for check in checks if check.verdict == "fail"}
        message = failed["content.complete_calls"].message
        assert message.startswith(
            "the call had not ended when the stream broke; it must be left out, or have `complete: false`"
            f" or `arguments: null`; got {shown}"
        )
        assert message.isprintable()
        assert len(message) < 300
        arguments = failed["content.2.tool_call.arguments"]
        assert (arguments.expected, arguments.got) == (None, call["arguments"])
        assert "may have been cut" in arguments.message


def test_the_arguments_of_a_call_that_ended_are_shown_with_the_expected_ones():
    (check,) = compared(BOTH[2:], [{**PARIS, "name": "get_time"}]).values()
    assert check.path == "content.0.tool_call.name"
    expect = Expectation(WHOLE.content, {}, Partial(calls_ended=1))
    cut = decode.decode_block({**PARIS, "arguments": {"city": "Par"}})
    failed = [c for c in compare_partial(expect, [cut], CAPABILITIES, "must") if c.verdict == "fail"]
    assert [(c.path, c.expected, c.message) for c in failed] == [
        ("content.2.tool_call.arguments", {"city": "Paris"}, None)
    ]


def test_text_that_arrived_is_kept():
    assert compared(BOTH, [{"type": "text", "text": "I'll"}, PARIS], text_arrived=4) == {}


def test_the_pieces_of_a_thought_are_joined():
    whole = [{"thinking": "Two cities."}, {"text": "Both."}]
    parts = [{"type": "thinking", "text": text} for text in ("Two ", "ci")]
    assert compared(whole, parts) == {}


def test_a_thought_that_is_split_at_a_signature_adds_nothing_to_the_stream():
    whole = [{"thinking": "Two cities."}, {"text": "Both."}]
    parts = [{"type": "thinking", "text": text, "signature": "s"} for text in ("Two ", "ci")]
    check = compared(whole, parts)["content.length"]
    assert check.verdict == "fail"
    assert check.message == "blocks that are only parts of one in the complete stream: thinking"
    for expected, got in ((whole, [parts[0], {"type": "thinking", "text": "x"}]), (whole[1:], parts[1:])):
        check = compared(expected, got)["content.length"]
        assert check.message == "blocks that are not in the complete stream: thinking"


SIGNED = [{"type": "thinking", "text": text, "signature": "s"} for text in ("Two ", "ci", "ties.")]
THOUGHT, SEARCH = {"type": "thinking", "text": "Two cities."}, {**PARIS, "id": "srv", "name": "search"}
MATCHED = [{"text": "abc"}, {"tool_call": {"name": "get_weather"}}, {"text": {"matches": "."}}]
ABC = [{"type": "text", "text": text} for text in "abc"]
UNPAIRED = [
    ("split-before-a-text", [{"thinking": "Two cities."}, BOTH[0]], [*SIGNED, TEXT], "only parts", 2),
    (
        "split-in-two-thoughts",
        [{"thinking": "Two "}, BOTH[0], {"thinking": "cities."}],
        [SIGNED[0], TEXT, *SIGNED[1:]],
        "only parts",
        1,
    ),
    ("moved", WHOLE.content, [PARIS, THOUGHT, TEXT], "at another place", 1),
    ("one-expected-text-is-unknown", MATCHED, [ABC[0], PARIS, ABC[1], OPEN, ABC[2]], "not in", 2),
]


@pytest.mark.parametrize(
    ("expected", "got", "where", "count"), [row[1:] for row in UNPAIRED], ids=[row[0] for row in UNPAIRED]
)
def test_blocks_without_a_counterpart_are_listed_with_where_they_are(expected, got, where, count):
    message = compared(expected, got)["content.length"].message
    assert where in message
    assert len(message.partition(": ")[2].split(", ")) == count


def test_only_unended_calls_that_the_provider_did_not_run_count_as_executable():
    expected = [{"tool_call": {"name": "search", "executor": "provider"}}, BOTH[2]]
    check = compared(expected, [SEARCH, PARIS, OSLO])["content.complete_calls"]
    assert (check.got, check.message.count("get_weather")) == (2, 2)


def test_three_executable_calls_are_shown():
    for count, more in ((3, ""), (4, ", …")):
        calls = [{**PARIS, "id": str(n)} for n in range(count)]
        message = compared([BOTH[2]] * 4, calls)["content.complete_calls"].message
        assert message.endswith("; got " + ", ".join(['get_weather({"city": "Paris"})'] * 3) + more)


def test_if_too_many_calls_are_executable_only_wrong_arguments_may_have_been_cut():
    expect = Expectation(WHOLE.content, {}, Partial(calls_ended=0))
    call = decode.decode_block({**PARIS, "name": "get_time"})
    checks = {check.path: check for check in compare_partial(expect, [call], CAPABILITIES, "must")}
    name, arguments = (checks[f"content.2.tool_call.{field}"] for field in ("name", "arguments"))
    assert (name.verdict, name.message) == ("fail", None)
    assert (arguments.verdict, arguments.message) == ("pass", None)


def test_the_arguments_of_a_call_that_never_ends_are_not_compared():
    cut = {"tool_call": {"name": "get_weather", "complete": False, "arguments": {"city": "Rome"}}}
    assert compared([cut], [PARIS]) == {}


def test_twelve_blocks_that_were_not_sent_are_listed():
    (check,) = compared([], [OPEN] * 13).values()
    assert check.message.count("tool_call") == 12


ORDER = [
    ("default", BOTH, [PARIS, TEXT], {}, {"content.length"}),
    ("ordered", BOTH[::-1], [PARIS, TEXT], {"ordered": True}, set()),
    ("one-text", BOTH, [PARIS, TEXT], {"ordered": False}, set()),
    ("one-text-after-a-call", BOTH[::-1], [TEXT, PARIS], {"ordered": False}, set()),
]


@pytest.mark.parametrize(
    ("expected", "got", "options", "paths"), [row[1:] for row in ORDER], ids=[row[0] for row in ORDER]
)
def test_text_after_a_call_is_compared_in_the_order_of_the_api(expected, got, options, paths):
    assert compared(expected, got, **options).keys() == paths
