"""`conform dev selftest --innocent` prints a line per innocent, and fails if the suite punishes one."""

from __future__ import annotations

import pytest

from streamconform_innocents import INNOCENTS

from .project import Project

pytestmark = pytest.mark.slow

TEXT = ("-k", "ollama-chat/text/plain-text", "--deliver", "fast")


def test_an_innocent_passes(tmp_path):
    ran = Project(tmp_path).run("dev", "selftest", "--innocent", "text-in-halves", *TEXT)
    assert ran.code == 0, ran.out
    assert ran.out.startswith("innocent  text-in-halves")
    assert "1 of 1 innocents pass" in ran.last


def test_without_a_name_every_innocent_runs(tmp_path):
    table = tmp_path / "table.md"
    ran = Project(tmp_path).run("dev", "selftest", "--innocent", *TEXT, "--table", str(table))
    assert ran.code == 0, ran.out
    assert sum(line.startswith("innocent  ") for line in ran.out.splitlines()) == len(INNOCENTS)
    page = table.read_text("utf-8")
    assert page.startswith("# Innocents")
    assert "| `text-in-halves` |" in page


def test_the_list_has_a_line_per_innocent(tmp_path):
    lines = Project(tmp_path).run("dev", "selftest", "--list", "--innocent").out.splitlines()
    assert any(line.startswith("text-in-halves: Reports each text") for line in lines)
    assert len(lines) == len(INNOCENTS)


def test_an_unknown_innocent_is_a_usage_error_with_a_suggestion(tmp_path):
    ran = Project(tmp_path).run("dev", "selftest", "--innocent", "text-in-halfs", *TEXT)
    assert ran.code == 2
    assert "text-in-halves" in ran.err


def test_mutants_and_innocents_exclude_each_other(tmp_path):
    ran = Project(tmp_path).run(
        "dev", "selftest", "--innocent", "text-in-halves", "--mutant", "eof-as-success"
    )
    assert ran.code == 2
