"""Complete runs over HTTP and with pushed chunks, with real programs, real clients and the server."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from streamconform.adapters import feed
from streamconform.adapters.connect import Connection, connect
from streamconform.adapters.interface import Observation
from streamconform.adapters.program import Program
from streamconform.errors import SelectionError, UsageError
from streamconform.model.trial import Behavior
from streamconform.reports.causes import group_by_cause
from streamconform.reports.server_log import describe_log
from streamconform.reports.summary import describe_skipped
from streamconform.run import pool
from streamconform.run.answers import read_answers
from streamconform.run.plan import Settings
from streamconform.run.session import SILENT, FinishedRun, RunRequest, execute_run
from streamconform.suite.expand import expand, make_trial

from .. import bundled_suite
from ..harness import builders

HERE = Path(__file__).parent
REFERENCE = Connection("cmd:reference", (sys.executable, "-m", "streamconform_reference"))
CASES = (
    "anthropic-messages/tool-use/parallel-calls-with-ping",
    "openai-chat/tool-calls/",
    "openai-responses/tool-calls/",
    "google-generate/tool-use/",
    "google-interactions/tool-calls/",
    "ollama-chat/tool-use/",
    "cohere-chat/tool-use/",
    "bedrock-converse/tool-use/",
    "bedrock-invoke/tool-use/",
)


@dataclass(frozen=True, slots=True)
class Ran:
    finished: FinishedRun
    seen: dict

    @property
    def verdicts(self) -> dict:
        return {result.id: result.verdict for result in self.finished.results.trials}

    def reason(self, id_: str) -> str | None:
        return next(result.reason for result in self.finished.results.trials if result.id == id_)

    def failed(self, id_: str) -> list[str]:
        (found,) = (result for result in self.finished.results.trials if result.id == id_)
        return [check.path for check in found.checks]


def run(folder: Path, trials, *connections, input_=None, workers=1, timeout=5.0) -> Ran:
    order = RunRequest(
        connections=connections,
        trials=tuple(trials),
        settings=Settings(workers=workers, timeout=timeout, input=input_),
        selection={},
        answers=folder / "answers.jsonl",
    )
    finished = execute_run(order, folder / "results.jsonl", SILENT)
    seen = {(saved.implementation, saved.id): saved.answer for saved in read_answers(order.answers)}
    return Ran(finished, seen)


def hosted(folder: Path, body: str, claims: Sequence[str] = ()) -> Connection:
    """Return the connection to an adapter over HTTP with this body."""
    (folder / "mine.py").write_text(CLIENT.replace("BODY", body).replace("CLAIMS", repr(claims)), "utf-8")
    return connect("python:mine:adapter")


@pytest.fixture(autouse=True)
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@cache
def first_of_each_api():
    cases = bundled_suite.streams()
    return tuple(next(case for case in cases if case.id.startswith(start)) for start in CASES)


CLIENT = """
import httpx, json, os, time

TEXT = "Grüß dich 🌍"
GOOD = {"status": "complete", "stop": {"reason": "stop"}, "content": [{"type": "text", "text": TEXT}]}
DELTA = {"type": "text_delta", "content_index": 0, "delta": TEXT}

def read(run, path="/v1/messages", **headers):
    with httpx.Client(trust_env=False, headers=headers) as client:
        return client.post(run.base_url + path, json=run.request).content

def stream(run):
    with httpx.Client(trust_env=False) as client:
        with client.stream("POST", run.base_url + "/v1/messages", json=run.request) as got:
            yield from got.iter_raw()

def events():
    yield {"type": "text_start", "content_index": 0}
    yield DELTA

def rest():
    yield {"type": "text_end", "content_index": 0, "text": TEXT}
    yield {"type": "done", "stop": {"reason": "stop"}}
    yield {"outcome": GOOD}

def adapter(run):
    BODY
adapter.inputs = ["http"]
adapter.capabilities = CLAIMS
"""


def small(name: str = "small", **request):
    case = builders.case({**builders.TEXT_EXPECT, "usage": {}}, id=f"anthropic-messages/text/{name}")
    return with_request(case, request) if request else case


def with_request(case, body):
    requested = replace(case.cassette.request, body={"model": "m", "stream": True, **body})
    return replace(case, cassette=replace(case.cassette, request=requested))


def delivered(case, *names):
    return [make_trial(case, name, 0) for name in names]


def test_the_reference_makes_the_same_of_bytes_of_pushed_chunks_and_of_http(tmp_path):
    (tmp_path / "over_http.py").write_text((HERE / "over_http.py").read_text("utf-8"), "utf-8")
    names = ("as-is", "whole", "bytewise", "random", "gzip")
    made = expand(first_of_each_api(), names, "http", 0, "one")
    trials = [trial for trial in made if trial.transport == "http"]
    over_http = run(tmp_path, trials, connect("reference"), connect("python:over_http:adapter"))
    assert set(over_http.verdicts.values()) == {"pass"}
    pushed = run(tmp_path, trials, REFERENCE, input_="push")
    assert set(pushed.verdicts.values()) == {"pass"}
    inputs = [implementation.input for implementation in over_http.finished.results.header.implementations]
    assert inputs == ["bytes", "http"]
    same = [id_ for index, id_ in over_http.seen if index == 0]
    assert len(same) < len(over_http.seen) - len(same)
    for id_ in same:
        seen_run = over_http.seen[0, id_]
        assert over_http.seen[1, id_].outcome == seen_run.outcome, id_
        assert over_http.seen[1, id_].events == seen_run.events, id_
        assert pushed.seen[0, id_].outcome == seen_run.outcome, id_
        assert pushed.seen[0, id_].events == seen_run.events, id_


def test_only_http_has_the_faults_and_deliveries_of_a_connection(tmp_path):
    (tmp_path / "over_http.py").write_text((HERE / "over_http.py").read_text("utf-8"), "utf-8")
    trials = list(expand([small()], ("gzip",), "http", 0, "all"))
    ran = run(tmp_path, trials, connect("reference"), connect("python:over_http:adapter"))
    kinds = [Counter(), Counter()]
    for result in ran.finished.results.trials:
        kinds[result.implementation][result.delivery.partition(".")[0]] += 1
    assert set(kinds[1]) - set(kinds[0]) == {"gzip", "reset", "stall"}
    assert ran.finished.results.header.trials == len(ran.finished.results.trials)
    assert set(ran.verdicts.values()) == {"pass"}


def test_a_trial_that_is_there_over_http_only_is_no_trial_of_anybody_else(tmp_path):
    with pytest.raises(SelectionError, match="`--input http`"):
        run(tmp_path, delivered(small(), "gzip"), connect("reference"))


def test_an_input_that_is_not_claimed_cannot_be_requested(tmp_path):
    with pytest.raises(UsageError, match="`--input http`: `reference` supports only `bytes`"):
        run(tmp_path, delivered(small(), "whole"), connect("reference"), input_="http")


VIOLENT = """
    for chunk in stream(run):
        if "kill" in run.request: os.kill(os.getpid(), 9)
        if "hang" in run.request: time.sleep(60)
    return GOOD
"""


def test_a_client_that_is_killed_or_hangs_costs_its_own_trial_only(tmp_path):
    cases = [small(f"good-{n}") for n in range(6)]
    cases[2:2] = [small("killed", kill=True), small("hangs", hang=True)]
    ran = run(
        tmp_path, [make_trial(case, "bytewise", 0) for case in cases], hosted(tmp_path, VIOLENT), timeout=2.0
    )
    verdicts = {id_.rpartition("/")[2].partition("@")[0]: verdict for id_, verdict in ran.verdicts.items()}
    assert (verdicts.pop("killed"), verdicts.pop("hangs")) == ("faulted", "hang")
    assert set(verdicts.values()) == {"pass"}


STUCK = """
    for chunk in stream(run):
        if MODE == "hangs": time.sleep(60)
        os.kill(os.getpid(), 9)
    return GOOD
"""


@pytest.mark.parametrize("mode", ["hangs", "dies"])
def test_a_client_that_does_not_answer_a_script_leaves_the_log_of_its_connections(tmp_path, mode):
    case = next(case for case in bundled_suite.scripts("anthropic-messages") if case.id.endswith("/abort"))
    client = hosted(tmp_path, STUCK.replace("MODE", repr(mode)), ("abort",))
    (result,) = run(tmp_path, [Behavior(case)], client, timeout=2.0).finished.results.trials
    assert result.verdict == {"hangs": "hang", "dies": "faulted"}[mode]
    assert [entry["event"] for entry in result.observation["server"]][:2] == ["request", "sent"]
    assert "request 1 on connection 1" in next(describe_log(result.observation))


def test_trials_in_flight_when_a_program_is_killed_are_retried(tmp_path):
    source = (HERE / "client.py").read_text("utf-8")
    source = source.replace(
        "    url = ", "    'kill' in message['request'] and os.kill(os.getpid(), 9)\n    url = "
    )
    source = source.replace("import json\n", "import json\nimport os\n")
    (tmp_path / "client.py").write_text(source, "utf-8")
    cases = [small(f"good-{n}") for n in range(20)]
    cases[5:5] = [small("killed", kill=True)]
    program = Connection("cmd:client", (sys.executable, "client.py"))
    ran = run(tmp_path, [make_trial(case, "as-is", 0) for case in cases], program)
    reasons = {id_: ran.reason(id_) for id_, verdict in ran.verdicts.items() if verdict != "pass"}
    assert Counter(ran.verdicts.values()) == {"pass": 20, "faulted": 1}, reasons


NOTHING = "return {'status': 'error', 'content': []}"


def test_a_wrong_path_is_the_reason_that_is_shown(tmp_path):
    adapter = hosted(tmp_path, f"read(run, '/v1/complete'); {NOTHING}")
    ran = run(tmp_path, delivered(small(), "whole"), adapter)
    (result,) = ran.finished.results.trials
    assert (result.verdict, result.culprit) == ("faulted", "adapter")
    expected = "the server got `POST /v1/complete`; expected `POST BASE_URL/v1/messages`"
    assert result.reason == f"not-asked: {expected}"
    (requested,) = result.observation["requests"]
    assert (requested["method"], requested["path"], requested["status"]) == ("POST", "/v1/complete", 404)


def test_a_client_without_a_request_is_reported(tmp_path):
    ran = run(tmp_path, delivered(small(), "whole"), hosted(tmp_path, NOTHING))
    reason = ran.reason(f"{small().id}@whole")
    assert reason.startswith("no request arrived; expected `POST BASE_URL/v1/messages`")


@pytest.mark.parametrize(("status", "verdict"), [("incomplete", "faulted"), ("error", "skipped")])
def test_what_is_right_without_having_been_read_does_not_pass(tmp_path, status, verdict):
    body = f"return {{'status': '{status}', 'content': []}}"
    (trial,) = delivered(small(), "reset.0")
    ran = run(tmp_path, [trial], hosted(tmp_path, body))
    assert ran.verdicts == {trial.id: verdict}
    assert "no request arrived" in ran.reason(trial.id)


def test_gzip_is_not_judged_where_it_is_not_accepted(tmp_path):
    adapter = hosted(tmp_path, "read(run, **{'accept-encoding': 'identity'}); return GOOD")
    ran = run(tmp_path, delivered(small(), "gzip"), adapter)
    assert list(ran.verdicts.values()) == ["skipped"]
    assert ran.reason(f"{small().id}@gzip") == "the client does not accept gzip"


@pytest.mark.parametrize(
    ("sends", "answer", "verdict"),
    [
        ({"fallbacks": [{"model": "n"}]}, "GOOD", "pass"),
        ({"fallbacks": [{"model": "n"}]}, "GOOD | {'content': []}", "fail"),
        ({"fallbacks": []}, "GOOD | {'content': []}", "skipped"),
        ({}, "GOOD | {'content': []}", "skipped"),
    ],
    ids=["requested", "requested-and-misread", "requested-without-value", "not-requested"],
)
def test_a_feature_on_request_is_judged_only_if_the_client_requests_it(tmp_path, sends, answer, verdict):
    case = small("on-request", fallbacks=[{"model": "n"}])
    adapter = hosted(
        tmp_path, f"run.request.pop('fallbacks'); run.request.update({sends}); read(run); return {answer}"
    )
    ran = run(tmp_path, delivered(case, "whole"), adapter)
    (id_,) = ran.verdicts
    assert ran.verdicts == {id_: verdict}
    if verdict == "skipped":
        reason = "the client does not request a fallback to another model (`fallbacks`)"
        assert ran.reason(id_) == reason
        assert describe_skipped(ran.finished.results) == [f"1 trial skipped: {reason}"]


LIVE = """
    for n, chunk in enumerate(stream(run)):
        if n == 0: yield from events()
    yield from rest()
"""
EAGER = "read(run); yield from events(); yield from rest()"


def test_events_are_to_come_out_before_the_stream_is_over(tmp_path, monkeypatch):
    trials = delivered(small(), "as-is", "bytewise")
    monkeypatch.setattr(feed, "HOLD_SECONDS", 30)
    live = run(tmp_path, trials, hosted(tmp_path, LIVE, ["events"]))
    assert set(live.verdicts.values()) == {"pass"}
    monkeypatch.setattr(feed, "HOLD_SECONDS", 0.2)
    eager = run(tmp_path, trials, hosted(tmp_path, EAGER, ["events"]))
    assert eager.verdicts == {trials[0].id: "fail", trials[1].id: "pass"}
    assert eager.failed(trials[0].id) == ["invariant.streaming"]


PUSHED = """
greet(inputs=["push"], capabilities=["events"])
delta = {"type": "text_delta", "content_index": 0, "delta": GOOD["content"][0]["text"]}
def tell():
    write(op="event", id=run, event={"type": "text_start", "content_index": 0})
    write(op="event", id=run, event=delta)
while (message := read())["op"] != "stop":
    run = message["id"]
    if message["op"] == "run": count = 0
    if message["op"] == "chunk":
        count += 1
        if count == LIVE_AT: tell()
    if message["op"] == "eof":
        if count < LIVE_AT: tell()
        write(op="event", id=run, event={"type": "text_end", "content_index": 0, "text": delta["delta"]})
        write(op="event", id=run, event={"type": "done", "stop": {"reason": "stop"}})
        write(op="result", id=run, outcome=GOOD)
"""


@pytest.mark.parametrize(("at", "verdict"), [("5", "pass"), ("1000", "fail")])
def test_a_program_gets_pushed_chunks_one_by_one_and_says_events_between_them(
    tmp_path, monkeypatch, at, verdict
):
    monkeypatch.setattr(feed, "HOLD_SECONDS", 30 if verdict == "pass" else 0.2)
    good = f"GOOD = {GOOD!r}\n"
    program = builders.program(tmp_path, good + PUSHED.replace("LIVE_AT", at))
    trials = delivered(small(), "as-is", "whole")
    ran = run(tmp_path, trials, program)
    assert ran.verdicts == {trials[0].id: verdict, trials[1].id: "pass"}
    assert isinstance(ran.seen[0, trials[0].id], Observation)
    assert ran.failed(trials[0].id) == (["invariant.streaming"] if verdict == "fail" else [])


def test_a_program_that_answers_early_gets_no_more_chunks(tmp_path):
    good = f"GOOD = {GOOD!r}\n"
    code = """
greet(inputs=["push"], capabilities=[])
while (message := read())["op"] != "stop":
    if message["op"] == "run": write(op="result", id=message["id"], outcome=GOOD)
"""
    trials = delivered(small(), "bytewise", "whole")
    ran = run(tmp_path, trials, builders.program(tmp_path, good + code))
    assert set(ran.verdicts.values()) == {"pass"}


REFUSING = """
    import lib
    refused = run.request.get("refuse")
    if refused == "adapter": raise NotImplementedError("the library has no custom tools")
    if refused: lib.refuse(refused)
    read(run)
    return GOOD
"""
LIBRARY = """
class UnknownModel(Exception): pass

def refuse(name):
    kinds = {"own": UnknownModel, "value": ValueError, "type": TypeError, "network": ConnectionError}
    raise kinds[name](f"Unknown model 'x{id(name)}'")
"""


def run_refusing(folder, names, *, sent=1):
    """Judge clients that refuse, crash or do not connect before they send, beside `sent` trials that send."""
    (folder / "lib.py").write_text(LIBRARY, "utf-8")
    cases = [small(f"{name}-{n}", refuse=name) for name in names for n in range(2)]
    cases += [small(f"sent-{n}") for n in range(sent)]
    return run(folder, [make_trial(case, "as-is", 0) for case in cases], hosted(folder, REFUSING))


def test_a_client_that_refuses_on_purpose_is_not_judged_and_one_that_crashes_is(tmp_path):
    ran = run_refusing(tmp_path, ("own", "value", "adapter", "type", "network"))
    verdicts = {id_.rpartition("/")[2].partition("-")[0]: verdict for id_, verdict in ran.verdicts.items()}
    assert verdicts == {
        "own": "skipped",
        "value": "skipped",
        "adapter": "skipped",
        "type": "fail",
        "network": "fail",
        "sent": "pass",
    }
    assert [line[:51] for line in describe_skipped(ran.finished.results)] == [
        "2 trials skipped: refused to send: NotImplementedEr",
        "2 trials skipped: refused to send: ValueError: Unkn",
        "2 trials skipped: refused to send: lib.UnknownModel",
    ]
    trials = [trial for trial in ran.finished.results.trials if trial.verdict == "fail"]
    assert sorted(cause.title for cause in group_by_cause(trials)) == [
        "Raises ConnectionError before it sends a request (lib.py:6 in refuse)",
        "Raises TypeError before it sends a request (lib.py:6 in refuse)",
    ]


def test_a_client_that_sends_no_request_to_an_api_fails_there(tmp_path):
    ran = run_refusing(tmp_path, ("own", "value"), sent=0)
    assert set(ran.verdicts.values()) == {"fail"}
    titles = {cause.title for cause in group_by_cause(ran.finished.results.trials)}
    assert titles == {
        "Raises lib.UnknownModel before it sends a request (lib.py:6 in refuse)",
        "Raises ValueError before it sends a request (lib.py:6 in refuse)",
    }


@pytest.mark.parametrize("adapter", ["sixteen-at-once", "one-by-one", "pushed"])
def test_nothing_is_judged_while_a_trial_is_being_served(tmp_path, monkeypatch, adapter):
    served, judged = [], []
    run_trial, build_result = Program.run, pool.build_result

    async def watched(program, trial, seconds, **options):
        served.append(trial.id)
        try:
            return await run_trial(program, trial, seconds, **options)
        finally:
            served.remove(trial.id)

    def judging(plan, trial, *rest):
        judged.append((trial.id, tuple(served)))
        return build_result(plan, trial, *rest)

    monkeypatch.setattr(Program, "run", watched)
    monkeypatch.setattr(pool, "build_result", judging)
    program, input_ = {
        "sixteen-at-once": (Connection("cmd:client", (sys.executable, str(HERE / "client.py"))), None),
        "one-by-one": (hosted(tmp_path, "read(run); return GOOD"), None),
        "pushed": (REFERENCE, "push"),
    }[adapter]
    trials = [make_trial(small(f"n{n}"), "as-is", 0) for n in range(40)]
    run(tmp_path, trials, program, input_=input_)
    assert len(judged) == 40
    assert [during for _, during in judged if during] == []


@pytest.mark.slow
def test_two_hundred_trials_with_sixteen_at_once_compute_less_than_four_seconds(tmp_path):
    program = Connection("cmd:client", (sys.executable, str(HERE / "client.py")))
    names = (
        "as-is",
        "whole",
        "random",
        "crlf",
        "comments",
        "unknown-event",
        "utf8-split",
        "unknown-field",
    )
    trials = [make_trial(small(f"n{n}"), name, 0) for n in range(25) for name in names]
    before = spent()
    ran = run(tmp_path, trials, program, workers=1, timeout=30)
    assert Counter(ran.verdicts.values()) == {"pass": 200}
    assert spent() - before < 4


def spent() -> float:
    """Return the CPU time of this process and of those that it waited for, in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


GOOD = {
    "status": "complete",
    "stop": {"reason": "stop"},
    "content": [{"type": "text", "text": "Grüß dich 🌍"}],
}
