"""Round trips: two requests to the server, of which the second and both outcomes are judged."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from msgspec import structs

from streamconform.adapters.connect import connect
from streamconform.adapters.interface import Greeting, Observation
from streamconform.apis import APIS
from streamconform.errors import SourceError
from streamconform.judge.round_trip import check_round_trip
from streamconform.known_failures.context import get_checked_paths
from streamconform.model.capability import CAPABILITIES, INCLUDED_IN
from streamconform.model.case import Turn
from streamconform.model.trial import DELIVERIES
from streamconform.resources import find_bundled
from streamconform.run.plan import Settings, explain_skip
from streamconform.run.session import SILENT, RunRequest, execute_run
from streamconform.schemas import find_problems
from streamconform.suite.expand import expand
from streamconform.suite.lint import lint_all
from streamconform.suite.load import Sources, collect, load

from ..cli.project import Project

HERE = Path(__file__).parent
SPEC = """\
spec: 1
kind: round_trip
api: anthropic-messages
topic: round-trips
cases:
  - id: one-call
    title: A call, its result, and the answer
    tags: [round_trip]
    sources: [https://docs.example.org]
    cassettes: [first-delta-empty, single-text-block]
    conversation:
      model: claude-haiku-4-5
      tools: [{name: convert_units, parameters: {type: object}}]
      messages: [{role: user, content: "How far is a marathon in km?"}]
    results: [{name: convert_units, content: "42.2"}]
    expect:
      first: {status: complete, stop: tool_use, content: [tool_call: {name: convert_units}]}
      request:
        must:
          messages:
            - {role: user}
            - {role: assistant, content: [{type: tool_use, id: toolu_01h36v1BUCyYYYvcoRpaC347}]}
            - {role: user, content: [{tool_use_id: {matches: C347$}, content: [{text: "42.2"}]}]}
        must_not: [messages.*.content.*.arguments]
        headers: {anthropic-version: {present: true}}
        path: {matches: "v1/messages$"}
      outcome:
        status: complete
        stop: stop
        content: [text: "Nairobi lies about 1,795 metres above sea level."]
"""
ID = "anthropic-messages/round-trips/one-call"


@pytest.fixture
def sources(tmp_path, monkeypatch):
    made = Sources(tmp_path / "specs", tmp_path / "cassettes")
    for folder in (made.specs, made.cassettes):
        (folder / "anthropic-messages").mkdir(parents=True)
    for name in ("first-delta-empty", "single-text-block"):
        for path in (find_bundled("cassettes") / "anthropic-messages").glob(f"{name}.*"):
            shutil.copy(path, made.cassettes / "anthropic-messages")
    write(made, SPEC)
    (tmp_path / "over_http.py").write_text((HERE / "over_http.py").read_text("utf-8"), "utf-8")
    monkeypatch.chdir(tmp_path)
    return made


def write(sources, text):
    (sources.specs / "anthropic-messages/round-trips.yaml").write_text(text, "utf-8")


def trials(sources, *names):
    return tuple(expand(load(sources), names or DELIVERIES, "http", 0))


def run(folder, what, *connections):
    order = RunRequest(
        connections=connections, trials=tuple(what), settings=Settings(workers=1, timeout=20), selection={}
    )
    return execute_run(order, folder / "results.jsonl", SILENT)


def test_a_case_has_both_answers_and_a_trial_for_each_way_to_cut_them(sources):
    (case,) = load(sources)
    names = [answer.cassette.name for answer in case.answers]
    assert (case.id, names) == (ID, ["first-delta-empty", "single-text-block"])
    ways = ("as-is", "whole", "bytewise", "random")
    assert [trial.id for trial in trials(sources)] == [f"{ID}@{name}" for name in ways]
    assert [trial.id for trial in trials(sources, "bytewise", "crlf")] == [f"{ID}@bytewise"]
    assert lint_all(sources, strict=False) == (1, [])


def test_the_reference_sends_the_result_back_and_reads_the_answer(sources, tmp_path):
    finished = run(tmp_path, trials(sources), connect("python:over_http:adapter"))
    assert [result.verdict for result in finished.results.trials] == ["pass"] * 4
    assert finished.exit == 0


@cache
def bundled_round_trips():
    made = Sources(find_bundled("specs"), find_bundled("cassettes"))
    loaded = collect(made, [made.specs / api / "round-trips.yaml" for api in APIS])
    assert loaded.problems == []
    return tuple(loaded.cases)


def test_there_are_five_and_more_of_each_api():
    counted = Counter(case.api for case in bundled_round_trips())
    assert {api: counted[api] >= 5 for api in APIS} == dict.fromkeys(APIS, True)


@pytest.mark.usefixtures("sources")
def test_the_reference_conducts_every_bundled_round_trip(tmp_path):
    # one delivery is enough, because other tests show that decoders do not depend on cuts
    made = expand(bundled_round_trips(), ("as-is",), "http", 0)
    finished = run(tmp_path, made, connect("python:over_http:adapter"))
    reported = {
        result.id: (result.verdict, result.reason, result.checks) for result in finished.results.trials
    }
    assert {id_: each for id_, each in reported.items() if each[0] != "pass"} == {}
    assert len(reported) == len(bundled_round_trips())


WAYWARD = """
import over_http
from over_http import ask, continued

def adapter(run):
    first = {"status": "complete", "content": []}
    match run.model:
        case "asks nothing":
            return {"first": first, "outcome": first}
        case "refuses":
            return {"status": "error", "content": [], "error": {"message": "no tools here"}}
        case "is no outcome":
            return {"status": "ready", "content": []}
    first = ask(run, run.conversation)
    again = continued(run.conversation, first, run.results)
    *before, answer, results = again["messages"]
    match run.model:
        case "one request":
            return first
        case "no answer":
            again["messages"] = [*before, {"role": "user", "content": "42.2"}]
        case "another result":
            results["results"][0]["content"] = "43"
        case "three requests":
            ask(run, again)
        case "the first outcome":
            return [{"first": first, "outcome": first}, ask(run, again)][0]
        case "a first that is none":
            return {"first": 7, "outcome": ask(run, again)}
        case "nothing of the first":
            return ask(run, again)
    return {"first": first, "outcome": ask(run, again)}

adapter.inputs = ["http"]
adapter.capabilities = over_http.adapter.capabilities
"""
IMPLEMENTATION, ADAPTER = "implementation", "adapter"
WENT: dict[str, tuple[str, str | None, set[str]]] = {
    "as it should": ("pass", None, set()),
    "nothing of the first": ("pass", None, set()),
    "one request": ("fail", IMPLEMENTATION, {"requests.length", "request.body", "outcome.stop.reason"}),
    "three requests": ("fail", IMPLEMENTATION, {"requests.length"}),
    "no answer": ("fail", IMPLEMENTATION, {"request.body.messages.length"}),
    "another result": ("fail", IMPLEMENTATION, {"request.body.messages.2.content.0.content.0.text"}),
    "the first outcome": ("fail", IMPLEMENTATION, {"outcome.stop.reason", "outcome.content.0.text"}),
    "a first that is none": ("fail", ADAPTER, {"invariant.first-schema"}),
    "is no outcome": ("faulted", ADAPTER, set()),
    "asks nothing": ("faulted", ADAPTER, set()),
    "refuses": ("fail", IMPLEMENTATION, {"request.body"}),
}


def test_a_mistake_in_the_round_trip_is_reported_at_its_path(sources, tmp_path):
    (tmp_path / "wayward.py").write_text(WAYWARD, "utf-8")
    (trial,) = trials(sources, "whole")
    judged = [
        structs.replace(
            trial, case=replace(trial.case, id=name, conversation={**trial.case.conversation, "model": name})
        )
        for name in WENT
    ]
    finished = run(tmp_path, judged, connect("python:wayward:adapter"))
    reported = {result.case: result for result in finished.results.trials}
    for name, (verdict, culprit, paths) in WENT.items():
        assert (reported[name].verdict, reported[name].culprit) == (verdict, culprit), name
        assert paths <= {check.path for check in reported[name].checks}, name
        assert reported[name].checks or not paths, name
    assert reported["asks nothing"].reason.startswith("not-asked: it answered, but no request arrived")
    assert [check.message for check in reported["refuses"].checks] == ["no request was sent: no tools here"]
    assert len(reported["one request"].observation["sent"]) == 1
    messages = {check.path: check.message for check in reported["one request"].checks}
    assert messages["request.body"] == "no request followed answer 1: it was not sent back"
    lines = (tmp_path / "results.jsonl").read_text("utf-8").splitlines()
    assert [found for line in lines for found in find_problems("results.v1", json.loads(line))] == []


def test_the_first_answer_is_judged_if_it_is_reported(sources):
    write(sources, SPEC.replace("stop: tool_use", "stop: length"))
    (trial,) = trials(sources, "whole")
    good = {"status": "complete", "stop": {"reason": "stop"}, "content": []}
    paths = [
        {check.path for check in check_round_trip(trial, seen, CAPABILITIES)[0] if check.path[:6] == "first."}
        for seen in (Observation(good), Observation(good, earlier=(good,)))
    ]
    assert paths[0] == set()
    assert {"first.stop.reason", "first.content.length"} < paths[1]


def test_a_parser_that_builds_requests_gets_the_bytes_of_both_answers(sources, tmp_path):
    finished = run(tmp_path, trials(sources, "whole"), connect("reference"))
    assert [result.verdict for result in finished.results.trials] == ["pass"]


@pytest.mark.parametrize("missing", ["round_trips", "tool_calls", "parallel_tool_calls"])
def test_it_is_skipped_where_what_it_needs_is_not_claimed(sources, missing):
    (case,) = load(sources)
    two = replace(case, turns=(Turn(case.turns[0].results * 2),))
    assert explain_skip(two, Greeting(name="x", capabilities=CAPABILITIES)) is None
    claims = CAPABILITIES - {missing, INCLUDED_IN.get(missing)}
    assert explain_skip(two, Greeting(name="x", capabilities=claims)) == f"{missing} is not claimed"
    assert explain_skip(case, Greeting(name="x", capabilities=CAPABILITIES - {"parallel_tool_calls"})) is None


def test_without_a_server_it_needs_a_function_that_builds_requests(sources):
    (case,) = load(sources)
    client = Greeting(name="x", capabilities=CAPABILITIES - {"requests"})
    assert explain_skip(case, client, "http") is None
    assert explain_skip(case, client, "bytes") == "round_trips is not claimed"
    assert explain_skip(case, Greeting(name="x", capabilities=CAPABILITIES), "bytes") is None


def test_every_check_can_be_listed_as_known(sources):
    (trial,) = trials(sources, "whole")
    paths = get_checked_paths(trial, CAPABILITIES).possible
    assert {
        "requests.length",
        "first.stop.reason",
        "first.content.0.tool_call.name",
        "request.body",
        "request.body.messages.length",
        "request.body.messages.2.content.0.tool_use_id",
        "request.body.messages.*.content.*.arguments",
        "request.headers.anthropic-version",
        "request.path",
        "outcome.content.0.text",
    } <= paths


MISTAKES = [
    ("cassettes: [first-delta-empty, single-text-block]", "cassettes: [first-delta-empty]", 10, "too short"),
    ("single-text-block]", "nowhere]", 10, "cassette `nowhere` cannot be used"),
    ("first-delta-empty,", "nowhere,", 10, "cassette `nowhere` cannot be used"),
    ("        must_not: ", "        must_nt: ", 24, "unknown key `must_nt`"),
    ('content: "42.2"}]', "value: 42}]", 15, "unknown key `value`"),
    ('results: [{name: convert_units, content: "42.2"}]', "results: []", 15, "non-empty"),
    ("    cassettes: ", "    skip: {why: so}\n    cassettes: ", 10, "unknown key `skip`"),
]


@pytest.mark.parametrize(("before", "after", "line", "says"), MISTAKES)
def test_a_mistake_is_reported_at_its_line(sources, before, after, line, says):
    assert before in SPEC
    write(sources, SPEC.replace(before, after))
    with pytest.raises(SourceError) as raised:
        load(sources)
    assert [(problem.line, says in problem.message) for problem in raised.value.problems][:1] == [
        (line, True)
    ]


RESULTS = [
    (
        "[{name: now, content: a}]",
        ["the conversation has no such tool", "answer 1 calls convert_units"],
    ),
    ("[{name: convert_units, content: a}, {name: convert_units, content: b}]", ["calls convert_units"]),
]


@pytest.mark.parametrize(("results", "says"), RESULTS)
def test_lint_holds_results_against_tools_and_calls(sources, results, says):
    write(sources, SPEC.replace('[{name: convert_units, content: "42.2"}]', results))
    _, reported = lint_all(sources, strict=False)
    assert len(reported) == len(says)
    assert all(words in problem.message for words, problem in zip(says, reported, strict=True))


VERBS = {
    ("list", "--input", "http", "--trials"): (0, f"{ID}@whole  must  1 and 1 chunk"),
    ("explain", "one-call", "-i", "python:over_http:adapter", "--no-pager"): (
        0,
        "request.body.messages.length",
    ),
    ("explain", "one-call@crlf"): (2, "round trips have as-is, whole, bytewise, random"),
    ("explain", "one-call"): (0, "request.body.messages.length"),
    ("minimise", "one-call", "-i", "reference"): (2, "tests requests, and only streams"),
    ("explain", "one-call", "--outcome", "over_http.py"): (2, "which only a server sees"),
    ("run", "-i", "python:over_http:adapter", "--deliver", "fast", "--report", "html=r.html"): (
        0,
        "2 trials",
    ),
}


@pytest.mark.parametrize("words", VERBS)
def test_every_verb_handles_round_trips(sources, words):
    where = ("--specs", str(sources.specs), "--cassettes", str(sources.cassettes))
    ran = Project(Path.cwd()).run(*words, *where)
    code, says = VERBS[words]
    assert (ran.code, says in ran.out + ran.err) == (code, True), ran.out + ran.err


STATEFUL = """
import over_http
from over_http import ask, continued, post
from streamconform_reference.adapter import build_request

NAMES = {"openai-responses": "previous_response_id", "google-interactions": "previous_interaction_id"}

def adapter(run):
    first = ask(run, run.conversation)
    built = build_request(run.api, continued(run.conversation, first, run.results))
    body = built["body"]
    body["input"] = body["input"][-len(run.results):]
    body[NAMES[run.api]] = first["response_id"] + ("1" if run.model == "wrong" else "")
    return {"first": first, "outcome": post(run, {**built, "body": body})}

adapter.inputs = ["http"]
adapter.capabilities = over_http.adapter.capabilities

def unclaimed(run):
    return adapter(run)

unclaimed.inputs = ["http"]
unclaimed.capabilities = [name for name in adapter.capabilities if name != "stateful"]
"""


@pytest.mark.usefixtures("sources")
def test_a_client_that_leaves_the_history_to_the_server_is_judged_by_the_results(tmp_path):
    (tmp_path / "stateful.py").write_text(STATEFUL, "utf-8")
    cases = [
        case
        for case in bundled_round_trips()
        if case.turns[0].results and APIS[case.api].requests.kept_answer
    ]
    made = tuple(expand(cases, ("whole",), "http", 0))
    assert {trial.case.api for trial in made} == {"openai-responses", "google-interactions"}
    finished = run(tmp_path, made, connect("python:stateful:adapter"))
    assert {result.id: result.checks for result in finished.results.trials if result.verdict != "pass"} == {}
    finished = run(tmp_path, made, connect("python:stateful:unclaimed"))
    assert {result.case for result in finished.results.trials if result.verdict == "pass"} == set()


@pytest.mark.usefixtures("sources")
def test_such_a_client_names_the_answer_that_it_got(tmp_path):
    (tmp_path / "stateful.py").write_text(STATEFUL, "utf-8")
    case = next(case for case in bundled_round_trips() if case.api == "openai-responses")
    (trial,) = expand([case], ("whole",), "http", 0)
    wrong = structs.replace(
        trial, case=replace(trial.case, conversation={**trial.case.conversation, "model": "wrong"})
    )
    finished = run(tmp_path, (wrong,), connect("python:stateful:adapter"))
    (result,) = finished.results.trials
    assert [check.path for check in result.checks] == ["request.body.previous_response_id"]
    paths = get_checked_paths(wrong, CAPABILITIES).certain
    assert "request.body.previous_response_id" in paths
