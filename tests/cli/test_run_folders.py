"""The last ten runs are kept, each in its own folder, and an interrupted one can be continued."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from contextlib import ExitStack

import pytest

from streamconform.errors import UsageError
from streamconform.model.result import Footer
from streamconform.run import run_folders
from streamconform.run.results import ResultsWriter
from streamconform.run.run_folders import (
    RUNS,
    RunFolder,
    create_run_folder,
    delete_old_runs,
    find_latest_results,
)

from . import forked

TOPIC = "ollama-chat/text/**"
FAST = ("-k", TOPIC, "--deliver", "fast", "-n", "1")
SLOW = """
import time


def adapter(run):
    time.sleep(0.03)
    text = b"".join(run.chunks).decode("utf-8", "replace")
    content = [{"type": "text", "text": text[:40]}]
    return {"status": "complete", "stop": {"reason": "stop"}, "content": content}


adapter.info = {"name": "slow", "version": "1.0"}
adapter.apis = ["ollama-chat"]
adapter.capabilities = []
"""
KNOWN = """\
known-failures: 1
entries:
  - match: "ollama-chat/text/plain-text"
    verdict: fail
    reason: it returns the bytes
    issue: https://example.org/1
"""
WORDS = ("run", "-i", "python:slow.py:adapter", "-k", TOPIC, "--known-failures", "known.yaml", "-n", "1")


def summarize(path):
    """Return a results file without times, its trials sorted."""
    header, *trials, footer = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    for trial in trials:
        del trial["ms"]
    del header["command"], footer["seconds"]
    return header, sorted(trials, key=lambda trial: trial["id"]), footer


@pytest.fixture
def start():
    """Start commands; those that still run after the test are killed."""

    def start_command(project, *words):
        project.write()
        process = forked.Started("streamconform", words, cwd=project.folder, env=os.environ)
        return stack.enter_context(process)

    with ExitStack() as stack:
        yield start_command


def wait_for_lines(project, count):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        path = find_latest_results(project.folder / RUNS)
        if path is not None and path.read_bytes().count(b"\n") >= count:
            return path
        time.sleep(0.01)
    raise AssertionError("no results")


@pytest.fixture
def slow(project):
    return project.with_file("slow.py", SLOW).with_file("known.yaml", KNOWN)


def test_two_runs_at_once_in_one_folder_do_not_mix(project, start):
    running = [start(project, "run", *FAST, "-i", impl) for impl in ("reference", "reference")]
    for each in running:
        out, err = each.communicate(timeout=120)
        assert each.returncode == 0, out + err
    paths = sorted((project.folder / RUNS).glob("*/results.jsonl"))
    assert len(paths) == 2
    for path in paths:
        header, trials, footer = summarize(path)
        assert len(trials) == header["suite"]["trials"]
        assert footer["complete"]
    assert project.results in paths


def test_a_partial_run_does_not_overwrite_a_full_one(project):
    project.run("run", *FAST)
    first = project.results
    before = first.read_bytes()
    project.run("run", "-k", "ollama-chat/text/plain-text")
    assert project.results != first
    assert first.read_bytes() == before
    assert "1 case" not in project.run("report", "terminal", str(first.parent)).out
    assert project.run("diff", str(first.parent)).code == 0


def test_a_run_whose_results_go_to_a_path_is_the_last_run_all_the_same(project):
    words = ("run", "-i", "mutant:usage-summed", "-k", "anthropic-messages/cost/*", "--deliver", "fast")
    first = project.run(*words, "--report", "jsonl=mine.jsonl")
    failed = int(re.search(r"in (\d+) of", first.last)[1])
    assert project.results.read_bytes() == (project.folder / "mine.jsonl").read_bytes()
    assert project.run("report").last == first.last.partition("; ran in")[0]
    assert project.run("diff", "mine.jsonl").last == f"0 fixed, 0 new, 0 stale, {failed} still failing"
    assert project.run("run", "--lf", "-i", "mutant:usage-summed").last.count(
        f"in {failed} of {failed} trials"
    )


def test_the_file_that_diff_does_not_find_is_named_although_there_is_no_last_run_either(project):
    ran = project.run("diff", "nope.jsonl")
    assert (ran.code, ran.err.startswith("error: `nope.jsonl` cannot be read: No such file")) == (2, True)


def test_an_interrupted_run_can_be_continued_at_another_path(slow, start):
    running = start(slow, *WORDS)
    path = wait_for_lines(slow, 5)
    os.kill(running.pid, signal.SIGTERM)
    running.communicate(timeout=60)
    assert slow.run("run", "--resume", "--report", "jsonl=all.jsonl").code == 1
    assert slow.results == path
    assert path.read_bytes() == (slow.folder / "all.jsonl").read_bytes()
    assert summarize(path)[2]["complete"]


@pytest.mark.linux
def test_a_copy_that_cannot_be_written_is_deleted_and_the_run_goes_on(tmp_path):
    path, copy = tmp_path / "results.jsonl", tmp_path / "copy.jsonl"
    copy.symlink_to("/dev/full")
    with ResultsWriter(path, copy=copy) as writer:
        for _ in range(2):
            writer.write(Footer(counts={}, exit=0, complete=True))
    assert path.read_text().count('"kind":"footer"') == 2
    assert not copy.is_symlink()


def test_results_go_to_a_path_even_if_there_can_be_no_copy(tmp_path):
    (tmp_path / "file").touch()
    with ResultsWriter(tmp_path / "results.jsonl", copy=tmp_path / "file" / "copy.jsonl") as writer:
        writer.write(Footer(counts={}, exit=0, complete=True))
    assert (tmp_path / "results.jsonl").read_text().count('"kind":"footer"') == 1


def test_a_run_that_does_not_begin_leaves_no_folder_and_the_latest_as_it_was(project):
    project.run("run", *FAST)
    first = project.results
    assert project.run("run", *FAST, "-i", "nosuch").code == 3
    assert [path.name for path in (project.folder / RUNS).iterdir() if path.is_dir()] == [first.parent.name]
    assert project.results == first


def test_a_killed_run_is_continued_to_the_results_of_an_undisturbed_one(slow, start):
    assert slow.run(*WORDS).code == 1
    undisturbed = summarize(slow.results)
    running = start(slow, *WORDS, "--report", "jsonl=killed.jsonl")
    killed = slow.folder / "killed.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (killed.exists() and killed.read_bytes().count(b"\n") > 20):
        time.sleep(0.01)
    running.kill()
    running.communicate(timeout=60)
    with killed.open("ab") as file:
        file.write(b'{"kind":"trial","id":"cut')  # as if it had been killed while writing
    done = {trial.split('"id":"')[1].split('"')[0] for trial in killed.read_text().splitlines()[1:-1]}
    assert 0 < len(done) < len(undisturbed[1])
    ran = slow.run("run", "--resume", "--report", "jsonl=killed.jsonl")
    assert ran.code == 1, ran.out + ran.err
    header, trials, footer = summarize(killed)
    assert (trials, footer) == undisturbed[1:]
    assert header == undisturbed[0]
    assert {trial["verdict"] for trial in trials} >= {"fail", "known"}
    again = slow.run("run", "--resume", "--report", "jsonl=killed.jsonl")
    assert (again.code, "is complete" in again.err) == (2, True)


def test_an_interrupted_run_is_the_latest_and_refused_while_it_runs_or_if_anything_differs(slow, start):
    running = start(slow, *WORDS)
    path = wait_for_lines(slow, 5)
    ran = slow.run("run", "--resume")
    assert (ran.code, "is still in progress" in ran.err) == (2, True)
    os.kill(running.pid, signal.SIGTERM)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert slow.results == path
    for words, message in (
        (("-k", "plain"), f"`select` was `{TOPIC}` in the interrupted run, but is `plain` now"),
        (("-i", "reference"), "`impl` was `python:slow.py:adapter`"),
        (("--profile", "core"), "`profile` was not set in the interrupted run, but is `core` now"),
        (("--seed", "5"), "`seed` was `0`"),
    ):
        ran = slow.run("run", "--resume", *words)
        assert (ran.code, message in ran.err) == (2, True), ran.err
    # The length must differ, because Python mistakes a file of the same second and size for the compiled one.
    newer = slow.with_file("slow.py", SLOW.replace('"1.0"', '"1.10"'))
    ran = newer.run("run", "--resume")
    assert "`version` of python:slow.py:adapter was `1.0` and is now `1.10`" in ran.err
    ran = slow.run("run", "--resume")
    assert ran.code == 1, ran.err
    assert json.loads(path.read_text().splitlines()[-1])["complete"]


def test_there_is_nothing_to_resume_without_a_run(project):
    ran = project.run("run", "--resume")
    assert (ran.code, "no results from an earlier run" in ran.err) == (2, True)


def fill(root, name, *, complete=True, selection=None):
    folder = root / name
    folder.mkdir(parents=True)
    lines = ({"kind": "header", "selection": selection or {}}, {"kind": "footer", "complete": complete})
    (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def test_the_last_ten_runs_are_kept_and_the_newest_full_one(tmp_path):
    root = tmp_path / "runs"
    names = [f"2026-01-01T00-00-{number:02}.000Z" for number in range(14)]
    for number, name in enumerate(names):
        partial = {"select": ["x"]} if number > 1 else {}
        fill(root, name, selection=partial)
    with RunFolder(root / names[2]):
        delete_old_runs(root)
    kept = sorted(path.name for path in root.iterdir())
    assert kept == [names[1], names[2], *names[4:]]


def test_the_latest_is_found_without_its_file(tmp_path):
    root = tmp_path / "runs"
    assert find_latest_results(root) is None
    fill(root, "a")
    fill(root, "b")
    assert find_latest_results(root) == root / "b/results.jsonl"
    (root / "latest").write_text("a\n", "utf-8")
    assert find_latest_results(root) == root / "a/results.jsonl"
    (root / "latest").write_text("gone\n", "utf-8")
    assert find_latest_results(root) == root / "b/results.jsonl"


def test_a_folder_in_use_is_locked_and_an_empty_one_is_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with create_run_folder() as folder:
        with pytest.raises(UsageError, match="still in progress"):
            RunFolder(folder.path)
        with create_run_folder() as other:
            assert other.path != folder.path
    assert list((tmp_path / run_folders.RUNS).iterdir()) == []


@pytest.mark.parametrize("path", [".conform", ".conform/runs"])
def test_a_file_or_a_link_to_nothing_in_place_of_a_folder_is_named(project, path):
    def make_file(place):
        place.write_text("")

    for make in (make_file, lambda place: place.symlink_to("nowhere")):
        place = project.folder / path
        place.parent.mkdir(exist_ok=True)
        make(place)
        ran = project.run("run", *FAST)
        assert ran.code == 2
        assert f"`{path}` cannot be written: it is not a folder; choose another path" in ran.err
        place.unlink()
