"""`conform run --budget`: what the user sees when the time is up before the first trial, and the rest."""

from __future__ import annotations

import json
import re

import pytest

NO_TIME = "1e-9"
"""A budget that is spent before any trial starts, however fast the machine is."""
TOPIC = "openai-chat/stop-reasons/**"
WORDS = ("run", "-k", TOPIC, "--deliver", "fast", "--budget", NO_TIME)


def read_footer(path) -> dict:
    return json.loads(path.read_text("utf-8").splitlines()[-1])


def test_a_run_out_of_time_says_what_did_not_run_and_how_to_run_it(project):
    ran = project.run(*WORDS)
    assert ran.code == 5
    headline, not_run, advice = ran.out.splitlines()[-3:]
    assert headline.endswith("not run: budget of 1e-09 s spent")
    trials = json.loads(project.results.read_text("utf-8").splitlines()[0])["suite"]["trials"]
    assert not_run.startswith(f"Not run: {trials} trials of ")
    assert not_run.endswith(f": openai-chat/stop-reasons {trials}")
    assert advice == "next: conform run --resume"
    path = project.results
    assert read_footer(path)["stopped"] == "budget of 1e-09 s spent"
    again = project.run(*advice.removeprefix("next: conform ").split())
    assert (again.code, "Not run" in again.out) == (0, False), again.out + again.err
    assert read_footer(path)["complete"]
    assert read_footer(path)["counts"]["pass"] == trials


def test_trials_of_several_apis_are_counted_by_api_and_the_results_file_is_named(project):
    names = (
        "-k",
        "openai-chat/usage/**",
        "-k",
        "anthropic-messages/usage/**",
        "--report",
        "jsonl=my out.jsonl",
    )
    ran = project.run("run", *names, "--deliver", "fast", "--budget", NO_TIME)
    not_run, advice = ran.out.splitlines()[-2:]
    assert re.search(r" cases: openai-chat [0-9]+, anthropic-messages [0-9]+$", not_run)
    assert advice == "next: conform run --resume --report 'jsonl=my out.jsonl'"


def test_a_quiet_run_prints_only_the_headline(project):
    ran = project.run(*WORDS, "-q")
    assert ran.out.count("\n") == 1
    assert "budget of 1e-09 s spent" in ran.out


def test_a_run_of_last_failures_cannot_be_resumed_so_nothing_says_so(project):
    project.run("run", "-i", "mutant:null-usage-erases", "-k", "openai-chat/usage/**", "--deliver", "fast")
    ran = project.run("run", "-i", "mutant:null-usage-erases", "--lf", "--budget", NO_TIME)
    assert "Not run: " in ran.last
    assert "--resume" not in ran.out


@pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
def test_a_budget_is_a_positive_number_of_seconds(project, seconds):
    ran = project.run("run", "--budget", seconds)
    assert (ran.code, "--budget" in ran.err) == (2, True)


def test_a_complete_run_prints_nothing_about_its_budget(project):
    ran = project.run("run", "-k", TOPIC, "--deliver", "fast", "--budget", "100000")
    assert (ran.code, "Not run" in ran.out, "budget" in ran.out) == (0, False, False)
