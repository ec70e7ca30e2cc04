"""The page about writing a judge, and the examples in the schema, agree with the suite."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from streamconform.apis import APIS
from streamconform.judge.compare import REQUIRED_CLAIMS
from streamconform.model.case import Case
from streamconform.model.leaf import digest_text
from streamconform.schemas import find_problems, load_schema
from streamconform_dev import artifact
from streamconform_dev.checkout import ROOT
from streamconform_dev.judges.answers import expand_covered
from streamconform_dev.judges.files import read_answers
from tests.bundled_suite import cases
from tests.judges.answers import record_sample

PAGE = (ROOT / "docs/vectors.md").read_text("utf-8")
SHOWN = re.findall(r"<!-- suite: (\S+) -->\n```json\n(.*?)```", PAGE, re.DOTALL)
(PROGRAM,) = re.findall(r"<!-- file: chunks.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [
    (name, example)
    for name, definition in load_schema("suite.v1")["$defs"].items()
    for example in definition.get("examples", ())
]


@cache
def read_case(id_):
    """Return a case, and its entry in a suite's file as parsed JSON."""
    (case,) = (case for case in cases() if case.id == id_)
    document = artifact.build_document(case.api, [case])
    return case, json.loads(artifact.encode_document(document))["cases"][0]


def is_part(shown, whole):
    """Return whether all members of the shown objects are those of the whole."""
    match shown, whole:
        case dict(), dict():
            return all(key in whole and is_part(value, whole[key]) for key, value in shown.items())
        case list(), list():
            return len(shown) == len(whole) and all(map(is_part, shown, whole))
        case _:
            return shown == whole


@pytest.mark.parametrize(("id_", "text"), SHOWN, ids=[id_ for id_, _ in SHOWN])
def test_what_the_page_shows_is_in_the_suite(id_, text):
    case, _, name = id_.partition("@")
    _, entry = read_case(case)
    trials = {trial["name"]: trial for trial in entry["trials"]}
    assert is_part(json.loads(text), trials[name] if name else entry)


def test_the_page_shows_each_group_of_matchers_a_broken_stream_and_a_variant():
    text = "".join(text for _, text in SHOWN)
    assert [
        name for name in ("equals", "any_of", "prefer", "matches", "partial") if f'"{name}"' not in text
    ] == []
    assert {id_.rpartition("@")[2] for id_, _ in SHOWN if "@" in id_} == {"cut-inside-json.0", "ids-absent"}


def test_the_program_on_the_page_makes_the_chunks_of_every_trial():
    program = {}
    exec(PROGRAM, program)  # noqa: S102 - our own page
    sample = [case for case in cases() if isinstance(case, Case)][::60]
    assert {case.api for case in sample} == {*APIS}
    for case in sample:
        _, entry = read_case(case.id)
        trials = {trial["name"]: trial for trial in entry["trials"]}
        for trial in expand_covered((case,), full=True):
            assert tuple(program["make_chunks"](entry, trials[trial.delivery])) == trial.chunks, trial.id


def test_the_page_names_the_claim_of_every_path():
    rows = {
        path: re.findall(r"`([a-z_]+)`", claims)
        for paths, claims in re.findall(r"^\| (`.+?) \| (`.+?) \|$", PAGE, re.MULTILINE)
        for path in re.findall(r"`([a-z_.0-9]+)`", paths)
    }
    assert {path: claim for path, claim in REQUIRED_CLAIMS.items() if claim not in rows[path]} == {}


def test_the_line_of_answers_on_the_page_has_the_members_of_a_recorded_one():
    (shown,) = re.findall(r"^```json\n(\{\"trial\".*?)```", PAGE, re.MULTILINE | re.DOTALL)
    line, recorded = (
        json.loads(shown),
        json.loads(read_answers(record_sample() / "answers-cohere-chat.jsonl.gz")[0]),
    )
    assert line.keys() == recorded.keys()
    assert line["expected"].keys() == recorded["expected"].keys()
    assert line["expected"]["checks"][0].keys() == recorded["expected"]["checks"][0].keys()


def test_every_kind_of_expectation_has_an_example_in_the_schema():
    (leaf,) = ([example for name, example in EXAMPLES if name == "leaf"],)
    assert {next(iter(example)) for example in leaf} == {
        *("equals", "any_of", "matches", "present", "prefix_of", "digest")
    }
    digests = [example["digest"] for example in leaf if "digest" in example]
    assert digests == [[[*part] for part in digest_text("hi").parts]]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_in_the_schema_is_valid(name, example):
    assert find_problems("suite.v1", example, name) == ()
