"""A run with a budget stops when its time is up, and the rest can be resumed. No test waits for time."""

from __future__ import annotations

import ctypes
import json
import mmap
from collections import Counter
from dataclasses import replace

import pytest

from streamconform.known_failures.context import KnownFailuresContext
from streamconform.known_failures.model import KnownFailure, KnownFailures
from streamconform.reports.summary import describe_incomplete, needs_attention
from streamconform.run.budget import Budget, Stopwatch
from streamconform.run.exits import Exit
from streamconform.run.plan import Settings
from streamconform.run.reading import read
from streamconform.run.session import SILENT, RunRequest, execute_run
from streamconform.schemas import find_problems

from . import builders

TRIALS = tuple(builders.trial(builders.case(id=f"anthropic-messages/text/t{i:02}")) for i in range(20))
IDS = [trial.id for trial in TRIALS]
ANSWER = f"""\
greet(capabilities=[])
while (message := read())["op"] == "run":
    write(op="result", id=message["id"], outcome=json.loads({json.dumps(json.dumps(builders.TEXT_OUTCOME))}))
"""
WRONG = ANSWER.replace("Gr", "gr")


def make_clock():
    """Return a clock that advances by one second each time that a process of the run reads it."""
    seconds = ctypes.c_int.from_buffer(mmap.mmap(-1, ctypes.sizeof(ctypes.c_int)))

    def read_clock() -> float:
        seconds.value += 1
        return seconds.value

    return read_clock


def make_request(folder, *, code=ANSWER, seconds=None, first=(), names=("a.py",), workers=1):
    """Return a run; `seconds` is its budget, which `make_clock` measures."""
    budget = None if seconds is None else Budget(seconds, tuple(first), make_clock())
    return RunRequest(
        connections=tuple(builders.program(folder, code, name=name) for name in names),
        trials=TRIALS,
        settings=Settings(workers=workers, timeout=60),
        selection={},
        blame=False,
        budget=budget,
    )


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results.jsonl"


def list_run(path):
    """Return the ids of the trials in a results file, in the order in which they ended."""
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return [line["id"] for line in lines if line["kind"] == "trial"]


def test_without_a_budget_all_trials_run_in_suite_order(results):
    finished = execute_run(make_request(results.parent), results, SILENT)
    assert list_run(results) == IDS
    assert finished.results.footer.complete
    assert finished.not_run == ()


def test_the_listed_trials_run_first(results):
    first = [IDS[7], IDS[3]]
    execute_run(make_request(results.parent, seconds=1000, first=first), results, SILENT)
    assert list_run(results)[:2] == first


def test_no_trial_starts_after_the_budget_is_spent(results):
    finished = execute_run(make_request(results.parent, seconds=12), results, SILENT)
    ran = list_run(results)
    assert 0 < len(ran) < 12
    assert [*ran, *finished.not_run] == IDS
    assert [trial.verdict for trial in finished.results.trials] == ["pass"] * len(ran)
    footer = finished.results.footer
    assert (footer.complete, footer.stopped, footer.lost) == (False, "budget of 12 s spent", ())
    for line in results.read_text("utf-8").splitlines():
        assert find_problems("results.v1", json.loads(line)) == ()


@pytest.mark.parametrize(("code", "expected"), [(ANSWER, Exit.EXPECTED), (WRONG, Exit.UNEXPECTED)])
def test_only_the_trials_that_ran_decide_the_exit_code_but_no_such_run_is_green(results, code, expected):
    finished = execute_run(make_request(results.parent, code=code, seconds=12), results, SILENT)
    assert finished.exit == expected
    assert "budget of 12 s spent" in describe_incomplete(finished.results)
    assert needs_attention(finished.results)


def test_a_run_that_ends_within_its_budget_is_complete(results):
    finished = execute_run(make_request(results.parent, seconds=1000), results, SILENT)
    footer = finished.results.footer
    assert (footer.complete, footer.stopped, finished.not_run) == (True, None, ())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("again", [None, 9])
def test_a_budgeted_run_and_its_resumptions_judge_each_trial_once(results, workers, again):
    finished = execute_run(make_request(results.parent, seconds=9, workers=workers), results, SILENT)
    runs = 1
    while not finished.results.footer.complete:
        earlier = len(finished.results.trials)
        request = make_request(results.parent, seconds=again, workers=workers)
        finished = execute_run(replace(request, resumed=read(results)), results, SILENT)
        assert len(finished.results.trials) > earlier
        runs += 1
    assert runs == 2 if again is None else runs >= 2
    assert sorted(list_run(results)) == IDS
    assert finished.exit == Exit.EXPECTED


def test_each_implementation_gets_its_share_of_the_budget(results):
    names = ("a.py", "b.py", "c.py")
    finished = execute_run(make_request(results.parent, seconds=30, names=names), results, SILENT)
    counts = Counter(trial.implementation for trial in finished.results.trials)
    assert counts.keys() == {0, 1, 2}
    assert max(counts.values()) < 10
    assert len(finished.not_run) == 60 - counts.total()


def test_an_implementation_may_use_the_time_that_those_before_it_left():
    stopwatch = Stopwatch(Budget(60, clock=iter([0, 29, 30, 59, 60]).__next__), 2)
    stopwatch.start()
    assert [stopwatch.is_spent(index) for index in (0, 0, 1, 1)] == [False, True, False, True]


def test_an_entry_for_trials_that_did_not_run_is_not_out_of_date(results):
    entry = KnownFailure(
        match=f"{IDS[-1].partition('@')[0]}@*", verdict="fail", reason="a bug", issue="a/b#1"
    )
    known = KnownFailuresContext(KnownFailures("known.yaml", (entry,)), frozenset(), None)
    request = replace(make_request(results.parent, seconds=12), known_failures=(known,))
    finished = execute_run(request, results, SILENT)
    assert (finished.outdated, finished.exit) == (((),), Exit.EXPECTED)
