"""How a trial changed between two results, and how `conform diff` shows it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from streamconform.model.verdict import Check
from streamconform.reports import changes
from streamconform.reports.history import KINDS, compare_results
from streamconform.reports.json import render_lines
from streamconform.reports.markdown import MAX_BYTES
from streamconform_dev.docs.golden import RESULTS, write_cut_results

from ..cli.project import Project
from ..harness import builders

MINE = builders.info()
HTTP = replace(MINE, input="http")
OTHER = replace(MINE, name="other", impl="cmd:./other")
RENAMED = replace(MINE, impl="python:mypkg.new:adapter", version="2")
CHECK = Check(path="content.0.text", level="must", verdict="fail", expected="a", got="b")
NAMES = ("before.jsonl", "after.jsonl")


def trial(verdict, case="openai-chat/text/one", delivery="as-is", of=0):
    """A result that looks like its verdict."""
    fields = {"checks": (CHECK,)} if verdict in ("fail", "warn", "known") else {}
    known = "as upstream does" if verdict in ("known", "stale") else None
    return builders.result(verdict, case=case, delivery=delivery, implementation=of, known=known, **fields)


def results(*trials, who=(MINE,), **selection):
    """A whole run."""
    return builders.results(*trials, infos=who, selection=selection)


@pytest.mark.parametrize(
    ("was", "now", "kind"),
    [
        ("pass", "fail", "new"),
        ("known", "fail", "new"),
        ("skipped", "hang", "new"),
        (None, "faulted", "new"),
        ("stale", "fail", "new"),
        ("fail", "pass", "fixed"),
        ("hang", "pass", "fixed"),
        ("fail", "warn", "fixed"),
        ("known", "pass", "fixed"),
        ("fail", "fail", "still"),
        ("fail", "hang", "still"),
        ("known", "stale", "stale"),
        ("fail", "stale", "stale"),
        (None, "stale", "stale"),
        ("pass", "skipped", "changed"),
        ("fail", "known", "changed"),
        ("fail", "skipped", "changed"),
        ("stale", "pass", "changed"),
        ("pass", "warn", "changed"),
        ("fail", None, "gone"),
        ("pass", None, "gone"),
        (None, "pass", "added"),
        (None, "known", "added"),
        ("pass", "pass", "same"),
        ("known", "known", "same"),
        ("warn", "warn", "same"),
    ],
)
def test_what_became_of_a_trial(was, now, kind):
    before, after = (results(*([trial(each)] if each else [])) for each in (was, now))
    history = compare_results(before, after)
    assert [each.kind for each in history.changes] == [kind]
    assert history.counts == {each: int(each == kind) for each in KINDS}


@pytest.mark.parametrize(("strict", "kind"), [(False, "changed"), (True, "new")])
def test_a_warning_is_a_failure_where_the_run_was_strict(strict, kind):
    history = compare_results(results(trial("pass")), results(trial("warn"), strict=strict))
    assert [each.kind for each in history.changes] == [kind]


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ((MINE,), (MINE,), {0: 0}),
        ((MINE, OTHER), (OTHER, MINE), {0: 1, 1: 0}),
        ((MINE, HTTP), (HTTP, MINE), {0: 1, 1: 0}),
        ((MINE, OTHER), (HTTP,), {0: 0}),
        ((MINE, OTHER), (RENAMED, OTHER), {0: 0, 1: 1}),
        ((MINE,), (OTHER,), {0: 0}),
        ((MINE,), (OTHER, MINE), {1: 0}),
        ((MINE, MINE), (MINE, MINE), {0: 0, 1: 1}),
    ],
)
def test_implementations_are_paired_by_how_they_are_reached_then_by_name(before, after, pairs):
    assert compare_results(results(who=before), results(who=after)).pairs == pairs


BEFORE = results(
    trial("fail", "openai-chat/text/mended"),
    trial("fail", "openai-chat/text/mended", "whole"),
    trial("pass", "openai-chat/text/broken | `now`\n@someone"),
    trial("fail", "openai-chat/text/as-ever"),
    trial("known", "openai-chat/text/listed"),
    trial("pass", "openai-chat/text/left-out"),
    trial("pass", "openai-chat/text/good"),
)
AFTER = results(
    trial("pass", "openai-chat/text/mended"),
    trial("pass", "openai-chat/text/mended", "whole"),
    trial("fail", "openai-chat/text/broken | `now`\n@someone"),
    trial("fail", "openai-chat/text/as-ever"),
    trial("stale", "openai-chat/text/listed"),
    trial("pass", "openai-chat/text/good"),
)


def test_the_comment_begins_with_the_headline():
    comment = changes.render_markdown(compare_results(BEFORE, AFTER), NAMES)
    assert comment.startswith("### streamconform: 2 fixed, 1 new, 1 stale\n")
    titles = [line[5:] for line in comment.splitlines() if line.startswith("#### ")]
    assert titles == [
        "New failures",
        "Fixed",
        "Still failing",
        "Known failures that pass (remove from list): 1 trial",
        "No longer in the results: 1 trial",
    ]
    assert "\n@someone" not in comment


def test_a_comment_is_cut_where_github_would():
    many = [trial("fail", f"openai-chat/text/{'long' * 15}-{i}") for i in range(3000)]
    many = [replace(each, checks=(replace(CHECK, path=f"field{i}"),)) for i, each in enumerate(many)]
    comment = changes.render_markdown(compare_results(results(), results(*many)), NAMES)
    assert len(comment.encode()) <= MAX_BYTES
    assert comment.endswith(changes.LEFT_OUT)


def test_two_equal_results_have_nothing_to_tell():
    comment = changes.render_markdown(compare_results(AFTER, results(trial("pass"))), NAMES)
    assert changes.format_headline(compare_results(AFTER, AFTER)) == "0 fixed, 0 new, 1 stale"
    assert "New failures" not in comment


@pytest.fixture
def project(tmp_path):
    for name, run in (("before.jsonl", BEFORE), ("after.jsonl", AFTER)):
        (tmp_path / name).write_text(render_lines(run) + "\n", "utf-8")
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        (NAMES, 1, "2 fixed, 1 new, 1 stale, 1 still failing, 1 gone"),
        ((*NAMES, "--exit-zero"), 0, "2 fixed, 1 new, 1 stale, 1 still failing, 1 gone"),
        (NAMES[:1] * 2, 0, "0 fixed, 0 new, 0 stale, 3 still failing"),
    ],
)
def test_the_exit_code_says_whether_anything_is_new(project, words, code, last):
    ran = project.run("diff", *words)
    assert (ran.code, ran.last, ran.err) == (code, last, "")


def test_the_text_names_what_is_new_with_the_way_to_see_it(project):
    out = project.run("diff", *NAMES).out
    assert out.startswith("New failures: 1 trial\n1. Changes text  1 case, 1 trial\n")
    assert "reproduce: conform run -i mypkg -k 'openai-chat/text/broken" in out


def test_the_document_has_every_change(project):
    reported = json.loads(project.run("diff", *NAMES, "--format", "json").out)
    assert reported["counts"]["same"] == 1
    assert sorted(each["kind"] for each in reported["changes"]) == [
        "fixed",
        "fixed",
        "gone",
        "new",
        "stale",
        "still",
    ]
    assert [each["before"] for each in reported["changes"] if each["kind"] == "new"] == ["pass"]


def test_results_that_are_cut_or_of_another_seed_are_compared_with_a_word(project):
    ran = project.run("diff", str(RESULTS), str(write_cut_results(project.folder)))
    assert "warning: the results in " in ran.err
    assert "cut.jsonl are incomplete: the run was killed" in ran.err
    ran = project.run("diff", "before.jsonl", str(RESULTS), "--format", "markdown")
    assert "warning: the two runs differ in seed: 0 before, 7 now" in ran.err
    assert "> `the two runs differ in seed: 0 before, 7 now`" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Missing argument 'BEFORE'"),
        (("before.jsonl",), "no results in `.conform/runs`"),
        (("nowhere", "after.jsonl"), "`nowhere` cannot be read"),
    ],
)
def test_a_users_mistake_is_one_clear_message(project, words, message):
    ran = project.run("diff", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
