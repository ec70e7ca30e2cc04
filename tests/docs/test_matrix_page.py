"""The page about all peers: it agrees with the committed scores, and the scores with their schema."""

from __future__ import annotations

import json

import pytest
from jsonschema_rs import validator_for

from streamconform.reports.scores.document import (
    ApiScores,
    Example,
    Failure,
    Implementation,
    Scores,
    Suite,
    format_scores,
    read_scores,
)
from streamconform.schemas import load_schema
from streamconform_dev.docs import matrix
from streamconform_dev.matrix import changes as matrix_changes
from streamconform_dev.matrix import judge_peers
from streamconform_peers.findings import get_slug, read_findings
from streamconform_peers.table import PEERS

SCORES = sorted(matrix.RESULTS.glob("*.json"))
MAX_BYTES = 20_000
MAX_LINES = 5_000


def test_the_page_is_what_the_scores_say():
    assert matrix.PAGE.read_bytes() == matrix.generate()[matrix.PAGE]


def test_the_page_is_a_summary():
    assert len(matrix.PAGE.read_bytes()) < MAX_BYTES


@pytest.mark.parametrize("path", SCORES, ids=lambda path: path.stem)
def test_scores_are_valid_and_of_the_pinned_release(path):
    document = json.loads(path.read_text("utf-8"))
    validator_for(load_schema("scores.v1")).validate(document)
    assert format_scores(read_scores(path.read_bytes())) + "\n" == path.read_text("utf-8")
    assert document["implementation"]["impl"] == f"peer:{path.stem}"
    assert document["implementation"]["version"] == PEERS[path.stem].version


def test_scores_are_of_peers():
    assert {path.stem for path in SCORES} <= PEERS.keys()


def test_the_scores_are_short_enough_to_review():
    assert sum(len(path.read_bytes().splitlines()) for path in SCORES) <= MAX_LINES


def scores(release, date="2026-01-01", **failing):
    causes = tuple(
        Failure(title, None, 1, (), Example("", ""), {"text": {"as-is": case}})
        for case, title in failing.items()
    )
    implementation = Implementation("peer:lib", "lib", release, None, None, "http")
    apis = {"openai-chat": ApiScores({}, {}, {}, {}, causes, ())}
    return Scores(1, implementation, date, Suite("0.1.0", None), apis)


def test_changes_are_releases_and_cases_that_are_fixed_new_or_fail_otherwise():
    old = scores("1.0", gone="Loses text", same="Bills wrong", other="Loses text")
    new = scores("1.1", come="Loses text", same="Bills wrong", other="Raises KeyError")
    assert list(matrix_changes.compare(old, new)) == [
        "  release 1.0 -> 1.1",
        "  fixed    openai-chat/text/gone: Loses text",
        "  new      openai-chat/text/come: Loses text",
        "  changed  openai-chat/text/other: Loses text -> Raises KeyError",
    ]


def test_a_run_that_finds_the_same_on_another_day_changes_nothing():
    first, later, other = (
        format_scores(each).encode()
        for each in (scores("1.0"), scores("1.0", "2026-01-02"), scores("1.0", "2026-01-02", a="Loses text"))
    )
    assert judge_peers.differ_only_in_date(first, later)
    assert not judge_peers.differ_only_in_date(first, other)


def test_scores_name_only_findings_that_exist():
    slugs = set(read_findings())
    named = {
        (client.peer, slug)
        for client in matrix.read_clients()
        for _, cause in client.list_failures()
        for slug in filter(None, map(get_slug, cause.tracked))
    }
    assert named
    assert {(peer, slug) for peer, slug in named if slug not in slugs} == set()
