"""Scenarios are read from their files, and mistakes in them are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from streamconform.apis.api import Probing
from streamconform.errors import SourceError
from streamconform.resources import find_bundled
from streamconform.suite.scenarios import (
    FOLDER,
    TOPICS,
    ExpectedAnswer,
    Scenario,
    load_bundled,
    read_scenarios,
)

CONVERSATION = {"messages": [{"role": "user", "content": "Hi"}]}
PLAIN = """\
scenarios: 1
topic: {topic}
asked:
  - title: A question
    name: {topic}
    conversation: {{messages: [{{role: user, content: Hi}}]}}
"""
FULL = """\
    stop: END
    needs: [stop_sequences, tool_by_name]
    twice: true
    error: true
    probe: {calls: [1, 2], names: [f, g], stops: [stop], excluded_text: END, may_refuse: true, twin: false}
"""


def write(folder: Path, more: str = "") -> None:
    (folder / FOLDER).mkdir()
    for topic in TOPICS:
        text = PLAIN.format(topic=topic) + (more if topic == "errors" else "")
        (folder / FOLDER / f"{topic}.yaml").write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("more", "changes"),
    [
        ("", {}),
        ("    probe: {}\n", {"probed": True}),
        ("    probe: {calls: [0, null]}\n", {"probed": True, "expected": ExpectedAnswer(calls=(0, None))}),
        (
            FULL,
            {
                "stop": "END",
                "needs": ("stop_sequences", "tool_by_name"),
                "twice": True,
                "error": True,
                "probed": True,
                "expected": ExpectedAnswer(
                    calls=(1, 2),
                    names=frozenset({"f", "g"}),
                    stops=frozenset({"stop"}),
                    excluded_text="END",
                    may_refuse=True,
                    twin=False,
                ),
            },
        ),
    ],
    ids=["plain", "probed", "number-of-calls", "full"],
)
def test_a_scenario_has_what_its_entry_says_and_otherwise_the_defaults(tmp_path, more, changes):
    write(tmp_path, more)
    plain = [Scenario(name=topic, title="A question", conversation=CONVERSATION) for topic in TOPICS]
    assert read_scenarios(tmp_path) == (*plain[:-1], replace(plain[-1], **changes))


def test_a_scenario_is_possible_if_the_api_has_all_that_it_needs():
    scenario = Scenario(
        name="a", title="A", conversation=CONVERSATION, needs=("stop_sequences", "tool_by_name")
    )
    both = Probing(answer=(), error=(), stop_sequences=("stop",), tool_by_name=True)
    assert scenario.possible(both)
    assert not scenario.possible(structs.replace(both, tool_by_name=False))
    assert replace(scenario, needs=()).possible(Probing(answer=(), error=()))


def test_every_question_of_a_probe_says_what_the_server_has_to_do():
    probed = [scenario for scenario in load_bundled() if scenario.probed]
    assert len(probed) >= 12
    assert all(scenario.expected.stops or scenario.expected.calls for scenario in probed)


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ("topic: errors", "topic: other", 2, "expected `errors`, as in the file name"),
        ("name: errors", "name: text", 5, "another scenario is called `text`"),
        ("role: user", "role: guest", 6, "messages"),
        ("    name: e", "    errors: true\n    name: e", 5, "unknown key `errors`"),
    ],
)
def test_a_mistake_in_a_scenario_is_found_with_its_line(tmp_path, before, after, line, message):
    write(tmp_path)
    path = tmp_path / FOLDER / "errors.yaml"
    path.write_text(path.read_text("utf-8").replace(before, after), "utf-8")
    with pytest.raises(SourceError) as raised:
        read_scenarios(tmp_path)
    problem = raised.value.problems[0]
    assert (problem.path, problem.line) == (str(path), line)
    assert message in problem.message


def test_a_model_that_the_conversation_names_is_checked_too(tmp_path):
    write(tmp_path)
    path = tmp_path / FOLDER / "text.yaml"
    path.write_text(path.read_text("utf-8").replace("{messages", "{model: 7, messages"), "utf-8")
    with pytest.raises(SourceError, match="7"):
        read_scenarios(tmp_path)


def test_the_bundled_scenarios_are_read_once():
    assert load_bundled() is load_bundled()
    assert load_bundled() == read_scenarios(find_bundled("specs"))
