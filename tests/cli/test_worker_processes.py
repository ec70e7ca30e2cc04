"""A run with several workers: their processes share the trials; `test_killed_runs` ends them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TOPIC = "openai-chat/text/**"
WORDS = ("run", "-i", "python:mine.py:adapter", "-k", TOPIC)
UNTESTED = """
import os, pathlib, signal, sys, time

here = pathlib.Path(__file__).parent
is_first = not (here / "first").exists()
(here / "first").touch()
(here / f"program-{os.getpid()}-of-{os.getppid()}").touch()


def adapter(run):
    time.sleep(0.005)  # so that every worker starts before the last trial is taken
    BODY
    return {"status": "complete", "stop": {"reason": "stop"}, "content": [{"type": "text", "text": "x"}]}


adapter.capabilities = []
"""


def with_body(project, body):
    """Return the project with an adapter that does `body` before it answers the same to every trial."""
    return project.with_file("mine.py", UNTESTED.replace("BODY", body))


def read_lines(path: Path) -> list[dict]:
    """Return the lines of a results file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read_trials(path: Path) -> list[dict]:
    """Return the trials in a results file, sorted, without times."""
    trials = [line | {"ms": 0} for line in read_lines(path) if line["kind"] == "trial"]
    return sorted(trials, key=lambda trial: trial["id"])


def list_parents(project) -> set[str]:
    """Return the processes that started a program."""
    return {path.name.rpartition("-")[2] for path in project.folder.glob("program-*")}


def test_three_processes_report_what_one_process_reports(project):
    """Results are sent between processes, so every type of value in them must survive that."""
    made = with_body(project, "pass")
    ran = [made.run(*WORDS, "-n", str(n), "--report", f"jsonl={n}.jsonl") for n in (1, 3)]
    assert [each.code for each in ran] == [1, 1]
    alone, shared = (read_trials(project.folder / f"{n}.jsonl") for n in (1, 3))
    assert len(alone) > 100
    assert shared == alone
    assert len(list_parents(project)) == 4, "one process, and then three"


def test_every_worker_takes_trials_as_long_as_there_are_any(project):
    """Else a worker whose trials are slow would run them alone at the end."""
    made = with_body(project, "time.sleep(0 if is_first else 0.06)")
    made.run(*WORDS, "-n", "2", "--report", "jsonl=out.jsonl")
    times = [line["ms"] for line in read_lines(project.folder / "out.jsonl") if line["kind"] == "trial"]
    slow = sum(ms > 50 for ms in times)
    assert 0 < slow < len(times) / 2


@pytest.mark.parametrize("limit", [1, 3])
def test_no_result_follows_the_failure_that_ends_the_run(project, limit):
    made = with_body(project, "pass")
    ran = made.run(*WORDS, "-n", "3", "--maxfail", str(limit), "--report", "jsonl=out.jsonl")
    assert ran.code == 1
    lines = read_lines(project.folder / "out.jsonl")
    verdicts = [line["verdict"] for line in lines if line["kind"] == "trial"]
    assert verdicts.count("fail") == limit
    assert verdicts[-1] == "fail"
    assert not lines[-1]["complete"]


def test_an_implementation_that_always_dies_is_given_up_by_all_workers_together(project):
    made = with_body(project, "os._exit(7)")
    made.run(*WORDS, "-n", "4")
    reasons = [trial["reason"] for trial in read_trials(project.results)]
    assert all(reason.startswith(("exited: ", "gave-up: ")) for reason in reasons)
    assert sum(reason.startswith("exited: ") for reason in reasons) <= 10 + 4


# It reads the tickets of other workers from the pipe of its parent.
THIEF = """
    if is_first and not (here / "stolen").exists():
        (here / "stolen").touch()
        import fcntl, struct, termios
        for fd in pathlib.Path(f"/proc/{os.getppid()}/fd").iterdir():
            if not os.readlink(fd).startswith("pipe:"): continue
            pipe = os.open(fd, os.O_RDONLY | os.O_NONBLOCK)
            size = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]
            if size and size % 4 == 0: os.read(pipe, size // 2 // 4 * 4)
"""


def test_a_run_that_lost_trials_is_not_green(project):
    """A process of the same user can take the tickets from the pipe; the run once said "No failures"."""
    made = with_body(project, THIEF.strip())
    made = made.with_file("known.yaml", LISTED)
    ran = made.run(*WORDS, "-n", "2", "--known-failures", "known.yaml", "--report", "jsonl=out.jsonl")
    header, *trials, footer = read_lines(project.folder / "out.jsonl")
    missing = header["suite"]["trials"] - len(trials)
    assert missing > 50
    assert (ran.code, footer["exit"], footer["complete"]) == (4, 4, False)
    assert len(footer["lost"]) == min(missing, 100)
    # Not always in the last line: if the thief also took an answer, advice about the adapter follows.
    assert f"{missing} of {header['suite']['trials']} trials have no result, such as" in ran.out
    for words in (("report", "markdown", "out.jsonl"), ("diff", "out.jsonl", "out.jsonl")):
        again = made.run(*words)
        assert again.code == 4
        assert f"{missing} of {header['suite']['trials']} trials have no result" in again.err
    assert made.run("run", "--resume", "--report", "jsonl=out.jsonl").code != 4


LISTED = """
known-failures: 1
entries:
  - match: "**"
    verdict: fail
    reason: it always answers the same
    issue: https://example.org/1
"""
