"""`conform minimise` as somebody uses it: what is printed, written and exited with."""

from __future__ import annotations

import pytest
from streamconform.resources import find_bundled
from streamconform_mutants import load as load_mutant
from streamconform_reference.adapter import adapter as reference

from ..cli.project import Project
from .searching import searched, verdicts, written

CALL = "anthropic-messages/tool-use/no-arguments-empty-delta"
BROKEN = "mutant:empty-arguments-dropped"

ADAPTERS = {
    # wrong about every call; its parent gets Ctrl-C when it is asked for the fourth time
    "interrupting": """
import os, signal
from streamconform_reference.adapter import adapter as right
asked = []
def adapter(run):
    asked.append(1)
    if len(asked) == 4:
        os.kill(os.getppid(), signal.SIGINT)
    *_, last = right(run)
    last["outcome"]["stop"]["reason"] = "other"
    return last["outcome"]
adapter.capabilities = ["tool_calls"]
""",
    "raising": """
from streamconform_reference.adapter import adapter as right
def adapter(run):
    *_, last = right(run)
    return {**last["outcome"], "model": {}[last["outcome"]["content"][-1]["name"]]}
adapter.capabilities = ["tool_calls"]
""",
    "fickle": """
from streamconform_reference.adapter import adapter as right
asked = []
def adapter(run):
    asked.append(1)
    *_, last = right(run)
    if len(asked) < 4:
        last["outcome"]["stop"]["reason"] = "other"
    return last["outcome"]
adapter.capabilities = ["tool_calls"]
""",
    "over_http": """
import httpx
from types import SimpleNamespace
from streamconform_mutants import load
broken = load("empty-arguments-dropped")
CLIENT = httpx.Client(trust_env=False, timeout=5)
def adapter(run):
    response = CLIENT.post(run.base_url + "/v1/messages", json=run.request)
    given = SimpleNamespace(api=run.api, status=response.status_code, headers={}, chunks=[response.content])
    *_, last = broken(SimpleNamespace(**vars(given), pricing=run.pricing))
    return last["outcome"]
adapter.inputs = ["http"]
adapter.capabilities = ["tool_calls"]
""",
}


SPECS = ("anthropic-messages/tool-use.yaml", "common/heal.yaml")
"""All that is read here: the whole suite takes longer than a search."""


@pytest.fixture
def project(tmp_path):
    files = {f"{name}.py": text for name, text in ADAPTERS.items()}
    files |= {f"suite/{name}": (find_bundled("specs") / name).read_text("utf-8") for name in SPECS}
    files["conform.toml"] = f'specs = "suite"\ncassettes = "{find_bundled("cassettes")}"\n'
    return Project(tmp_path, files)


def test_what_is_written_can_be_run_at_once(project):
    ran = project.run("minimise", CALL, "-i", BROKEN)
    assert (ran.code, ran.err) == (0, "")
    assert '"type":"tool_use"' in ran.out
    assert "content.1.tool_call.arguments" not in ran.out
    assert "content.0.tool_call.arguments: expected {}, got null" in ran.out
    where = "--specs minimised/specs --cassettes minimised/cassettes"
    assert ran.last.startswith(f"run it: conform run {where} -i {BROKEN} -k anthropic-messages/")
    words = ran.last.partition("conform ")[2].split()
    assert project.run(*words).code == 1
    words[words.index(BROKEN)] = "reference"
    assert project.run(*words, "--deliver", "full").code == 0
    assert project.run("lint", "--specs", "minimised/specs", "--cassettes", "minimised/cassettes").code == 0


def test_the_same_search_writes_the_same_bytes(project):
    made = []
    for _ in range(2):
        assert project.run("minimise", CALL, "-i", BROKEN).code == 0
        files = sorted(each for each in (project.folder / "minimised").rglob("*") if each.is_file())
        made.append({str(each.relative_to(project.folder)): each.read_bytes() for each in files})
    assert len(made[0]) == 3
    assert made[0] == made[1]
    told = " ".join(b"".join(made[0].values()).decode().split())
    assert f"recipe: conform minimise {CALL}@recorded -i {BROKEN}" in told


def test_markdown_is_the_stream_as_it_is_sent_and_nothing_is_written(project):
    ran = project.run("minimise", CALL, "-i", BROKEN, "--format", "markdown", "--no-write")
    assert ran.code == 0
    assert ran.out.startswith("### `anthropic-messages`: `content.*.tool_call.arguments` is wrong\n")
    assert "```text\nevent: message_start\ndata: {" in ran.out
    assert not (project.folder / "minimised").exists()


def test_ctrl_c_writes_the_smallest_stream_until_then(project):
    ran = project.run("minimise", CALL, "-i", "python:interrupting:adapter")
    assert ran.code == 130
    assert "cut short, it may get smaller" in ran.out
    assert [*(project.folder / "minimised/specs").rglob("*.yaml")]


@pytest.mark.parametrize(("spent", "asked"), [(("--max-trials", "3"), "in 3 trials")])
def test_a_budget_that_is_spent_keeps_what_there_is(project, spent, asked):
    ran = project.run("minimise", CALL, "-i", BROKEN, *spent)
    assert ran.code == 0
    assert f"{asked}; cut short, it may get smaller" in ran.out


def test_an_adapter_that_raises_is_asked_until_the_least_makes_it_raise(project):
    ran = project.run("minimise", CALL, "-i", "python:raising:adapter")
    assert ran.code == 0
    assert "Fails at faulted" in ran.out
    assert '"type":"tool_use"' in ran.out


def test_an_answer_that_changes_is_said_to(project):
    ran = project.run("minimise", CALL, "-i", "python:fickle:adapter", "--no-write")
    assert "the implementation is not deterministic" in ran.out


def test_a_client_is_asked_over_http(project):
    ran = project.run("minimise", CALL, "-i", "python:over_http:adapter")
    assert ran.code == 0, ran.err
    assert "5 frames" in ran.out
    assert "expected {}, got null" in ran.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((CALL,), 2, "Missing --impl (and no `impl` in conform.toml)"),
        ((CALL, "-i", "reference"), 2, "passes for `reference`: there is nothing to minimise"),
        ((f"{CALL}@whole", "-i", "reference"), 2, "@whole passes for `reference`"),
        (
            (CALL, "-i", BROKEN, "--check", "usage.input"),
            2,
            "does not fail at `usage.input`; it does at content.",
        ),
        ((f"{CALL}@reset", "-i", BROKEN), 2, "a cassette cannot hold a broken connection"),
        (
            ("common/heal/json-text", "-i", BROKEN),
            2,
            "tests a function, and only streams can be minimised; its input is in ",
        ),
        (("no-such-case-anywhere", "-i", BROKEN), 2, "no case `no-such-case-anywhere`"),
        ((CALL, "-i", "python:nowhere:adapter"), 3, "no module `nowhere`"),
    ],
)
def test_a_users_mistake_is_one_clear_message(project, words, code, said):
    ran = project.run("minimise", *words)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_failure_by_the_cuts_alone_keeps_the_fewest_cuts(tmp_path):
    search = searched("anthropic-messages/thinking/thinking-unicode@utf8-split", "mutant:utf8-per-chunk")
    kept = written(tmp_path, search)
    assert len(kept.cassette.marks) == 2
    assert verdicts(kept, load_mutant("utf8-per-chunk"), ("recorded", "whole")) == {
        "recorded": "fail",
        "whole": "pass",
    }
    assert verdicts(kept, reference) == {"recorded": "pass"}


def test_a_stream_that_was_cut_stays_cut(tmp_path):
    search = searched(f"{CALL}@cut-after-frame", "mutant:eof-as-success")
    assert search.best.read.outcome.status == "incomplete"
    kept = written(tmp_path, search)
    assert verdicts(kept, reference) == {"recorded": "pass"}
