"""Recorded answers with what the judge in Python finds, and the comparison with another judge."""

from __future__ import annotations

import json
import re
import shlex
import sys
from functools import cache

import pytest

from streamconform.apis import NAMES
from streamconform_dev.judges.check import CheckerError, check_answers
from streamconform_dev.judges.damage import CLAIMS
from streamconform_dev.judges.files import read_answers
from streamconform_dev.judges.languages import CHECKERS, FOLDER
from tests.cli.project import Project
from tests.judges.answers import record_sample

API = "cohere-chat"
AGREES = """
import json, sys
for line in sys.stdin:
    given = json.loads(line)
    line = {"trial": given["trial"], **given["expected"]}
    {change}
    print(json.dumps(line))
"""
CHANGES = {
    "trial": "line['trial'] += '?'",
    "verdict": "line['verdict'] = 'fail' if line['verdict'] == 'pass' else 'pass'",
    "culprit": "line['culprit'] = 'harness'",
    "compared": "line['compared'].append(['cost', True])",
    "checks": "line['checks'] += line['checks'][:1]",
    "status": "line['checks'] = [check for check in line['checks'] if check['path'] != 'status']",
    "content.*.tool_call.name": "[c.update(level='may') for c in line['checks'] if '.name' in c['path']]",
    "made.up": "line['checks'].append({'path': 'made.up', 'level': 'must', 'verdict': 'pass'})",
}
"""By the group of the difference, what a checker does wrong."""


@cache
def list_lines(api):
    return read_answers(record_sample() / f"answers-{api}.jsonl.gz")


def write_program(change):
    return AGREES.replace("{change}", change)


def check(program, folder, lines):
    return check_answers([sys.executable, "-c", program], folder, folder / "suite.json.gz", lines)


def test_every_judge_has_a_program_that_reads_answers():
    languages = {path.name for path in FOLDER.iterdir() if path.is_dir()}
    assert languages <= CHECKERS.keys()


def test_every_api_has_answers_that_pass_that_warn_and_that_fail():
    for api in NAMES:
        lines = [json.loads(line) for line in list_lines(api)]
        assert {line["expected"]["verdict"] for line in lines} == {"pass", "warn", "fail"}
        assert {line["expected"]["culprit"] for line in lines} == {None, "implementation", "adapter"}
        assert {frozenset(line["claims"]) for line in lines} >= {*CLAIMS}


def test_an_answer_is_recorded_once():
    lines = [json.loads(line) for line in list_lines(API)]
    told = [json.dumps([line["trial"], line["claims"], line["answer"]]) for line in lines]
    assert len({*told}) == len(told)


def test_a_checker_that_finds_the_same_has_no_difference(tmp_path):
    assert check(write_program("pass"), tmp_path, list_lines(API)) == []


@pytest.mark.parametrize(("group", "change"), CHANGES.items())
def test_a_checker_that_finds_something_else_differs_there(tmp_path, group, change):
    differences = check(write_program(change), tmp_path, list_lines(API)[:200])
    assert {difference.group for difference in differences} == {group}


def test_a_checker_that_ends_early_or_cannot_start_is_no_success(tmp_path):
    with pytest.raises(CheckerError, match="printed 0 lines for 1 answers"):
        check("", tmp_path, list_lines(API)[:1])
    with pytest.raises(CheckerError, match="ended with exit code 3"):
        check("import sys; sys.exit(3)", tmp_path, list_lines(API)[:1])
    with pytest.raises(CheckerError, match="cannot start"):
        check_answers(["./missing"], tmp_path, tmp_path, [])


@pytest.mark.nightly
def test_the_command_records_the_answers_to_all_cases_of_an_api(tmp_path):
    checker = shlex.join([sys.executable, "-c", write_program("pass")])
    ran = Project(tmp_path).run("dev", "judges", "--api", API, "--checker", checker)
    assert ran.code == 0
    (count,) = re.fullmatch(r"checker: 0 differences in ([\d,]+) answers\n", ran.out).groups()
    assert int(count.replace(",", "")) > 10_000


def test_the_command_counts_the_differences_of_a_checker_by_path(tmp_path):
    words = ("dev", "judges", str(record_sample()), "--api", API, "--checker")
    good = shlex.join([sys.executable, "-c", write_program("pass")])
    bad = shlex.join([sys.executable, "-c", write_program(CHANGES["verdict"])])
    count = len(list_lines(API))
    passed, failed = (Project(tmp_path).run(*words, checker) for checker in (good, bad))
    assert (passed.code, passed.out) == (0, f"checker: 0 differences in {count:,} answers\n")
    assert failed.code == 1
    assert f"{count:>7} verdict\n" in failed.out
