"""`conform report` as called by a user or a CI job, and with results of killed runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
import xmlschema

from streamconform.cli.report import KINDS
from streamconform.reports import REPORTS
from streamconform.run.run_folders import RUNS, find_latest_results
from streamconform_dev.docs.command import CONFORM
from streamconform_dev.docs.golden import HERE, RESULTS, golden_path, write_cut_results

from ..cli import forked
from ..cli.project import Project

ONE = "anthropic-messages/tool-use/call-split-mid-token-and-escape"
TIME = re.compile(r"(; ran)? in \d+\.\d s")
STUCK = """
import os
import time

taken = []
PARENT = os.getppid()


def adapter(run):
    taken.append(run)
    while len(taken) > 45 and os.getppid() == PARENT:
        time.sleep(0.01)
    return {"status": "incomplete", "stop": {"reason": None}, "content": []}
"""
"""It answers only some trials, so that the run can be killed after any of them."""
CUT = "warning: the results are incomplete: the run was killed: "


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_goes_to_stdout_or_to_a_file(project, kind):
    shutil.copy(RESULTS, project.folder / "results.jsonl")
    ran = project.run("report", kind, "results.jsonl")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.encode() == golden_path(kind, whole=True).read_bytes()
    ran = project.run("report", f"{kind}=new/there", "results.jsonl")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (project.folder / "new/there").read_bytes() == golden_path(kind, whole=True).read_bytes()


def test_a_report_is_utf_8_in_every_locale(project):
    ascii_only = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"}
    command = (*CONFORM, "report", "junit=a.xml", RESULTS)
    subprocess.run(command, cwd=project.folder, env=ascii_only, check=True)
    plain = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    with (project.folder / "b.xml").open("wb") as out:
        command = (*CONFORM, "report", "junit", RESULTS)
        subprocess.run(command, stdout=out, env=plain, check=True)
    for name in ("a.xml", "b.xml"):
        assert (project.folder / name).read_bytes() == golden_path("junit", whole=True).read_bytes()


def test_the_terminal_report_is_what_the_run_printed(project):
    ran = project.run("run", "-k", ONE, "-i", "mutant:usage-summed", "-i", "reference")
    again = project.run("report", "terminal")
    assert (ran.code, again.code) == (1, 0)
    assert again.out == TIME.sub("", ran.out)
    assert project.run("report", "terminal=a.txt").out == ""
    assert (project.folder / "a.txt").read_text() == again.out


@pytest.mark.parametrize("kind", REPORTS)
def test_a_run_and_a_report_of_its_results_write_the_same(project, kind):
    ran = project.run("run", "-k", ONE, "-i", "mutant:usage-summed", "--report", f"{kind}=run")
    assert ran.code == 1
    assert project.run("report", f"{kind}=later").code == 0
    assert (project.folder / "run").read_bytes() == (project.folder / "later").read_bytes()


def test_a_run_with_one_failure_is_valid_junit(project):
    project.run("run", "-k", ONE, "-i", "mutant:usage-summed", "--report", "junit=a.xml")
    xmlschema.XMLSchema(HERE / "junit.xsd").validate(project.folder / "a.xml")
    assert "usage.output" in (project.folder / "a.xml").read_text()


def test_the_exit_code_is_the_runs_where_it_is_requested(project):
    assert project.run("report", "badge", str(RESULTS)).code == 0
    assert project.run("report", "badge", "--exit-code", str(RESULTS)).code == 1
    assert project.run("report", "badge", "--exit-code", str(write_cut_results(project.folder))).code == 130
    project.run("run", "-k", ONE)
    assert project.run("report", "badge", "--exit-code").code == 0


@pytest.mark.parametrize("kind", ["terminal", *KINDS])
def test_a_cut_run_is_said_to_be_cut_on_stderr_and_in_the_report(project, kind):
    ran = project.run("report", kind, str(write_cut_results(project.folder)))
    assert ran.code == 0
    assert ran.err.startswith(CUT)
    assert kind == "jsonl" or re.search("incomplete|killed", ran.out)


def test_shards_in_two_files_are_one_report(project):
    header, *trials, footer = RESULTS.read_bytes().split(b"\n")[:-1]
    for name, part in (("a", trials[:5]), ("b", trials[5:])):
        planned = json.loads(header)
        planned["suite"]["trials"] = len(part)
        counted = json.loads(footer) | {"counts": {"any": len(part)}}
        lines = (json.dumps(planned).encode(), *part, json.dumps(counted).encode())
        (project.folder / name).write_bytes(b"\n".join(lines) + b"\n")
    ran = project.run("report", "markdown", "a", "b")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.encode() == golden_path("markdown", whole=True).read_bytes()
    assert project.run("report", "jsonl=c", "b", "a").code == 0
    assert project.run("report", "markdown", "c").out == ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("report",), "no results in `.conform/runs`; `conform run` writes them"),
        (("report", "json", "good", "--judge", "good"), "`--judge` reads saved answers; leave out the"),
        (("report", "--judge", "good"), "good:1: expected `schema` to be `answers.v1`; it contains results"),
        (("report", "--judge", "empty"), "`empty` contains no answers; `conform run --answers empty` writes"),
        (
            ("report", "pdf"),
            "`pdf`: expected KIND or KIND=PATH, where KIND is one of `terminal`, `json`, `junit`",
        ),
        (("report", "junit="), "`junit=`: expected KIND or KIND=PATH"),
        (
            ("report", "junit"),
            "no results in `.conform/runs`; `conform run` writes them",
        ),
        (("report", "junit", "."), "`.` cannot be read: it is a folder, expected a regular file"),
        (("report", "junit", "empty"), "`empty` contains no results: the file is empty"),
        (("report", "junit", "half"), "`half` contains no results: the run was killed before its first line"),
        (("report", "junit", "broken"), "broken:2: invalid JSON: "),
        (("report", "junit", "known"), "known:1: `kind` is not `header`, `trial` or `footer`"),
        (("report", "junit=empty/x", "good"), "`empty/x` cannot be written: "),
        (
            ("report", "junit", "good", "good"),
            "of `mypkg` is twice in `good`; shards of a run have no trials in common",
        ),
    ],
)
def test_a_users_mistake_is_one_clear_message(project, words, message):
    data = RESULTS.read_bytes()
    files = {
        "empty": b"",
        "half": data[:100],
        "broken": data.replace(b"\n", b"\n{\n", 1),
        "known": b"{}\n",
        "good": data,
    }
    for name, text in files.items():
        (project.folder / name).write_bytes(text)
    ran = project.run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("lines", [1, 2, 40])
def test_a_run_that_was_killed_is_reported_up_to_the_last_trial(project, lines):
    project.with_file("stuck.py", STUCK).write()
    words = ("run", "-i", "python:stuck.py:adapter", "-k", "anthropic-messages/text/**", "-n", "1")
    running = forked.Started("streamconform", words, cwd=project.folder, env=os.environ)
    deadline = time.monotonic() + 60
    runs = project.folder / RUNS
    while time.monotonic() < deadline and not (
        (results := find_latest_results(runs)) is not None and results.read_bytes().count(b"\n") >= lines
    ):
        time.sleep(0.001)
    with running:
        running.send_signal(signal.SIGKILL)
        assert running.wait(timeout=30) == -signal.SIGKILL
    whole = results.read_bytes().count(b"\n")
    assert whole >= lines
    ran = project.run("report", "markdown=-", str(results.parent))
    assert ran.code == 0
    assert "> **These results are incomplete**: the run was killed: " in ran.out
    assert ran.err.startswith(f"{CUT}{whole - 1} of ")
    assert project.run("report", "junit=a.xml").err == ran.err
    xmlschema.XMLSchema(HERE / "junit.xsd").validate(project.folder / "a.xml")


def remove_line(path, number):
    lines = path.read_text("utf-8").splitlines(keepends=True)
    del lines[number]
    path.write_text("".join(lines), "utf-8")


def test_a_file_that_lacks_trials_although_it_says_complete_is_named_and_can_be_resumed(project):
    shards = [project.folder / f"{number}.jsonl" for number in (1, 2)]
    for number, path in enumerate(shards, start=1):
        ran = project.run(
            "run", "-k", "ollama-chat/text/*", "--shard", f"{number}/2", "--report", f"jsonl={path}"
        )
        assert ran.code == 0
    trials = len(shards[0].read_text("utf-8").splitlines()) - 2
    remove_line(shards[0], 3)
    lost = f"1 of {trials} trials have no result"
    for words in (("report", "badge", "1.jsonl"), ("diff", "1.jsonl", "1.jsonl")):
        ran = project.run(*words)
        assert (ran.code, lost in ran.err) == (4, True), ran.err
    remove_line(shards[1], -1)  # now the merged results are incomplete for another reason too
    ran = project.run("report", "badge", "1.jsonl", "2.jsonl")
    assert ran.code == 4
    assert f"warning: the results in 1.jsonl are incomplete: the results do not add up: {lost}" in ran.err
    assert "warning: the results in 2.jsonl are incomplete: the run was killed" in ran.err
    assert project.run("run", "--resume", "--report", "jsonl=1.jsonl").code == 0
    assert project.run("report", "badge", "1.jsonl").code == 0


def test_a_run_that_was_killed_before_its_header_has_nothing_to_report(project):
    project.with_file("mypkg/__init__.py", "").with_file(
        "mypkg/conform.py", "import os, signal\n\nos.kill(os.getppid(), signal.SIGKILL)\n"
    ).write()
    assert project.run("run", "-i", "mypkg", "-k", ONE).code == -signal.SIGKILL
    ran = project.run("report", "markdown=-")
    assert ran.code == 2
    assert "no results in `.conform/runs`; `conform run` writes them" in ran.err
