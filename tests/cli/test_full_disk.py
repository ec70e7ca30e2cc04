"""If the disk or stdout is full, or stdout is closed, commands exit with 2 and print one line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from streamconform_dev.docs.command import CONFORM

from . import forked

ONE = "anthropic-messages/text/empty-deltas"


PLAIN = 'exec "$0" "$@"'
WORDS = (
    ("run", "-k", ONE),
    ("run", "-k", ONE, "--report", "json=-"),
    ("list", "-k", ONE),
    ("schema", "outcome.v1"),
    ("--help",),
    ("explain", f"{ONE}@as-is"),
)


def run(folder: Path, script: str, *words: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    """Run `conform WORDS` from a shell script; a limit on the size of files must not cut Python's caches."""
    return subprocess.run(
        ("sh", "-c", script, *CONFORM, *words),
        cwd=folder,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )


def test_results_on_a_full_disk(tmp_path):
    done = run(tmp_path, f"ulimit -f 4; {PLAIN}", "run", "-k", "anthropic-messages/text/**")
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: `.conform/runs/")
    assert line.endswith("results.jsonl` cannot be written: File too large")


@pytest.mark.linux
@pytest.mark.parametrize("words", WORDS, ids=lambda words: words[0])
def test_a_full_stdout_that_is_not_buffered(tmp_path, words):
    done = run(tmp_path, f"{PLAIN} > /dev/full", *words, unbuffered="1")
    assert done.returncode == 2, done.stderr
    assert done.stderr == "error: the output cannot be written: No space left on device\n"


@pytest.mark.linux
@pytest.mark.parametrize("words", WORDS, ids=lambda words: words[0])
def test_a_full_stdout(tmp_path, words):
    """The buffer contains unwritable text when the command ends; a fork then ends like a new Python."""
    forked.write_command(tmp_path / "conform")
    done = subprocess.run(
        ("sh", "-c", './conform "$@" > /dev/full', "sh", *words),
        cwd=tmp_path,
        env=os.environ | {"PYTHONUNBUFFERED": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr == "error: the output cannot be written: No space left on device\n"


@pytest.mark.linux
def test_a_report_on_a_full_device(tmp_path):
    done = run(tmp_path, PLAIN, "run", "-q", "-k", ONE, "--report", "html=/dev/full")
    assert done.returncode == 2
    assert done.stderr == "error: `/dev/full` cannot be written: No space left on device\n"


@pytest.mark.parametrize("words", [("run", "-k", ONE), ("list",), ("--version",)], ids=lambda words: words[0])
def test_a_closed_stdout(tmp_path, words):
    done = run(tmp_path, f"{PLAIN} >&-", *words)
    assert done.returncode == 2
    assert done.stderr == "error: stdout is closed; redirect it to a file, or to /dev/null\n"
