"""`conform run` as a user sees it, with real processes in a separate folder."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamconform.cli import conform
from streamconform.reports.terminal import Terminal
from streamconform.schemas import find_problems
from streamconform_dev.docs.command import CONFORM

ONE = "anthropic-messages/tool-use/call-split-mid-token-and-escape"
TEXT_ONLY = """
import json


def adapter(run):
    body = b"".join(run.chunks).decode()
    text = ""
    for line in body.splitlines():
        if line.startswith("data:"):
            payload = json.loads(line[5:])
            if payload["type"] == "content_block_delta":
                text += payload["delta"].get("text", "")
    return {"status": "complete", "stop": {"reason": "stop"}, "content": [{"type": "text", "text": text}]}


adapter.capabilities = []
"""


def test_a_program_over_the_protocol_agrees_with_the_in_process_run(project):
    here = project.run("run", "-k", "anthropic-messages/thinking/**", "--report", "json=a.json")
    there = project.run(
        "run",
        "-k",
        "anthropic-messages/thinking/**",
        "--report",
        "json=b.json",
        "--",
        *CONFORM[:1],
        "-m",
        "streamconform_reference",
    )
    assert (here.code, there.code) == (0, 0), there.out + there.err
    one, other = (json.loads((project.folder / name).read_text()) for name in ("a.json", "b.json"))
    verdicts = [[(trial["id"], trial["verdict"]) for trial in each["trials"]] for each in (one, other)]
    assert verdicts[0] == verdicts[1]
    assert len(verdicts[0]) > 50


def test_a_users_package_with_a_short_adapter_is_judged_by_its_name_alone(project):
    ran = (
        project.with_file("mypkg/__init__.py", "")
        .with_file("mypkg/conform.py", TEXT_ONLY)
        .run(
            "run", "--impl", "mypkg", "-k", "anthropic-messages/text/several-text-blocks", "--faults", "none"
        )
    )
    assert ran.code == 0, ran.out + ran.err
    assert "mypkg (python, bytes)" in ran.out


def test_a_wrong_answer_exits_with_1_and_says_what_where_and_how_to_see_it_again(project):
    made = project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", TEXT_ONLY)
    ran = made.run("run", "--impl", "mypkg", "-k", ONE)
    assert ran.code == 1
    assert 'stop.reason: expected "tool_use", got "stop"' in ran.out
    assert f"reproduce: conform explain {ONE}@as-is -i mypkg" in ran.out
    assert re.search(r"relevant frames?: \d+", ran.out)
    assert "guards against" not in ran.out
    report = made.run("report", "terminal", "-v").out
    assert "guards against bojieli/ai-agent-book#194" in report
    assert "cause: stop-reason-wrong, api: anthropic-messages" in report


def test_the_line_that_reproduces_a_failure_does(project):
    made = project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", TEXT_ONLY)
    first = made.run("run", "--impl", "mypkg", "-k", ONE)
    assert first.code == 1
    words = re.search(r"reproduce: conform (run [^<]*)", made.run("report", "junit").out)[1].split()
    again = made.run(*words)
    assert again.code == 1
    assert "\nFailed: 1 cause, in 1 of 1 trial" in again.out


def test_results_are_written_line_by_line_in_the_published_form(project):
    project.run("run", "-k", ONE, "-i", "mutant:eof-as-success", "-i", "reference")
    lines = [json.loads(line) for line in project.results.read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["header", *["trial"] * (len(lines) - 2), "footer"]
    assert [find_problems("results.v1", line) for line in lines] == [()] * len(lines)
    assert (project.folder / ".conform/.gitignore").read_text() == "*\n"


def test_a_json_report_on_stdout_is_not_mixed_with_prose(project):
    ran = project.run("run", "-k", ONE, "--report", "json=-")
    document = json.loads(ran.out)
    assert document["footer"]["counts"]["pass"] == len(document["trials"])


def test_the_json_report_is_the_same_for_the_same_run(project):
    words = ("run", "-k", ONE, "--report", "json=-", "-i", "mutant:usage-summed")
    once, command = project.run(*words).out, (*CONFORM, *words)
    again = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert once == again.stdout, "the hash seed of a new Python is another"


def test_a_folder_that_cannot_be_written_is_one_clear_message(project):
    ran = project.with_file(".conform", "in the way").run("run", "-k", ONE)
    assert ran.code == 2
    assert "choose another path for results with `--report jsonl=PATH`" in ran.err
    assert project.run("run", "-k", ONE, "--report", "jsonl=here.jsonl").code == 0
    assert (project.folder / "here.jsonl").read_text().count('"kind":"trial"') == 11


def test_several_implementations_are_distinguished(project):
    ran = project.run("run", "-k", ONE, "-i", "reference", "-i", "mutant:usage-summed")
    assert ran.code == 1
    assert "[mutant:usage-summed]" in ran.out
    assert "[reference]" not in ran.out


def test_a_warning_fails_the_run_only_under_strict(project):
    late = "anthropic-messages/stop-reasons/later-null-keeps-stop-reason"
    adapter = TEXT_ONLY.replace('"reason": "stop"', '"reason": "other"')
    made = project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", adapter)
    words = ("run", "-i", "mypkg", "-k", late, "--faults", "none")
    assert made.run(*words).code == 0
    assert made.run(*words, "--strict").code == 1


def test_the_run_stops_at_the_first_failure_when_asked(project):
    ran = project.run("run", "-i", "mutant:usage-summed", "-x", "-n", "1", "--api", "anthropic-messages")
    assert ran.code == 1
    assert re.search(r"^Failed: 1 cause, in 1 of \d+ trials?\b", ran.out, re.MULTILINE)
    assert re.search(r"; incomplete, [\d,]+ trials not run$", ran.last)


def test_no_trial_starts_after_the_failure_that_stops_the_run(project):
    counting = """
def adapter(run):
    with open("runs.txt", "a") as file:
        file.write("run\\n")
    return {"outcome": {"status": "complete", "content": []}}
"""
    made = project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", counting)
    ran = made.run("run", "-i", "mypkg", "-x", "-n", "1", "-k", "anthropic-messages/vllm/text")
    assert re.search(r"^Failed: 1 cause, in 1 of \d+ trials?\b", ran.out, re.MULTILINE)
    assert (made.folder / "runs.txt").read_text("utf-8") == "run\n"


def test_a_hanging_adapter_costs_its_trials_and_the_run_goes_on(project):
    hang = "def adapter(run):\n    while run.status >= 400: time.sleep(1)"
    adapter = "import time\n" + TEXT_ONLY.replace("def adapter(run):", hang)
    ran = (
        project.with_file("mypkg/__init__.py", "")
        .with_file("mypkg/conform.py", adapter)
        .run(
            "run",
            "-i",
            "mypkg",
            "--timeout",
            "1",
            "-n",
            "2",
            "--deliver",
            "fast",
            "-k",
            "anthropic-messages/errors/http-401*",
            "-k",
            "anthropic-messages/tool-use/text-then-call",
        )
    )
    assert ran.code == 1
    assert " timed out" in ran.last
    assert "Does not answer before the timeout" in ran.out
    assert "text-then-call" in ran.out, "the others were judged"


@pytest.mark.parametrize(
    ("number", "begun"),
    [
        (signal.SIGINT, ()),
        (signal.SIGTERM, ()),
        pytest.param(signal.SIGTERM, ("sh", "-c", 'trap "" INT; exec "$0" "$@"'), id="in-the-background"),
    ],
)
def test_nothing_is_left_running_and_results_are_whole_after_ctrl_c_or_sigterm(project, number, begun):
    sleeper = """
import subprocess, sys, time


def adapter(run):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "conform-test-child"])
    time.sleep(600)
"""
    project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", sleeper).write()
    running = subprocess.Popen(
        (*begun, *CONFORM, "run", "-i", "mypkg", "-k", ONE, "-n", "1"),
        cwd=project.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # these tests may themselves run in the background, where a shell ignores it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not _children(project.folder):
        time.sleep(0.05)
    assert _children(project.folder), "the adapter has started its child"
    os.kill(running.pid, number)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 130, out + err
    assert "Traceback" not in err
    assert _children(project.folder) == []
    last = json.loads(project.results.read_text().splitlines()[-1])
    assert (last["kind"], last["complete"], last["exit"]) == ("footer", False, 130)


def _children(folder):
    """Return the processes that still run in `folder` with our mark on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                marked = b"conform-test-child" in (entry / "cmdline").read_bytes()
                if marked and (entry / "cwd").readlink() == folder:
                    found.append(int(entry.name))
    return found


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("run", "-k", ONE, "-i", "nosuchpackage"), 3, "no module `nosuchpackage`"),
        (("run", "-k", ONE, "-i", "cmd:nosuchprogram"), 3, "`nosuchprogram`: No such file"),
        (
            ("run", "-k", ONE, "-i", "json"),
            3,
            "`json` is installed, but has no adapter: there is no module `json.conform`",
        ),
        (("run", "-k", ONE, "-i", "python:json:nosuch"), 3, "module `json` has no `nosuch`"),
        (("run", "-k", ONE, "-i", "python:nosuch.py:adapter"), 3, "no file `nosuch.py`"),
        (("run", "-k", ONE, "-i", "magic:x"), 2, "unknown form `magic:`"),
        (("run", "-k", ONE, "-i", "mutant:nosuch"), 3, "module `streamconform_mutants` has no `nosuch`"),
        (("run", "-k", "nosuch"), 2, "`-k nosuch` matches no trial"),
        (("run", "-k", "anthropic-messages/text/**", "-k", "a/b"), 2, "`-k a/b` matches no trial"),
        (("run", "--api", "telegraph"), 2, "'telegraph' is not one of"),
        (("run", "--deliver", "pigeon"), 2, "'pigeon'"),
        (("run", "--report", "pdf=x"), 2, "expected KIND=PATH"),
        (("run", "--specs", "nowhere"), 2, "`nowhere` is not a folder"),
        (("run", "--timeout", "0"), 2, "--timeout"),
        (("explain", "call-split"), 2, "no case `call-split`; did you mean"),
        (("explain", "anthropic-messages/tool-use/text-then-call@pigeon"), 2, "no delivery `pigeon`"),
        (("fly",), 2, "no command `fly`"),
    ],
)
def test_a_users_mistake_is_one_clear_message(project, words, code, message):
    ran = project.run(*words)
    assert ran.code == code, ran.out + ran.err
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_a_bug_in_one_report_does_not_lose_the_others(tmp_path, monkeypatch):
    def fail(*_):
        raise ValueError("min() arg is an empty sequence")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Terminal, "finish", fail)
    words = ["run", "-k", "*/text/plain-text@as-is", "--report", "junit=a.xml", "--report", "html=b.html"]
    ran = CliRunner().invoke(conform, words)
    assert isinstance(ran.exception, ValueError)
    assert "<testsuites" in (tmp_path / "a.xml").read_text()
    assert "<html" in (tmp_path / "b.html").read_text()
