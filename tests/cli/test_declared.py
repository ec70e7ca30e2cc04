"""`conform run --declared`: a run of what a known-failures file declares."""

from __future__ import annotations

import json

import pytest
import yaml

from streamconform.causes.table import BILLS, RUNS
from streamconform.known_failures.declaration import list_false_claims
from streamconform.known_failures.model import KnownFailures

from .project import Project

ADAPTER = """
import streamconform_mutants, streamconform_reference


def adapter(run):
    return {read}(run)


adapter.info = {{"name": "mypkg", "version": "1.0", "language": "python"}}
adapter.apis = ["anthropic-messages"]
adapter.capabilities = ["stop", "tool_calls", "usage"]
"""
CONFIG = 'impl = "python:adapter.py:adapter"\nknown_failures = "known.yaml"\nworkers = 1\nlevel = "may"\n'
DECLARED = """\
known-failures: 1
scope: {profile: core-2026.2}
declares: {anthropic-messages: [stop, tool_calls, usage]}
entries: []
"""
BUG = 'getattr(streamconform_mutants, "cut-call-executable")'
NO_BUG = "streamconform_reference.adapter"
RUN = ("run", "--declared", "--report", "badge=badge.json")


def make_project(folder, read=BUG, known=DECLARED):
    files = {"adapter.py": ADAPTER.format(read=read), "conform.toml": CONFIG, "known.yaml": known}
    return Project(folder, files)


@pytest.fixture(scope="module")
def updated(tmp_path_factory):
    """The file with the entries of the failures that the adapter has."""
    project = make_project(tmp_path_factory.mktemp("declared"))
    assert project.run("run", "--declared", "--update-known-failures").code == 1
    return (project.folder / "known.yaml").read_text("utf-8")


def read_badge(project):
    return json.loads((project.folder / "badge.json").read_text("utf-8"))


def test_a_true_declaration_passes_and_says_its_level_and_harm(tmp_path, updated):
    project = make_project(tmp_path, known=updated)
    ran = project.run(*RUN)
    assert ran.code == 0
    assert f"As declared: core-2026.2, must: 2 bugs: {RUNS} (1), {BILLS} (1)" in ran.out
    assert read_badge(project)["message"] == f"core-2026.2, must: 2 bugs: {RUNS} (1), 1 more"


def test_a_declared_wrong_call_is_amber(tmp_path, updated):
    project = make_project(tmp_path, known=updated)
    project.run(*RUN)
    assert read_badge(project)["color"] == "orange"


def test_a_worse_result_makes_the_declaration_false(tmp_path):
    project = make_project(tmp_path)
    assert project.run(*RUN).code == 1
    assert read_badge(project) | {"label": ""} == {
        "schemaVersion": 1,
        "label": "",
        "message": "not as declared",
        "color": "red",
    }


def test_a_better_result_makes_the_declaration_false(tmp_path, updated):
    document = yaml.safe_load(updated)
    document["entries"][0]["trials"] += 1
    project = make_project(tmp_path, known=yaml.safe_dump(document))
    ran = project.run(*RUN)
    assert ran.code == 1
    assert "set `trials: " in ran.out
    assert read_badge(project)["message"] == "not as declared"


def test_a_fixed_bug_makes_the_declaration_false(tmp_path, updated):
    project = make_project(tmp_path, read=NO_BUG, known=updated)
    ran = project.run(*RUN)
    assert ran.code == 1
    assert "unfinished-call-executable` of anthropic-messages is fixed" in ran.out


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ("[stop, tool_calls]", "does not declare capabilities that are claimed: add usage"),
        ("[stop, tool_calls, usage, cost]", "declares capabilities that are not claimed: remove cost"),
    ],
)
def test_capabilities_have_to_be_those_that_are_claimed(tmp_path, updated, names, says):
    project = make_project(tmp_path, known=updated.replace("[stop, tool_calls, usage]", names))
    ran = project.run(*RUN)
    assert ran.code == 1
    assert f"known.yaml:3: false: `anthropic-messages` {says}" in ran.out


def test_an_api_that_is_read_has_to_be_declared_and_the_other_way_round():
    known = KnownFailures("k.yaml", (), None, None, {"a": ("stop",), "b": ()}, 3)
    problems = list_false_claims(known, {"a": ("stop",), "c": (), "common": ("heal",)})
    assert [(problem.line, problem.message) for problem in problems] == [
        (3, "false: `b` is declared, but the implementation does not read it: remove it"),
        (3, "false: `c` is read, but not declared: add it"),
    ]


def test_a_file_that_declares_nothing_is_about_any_claims():
    assert list_false_claims(KnownFailures("k.yaml", ()), {"a": ()}) == ()


def test_strict_is_the_level_should(tmp_path):
    known = DECLARED.replace("core-2026.2", "core-2026.2, strict: true")
    project = make_project(tmp_path, known=known)
    assert project.run("run", "--declared", "--update-known-failures").code == 1
    project = Project(tmp_path)
    assert "As declared: core-2026.2, should: " in project.run(*RUN).out


@pytest.mark.parametrize(
    "words", [("-k", "text"), ("--api", "openai-chat"), ("--profile", "core"), ("--strict",), ("-x",)]
)
def test_another_selection_is_an_error(tmp_path, words):
    ran = make_project(tmp_path).run(*RUN, *words)
    assert (ran.code, "the declaration selects the trials" in ran.err) == (2, True)


@pytest.mark.parametrize("profile", ["core", "core-1999.1"])
def test_a_declaration_pins_a_release(tmp_path, profile):
    ran = make_project(tmp_path, known=DECLARED.replace("core-2026.2", profile)).run(*RUN)
    assert (ran.code, "for one release of a profile" in ran.err) == (2, True)


def test_there_is_one_declaration(tmp_path):
    known = "known-failures: 1\nentries: []\n"
    ran = make_project(tmp_path, known=known).run(*RUN)
    assert ran.code == 2
    assert "one known-failures file with `declares`; here are 1 and 0" in ran.err


def test_settings_of_the_config_file_do_not_apply(tmp_path, updated):
    project = make_project(tmp_path, known=updated)
    narrow = project.with_file("conform.toml", CONFIG + 'select = "nothing"\ndeliver = "fast"\n')
    assert narrow.run(*RUN).code == 0


def test_a_declaration_without_failures_is_green(tmp_path):
    project = make_project(tmp_path, read=NO_BUG, known=DECLARED.replace(", usage", ""))
    text = project.files["adapter.py"].replace(', "usage"', "")
    project = project.with_file("adapter.py", text)
    ran = project.run(*RUN)
    assert ran.code == 0, ran.out
    assert read_badge(project)["color"] == "brightgreen"
    assert read_badge(project)["message"] == "core-2026.2, must: no known bug"
