"""Verdicts on what a client does on its connections follow from the order of the server's log alone."""

from __future__ import annotations

from functools import cache

import pytest

from streamconform.adapters.interface import Hang, Observation
from streamconform.judge.behavior import list_behavior_paths
from streamconform.judge.judge import judge
from streamconform.model.behavior import LogEntry
from streamconform.model.capability import CAPABILITIES
from streamconform.model.trial import Behavior
from streamconform.reports.server_log import TEXTS, describe_log
from streamconform_reference.adapter import BytesRun
from streamconform_reference.adapter import adapter as reference

from .. import bundled_suite
from ..for_each import for_each

API = "openai-chat"
LEFT = {"status": "incomplete", "content": []}
ERROR = {"status": "error", "content": [], "error": {"message": "Rate limit reached"}}


@cache
def trials():
    return {case.id.rpartition("/")[2]: Behavior(case) for case in bundled_suite.scripts(API)}


@cache
def whole(name, role="text"):
    """The outcome of a whole answer."""
    stream = trials()[name].case.streams[role]
    run = BytesRun(API, 200, stream.cassette.headers, None, (stream.cassette.body,))
    *_, last = reference(run)
    return last["outcome"]


def log(text):
    """A log, written as `request:1:1:digest answered open:1`: event, connection, request, detail."""
    entries = []
    for word in text.split():
        event, *numbers, detail = [*word.split(":"), None, None, None][:4]
        connection, request = (int(number) if number else None for number in numbers)
        entries.append(LogEntry(event, connection, request, detail))
    return tuple(entries)


def no_first_delta(_):
    """The position of the first delta, which no script asks for."""
    raise AssertionError


def check(name, text, *outcomes):
    """The verdict and the paths of failed checks."""
    several = list(outcomes) if trials()[name].case.control.answers > 1 else None
    seen = Observation(None if several else outcomes[0], outcomes=several, log=log(text))
    judgement = judge(trials()[name], seen, CAPABILITIES, no_first_delta)
    return judgement.verdict, {one.path for one in judgement.checks if one.verdict != "pass"}


@for_each(
    ("text", "failed"),
    [
        ("request:1:1 answered barrier barrier closed:1", False),
        ("request:1:1 closed:1 answered barrier barrier", False),
        ("request:1:1 answered barrier closed:1 barrier", False),
        ("request:1:1 answered barrier barrier open:1", True),
        ("request:1:1 ended:1:1 answered barrier barrier open:1", True),
        ("request:1:1 waited:1:1 answered barrier barrier closed:1", False),
    ],
)
def test_after_an_abort_the_connection_is_closed_before_two_more_answers_have_been_read(text, failed):
    expected = ("fail", {"connection.closed"}) if failed else ("pass", set())
    assert check("abort", text, LEFT) == expected


def test_a_left_loop_only_warns_because_memory_is_freed_at_any_time():
    assert check("abandon", "request:1:1 answered open:1", LEFT) == ("warn", {"connection.closed"})


def test_a_second_request_after_content_is_allowed_if_the_outcome_is_one_whole_answer():
    once, twice = "request:1:1:a reset:1:1", "request:1:1:a reset:1:1 request:2:2:a ended:2:2"
    beginning = {
        **LEFT,
        "content": [{"type": "text", "text": whole("reset-after-half")["content"][0]["text"][:4]}],
    }
    assert check("reset-after-half", once, beginning) == ("pass", set())
    assert check("reset-after-half", twice, whole("reset-after-half")) == ("pass", set())
    complete = {**beginning, "status": "complete"}
    assert check("reset-after-half", once, complete) == ("fail", {"outcome.status"})
    assert check("reset-after-half", twice, beginning) == ("fail", {"requests.count"})
    doubled = whole("reset-after-half")
    text = doubled["content"][0]["text"]
    doubled = {**doubled, "content": [{"type": "text", "text": text[:4] + text}]}
    assert check("reset-after-half", twice, doubled) == ("fail", {"outcome.content.0.text"})


def test_before_the_first_byte_both_the_answer_and_the_error_pass():
    assert check("overloaded", "request:1:1:a request:1:2:a", whole("overloaded"))[0] == "pass"
    error = trials()["overloaded"].case.streams["error"].expect.fields["error.message"].value
    assert check("overloaded", "request:1:1:a", {**ERROR, "error": {"message": error}})[0] == "pass"
    assert check("overloaded", "request:1:1:a", ERROR) == ("fail", {"outcome.error.message"})
    changed = check("overloaded", "request:1:1:a request:1:2:b", whole("overloaded"))
    assert changed == ("fail", {"requests.same"})


def test_a_client_may_ask_an_overloaded_server_sixteen_times():
    error = trials()["never-ready"].case.streams["error"].expect.fields["error.message"].value
    outcome = {**ERROR, "error": {"message": error}}
    requests = [f"request:1:{n}:a" for n in range(1, 18)]
    assert check("never-ready", " ".join(requests[:16]), outcome)[0] == "pass"
    assert check("never-ready", " ".join(requests), outcome) == ("fail", {"requests.count"})


def test_a_client_that_never_ends_fails_a_script():
    judgement = judge(trials()["retry-after-words"], Hang(1.0), CAPABILITIES, no_first_delta)
    assert (judgement.verdict, [one.path for one in judgement.checks]) == ("hang", ["outcome"])


def test_answers_at_the_same_time_may_come_in_any_order_but_none_may_be_missing_or_mixed():
    text, other = whole("two-at-once"), whole("two-at-once", "other")
    both = "request:1:1:a request:2:2:a"
    assert check("two-at-once", both, text, other)[0] == "pass"
    assert check("two-at-once", both, other, text)[0] == "pass"
    assert check("two-at-once", both, text, text)[0] == "fail"
    mixed = {**other, "content": text["content"]}
    assert check("two-at-once", both, text, mixed)[0] == "fail"
    assert "outcomes.length" in check("two-at-once", both, text)[1]


def test_a_connection_with_an_answer_that_has_not_ended_is_not_used_again():
    outcomes = LEFT, whole("next-answer-after-an-abort", "other")
    name, path = "next-answer-after-an-abort", "connection.not-reused"
    assert check(name, "request:1:1 closed:1 request:2:2 ended:2:2", *outcomes) == ("pass", set())
    assert check(name, "request:1:1 request:1:2 ended:1:2", *outcomes) == ("fail", {path})
    assert check(name, "request:1:1 data:1:1:99", *outcomes) == ("fail", {path})
    # Whoever reads the rest first may use it.
    assert check(name, "request:1:1 ended:1:1 request:1:2 ended:1:2", *outcomes) == ("pass", set())


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("request:1:1 paused full:1:1:9 answered", "pass"),
        ("request:1:1 answered", "pass"),
        ("request:1:1 paused accepted:1:1:9 answered", "warn"),
        ("request:1:1 paused closed:1 answered", "warn"),
        ("request:1:1 paused full:1:1:9 closed:1 answered", "pass"),
    ],
)
def test_a_client_that_pauses_lets_the_server_wait(text, verdict):
    assert check("slow-reader", text, LEFT)[0] == verdict


def test_every_failed_check_has_a_known_path():
    for trial in trials().values():
        paths = list_behavior_paths(trial, CAPABILITIES)
        assert paths
        several = trial.case.control.answers > 1
        seen = Observation(None if several else ERROR, outcomes=[ERROR] * 3 if several else None, log=())
        failed = {one.path for one in judge(trial, seen, CAPABILITIES, no_first_delta).checks}
        assert failed <= paths, trial.id


def test_the_log_is_one_line_whatever_it_holds():
    assert list(describe_log({"server": []})) == []
    entries = [{"event": event, "connection": 1, "request": 2, "detail": 3} for event in TEXTS]
    (line,) = describe_log({"server": [*entries, {"event": "\n", "detail": {}}, {}]})
    assert line.startswith("server  request 2 on connection 1 · status 3 for request 2")
    assert "\n" not in line
    (line,) = describe_log({"server": [{"event": "barrier"}] * 2})
    assert line == "server  another whole answer (2 times)"
