"""What the terminal prints around the headline: the slowest trials, and how to check a faulty adapter."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from streamconform.model.result import Footer
from streamconform.reports.terminal import Terminal, list_smoke_commands
from streamconform.run.results import Results

from ..harness import builders

MINE = builders.info(version=None, impl="cmd:node a.mjs")
OTHER = replace(MINE, name="other", impl="other")


def trial(name, *, verdict="pass", **fields):
    reason = None if verdict == "pass" else "KeyError: 'x'"
    return builders.result(
        verdict, case=f"openai-chat/text/{name}", delivery="whole", reason=reason, **fields
    )


def print_run(*trials, infos=(MINE,), **options):
    stream = io.StringIO()
    results = builders.results(*trials, infos=infos)
    Terminal(**{"quiet": 0, "verbose": 0, "strict": False, "stream": stream} | options).finish(results, None)
    return stream.getvalue().splitlines()


THREE = (trial("a", ms=5.0), trial("b", ms=1234.5), trial("c", ms=70.0))
SLOWEST = [
    "    1.234 s  openai-chat/text/b@whole",
    "    0.070 s  openai-chat/text/c@whole",
    "    0.005 s  openai-chat/text/a@whole",
]


@pytest.mark.parametrize(("durations", "lines"), [(1, SLOWEST[:1]), (2, SLOWEST[:2]), (0, SLOWEST)])
def test_durations_lists_the_slowest_trials_before_the_headline(durations, lines):
    skipped = trial("d", verdict="skipped", ms=0.0)
    title = f"Slowest {len(lines)} trial{'s' if len(lines) > 1 else ''}"
    printed = print_run(*THREE, skipped, durations=durations)
    start = printed.index(title)
    assert printed[start:-1] == [title, "", *lines, ""]


@pytest.mark.parametrize("options", [{}, {"durations": 1, "quiet": 1}])
def test_no_durations_are_listed_unless_requested(options):
    assert not [line for line in print_run(*THREE, **options) if "Slowest" in line]


def test_durations_of_several_implementations_name_them():
    trials = (trial("a", ms=2.0), trial("a", ms=1.0, implementation=1))
    printed = print_run(*trials, infos=(MINE, OTHER), durations=0)
    assert "    0.002 s  openai-chat/text/a@whole  [cmd:node a.mjs]" in printed
    assert "    0.001 s  openai-chat/text/a@whole  [other]" in printed


def test_a_run_with_adapter_errors_ends_with_the_command_that_checks_the_adapter():
    faulted = [trial(name, verdict="faulted", culprit="adapter") for name in "ab"]
    printed = print_run(*faulted, trial("c"), infos=(MINE, OTHER))
    assert printed[-1] == "next: conform smoke 'cmd:node a.mjs'"
    assert "2 of 3 trials" in printed[-2]
    warned = trial("a", verdict="warn", culprit="adapter", implementation=1)
    assert print_run(warned, infos=(MINE, OTHER))[-1] == "next: conform smoke other"


@pytest.mark.parametrize(
    ("result", "quiet"),
    [
        (trial("a", verdict="fail", culprit="implementation"), 0),
        (trial("a", verdict="known", culprit="adapter"), 0),
        (trial("a", verdict="faulted", culprit="adapter"), 1),
    ],
)
def test_other_runs_and_quiet_ones_end_with_the_headline(result, quiet):
    assert "next: conform smoke" not in print_run(result, trial("b"), quiet=quiet)[-1]


def test_a_run_that_was_stopped_with_this_advice_does_not_repeat_it():
    trials = (trial("a", verdict="faulted", culprit="adapter"),)
    footer = Footer(counts={}, exit=1, complete=False, stopped="all fail; next: conform smoke other")
    assert list_smoke_commands(builders.results(*trials, infos=(OTHER,), footer=footer), strict=False) == []


def test_a_probe_and_a_proxy_have_no_adapter_to_check():
    trials = (trial("a", verdict="faulted", culprit="adapter"),)
    header = builders.results(*trials, infos=(MINE,)).header
    proxy = replace(header, implementations=(replace(MINE, impl="proxy:http://localhost:1"),))
    for each in (proxy, replace(header, selection={"probe": "conform probe"})):
        assert list_smoke_commands(Results(each, trials, None), strict=False) == []
