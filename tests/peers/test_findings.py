"""The published results about peers: findings are complete, and known failures name them."""

from __future__ import annotations

import re

import pytest
import yaml

from streamconform.suite.select import split_pattern
from streamconform_dev.docs import findings as page
from streamconform_peers.findings import get_slug, read_finding, read_findings
from streamconform_peers.history import read_history
from streamconform_peers.known import read_by_finding
from streamconform_peers.peer import PACKAGE
from streamconform_peers.table import PEERS

from ..bundled_suite import cases

KNOWN = sorted(PACKAGE.glob("*/known/*.yaml"))
FINDINGS = sorted(PACKAGE.glob("*/findings/*.yaml"), key=lambda path: path.stem)
CATCH_ALL = re.compile(r"\b(various|miscellaneous|no fault|other differences)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def suite():
    return {case.id for case in cases()}


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_a_finding_is_valid_and_says_what_is_documented_with_a_link(path, suite):
    finding = read_finding(path)
    assert re.fullmatch(r"[a-z0-9-]{8,60}", path.stem)
    assert "https://" in finding.documented
    assert not CATCH_ALL.search(finding.title)
    assert sorted(set(finding.cases) - suite) == []


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_known_failures_of_a_peer_name_it_and_a_finding(path, suite):
    slugs = {each.stem for each in FINDINGS}
    document = yaml.safe_load(path.read_text("utf-8"))
    assert document["implementation"] == f"peer:{path.stem}"
    assert path.stem in PEERS
    for entry in document["entries"]:
        assert get_slug(entry["issue"]) in slugs, entry
        assert "TODO" not in entry["reason"], entry
        if "cause" in entry:
            # Issues and programs are made from this trial.
            assert entry["example"].partition("@")[0] in suite, entry
            assert entry["example"].startswith(f"{entry['api']}/"), entry
        else:
            assert split_pattern(entry["match"]), entry


def test_every_finding_has_a_known_failure():
    assert sorted({path.stem for path in FINDINGS} - page.list_peers().keys()) == []


def test_a_finding_is_in_the_folder_of_a_library_whose_known_failures_name_it():
    named = {(peer.library, slug) for peer in PEERS.values() for slug in read_by_finding(peer.name)}
    assert {(path.parts[-3], path.stem) for path in FINDINGS} <= named


def test_histories_name_findings():
    slugs = {path.stem for path in FINDINGS}
    paths = PACKAGE.glob("*/history/*.yaml")
    named = {(path.stem, entry.finding) for path in paths for entry in read_history(path).findings}
    assert named
    assert sorted((name, slug) for name, slug in named if slug not in slugs) == []


def test_the_page_is_what_the_files_say():
    ((path, content),) = page.generate().items()
    assert path.read_bytes() == content


def test_the_bundled_findings_are_those_of_the_page():
    assert sorted(read_findings()) == [path.stem for path in FINDINGS]
