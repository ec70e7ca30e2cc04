"""`conform fuzz`: generated answers are legal, repeatable, and find planted bugs."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from hypothesis.internal.conjecture import providers

from streamconform.apis import APIS, NAMES
from streamconform.cli import conform
from streamconform.judge.decode import decode_outcome
from streamconform.model.leaf import list_values
from streamconform.resources import find_bundled
from streamconform.run import session
from streamconform.run.exits import Exit
from streamconform.suite import cassettes
from streamconform_capture.fuzz.generate import PRIVATE_NAME, Generator, draw_answers
from streamconform_capture.fuzz.mutate import mutate_body
from streamconform_capture.fuzz.writers import express, write_body
from streamconform_capture.record import draft
from streamconform_dev.docs.command import CONFORM
from streamconform_reference.apis import DECODERS
from streamconform_reference.apis.grammars import GRAMMARS

from ..bundled_suite import NIGHTLY
from ..cli.project import Project

PLANTED = """
from streamconform_reference import adapter as reference


def adapter(run):
    *_, last = reference(run)
    for block in last["outcome"]["content"]:
        if block["type"] == "tool_call" and block["arguments"]:
            block["arguments"].popitem()
    return last["outcome"]


adapter.apis = ["openai-chat"]
adapter.capabilities = ["tool_calls", "parallel_tool_calls"]
"""


SLOW = """
import pathlib, time


def adapter(run):
    pathlib.Path("started").touch()
    time.sleep(60)


adapter.apis = ["openai-chat"]
adapter.capabilities = []
"""
BUG = "python:planted_bug:adapter"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, {"planted_bug.py": PLANTED})


@pytest.mark.parametrize("api", NAMES)
def test_generated_answers_obey_the_grammar_of_their_api(api):
    bodies = {trial.case.cassette.body for trial in Generator(api, 3).generate(10)}
    assert len(bodies) > 5
    for body in bodies:
        problems = GRAMMARS[api].of_body([body], None)
        assert [problem.message for problem in problems if problem.level == "must"] == []


@pytest.mark.parametrize("api", NAMES)
def test_the_reason_that_a_writer_chose_need_not_be_exposed(api):
    leaves = [trial.case.expect.fields.get("stop.raw") for trial in Generator(api, 3).generate(10)]
    assert all(leaf is None or None in list_values(leaf) for leaf in leaves)


@pytest.mark.parametrize("api", NAMES)
def test_the_decoder_of_an_api_reads_what_its_writer_wrote(api):
    base = cassettes.load(find_bundled("cassettes"), api, APIS[api].smoke.call_cassette)
    for answer in draw_answers(base, api, 3, 100 if NIGHTLY else 25):
        body = write_body(api, answer)
        decoder = DECODERS[api]()
        decoder.receive_data(body)
        decoder.receive_eof()
        outcome = decode_outcome(decoder.outcome.to_json())
        assert draft.build_expect(outcome, body) == draft.build_expect(express(api, answer), body)


def test_the_same_seed_generates_the_same_trials():
    first, again, other = ([*Generator("ollama-chat", seed).generate(5)] for seed in (1, 1, 2))
    assert [(trial.id, trial.chunks) for trial in first] == [(trial.id, trial.chunks) for trial in again]
    assert {trial.body for trial in first} != {trial.body for trial in other}


GENERATE = """
import hashlib, sys
from streamconform_capture.fuzz.generate import PRIVATE_NAME, Generator

bodies = [trial.body for trial in Generator("openai-chat", 3).generate(20)]
print(hashlib.sha256(b"".join(bodies)).hexdigest())
"""


def test_a_seed_means_the_same_answers_whatever_else_is_loaded(tmp_path):
    (tmp_path / "with_constants.py").write_text('WORDS = ["konstante", "constant"]\nNUMBER = 12345678\n')
    digests = {
        subprocess.run(
            (sys.executable, "-c", f"{before}{GENERATE}"),
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for before in (
            "",
            "import with_constants",
            "import streamconform.cli.list, streamconform.replay.server",
        )
    }
    assert len(digests) == 1


def test_a_hypothesis_without_the_private_name_is_reported(monkeypatch):
    assert hasattr(providers, PRIVATE_NAME), "a new release of hypothesis; find the function's new name"
    monkeypatch.setattr("streamconform_capture.fuzz.generate.PRIVATE_NAME", "_renamed")
    with pytest.warns(RuntimeWarning, match=r"hypothesis [0-9.]+ has no `_renamed`"):
        assert list(Generator("openai-chat", 1).generate(1))


def test_the_reference_reads_every_generated_answer(project):
    ran = project.run("fuzz", "--examples", "6", "--seed", "5", "--out", "found")
    assert ran.code == 0, ran.out + ran.err
    assert re.search(r"^0 of \d+ trials failed", ran.out, re.MULTILINE)


def test_a_planted_bug_is_found_made_small_and_reproduced_by_the_printed_command(project, monkeypatch):
    project.write()
    monkeypatch.chdir(project.folder)
    # run in this process, because coverage misses what a forked command does after forking a program
    ran = CliRunner().invoke(conform, ["fuzz", "-i", BUG, "--api", "openai-chat", "--examples", "20"])
    assert ran.exit_code == 1, ran.output
    (command,) = re.findall(r"reproduce: conform (run .*)", ran.output)[:1]
    again = project.run(*shlex.split(command))
    assert again.code == 1, again.out + again.err
    assert "tool_call.arguments" in again.out


def test_an_interrupt_before_the_first_answer_is_an_interrupt(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    words = ("fuzz", "-i", "python:slow:adapter", "--api", "openai-chat", "--examples", "2", "-n", "1")
    process = subprocess.Popen(
        (*CONFORM, *words),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A background job of a shell ignores SIGINT, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        deadline = time.monotonic() + 120
        while process.poll() is None and not (tmp_path / "started").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "0 of 0 trials failed" in out
    assert process.returncode == 130, out


def test_implementations_are_compared_with_each_other(project):
    ran = project.run(
        *("fuzz", "-i", "reference", "-i", BUG, "--mode", "differential"),
        *("--api", "openai-chat", "--examples", "20", "-n", "1"),
    )
    assert ran.code == 1, ran.out + ran.err
    assert "arguments" in ran.out


def test_a_campaign_that_loses_trials_does_not_end_as_if_all_was_well(tmp_path, monkeypatch):
    emit = session._Runner._settle
    lost = iter([True])
    monkeypatch.setattr(session._Runner, "_settle", lambda *words: next(lost, None) or emit(*words))
    words = ["fuzz", "-i", "reference", "--examples", "2", "--api", "ollama-chat", "-n", "1"]
    ran = CliRunner().invoke(conform, [*words, "--out", str(tmp_path)], standalone_mode=False)
    assert ran.return_value == Exit.BUG
    assert ran.output.splitlines()[-1].startswith("the results do not add up: 1 of ")


def test_mutated_recordings_need_the_differential_mode(tmp_path):
    ran = CliRunner().invoke(conform, ["fuzz", "--corpus", str(tmp_path)], standalone_mode=False)
    assert "`--corpus` needs `--mode differential`" in str(ran.exception)


@pytest.mark.parametrize("api", NAMES)
def test_a_mutation_changes_a_recording_and_is_the_same_for_the_same_seed(api):
    body = cassettes.load(find_bundled("cassettes"), api, APIS[api].smoke.call_cassette).body
    mutated = [mutate_body(api, body, str(seed)) for seed in range(20)]
    assert mutated == [mutate_body(api, body, str(seed)) for seed in range(20)]
    assert sum(each != body for each in mutated) >= 15
    assert mutate_body(api, b"no stream", "0") == b"no stream"
