"""The published results about peers: findings are complete, and known failures name them."""

from __future__ import annotations

import re

import pytest
import yaml

from streamconform.suite.catalog import read_catalog
from streamconform.suite.select import split_pattern
from streamconform.suite.selection import SelectionSettings, find_sources
from streamconform_dev.docs import findings as page
from streamconform_dev.finding.lookup import find_issue
from streamconform_dev.finding.render import render
from streamconform_peers.answers import find_status, find_tracker, get_owner
from streamconform_peers.findings import get_slug, read_finding, read_findings
from streamconform_peers.history import FindingHistory, describe, read_history
from streamconform_peers.known import read_by_finding
from streamconform_peers.peer import PACKAGE
from streamconform_peers.releases import list_packages
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


ISSUES = [
    ("google-genai", "comment-line-in-the-stream-raises", "`google-genai` 3.4.0", "googleapis/python-genai"),
    (
        "strands",
        "comment-line-in-the-stream-raises",
        "`google-genai`, which `strands-",
        "googleapis/python-genai",
    ),
    ("pydantic-ai", "refusal-hides-how-its-answer-ended", "`pydantic-ai-slim`", "pydantic/pydantic-ai"),
    ("node-ai", "tool-calls-of-a-cut-stream-are-handed-over", "`ai` 7", "vercel/ai"),
]


@pytest.fixture(scope="module")
def catalog():
    return read_catalog(find_sources(SelectionSettings()))


@pytest.mark.parametrize(("peer", "slug", "used", "repository"), ISSUES)
def test_an_issue_is_for_the_owner_of_the_bug(catalog, peer, slug, used, repository):
    text = write_issue(catalog, peer, slug)
    (line,) = [
        line for line in text.splitlines() if line.endswith(f"For https://github.com/{repository}/issues.")
    ]
    assert line.startswith(used)


@pytest.mark.parametrize(("peer", "slug"), [(peer, slug) for peer, slug, _, _ in ISSUES])
def test_an_issue_links_no_thread_of_another_project(catalog, peer, slug):
    threads = write_issue(catalog, peer, slug).partition("## Known threads")[2]
    finding = read_findings()[slug]
    owner = finding.find_owner(PEERS[peer], list_packages(PEERS[peer]))
    links = re.findall(r"^- (https://\S+)$", threads, re.MULTILINE)
    assert {get_owner(link) for link in links} <= {get_owner(find_tracker(owner))}


def test_an_issue_says_only_what_its_own_library_does(catalog):
    text = write_issue(catalog, "node-ai", "tool-calls-of-a-cut-stream-are-handed-over")
    assert "`execute` is not called" in text
    assert "toolcall_end" not in text


def test_an_expectation_does_not_begin_with_a_description_of_the_stream(catalog):
    text = write_issue(catalog, "node-ai", "tool-calls-of-a-cut-stream-are-handed-over")
    finding = read_findings()["tool-calls-of-a-cut-stream-are-handed-over"]
    assert f"## Expected\n\n{finding.documented}" in text


def write_issue(catalog, peer, slug):
    return render(find_issue(PEERS[peer], catalog, catalog.sources.specs, slug=slug, run=False))


def test_only_answers_are_written_and_the_rest_of_a_status_is_derived():
    findings = read_findings()
    statuses = {
        (slug, library.name): find_status(finding, library)
        for slug, finding in findings.items()
        for library in finding.libraries
    }
    assert statuses["signatures-of-gemini-are-not-sent-in-chat-completions", "langchain-openai"] == "disputed"
    assert statuses["cut-stream-ends-with-finish-reason-stop-or-tool", "litellm"] == "fixed"
    assert statuses["frame-without-data-ends-the-stream", "openai"] == "reported"
    assert statuses["record-that-contains-unicode-line-separators", "ollama"] == "open"


def test_every_library_of_a_finding_has_a_tracker():
    libraries = [library for finding in read_findings().values() for library in finding.libraries]
    assert [library.name for library in libraries if find_tracker(library) is None] == []


def date(newest="3", **fields):
    entry = {"finding": "x", "package": "lib", "trial": "a/b/c", "oldest": "1", **fields}
    return describe(FindingHistory(**entry), newest)


def test_a_bug_that_every_tested_release_has_is_not_said_to_begin_with_the_oldest():
    releases = {"0": "unclear", "1": "present", "2": "present", "3": "present"}
    assert (
        date(releases=releases, newest="3") == "present in every release tested (1 to 3), the newest release"
    )
    assert date(releases={"1": "present"}, newest="1") == "present in 1, the newest release"
    only = {"releases": {"1": "present", "3": "unclear"}, "newest": "3"}
    assert date(**only) == "present in 1, the newest release, 3, was not tested"


def test_a_bug_begins_after_a_release_without_it():
    releases = {"0": "absent", "1": "present", "3": "present"}
    assert date(without="0", releases=releases) == "since 1, the newest release"
    assert date(without="0", adjacent=False, releases=releases).startswith("since 1, or a release after 0")


def test_a_fix_is_named_with_the_releases_before_it():
    releases = {"1": "present", "2": "present", "3": "absent"}
    told = date(fixed="3", releases=releases)
    assert told == "present in every release tested before the fix (1 to 2), fixed in 3"


def test_a_bug_that_comes_and_goes_is_counted():
    releases = {"1": "present", "2": "absent", "3": "present"}
    assert date(steady=False, releases=releases).startswith("present in 2 of the 3 releases tested (1 to 3)")
