"""The published results about peers: findings are complete, and known failures link to them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from streamconform.apis import APIS
from streamconform.peers.table import PEERS
from streamconform.suite.select import split_pattern

from ..bundled_suite import cases

ROOT = Path(__file__).resolve().parents[2]
MATRIX = ROOT / "docs" / "matrix"
KNOWN = sorted((MATRIX / "known").glob("*.yaml"))
FINDINGS = (MATRIX / "findings.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", FINDINGS, re.MULTILINE | re.DOTALL))
PARTS = ("**Documented**", "**Does**", "**Input**", "**Cases**")
ID = re.compile(rf"\b(?:{'|'.join(APIS)})/[a-z0-9-]+/[a-z0-9-]+\b")


def slugify(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


NO_FAULT = "What libraries do not expose"
"""The section that no failure may link to: what is left out is not judged."""
ANCHORS = {slugify(heading) for heading in SECTIONS if heading != NO_FAULT}


@pytest.mark.parametrize("heading", [heading for heading in SECTIONS if heading != NO_FAULT])
def test_a_finding_has_documentation_behavior_input_and_cases(heading):
    text = SECTIONS[heading]
    assert [part for part in PARTS if part not in text] == []
    assert re.search(r"\*\*Input\*\*: (legal|lenient servers only)", text)
    assert "https://" in text


def test_every_case_in_a_finding_is_in_the_suite():
    known = {case.id for case in cases()}
    assert sorted(set(ID.findall(FINDINGS)) - known) == []


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_known_failures_of_a_peer_name_it_and_link_to_a_finding(path):
    document = yaml.safe_load(path.read_text("utf-8"))
    assert document["implementation"] == f"peer:{path.stem}"
    assert path.stem in PEERS
    for entry in document["entries"]:
        page, _, anchor = entry["issue"].partition("#")
        assert page == "findings.md", entry
        assert anchor in ANCHORS, entry
        assert "TODO" not in entry["reason"], entry
        assert split_pattern(entry["match"]), entry


def test_no_known_failure_links_to_what_is_not_exposed():
    assert NO_FAULT in SECTIONS
    anchor = slugify(NO_FAULT)
    links = [path.stem for path in KNOWN if f"findings.md#{anchor}" in path.read_text("utf-8")]
    assert links == []


def test_every_finding_has_a_known_failure():
    linked = {
        entry["issue"].partition("#")[2]
        for path in KNOWN
        for entry in yaml.safe_load(path.read_text("utf-8"))["entries"]
    }
    assert sorted(ANCHORS - linked) == []
