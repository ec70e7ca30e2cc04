"""Whatever disturbs a run with several processes, no result is lost, torn or doubled, and it can be resumed.

Every program answers a few trials and then waits, so that each signal arrives in the middle of the run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamconform_dev.docs.command import CONFORM

from .test_worker_processes import WORDS

ADAPTER = """
import os, pathlib, time

HERE = pathlib.Path(__file__).parent
PARENT = os.getppid()
left = [8]
(HERE / f"program-{os.getpid()}-of-{PARENT}").touch()


def adapter(run):
    left[0] -= 1
    if not left[0]:
        (HERE / f"waits-{os.getpid()}").touch()
    while left[0] <= 0 and not (HERE / "go").exists() and os.getppid() == PARENT:
        time.sleep(0.01)
    return {"status": "complete", "stop": {"reason": "stop"}, "content": [{"type": "text", "text": "x"}]}


adapter.capabilities = []
"""


@dataclass(frozen=True)
class Run:
    """A run whose three programs wait."""

    folder: Path
    process: subprocess.Popen
    programs: dict[int, int]
    """The programs and their parents, as process ids."""

    def signal(self, *numbers):
        for number in numbers:
            self.process.send_signal(number)

    def signal_group(self, *numbers):
        for number in numbers:
            os.killpg(self.process.pid, number)

    def signal_worker(self, *numbers):
        worker = next(parent for parent in self.programs.values() if parent != self.process.pid)
        for number in numbers:
            os.kill(worker, number)

    def kill_program(self):
        program = next(program for program, parent in self.programs.items() if parent == self.process.pid)
        os.kill(program, signal.SIGKILL)
        wait_until(lambda: not is_running(program))
        (self.folder / "go").touch()

    def stop_worker_and_interrupt(self):
        self.signal_worker(signal.SIGSTOP)
        self.signal(signal.SIGINT)


ACTS: dict[str, tuple[Callable[[Run], None], int]] = {
    "a worker is killed": (lambda run: run.signal_worker(signal.SIGKILL), 2),
    "a worker is terminated": (lambda run: run.signal_worker(signal.SIGTERM), 2),
    "the run is killed": (lambda run: run.signal(signal.SIGKILL), -signal.SIGKILL),
    "the run is interrupted twice": (lambda run: run.signal(signal.SIGINT, signal.SIGINT), 130),
    "all are interrupted twice": (lambda run: run.signal_group(signal.SIGINT, signal.SIGINT), 130),
    "the run is terminated": (lambda run: run.signal(signal.SIGTERM), 130),
    "a worker is stopped, the run interrupted": (Run.stop_worker_and_interrupt, 130),
    "a program is killed": (Run.kill_program, 1),
}
"""What happens to a run, and the exit code that follows."""


def wait_until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(number):
    """Return whether the process exists and is not a zombie, which only its parent can remove."""
    try:
        return ") Z " not in Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False


def list_programs(folder):
    """Return the programs that were started and their parents, as process ids."""
    names = [path.name.split("-") for path in folder.glob("program-*")]
    return {int(program): int(parent) for _, program, _, parent in names}


def start(project):
    """Start a run, and return it when every program waits and the results file has a trial."""
    project.write()
    process = subprocess.Popen(
        (*CONFORM, *WORDS, "-n", "3"),
        cwd=project.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    wait_until(lambda: len(list(project.folder.glob("waits-*"))) == 3)
    # A program may have answered while the run has not yet read its answers.
    wait_until(lambda: list_ids(read_whole_lines(project.results)))
    return Run(project.folder, process, list_programs(project.folder))


def read_whole_lines(path: Path) -> list[dict]:
    """Return the lines of a results file; a killed run may lack the end of the last one."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def list_ids(lines):
    return [line["id"] for line in lines if line["kind"] == "trial"]


@pytest.mark.parametrize("act", ACTS)
def test_a_run_that_is_disturbed_keeps_what_it_has_and_is_resumed(project, act):
    project = project.with_file("mine.py", ADAPTER)
    do, code = ACTS[act]
    run = start(project)
    do(run)
    _, err = run.process.communicate(timeout=60)
    assert (run.process.returncode, "Traceback" in err) == (code, False), err
    if code == 2:
        how = "SIGKILL" if act == "a worker is killed" else "exit code 0"
        assert f"a worker process ended in the middle of the run ({how}); if memory ran out" in err
        assert err.count("\n") == 1
    wait_until(lambda: not any(map(is_running, (*run.programs, *run.programs.values()))))
    before = list_ids(read_whole_lines(project.results))
    assert len(before) == len(set(before)) > 0
    (project.folder / "go").touch()
    resumed = project.run("run", "--resume", "-n", "2")
    if act == "a program is killed":
        assert "nothing to resume" in resumed.err
    else:
        assert resumed.code == 1, resumed.err
    header, *trials, footer = read_whole_lines(project.results)
    ids = list_ids(trials)
    assert len(ids) == len(set(ids)) == header["suite"]["trials"]
    assert set(before) <= set(ids)
    assert footer["complete"]
    assert len(list((project.folder / ".conform/runs").glob("[0-9]*"))) == 1
