"""Cases without bytes on the command line: run, listed, explained, known to fail, reported."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from streamconform.run.run_folders import RUNS, get_latest_results
from streamconform_dev.checkout import ROOT

from .project import Project

ADAPTER = """
def adapter(run):
    return {"status": "complete", "content": []}


def heal(api, given):
    return given if isinstance(given, dict) else {"raw": given}


adapter.heal = heal
adapter.apis = []
"""
HEAL = ("run", "-i", "mine", "-k", "common/**")


@pytest.fixture
def project(tmp_path):
    """A project whose suite is the bundled cases of this kind, so that loading takes no time."""
    made = Project(tmp_path).with_file("mine/conform.py", ADAPTER).with_file("mine/__init__.py", "")
    for path in (ROOT / "specs/common").glob("*.yaml"):
        made = made.with_file(f"suite/common/{path.name}", path.read_text("utf-8"))
    return made.with_file("conform.toml", f'specs = "suite"\ncassettes = "{ROOT / "cassettes"}"\n')


def results(folder):
    lines = get_latest_results(folder / RUNS).read_text("utf-8").splitlines()
    return [each for each in map(json.loads, lines) if each["kind"] == "trial"]


def test_the_reference_passes_all_of_them_in_process_and_as_a_program(tmp_path):
    for words in (("run",), ("run", "-i", f"cmd:{shlex.quote(sys.executable)} -m streamconform_reference")):
        ran = Project(tmp_path).run(*words, "-k", "common/**", "--strict")
        assert ran.code == 0, ran.out
    trials = results(tmp_path)
    assert {(each["delivery"], each["verdict"]) for each in trials} == {(None, "pass")}
    assert all(each["id"] == each["case"] and each["passed"] == 1 for each in trials)


def test_an_adapter_is_judged_on_the_functions_it_has(project):
    ran = project.run(*HEAL)
    assert ran.code == 1
    by_verdict = {each["id"]: each["verdict"] for each in results(project.folder)}
    assert by_verdict["common/heal/object"] == "pass"
    assert by_verdict["common/heal/json-text"] == "fail"
    assert {v for id_, v in by_verdict.items() if id_.startswith("common/partial/")} == {"skipped"}
    assert "reproduce: conform explain common/heal/apostrophe -i mine" in ran.out
    assert " \n" not in ran.out


def test_without_a_function_nothing_is_called(tmp_path):
    project = Project(tmp_path).with_file("mine.py", "def adapter(run):\n    return None\n")
    ran = project.run("run", "-i", "python:mine:adapter", "-k", "common/**")
    assert ran.code == 5
    assert {each["reason"] for each in results(tmp_path)} == {
        "heal is not claimed",
        "partial_json is not claimed",
        "assemble is not claimed",
        "count_tokens is not claimed",
    }


def test_what_failed_last_and_what_is_known_have_ids_without_delivery(project):
    project.run(*HEAL)
    failed = sum(each["verdict"] == "fail" for each in results(project.folder))
    again = project.run("run", "-i", "mine", "--last-failed")
    assert f", {failed} cases, {failed} trials, " in again.out
    project.run(
        "run", "-i", "mine", "--deliver", "fast", "--known-failures", "k.yaml", "--update-known-failures"
    )
    listed = (project.folder / "k.yaml").read_text("utf-8")
    assert "- cause: healing-wrong\n    api: common\n" in listed
    assert "example: common/heal/json-text\n" in listed
    assert project.run(*HEAL, "--known-failures", "k.yaml").code == 0


@pytest.mark.parametrize("kind", ["json", "junit", "markdown", "github", "badge"])
def test_every_report_lists_them(project, kind):
    ran = project.run(*HEAL, "-q", "--report", f"{kind}=out")
    assert ran.code == 1
    text = (project.folder / "out").read_text("utf-8")
    assert kind == "badge" or ("apostrophe" in text and "`-`" not in text)


def test_a_profile_may_hold_them(project):
    profile = """\
profile: 1
name: small
title: One of each kind
frozen: true
deliveries: [recorded]
faults: none
cases: [common/heal/object]
"""
    spec = """\
spec: 1
kind: heal
topic: heal
cases:
  - {id: object, title: An object is itself, input: {a: 1}, expect: {output: {a: 1}}}
  - {id: text, title: Text of an object, input: "{}", expect: {output: {}}}
"""
    with_specs = project.with_file("specs/common/heal.yaml", spec).with_file(
        "specs/profiles/small.yaml", profile
    )
    own = ("-i", "mine", "--specs", "specs", "--profile")
    assert "No failures: 1 passed" in with_specs.run("run", *own, "small").out
    assert with_specs.run("run", *own, "next").code == 1


def test_one_is_listed_and_explained(project):
    listed = json.loads(project.run("list", "-k", "common/heal/json-text", "--format", "json").out)
    assert [(each["kind"], each["deliveries"]) for each in listed] == [("heal", [])]
    assert (
        "common/heal/json-text  must  function call\n"
        in project.run("list", "-k", "common/heal/json-text", "--trials").out
    )
    explained = project.run("explain", "heal/json-text", "-i", "mine")
    assert 'input     "{\\"command\\":\\"ls\\"}"' in explained.out
    assert "fail output" in explained.out
    assert "verdict: fail" in explained.out
    wrong = project.run("explain", "common/heal/json-text@whole")
    assert wrong.code == 2
    assert "has no delivery `whole`: it tests a function, not a stream" in wrong.err


@pytest.mark.parametrize(
    ("text", "code"),
    [("{}", 0), (" {}\n", 0), ("[1]", 1), ('{}, "x": 2', 2), ("{}}, {", 2), ("1 2", 2), ("", 2)],
)
def test_the_output_in_a_file_is_one_json_value(project, text, code):
    ran = project.with_file("out.json", text).run(
        "explain", "common/heal/empty-object", "--outcome", "out.json"
    )
    assert ran.code == code, ran.out + ran.err
    assert ("`out.json` is not a JSON value in UTF-8" in ran.err) == (code == 2)
