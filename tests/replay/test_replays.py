"""Replays: any number of requests, each of which begins with the one before it and contains its answer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from streamconform.adapters.connect import connect
from streamconform.errors import SourceError
from streamconform.resources import find_bundled
from streamconform.run.plan import Settings
from streamconform.run.session import SILENT, RunRequest, execute_run
from streamconform.suite.expand import expand
from streamconform.suite.lint import lint_all
from streamconform.suite.load import Sources, load

HERE = Path(__file__).parent
API = "anthropic-messages"
SPEC = """\
spec: 1
kind: replay
api: anthropic-messages
topic: replays
cases:
  - id: two-calls
    title: Two calls, a question, and its answer
    tags: [replay]
    sources: [https://docs.example.org]
    cassettes: [first-delta-empty, first-delta-empty, single-text-block, single-text-block]
    conversation:
      model: claude-haiku-4-5
      system: Be brief.
      tools: [{name: convert_units, parameters: {type: object}}]
      messages: [{role: user, content: "How far is a marathon in km?"}]
    bound: true
    turns:
      - answer: {status: complete, stop: tool_use, content: [tool_call: {name: convert_units}]}
        results: [{name: convert_units, content: "42.2"}]
        request: {must: {messages: [{role: user}, {role: assistant}, {role: user}]}}
      - results: [{name: convert_units, content: "26.2"}]
      - messages: [{role: user, content: "And a half?"}]
        request:
          must:
            messages:
              - {role: user}
              - {role: assistant}
              - {content: [{type: tool_result, content: [{text: "42.2"}]}]}
              - {role: assistant}
              - {content: [{type: tool_result, content: [{text: "26.2"}]}]}
              - {role: assistant, content: [{text: {matches: Nairobi}}]}
              - {role: user, content: [{text: "And a half?"}]}
          should: {system: [{text: Be brief.}]}
    expect:
      outcome:
        status: complete
        stop: stop
        content: [text: "Nairobi lies about 1,795 metres above sea level."]
"""
ID = f"{API}/replays/two-calls"
CLIENT = """
import copy

import over_http
from over_http import ask
from streamconform.model.case import Turn
from streamconform.run.round_trip import extend

def adapter(run):
    conversation = run.conversation
    outcome = ask(run, conversation)
    for number, turn in enumerate(run.turns):
        conversation = extend(conversation, outcome, Turn(turn.get("results", ()), turn.get("messages", ())))
        if number == 1:
            conversation = copy.deepcopy(conversation)
            spoil(conversation)
        outcome = ask(run, conversation)
    return outcome

def spoil(conversation):
    pass

adapter.inputs = ["http"]
adapter.capabilities = over_http.adapter.capabilities
"""


@pytest.fixture
def sources(tmp_path, monkeypatch):
    made = Sources(tmp_path / "specs", tmp_path / "cassettes")
    for folder in (made.specs, made.cassettes):
        (folder / API).mkdir(parents=True)
    for name in ("first-delta-empty", "single-text-block"):
        for path in (find_bundled("cassettes") / API).glob(f"{name}.*"):
            shutil.copy(path, made.cassettes / API)
    write(made, SPEC)
    (tmp_path / "over_http.py").write_text((HERE / "over_http.py").read_text("utf-8"), "utf-8")
    monkeypatch.chdir(tmp_path)
    return made


def write(sources, text):
    (sources.specs / API / "replays.yaml").write_text(text, "utf-8")


def run(sources, folder, implementation, *names):
    trials = tuple(expand(load(sources), names or ("whole",), "http", 0))
    order = RunRequest(
        connections=(connect(implementation),),
        trials=trials,
        settings=Settings(workers=1, timeout=20),
        selection={},
    )
    return [
        (trial.id, trial.verdict, {check.path: check for check in trial.checks})
        for trial in execute_run(order, folder / "results.jsonl", SILENT).results.trials
    ]


@pytest.mark.parametrize("implementation", ["reference", "python:over_http:adapter"])
def test_the_reference_passes_it_as_a_builder_and_over_http(sources, tmp_path, implementation):
    assert lint_all(sources, strict=False) == (1, [])
    names = ("as-is", "whole", "bytewise", "random")
    expected = [(f"{ID}@{name}", "pass", {}) for name in names]
    assert run(sources, tmp_path, implementation, *names) == expected


SPOILED = {
    'conversation["tools"].insert(0, {"name": "a", "parameters": {}})': "requests.2.prefix.tools",
    'conversation["system"] += " It is noon."': "requests.2.prefix.system",
    'conversation["messages"][1]["content"][0]["arguments"] = {}': "requests.2.prefix.messages",
    'conversation["messages"][0]["content"] = "How far?"': "requests.2.prefix.messages",
}


@pytest.mark.parametrize("change", SPOILED)
def test_a_client_that_rewrites_what_it_sent_fails_at_the_request_that_differs(sources, tmp_path, change):
    (tmp_path / "client.py").write_text(CLIENT.replace("pass", change), "utf-8")
    ((_, verdict, checks),) = run(sources, tmp_path, "python:client:adapter")
    assert verdict == "fail"
    # The later request has the change too, so it does begin with the one before.
    assert [path for path in checks if "prefix" in path] == [SPOILED[change]]
    assert ", byte " in checks[SPOILED[change]].message


MISTAKES = [
    ("single-text-block, single-text-block]", "single-text-block]", 10, "3 turns need 4 cassettes"),
    ("bound: true", "bound: yes please", 16, "boolean"),
    ("- results: [{name", "- result: [{name", 21, "unknown key `result`"),
    ("matches: Nairobi", "matches: (", 31, "must.messages.5.content.0.text"),
]


@pytest.mark.parametrize(("before", "after", "line", "says"), MISTAKES)
def test_a_mistake_is_reported_at_its_line(sources, before, after, line, says):
    assert before in SPEC
    write(sources, SPEC.replace(before, after))
    with pytest.raises(SourceError) as raised:
        load(sources)
    (problem, *_) = raised.value.problems
    assert (problem.line, says in problem.message) == (line, True), problem


def test_lint_compares_the_results_with_the_calls_of_their_answer(sources):
    write(sources, SPEC.replace('        results: [{name: convert_units, content: "42.2"}]\n', ""))
    _, (problem,) = lint_all(sources, strict=False)
    assert problem.message.endswith("the results are for nothing, but answer 1 calls convert_units")
