"""Programs that die on every run, or never greet: one cause, and results of bounded size."""

from __future__ import annotations

import json

import pytest

from streamconform.errors import ImplementationError
from streamconform.reports.causes import group_by_cause
from streamconform.run.first_answers import COUNTED
from streamconform.run.plan import Settings
from streamconform.run.pool import GIVE_UP_AFTER, GIVE_UP_WITHOUT_ANSWER
from streamconform.run.reading import read
from streamconform.run.session import SILENT, RunRequest, execute_run

from . import builders

TRIALS = 2000
NOISE = "for _ in range(300): sys.stderr.write('a log line with \\x1b[31mcolor ' * 2000 + '\\n')\n"
DEATH = "raise ValueError('cannot read ' + 'x' * 100_000)\n"
ALWAYS = f"greet(); read()\n{NOISE}{DEATH}"
AT_EVERY_RESTART = f"""\
if os.path.exists("started"):
    {NOISE.strip()}
    {DEATH.strip()}
open("started", "w").close()
greet(concurrency=4); read(); sys.exit(3)
"""
AFTER_AN_ANSWER = "greet(); write(op='result', id=read()['id'], outcome=GOOD); read()\n" + DEATH


def run(folder, code, monkeypatch, *, trials=TRIALS, timeout=5.0, start_timeout=60.0, workers=2):
    """Return the trials in the results file of a run, and the size of the file."""
    monkeypatch.chdir(folder)
    case = builders.case()
    request = RunRequest(
        connections=(builders.program(folder, code),),
        trials=(builders.trial(case),) * trials,
        settings=Settings(workers=workers, timeout=timeout, start_timeout=start_timeout),
        selection={},
        blame=False,
    )
    path = folder / "results.jsonl"
    execute_run(request, path, SILENT)
    lines = path.read_text("utf-8").splitlines()
    return [line for line in map(json.loads, lines) if line["kind"] == "trial"], path.stat().st_size


@pytest.mark.parametrize("code", [ALWAYS, AT_EVERY_RESTART], ids=["in-a-run", "at-every-restart"])
def test_a_program_that_always_dies_is_given_up_and_its_results_are_small(tmp_path, monkeypatch, code):
    """The results once had 193 MB, because each trial repeated the last failure and the program's output."""
    found, size = run(tmp_path, code, monkeypatch)
    assert {line["verdict"] for line in found} == {"faulted"}
    assert len(found) == COUNTED  # nothing else is to be expected
    given_up = [line for line in found if line["reason"].startswith("gave-up: ")]
    assert COUNTED - len(given_up) <= GIVE_UP_WITHOUT_ANSWER + 2
    assert len({line["reason"] for line in given_up}) == 1
    assert len(given_up[0]["reason"]) < 300
    assert size < TRIALS * 500 + 50_000


def test_a_program_that_always_dies_is_one_cause(tmp_path, monkeypatch):
    code = "greet(); raise ValueError('cannot read ' + repr([os.getpid(), sys.stdin.readline()]))"
    run(tmp_path, code, monkeypatch, trials=30)
    (cause,) = group_by_cause(read(tmp_path / "results.jsonl").trials)
    assert cause.title == "Adapter error: the program ended: ValueError: cannot read"
    assert cause.failures[0].first.observation["stderr"][0].startswith("Traceback")


def test_a_death_is_reported_with_the_last_lines_of_stderr(tmp_path, monkeypatch):
    found, _ = run(tmp_path, ALWAYS, monkeypatch, trials=1)
    assert found[0]["reason"].startswith(
        "exited: the program ended (exit code 1): ValueError: cannot read xx"
    )
    lines = found[0]["observation"]["stderr"]
    assert len(lines) == 8
    assert lines[-1].startswith("ValueError: cannot read xx")
    assert max(map(len, lines)) < 2000


def test_a_program_that_dies_at_every_second_run_is_restarted(tmp_path, monkeypatch):
    # With two workers, each might run an odd number of trials, and the last program of each would not die.
    found, size = run(tmp_path, AFTER_AN_ANSWER, monkeypatch, trials=12, workers=1)
    assert [line["reason"][:6] for line in found if line["verdict"] == "faulted"] == ["exited"] * 6
    assert GIVE_UP_AFTER > 12
    assert size < 12 * 10_000


@pytest.mark.parametrize("code", ["time.sleep(60)", "read(); sys.stdout.write('{'); time.sleep(60)"])
def test_a_greeting_that_never_comes_ends_after_the_timeout(tmp_path, monkeypatch, code):
    with pytest.raises(ImplementationError) as caught:
        run(tmp_path, code, monkeypatch, start_timeout=0.3)
    says = "no greeting within 0.3 s; end the `hello` line with a newline and flush stdout, or raise `--start"
    assert says in str(caught.value)
