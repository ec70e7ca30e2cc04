"""The message about a mistyped name suggests the right one, and the tab key completes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streamconform.cli.completion import complete_paths
from streamconform.cli.run import SECTIONS, command
from streamconform.suggestions import find_similar, suggest

CONFORM = Path(sys.executable).with_name("conform")
CASE = "anthropic-messages/tool-use/parallel-calls"

WRONG = {
    "verb": (("runn",), "run"),
    "verb of a group": (("peers", "instal", "openai"), "install"),
    "peer": (("run", "-i", "peer:opnai"), "openai"),
    "peer to install": (("peers", "install", "node-opena"), "node-openai"),
    "mutant": (("explain", CASE, "-i", "mutant:usage-sumed"), "usage-summed"),
    "mutant of the self-test": (("dev", "selftest", "--mutant", "usage-sumed"), "usage-summed"),
    "API": (("run", "--api", "openai-caht"), "openai-chat"),
    "set of deliveries": (("run", "--deliver", "fst"), "fast"),
    "delivery": (("explain", f"{CASE}@bytewis"), "bytewise"),
    "delivery of a pattern": (("run", "-k", f"{CASE}@bytewis"), "bytewise"),
    "fault of a pattern": (("run", "-k", f"{CASE}@cut-after-fram.1"), "cut-after-frame"),
    "first words of a mutant": (
        ("explain", CASE, "-i", "mutant:interleaved"),
        "interleaved-arguments-joined",
    ),
    "first words of a case": (
        ("explain", "interleaved"),
        "anthropic-messages/tool-use/interleaved-fragments",
    ),
    "case": (("explain", "anthropic-messages/tool-use/paralel-calls"), CASE),
    "profile": (("run", "--profile", "cor"), "core"),
    "report": (("report", "htm"), "html"),
    "report of a run": (("run", "--report", "junt=x"), "junit"),
}


@pytest.mark.parametrize(("words", "right"), WRONG.values(), ids=WRONG)
def test_a_name_that_is_nearly_right_gets_the_right_one(project, words, right):
    ran = project.run(*words)
    assert ran.code in (2, 3)
    assert f"did you mean `{right}`" in ran.err


def test_a_name_like_no_other_gets_no_suggestion(project):
    assert suggest("zzz", ("openai", "anthropic")) == ""
    ran = project.run("explain", "nosuch")
    assert ran.err == "error: no case `nosuch`; `conform list` shows the ids\n"
    ran = project.run("explain", CASE, "-i", "mutant:nosuch")
    assert "has no `nosuch`; `conform dev selftest --list` lists the mutants" in ran.err


@pytest.mark.parametrize(
    ("name", "known", "similar"),
    [
        # Beginnings of words, those with the fewest other words first.
        ("inter", ("interleaved-a-b", "interleaved-a"), ["interleaved-a", "interleaved-a-b"]),
        ("call-spl", ("a-call-split", "call-split-b", "split-call"), ["call-split-b", "a-call-split"]),
        ("toolCalls", ("parallel_tool_calls", "tool_calls"), ["tool_calls"]),
        # Even before a name that differs by one letter only.
        ("core", ("cores-2", "cope"), ["cores-2", "cope"]),
        # Typing errors: a letter too many, too few, another one, and two that are swapped.
        ("cosst", ("cost",), ["cost"]),
        ("cst", ("cost",), ["cost"]),
        ("cast", ("cost",), ["cost"]),
        ("csot", ("cost",), ["cost"]),
        ("paralel", ("some-parallel-calls",), ["some-parallel-calls"]),
        # One per four letters, at least one.
        ("nosuch", ("no-schema",), []),
        ("text/helo", ("text/logprobs", "text/image-block"), []),
        ("objects-begin-with-brace", ("objects-begin-with-a-brace",), ["objects-begin-with-a-brace"]),
        ("x", ("y",), []),
        ("", ("y",), []),
    ],
)
def test_beginnings_of_words_come_before_typing_errors_and_little_else_is_similar(name, known, similar):
    assert find_similar(name, known) == similar


def test_at_most_three_names_are_suggested_each_once():
    assert find_similar("a", ("a-1", "a-2", "a-1", "a-3", "a-4")) == ["a-1", "a-2", "a-3"]


OFFERED = {
    "verbs": (("re",), ["report", "record"]),
    "forms of an implementation": (("run", "-i", "p"), ["peer:", "plant:", "proxy:", "python:"]),
    "peers": (("run", "-i", "peer:open"), ["peer:openai", "peer:openai-helper", "peer:openai-agents"]),
    "mutants": (("explain", CASE, "-i", "mutant:usage-su"), ["mutant:usage-summed"]),
    "profiles": (("run", "--profile", "core"), ["core", "core-2026.1", "core-2026.2"]),
    "the next part of ids": (
        ("run", "-k", "anthropic-messages/to"),
        ["anthropic-messages/tolerance/", "anthropic-messages/tool-use/"],
    ),
    "a case": (("explain", f"{CASE}-with"), [f"{CASE}-with-ping"]),
    "nothing": (("explain", "no-such-api/"), []),
}


@pytest.mark.parametrize(("words", "offered"), OFFERED.values(), ids=OFFERED)
def test_the_tab_key_offers(tmp_path, words, offered):
    environment = {
        "_CONFORM_COMPLETE": "bash_complete",
        "COMP_WORDS": f"conform {' '.join(words)}",
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        (CONFORM,), env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    names = [line.partition(",")[2] for line in done.stdout.splitlines() if line]
    assert names[: len(offered)] == offered
    assert len(names) == len(offered) or words[-1] == "peer:open"


def test_a_path_is_offered_up_to_the_next_slash_unless_it_is_the_only_one():
    paths = ("a/b/c", "a/b/d", "a/e")
    assert complete_paths(paths, "a") == ["a/"]
    assert complete_paths(paths, "a/") == ["a/b/", "a/e"]
    assert complete_paths(paths, "a/b/c") == ["a/b/c"]


def test_each_option_of_run_is_in_one_section_of_its_help(project):
    listed = [name for names in SECTIONS.values() for name in names]
    options = [parameter.name for parameter in command.params if parameter.param_type_name == "option"]
    assert sorted(listed) == sorted(options)
    shown = project.run("run", "--help").out
    places = [shown.index(f"\n{title}:\n") for title in SECTIONS]
    assert places == sorted(places)
    assert "\nOther options:\n  -h, --help" in shown
