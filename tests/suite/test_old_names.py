"""The delivery `as-is` was once called `recorded`; the old name still works."""

from __future__ import annotations

import json

import pytest

from streamconform.model.trial import update_id
from streamconform.run.reading import read
from streamconform.suite.expand import make_trial
from streamconform.suite.select import matches, select_ids, split_pattern

from ..cli.project import Project
from ..harness import builders

CASE = "ollama-chat/text/hello"
KNOWN = """\
known-failures: 1
entries:
  - {match: "ollama-chat/text/*@recorded:content.*", verdict: fail, reason: it is open, issue: a/b#1}
"""
SKIP = "ollama-chat/text/*@recorded"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a/b/c@recorded", "a/b/c@as-is"),
        ("a/b/c@recorded:status", "a/b/c@as-is:status"),
        ("recorded", "as-is"),
        ("a/recorded-b/recorded", "a/recorded-b/recorded"),
        ("a/b/c@recorded-twice", "a/b/c@recorded-twice"),
        ("a/b/c@bytewise", "a/b/c@bytewise"),
    ],
)
def test_the_old_name_is_replaced_where_it_names_a_delivery(old, new):
    assert update_id(old) == new


def test_patterns_and_trials_may_have_the_old_name():
    assert matches("a/b/*@recorded", "a/b/c@as-is")
    assert matches("recorded", "a/b/c@as-is")
    assert select_ids(("a/b/c",), ("a/b/c@recorded",), ("as-is",)) == ("a/b/c",)
    assert split_pattern("a/b/*@recorded:status").matches_delivery("as-is")
    assert make_trial(builders.trial().case, "recorded", 0).delivery == "as-is"


def test_a_run_and_a_known_failures_file_may_have_the_old_name(tmp_path):
    project = Project(tmp_path, {"known.yaml": KNOWN})
    ran = project.run("run", "-k", SKIP)
    assert ran.code == 0
    results = read(project.results)
    assert {trial.delivery for trial in results.trials} == {"as-is"}
    ran = project.run("run", "-k", SKIP, "--known-failures", "known.yaml")
    assert "stale" in ran.out or "fixed" in ran.out


def test_results_of_an_earlier_version_have_todays_name(tmp_path):
    project = Project(tmp_path, {})
    assert project.run("run", "-k", SKIP).code == 0
    old = tmp_path / "old.jsonl"
    old.write_text(project.results.read_text("utf-8").replace("as-is", "recorded"), "utf-8")
    assert "recorded" in json.loads(old.read_text("utf-8").splitlines()[1])["id"]
    assert read(old).trials == read(project.results).trials
