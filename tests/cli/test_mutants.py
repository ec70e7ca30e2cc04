"""A parser that is broken on purpose fails, and the run names bugs of its kind. The self-test notices others.

`conform dev selftest`, which `.ci/run` runs, does it for all of them.
"""

from __future__ import annotations

import re

import pytest

from streamconform.resources import find_bundled
from streamconform.suite.threads import read_threads
from streamconform_mutants import MUTANTS

from .. import bundled_suite
from .project import Project

pytestmark = pytest.mark.slow

ONE_OF_EACH = {
    "interleaved-arguments-joined": "anthropic-messages",
    "repeated-name-joined": "openai-chat",
    "item-id-correlated": "openai-responses",
    "first-part-only": "google-generate",
    "error-record-ignored": "ollama-chat",
    "v1-calls-ignored": "cohere-chat",
    "exception-dropped": "bedrock-converse",
}


@pytest.mark.parametrize(("name", "api"), ONE_OF_EACH.items())
def test_a_broken_parser_fails_the_run_which_names_a_bug_of_its_kind(tmp_path, name, api):
    threads = read_threads(find_bundled("specs"))
    issues = {bug for bug, thread in threads.items() if MUTANTS[name].kind in thread.kinds}
    guards = [case.id for case in bundled_suite.streams() if case.api == api and issues & set(case.guards)]
    patterns = [word for id_ in guards for word in ("-k", id_)]
    ran = Project(tmp_path).run("run", "-i", f"mutant:{name}", *patterns, "--deliver", "fast", "-v")
    assert ran.code == 1, ran.err
    assert any(bug in ran.out for bug in issues)


def test_the_self_test_counts_what_catches_a_mutant(tmp_path):
    where = ("--mutant", "only-quotes-unescaped", "-k", "common/heal/**")
    ran = Project(tmp_path).run("dev", "selftest", *where)
    assert ran.code == 0, ran.out
    assert "1 of 1 mutants caught" in ran.out


def test_the_self_test_of_a_case_lists_what_the_case_catches_and_succeeds(tmp_path):
    where = ("-k", "anthropic-messages/tool-use/parallel-calls", "--deliver", "fast")
    ran = Project(tmp_path).run("dev", "selftest", *where)
    assert ran.code == 0, ran.out
    *rows, total, guards = ran.out.splitlines()
    assert rows
    assert {row.split()[0] for row in rows} == {"caught"}
    assert total == f"{len(rows)} of {len(MUTANTS)} mutants caught by 1 of 1 case"
    assert re.fullmatch(r"(\d+) of \1 guards proven", guards)


def test_the_self_test_of_a_case_that_catches_nothing_succeeds(tmp_path):
    ran = Project(tmp_path).run(
        "dev",
        "selftest",
        "-k",
        "common/partial/whole-nested",
        "--deliver",
        "fast",
        "--faults",
        "none",
    )
    assert (ran.code, ran.out) == (
        0,
        f"0 of {len(MUTANTS)} mutants caught by 0 of 1 case\n0 of 0 guards proven\n",
    )


def test_the_self_test_of_variants_lists_what_each_catches_and_the_stream_itself_does_not(tmp_path):
    where = ("-k", "openai-chat/tool-calls/parallel-calls", "--deliver", "variants")
    ran = Project(tmp_path).run("dev", "selftest", *where)
    assert ran.code == 0, ran.out
    *rows, total = ran.out.splitlines()
    caught = {row.split()[1]: row.split(maxsplit=2)[2] for row in rows}
    assert "repeated-name-joined" in caught["names-repeated"]
    assert "bare-fragments-to-the-first" in caught["fragments-bare"]
    catching = [row for row in rows if not row.endswith("catches no mutant")]
    assert total == f"{len(catching)} of {len(rows)} variants catch mutants that pass without it"


def test_the_self_test_fails_for_a_mutant_that_nothing_catches(tmp_path):
    where = ("--mutant", "v1-calls-ignored", "-k", "cohere-chat/text/**", "--deliver", "fast")
    ran = Project(tmp_path).run("dev", "selftest", *where)
    assert ran.code == 1
    assert "SURVIVES" in ran.out
