"""A program that answers in order gets several runs at once; answers, and who is to blame, stay the same."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from streamconform.adapters import program as program_module
from streamconform.adapters.connect import HOST, Connection
from streamconform.adapters.interface import Hang, Observation, ProtocolFault
from streamconform.adapters.program import MAX_QUEUED, MAX_UNSENT, Collateral, Program
from streamconform.model.case import Counts
from streamconform.model.trial import Call
from streamconform.run.plan import Settings
from streamconform.run.session import SILENT, RunRequest, execute_run

from . import builders

TRIAL = builders.trial()
SECONDS = 5.0
ECHO = """\
def answer(message):
    write(op="result", id=message["id"], outcome={"n": message["id"]})
"""
PARTLY = f"greet()\n{ECHO}\nanswer(read()); second = read()['id']; "
"""Answers the first run, and has read the second one."""


def submit(connection, trials=(TRIAL,) * MAX_QUEUED, *, seconds=SECONDS):
    """Return the answers to `trials`, which are sent together to a program that answers in order."""

    async def run_program():
        program = Program(connection)
        program.answers_in_order = True
        try:
            await program.start()
            futures = [program.submit(trial, seconds, events=False) for trial in trials]
            return [await future for future in futures]
        finally:
            await program.stop()

    return asyncio.run(run_program())


BREAKS = {
    "exits": ("sys.exit(7)", "exited"),
    "is-killed": ("os.kill(os.getpid(), 9)", "exited"),
    "closes-stdout": ("os.close(1); time.sleep(60)", "exited"),
    "half-a-line": ("""os.write(1, b'{"op":')""", "exited"),
    "prints": ("print('hello', flush=True); time.sleep(60)", "not-json"),
    "invalid-answer": ("write(op='result', id=second); time.sleep(60)", "not-a-message"),
    "answers-twice": ("answer({'id': '1'}); time.sleep(60)", "answered-twice"),
    "answers-another": ("answer({'id': '99'}); time.sleep(60)", "unknown-id"),
    "nests-deep": ("print('[' * 900 + ']' * 900, flush=True); time.sleep(60)", "too-deep"),
    "line-too-long": ("print('x' * 5000, flush=True); time.sleep(60)", "line-too-long"),
    "event-too-much": (
        "[write(op='event', id=second, event=1) for _ in range(11)]; time.sleep(60)",
        "too-many-events",
    ),
}


@pytest.mark.parametrize(("code", "kind"), BREAKS.values(), ids=BREAKS)
def test_the_first_unanswered_run_is_blamed_and_those_after_it_are_retried(tmp_path, monkeypatch, code, kind):
    monkeypatch.setattr(program_module, "STOP_SECONDS", 0.3)
    monkeypatch.setattr(program_module.protocol, "MAX_LINE", 2000)
    monkeypatch.setattr(program_module.protocol, "MAX_EVENTS", 10)
    first, second, *others = submit(builders.program(tmp_path, PARTLY + code))
    assert first == Observation({"n": "1"})
    assert isinstance(second, ProtocolFault)
    assert second.kind == kind
    assert others == [Collateral()] * (MAX_QUEUED - 2)


def test_a_run_that_is_not_answered_in_time_hangs_alone(tmp_path):
    code = PARTLY + "time.sleep(60)"
    answers = submit(builders.program(tmp_path, code), seconds=0.3)
    assert answers == [Observation({"n": "1"}), Hang(0.3), Collateral(), Collateral()]


def test_the_time_limit_of_a_run_begins_when_the_run_before_it_was_answered(tmp_path):
    code = f"greet()\n{ECHO}\nwhile (m := read())['op'] == 'run': time.sleep(0.4); answer(m)"
    answers = submit(builders.program(tmp_path, code), seconds=0.7)
    assert answers == [Observation({"n": str(n)}) for n in range(1, MAX_QUEUED + 1)]


def test_a_time_limit_is_not_extended_by_the_one_of_an_earlier_run(tmp_path):
    async def run_program():
        program = Program(builders.program(tmp_path, PARTLY + "time.sleep(60)"))
        try:
            await program.start()
            await program.run(TRIAL, 60, events=False)
            return await program.run(TRIAL, 0.2, events=False)
        finally:
            await program.stop()

    started = time.monotonic()
    assert asyncio.run(run_program()) == Hang(0.2)
    assert time.monotonic() - started < 10


LARGE = 16 * 1024 * 1024


def test_answers_are_read_while_runs_are_written_even_if_both_pipes_are_full(tmp_path):
    code = f"""\
greet()
while (m := read())["op"] == "run":
    write(op="result", id=m["id"], outcome={{"text": "x" * {LARGE}, "read": len(str(m["input"]["chunks"]))}})
"""
    trials = (builders.trial(builders.case(body=b"x" * LARGE)),) * 3
    answers = submit(builders.program(tmp_path, code), trials, seconds=120)
    assert [len(answer.outcome["text"]) for answer in answers] == [LARGE] * 3
    assert [answer.outcome["read"] for answer in answers] == [(LARGE + 2) // 3 * 4 + len("['']")] * 3


def test_a_program_is_killed_in_the_middle_of_a_large_run(tmp_path):
    trials = (builders.trial(builders.case(body=b"x" * LARGE)),) * 3
    answers = submit(builders.program(tmp_path, "greet(); os.read(0, 1000); sys.exit(3)"), trials)
    assert answers == [
        ProtocolFault("exited", "the program ended (exit code 3)"),
        Collateral(),
        Collateral(),
    ]


def test_only_so_many_runs_and_bytes_wait_in_a_program(tmp_path):
    large = builders.trial(builders.case(body=b"x" * 2 * MAX_UNSENT))

    async def count(trial, *, in_order=True):
        program = Program(builders.program(tmp_path, "greet(); time.sleep(60)"))
        program.answers_in_order = in_order
        try:
            await program.start()
            sent = [program.submit(trial, SECONDS, events=False)]
            while program.can_queue():
                sent.append(program.submit(trial, SECONDS, events=False))
            return len(sent)
        finally:
            await program.kill()

    assert asyncio.run(count(TRIAL)) == MAX_QUEUED
    assert asyncio.run(count(large)) == 1
    assert asyncio.run(count(TRIAL, in_order=False)) == 1


ADAPTER = f"""\
import json, os, subprocess, sys, time
from pathlib import Path

def adapter(run):
    name = run.request["name"]
    with Path("order").open("a") as file:
        file.write(name + "\\n")
    match name:
        case "exits":
            os._exit(3)
        case "hangs":
            time.sleep(60)
        case "raises":
            raise ValueError(name)
        case "reads-stdin":
            assert sys.stdin.readline() == ""
            assert subprocess.run(["cat"], stdout=subprocess.PIPE).stdout == b""
    return json.loads({json.dumps(json.dumps(builders.TEXT_OUTCOME))})

adapter.capabilities = ["count_tokens"]
adapter.count_tokens = lambda api, value: value if value != 3 else os._exit(4)
"""
NAMES = (
    *("good", "exits", "good", "good", "hangs", "exits", "raises", "reads-stdin", "good", "good"),
    *("exits", "exits", "good", "good", "good", "good"),
)


def run_all(folder: Path, trials, **settings):
    """Return the (id, verdict, reason) of each result of a run of the adapter, in the order of the file."""
    (folder / "mine.py").write_text(ADAPTER, "utf-8")
    request = RunRequest(
        connections=(Connection("python:mine", (*HOST, "mine:adapter")),),
        trials=trials,
        settings=Settings(**{"workers": 1, "timeout": 2.0} | settings),
        selection={},
        blame=False,
    )
    path = folder / "results.jsonl"
    execute_run(request, path, SILENT)
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return [(each["id"], each["verdict"], each.get("reason")) for each in lines if each["kind"] == "trial"]


def make_trials(names=NAMES):
    cassette = builders.cassette()

    def make(index, name):
        request = replace(cassette.request, body={"model": "m", "name": name})
        case = builders.case(id=f"{builders.ANTHROPIC}/text/{index:02}-{name}")
        return builders.trial(replace(case, cassette=replace(cassette, request=request)))

    return tuple(make(index, name) for index, name in enumerate(names))


VERDICTS = {"exits": "faulted", "hangs": "hang", "raises": "faulted"}


@pytest.mark.parametrize("most", [1, MAX_QUEUED])
def test_a_run_has_the_same_results_however_many_runs_are_in_flight(tmp_path, monkeypatch, most):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(program_module, "MAX_QUEUED", most)
    trials = make_trials()
    found = run_all(tmp_path, trials)
    assert [id_ for id_, _, _ in found] == [trial.id for trial in trials]
    assert [verdict for _, verdict, _ in found] == [VERDICTS.get(name, "pass") for name in NAMES]
    reasons = {reason for _, verdict, reason in found if verdict == "faulted"}
    assert "exited: the program ended (exit code 3)" in reasons
    assert len(reasons) == 2
    # No adapter was called twice for a trial, and none after the one in which it ended.
    assert tuple((tmp_path / "order").read_text().split()) == NAMES


def test_no_run_waits_in_a_program_if_a_verdict_may_stop_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_all(tmp_path, make_trials(("good", "raises", "good", "good", "good")), maxfail=1)
    assert [verdict for _, verdict, _ in found] == ["pass", "faulted"]
    assert (tmp_path / "order").read_text().split() == ["good", "raises"]


def test_the_calls_of_one_trial_are_answered_before_the_trials_after_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def count(id_, *inputs):
        call = builders.call(list(inputs), Counts("increasing"), kind="tokens", id=f"common/tokens/{id_}")
        return Call(replace(call.case, api=builders.ANTHROPIC))

    good, exits = make_trials(("good", "exits"))
    trials = (good, count("a", 1, 2), count("b", 1, 3, 4), count("c", 5, 6, 7, 8, 9), exits, count("d", 1, 2))
    found = run_all(tmp_path, trials)
    assert [id_ for id_, _, _ in found] == [trial.id for trial in trials]
    assert [verdict for _, verdict, _ in found] == ["pass", "pass", "faulted", "pass", "faulted", "pass"]


def test_a_program_of_another_kind_has_one_run_at_a_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = f"""\
import select
greet(capabilities=[])
while (m := read())["op"] == "run":
    time.sleep(0.05)
    assert not select.select([0], [], [], 0)[0]
    write(op="result", id=m["id"], outcome=json.loads({json.dumps(json.dumps(builders.TEXT_OUTCOME))}))
"""
    request = RunRequest(
        connections=(builders.program(tmp_path, code),),
        trials=make_trials(("good",) * 10),
        settings=Settings(workers=1, timeout=5),
        selection={},
        blame=False,
    )
    finished = execute_run(request, tmp_path / "results.jsonl", SILENT)
    assert finished.results.footer.counts["pass"] == 10
