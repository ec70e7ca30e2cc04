"""The report does not depend on where partitions are examined, or on what dies meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from streamconform_capture.compare.engines.dask import DaskEngine
from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.command import CONFORM

from ..cli.project import Project
from .cluster import Cluster
from .collections import encode_lines, make_streams

PLANTED = "python:planted_bugs:adapter"
ENVIRONMENT = {"PLANTED_BUGS": "400000", "PYTHONWARNINGS": "ignore"}
STREAMS = make_streams(120)

PATCHED = """
import os
import sys

if "streamconform.adapters.host" not in sys.orig_argv:  # a program does not need what takes long to import
    from streamconform_capture.compare import examiner

    _expand = examiner.expand
    examiner.expand = lambda cases, *words: _expand(stop(cases), *words)
"""
DEADLY = (
    PATCHED
    + '''

def stop(cases):
    """End the worker at one recording, as running out of memory does."""
    if any(case.id == os.environ["DEADLY"] for case in cases):
        os._exit(9)
    return cases
'''
)


HELD = (
    PATCHED
    + '''
import glob
import tempfile
import time


def stop(cases):
    """Hold the worker at one recording until the run is told to stop."""
    if any(case.id == os.environ["HELD"] for case in cases):
        while not glob.glob(f"{tempfile.gettempdir()}/conform-*/stop"):
            time.sleep(0.01)
    return cases
'''
)


def make_project(folder):
    made = Project(folder).with_file(
        "planted_bugs.py", (ROOT / "harness/dev/streamconform_dev/bench/planted_bugs.py").read_text("utf-8")
    )
    (folder / "a.jsonl").write_bytes(encode_lines(STREAMS))
    return made


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path)


def command(*words, size="0.02"):
    options = ("--corpus", "a.jsonl", "--deliver", "whole,random", "--partition-size", size)
    return ("compare", "reference", PLANTED, *options, *words, "--report", "json=-", "-n", "2")


def report(project, *words, size="0.02"):
    """Return the JSON of a comparison."""
    ran = project.run(*command(*words, size=size), environment=ENVIRONMENT)
    assert ran.code == 1, ran.err
    return ran.out


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return report(make_project(tmp_path_factory.mktemp("undisturbed")), size="100")


def name_recording(number):
    """Return the name of a recording: the file, and the offset of its line."""
    lines = encode_lines(STREAMS).splitlines(keepends=True)
    return f"a.jsonl#{sum(map(len, lines[:number]))}"


def test_six_planted_bugs_are_six_causes(undisturbed):
    found = json.loads(undisturbed)
    assert {each["what"] for each in found["causes"]} == {
        "Reports too many tokens",
        "Truncates text",
        "Loses tool calls",
        "Reports a wrong stop reason",
        "Returns arguments as unparsed text",
        "faulted: IndexError",
    }
    assert found["differing"] == sum(each["recordings"] for each in found["causes"]), "one bug each"


def test_processes_report_what_one_process_reports_and_keep_every_finding(project, undisturbed):
    from pyarrow import parquet

    assert report(project, "--results", "kept") == undisturbed
    rows = parquet.read_table(project.folder / "kept").to_pylist()
    found = json.loads(undisturbed)
    assert len({row["file"] for row in rows}) == found["differing"]
    assert {row["what"] for row in rows} == {each["what"] for each in found["causes"]}


def test_dask_reports_what_one_process_reports(project, undisturbed):
    assert report(project, "--engine", "dask") == undisturbed


def start(project, *words, environment=None):
    """Start a comparison in a separate process."""
    project.write()
    return subprocess.Popen(
        (*CONFORM, *command(*words)),
        cwd=project.folder,
        env={**os.environ, **ENVIRONMENT, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A background job of a shell ignores SIGINT, as would its child processes.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def wait_for_parts(folder, count, running):
    """Wait until some partitions are done."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert running.poll() is None, running.communicate()
        if folder.is_dir() and len(list(folder.glob("*.parquet"))) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("too few partitions were done in two minutes")


@pytest.mark.slow
def test_a_killed_worker_and_a_scheduler_that_stops_answering_for_a_while_change_nothing(
    project, undisturbed
):
    with Cluster({**ENVIRONMENT, "PYTHONPATH": str(project.folder)}) as cluster:
        victim = cluster.add_worker()
        cluster.add_worker()
        words = ("--engine", "dask", "--scheduler", cluster.address, "--results", "kept")
        with start(project, *words) as running:
            wait_for_parts(project.folder / "kept", 2, running)
            victim.kill()
            wait_for_parts(project.folder / "kept", 4, running)
            cluster.scheduler.send_signal(signal.SIGSTOP)
            time.sleep(2)
            cluster.scheduler.send_signal(signal.SIGCONT)
            out, err = running.communicate(timeout=120)
    assert running.returncode == 1, err
    assert out == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "count", "number", "size"), [("local", 20, 10, "0.012"), ("dask", 120, 50, "0.01")]
)
def test_a_recording_that_ends_its_worker_is_named_and_the_others_are_examined(
    project, engine, count, number, size, tmp_path
):
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    (tmp_path / "a.jsonl").write_bytes(encode_lines(STREAMS[:count]))
    victim = name_recording(number)
    environment = {**ENVIRONMENT, "DEADLY": victim, "PYTHONPATH": str(tmp_path)}
    ran = project.run(*command("--engine", engine, size=size), environment=environment)
    found = json.loads(ran.out)
    assert [each["files"] for each in found["not_read"]] == [[victim]], ran.err
    assert sum(found["recordings"].values()) == count - 1


def test_an_interrupted_run_is_continued(project, undisturbed, tmp_path):
    (tmp_path / "held").mkdir()
    (tmp_path / "held/sitecustomize.py").write_text(HELD)
    held = {
        "HELD": name_recording(60),
        "PYTHONPATH": str(tmp_path / "held"),
        "TMPDIR": str(tmp_path / "held"),
    }
    with start(project, "--results", "kept", environment=held) as running:
        wait_for_parts(project.folder / "kept", 3, running)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    assert running.returncode == 130, err
    found = json.loads(out)
    assert not found["complete"]
    assert "`--resume` continues this run" in err
    before = {path.name: path.stat().st_mtime_ns for path in (project.folder / "kept").glob("*.parquet")}
    assert report(project, "--results", "kept", "--resume") == undisturbed
    after = {path.name: path.stat().st_mtime_ns for path in (project.folder / "kept").glob("*.parquet")}
    assert before.items() <= after.items(), "what was done is not done again"


WRONG = {
    "results exist": (("--results", "kept"), "already contains results; `--resume` continues that run"),
    "other settings": (("--results", "kept", "--resume", "--seed", "9"), "to a run with different"),
    "nothing to resume": (("--resume",), "`--resume` needs the `--results`"),
    "no engine": (("--scheduler", "tcp://127.0.0.1:1"), "`--scheduler` needs `--engine dask`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_one_message(project, name):
    words, message = WRONG[name]
    (project.folder / "a.jsonl").write_bytes(encode_lines(STREAMS[:4]))
    if "kept" in words:
        project.run(*command("--results", "kept"), environment=ENVIRONMENT)
    ran = project.run(*command(*words), environment=ENVIRONMENT)
    assert (ran.code, "Traceback" in ran.err) == (2, False), ran.err
    assert message in ran.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cluster_that_starts_during_ctrl_c_is_closed_when_it_has_started(monkeypatch, number):
    """Dask cannot close one that is half started, and printed a traceback at the end."""
    steps = []

    class Cluster:
        def __init__(self, **_):
            steps.append("starts")
            signal.raise_signal(number)
            steps.append("has started")

        def close(self):
            steps.append("is closed")

    engine = DaskEngine(None, 2)
    monkeypatch.setattr(engine, "_distributed", SimpleNamespace(LocalCluster=Cluster))
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        engine.__enter__()
    assert steps == ["starts", "has started", "is closed"]
    assert signal.getsignal(number) == before


def test_no_scheduler_is_a_mistake(project):
    words = ("--engine", "dask", "--scheduler", "tcp://127.0.0.1:9")
    ran = project.run(*command(*words), environment=ENVIRONMENT)
    assert (ran.code, "Traceback" in ran.err) == (2, False), ran.err
    assert "no Dask scheduler answers at `tcp://127.0.0.1:9`" in ran.err


assert sys.platform != "win32", "processes are stopped with signals"
