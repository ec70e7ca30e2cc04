"""On a terminal, every command wraps its lines at spaces to the width; elsewhere, no line is wrapped."""

from __future__ import annotations

import re

import pytest

from .terminal import run_on_terminal

CASE = "anthropic-messages/tool-use/interleaved-fragments"
ADAPTER = """
def adapter(run):
    text = "a word, " * 40
    return {"status": "complete", "content": [{"type": "text", "text": text}], "stop": {"reason": "end_turn"}}
adapter.apis = ["anthropic-messages"]
"""
IMPL = ("-i", "python:mine.py:adapter")
SPEC = "spec: 2\napi: anthropic-messages\ncases:\n" + "".join(
    f"  - id: case-{number}\n    a-key-with-a-rather-long-name-that-does-not-exist: 1\n" for number in (1, 2)
)
WORDS = {
    "run": ("run", *IMPL, "-k", "anthropic-messages/text/*", "--deliver", "fast"),
    "explain": ("explain", CASE, "-i", "mutant:interleaved-arguments-joined", "--no-pager"),
    "list": ("list", "--api", "openai-responses"),
    "smoke": ("smoke", "python:mine.py:adapter"),
    "lint": ("lint", "a-folder/mine.yaml"),
    "diff": ("diff", "old.jsonl"),
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_every_line_fits_the_terminal_and_no_word_is_broken(project, words):
    project = project.with_file("mine.py", ADAPTER).with_file("a-folder/mine.yaml", SPEC)
    if words[0] == "diff":
        project.run(
            "run", "-k", "anthropic-messages/text/*", "--deliver", "fast", "--report", "jsonl=old.jsonl"
        )
        project.run("run", *IMPL, "-k", "anthropic-messages/text/*", "--deliver", "fast")
    narrow, wide = (run_on_terminal(project, columns, *words) for columns in (80, 1000))
    assert max(map(len, wide)) > 80, wide
    assert max(map(len, narrow)) <= 80, narrow
    # Only long JSON and long addresses have words that are wider than a row.
    whole = {word for line in narrow for word in line.split()}
    broken = {word for line in wide for word in line.split() if len(word) < 55} - whole
    assert not {word for word in broken if re.fullmatch(r"[a-z_][\w.@/-]*", word)}


def test_the_columns_of_the_wire_stay_free_at_80_columns(project):
    lines = run_on_terminal(project, 80, *WORDS["explain"])
    start, end = (
        next(i for i, line in enumerate(lines) if line.startswith(word)) for word in ("Wire:", "Exp")
    )
    wire = lines[start + 2 : end - 1]
    assert sum(bool(re.match(r">? +\d+ +\d+ {9}", line)) for line in wire) == 15
    assert all(re.match(r">? +\d+ +\d+ {9}| {22}", line) for line in wire)


def test_a_list_in_a_pipe_has_one_line_per_case(project):
    ran = project.run("list", "--api", "openai-responses")
    assert max(map(len, ran.out.splitlines())) > 100
    assert f"{len(ran.out.splitlines())} cases" in ran.err
