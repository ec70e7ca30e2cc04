"""Complete programs in compiled languages, built from the sources in tests/programs and judged as `cmd:`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ..cli.project import Project

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
LARGEST = 400
"""The maximum number of lines of such a program, including its JSON reader."""
NOT_CLAIMED = ("requests is not claimed", "round_trips is not claimed", "documents is not claimed")
"""The reasons why trials are skipped: the programs build no requests, and read only streams."""


@pytest.fixture(scope="module")
def in_rust(tmp_path_factory):
    """The program in Rust, which has no dependencies, so nothing is downloaded."""
    target = tmp_path_factory.mktemp("rust")
    words = ("cargo", "build", "--offline", "--quiet", "--locked", "--target-dir", str(target))
    subprocess.run(words, cwd=PROGRAMS / "rust", check=True, timeout=300)
    return target / "debug" / "chat-reader"


@pytest.fixture(scope="module")
def in_c(tmp_path_factory):
    """The program in C, for any C17 compiler; warnings are errors."""
    made = tmp_path_factory.mktemp("c") / "messages-reader"
    source = PROGRAMS / "c" / "reader.c"
    words = (
        "cc",
        "-std=c17",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-o",
        str(made),
        str(source),
    )
    subprocess.run(words, check=True, timeout=300)
    return made


def verdicts(folder, program, api):
    """Return the results of an API's trials that every stream reader has to pass."""
    project = Project(folder)
    words = ("run", "--api", api, "--level", "must", "--deliver", "fast", "--faults", "one")
    project.run(*words, "--report", "jsonl=run.jsonl", "--", str(program))
    results = [json.loads(line) for line in (folder / "run.jsonl").read_text("utf-8").splitlines()]
    trials = (each for each in results if each["kind"] == "trial" and each.get("reason") not in NOT_CLAIMED)
    return {(each["id"], each["verdict"]) for each in trials}


def passes_all(found):
    return len(found) > 100 and [each for each in found if each[1] != "pass"] == []


@pytest.mark.slow
@pytest.mark.cargo
def test_a_program_in_rust_passes_the_basic_chat_cases(in_rust, tmp_path):
    assert passes_all(verdicts(tmp_path, in_rust, "openai-chat"))


@pytest.mark.slow
@pytest.mark.cc
def test_a_program_in_c_passes_the_basic_messages_cases(in_c, tmp_path):
    assert passes_all(verdicts(tmp_path, in_c, "anthropic-messages"))


@pytest.mark.cargo
def test_the_program_in_rust_is_sane(in_rust, tmp_path):
    ran = Project(tmp_path).run("smoke", "--", str(in_rust))
    assert (ran.code, ran.last.partition(".")[0]) == (0, "Adapter OK"), ran.out + ran.err


@pytest.mark.cc
def test_the_program_in_c_is_sane(in_c, tmp_path):
    ran = Project(tmp_path).run("smoke", "--", str(in_c))
    assert (ran.code, ran.last.partition(".")[0]) == (0, "Adapter OK"), ran.out + ran.err


@pytest.mark.parametrize("sources", ["rust/src/*.rs", "c/*.c"])
def test_such_a_program_is_short(sources):
    lines = sum(path.read_text("utf-8").count("\n") for path in PROGRAMS.glob(sources))
    assert 0 < lines < LARGEST
