"""Answers that `conform run --answers` saved are judged again by `conform report --judge`."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

from streamconform_dev.checkout import ROOT

TOPIC = "ollama-chat/tool-use"
CASE = f"{TOPIC}/parallel-in-one-record"
RUN = ("run", "-i", "python:mine.py:adapter", "-k", f"{TOPIC}/**", "--faults", "all")
# Every kind of answer, by a number that is the same in each run: the answers depend on the bytes alone.
MINE = """
import dataclasses, os, zlib
from streamconform_reference import adapter as reference


def adapter(run):
    body = b"".join(run.chunks)
    match zlib.crc32(body) % 12:
        case 0: raise KeyError("mine")
        case 1: return {"outcome": {"status": "error", "content": []}, "raised": ValueError("theirs")}
        case 2: os._exit(3)
        case 3: return {"status": "complete", "content": [], "stop": {}, "usage": {"input": 1e999}}
    return list(reference(dataclasses.replace(run, chunks=[body])))[-1]["outcome"]


def heal(api, value):
    return value


adapter.heal = heal
adapter.apis = ["ollama-chat"]
"""


def read_results(path):
    """Return the lines of a results file without times and without what only a run knows."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        for name in ("ms", "seconds", "imported_reference"):
            line.pop(name, None)
    return sorted(lines, key=lambda line: line.get("id", line["kind"]))


@pytest.fixture
def mine(project):
    return project.with_file("mine.py", MINE)


@pytest.mark.parametrize("name", ["answers.jsonl", "answers.jsonl.gz"])
def test_the_results_are_those_of_the_run(mine, name):
    ran = mine.run(*RUN, "-k", "common/heal/**", "--answers", name, "--report", "jsonl=run.jsonl")
    assert ran.code == 1
    (mine.folder / "mine.py").write_text("raise SystemExit('the implementation is not needed')")
    again = mine.run("report", "jsonl=again.jsonl", "--judge", name, "--exit-code")
    assert (again.code, again.err) == (1, "")
    run, judged = (read_results(mine.folder / each) for each in ("run.jsonl", "again.jsonl"))
    assert judged == run
    verdicts = {line["verdict"] for line in run if line["kind"] == "trial"}
    assert verdicts == {"pass", "fail", "warn", "faulted"}


def test_the_results_over_http_are_those_of_the_run(project):
    source = ROOT / "tests/replay/over_http.py"
    made = project.with_file("over_http.py", source.read_text("utf-8") + "\nadapter.inputs = ['http']\n")
    words = ("-k", f"{TOPIC}/**", "-k", "ollama-chat/requests/**", "-k", "ollama-chat/round-trips/**")
    ran = made.run(
        *("run", "-i", "python:over_http:adapter", *words, "--faults", "one"),
        *("--answers", "answers.jsonl.gz", "--report", "jsonl=run.jsonl"),
    )
    assert ran.code in (0, 1), ran.out + ran.err
    again = made.run("report", "jsonl=again.jsonl", "--judge", "answers.jsonl.gz")
    assert (again.code, again.err) == (0, "")
    run, judged = (read_results(made.folder / each) for each in ("run.jsonl", "again.jsonl"))
    assert judged == run
    assert len(run) > 100


def test_today_s_spec_decides(mine):
    for name in ("specs", "cassettes"):
        shutil.copytree(ROOT / name / "ollama-chat", mine.folder / name / "ollama-chat")
    shutil.copytree(ROOT / "specs/evidence", mine.folder / "specs/evidence")
    words = ("run", "-k", CASE, "--faults", "none", "--specs", "specs", "--answers", "answers.jsonl")
    assert mine.run(*words).code == 0
    spec = mine.folder / "specs/ollama-chat/tool-use.yaml"
    spec.write_text(spec.read_text().replace("get_", "fetch_"))
    ran = mine.run("report", "--judge", "answers.jsonl", "--exit-code")
    assert ran.code == 1
    assert "Returns a call with a wrong name" in ran.out


def test_an_answer_to_other_bytes_is_not_judged(mine):
    assert mine.run("run", "-k", CASE, "--faults", "none", "--answers", "answers.jsonl").code == 0
    path = mine.folder / "answers.jsonl"
    head, first, *rest = path.read_text().splitlines(keepends=True)
    changed = json.loads(first) | {"input": "0" * 16}
    path.write_text(head + json.dumps(changed) + "\n" + "".join(rest))
    ran = mine.run("report", "--judge", "answers.jsonl")
    assert ran.code == 0
    assert ran.last.endswith(
        "incomplete, 1 trial not run: 1 trial changed since the answers were saved, or without an answer"
    )


def test_the_answers_of_a_killed_run_are_judged_up_to_its_end(mine):
    mine.run("run", "-k", f"{TOPIC}/**", "--answers", "answers.jsonl.gz")
    path = mine.folder / "answers.jsonl.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    ran = mine.run("report", "--judge", "answers.jsonl.gz")
    assert ran.code == 0
    assert "the results are incomplete: the run was stopped early: " in ran.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"implementation": 0}', "answers.jsonl:2: Object missing required field `id`"),
        ("[]", "answers.jsonl:2: expected a JSON object"),
        (
            '{"implementation": 0, "id": "a", "input": "b", "ms": 1.0}',
            "answers.jsonl:2: expected exactly one of observation, output, skipped, errored, fault, hang",
        ),
        (
            '{"implementation": 7, "id": "a", "input": "b", "ms": 1.0, "hang": {"seconds": 1}}',
            "answers.jsonl:2: `implementation`: the header has no implementation 7",
        ),
    ],
)
def test_a_line_that_is_no_answer_is_one_clear_message(mine, line, message):
    mine.run("run", "-k", f"{CASE}@as-is", "--answers", "answers.jsonl")
    path = mine.folder / "answers.jsonl"
    path.write_text(path.read_text().splitlines()[0] + f"\n{line}\n")
    ran = mine.run("report", "--judge", "answers.jsonl")
    assert ran.code == 2
    assert message in ran.err


def test_a_file_that_is_not_compressed_is_one_clear_message(mine):
    made = mine.with_file("answers.jsonl.gz", "not compressed")
    ran = made.run("report", "--judge", "answers.jsonl.gz")
    assert (ran.code, ran.out) == (2, "")
    assert "`answers.jsonl.gz` cannot be " in ran.err


def test_a_resumed_run_cannot_save_its_answers(mine):
    ran = mine.run("run", "--resume", "--answers", "answers.jsonl")
    assert ran.code == 2
    assert "`--answers` cannot be combined with `--resume`" in ran.err


def test_the_file_is_compressed_if_its_name_says_so(mine):
    mine.run("run", "-k", f"{CASE}@as-is", "--answers", "a.jsonl", "--report", "jsonl=r.jsonl")
    mine.run("run", "-k", f"{CASE}@as-is", "--answers", "a.jsonl.gz", "--report", "jsonl=r.jsonl")
    with gzip.open(mine.folder / "a.jsonl.gz") as file:
        compressed = file.read().splitlines()[1]
    plain = (mine.folder / "a.jsonl").read_bytes().splitlines()[1]
    assert [json.loads(line) | {"ms": 0} for line in (compressed, plain)] == [
        json.loads(plain) | {"ms": 0}
    ] * 2
