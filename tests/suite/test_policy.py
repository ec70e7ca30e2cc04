"""What specs/POLICY.md and specs/NOT_COVERED.md say of cases is what the cases are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamconform.resources import find_bundled
from streamconform.suite.load import Sources, list_spec_files, load

SPECS = Path(__file__).resolve().parents[2] / "specs"
CASES = {case.id: case for case in load(Sources(find_bundled("specs"), find_bundled("cassettes")))}
POLICY = (SPECS / "POLICY.md").read_text("utf-8")
NOT_COVERED = (SPECS / "NOT_COVERED.md").read_text("utf-8")
ENTRY = re.compile(
    r"^### (?P<title>.+)\n\n- Seen: (?:.+\n)+?- Decided: (?:.+\n)+?- Because: (?:.+\n)+?"
    r"- Level: (?P<level>(?:.+\n)+?)- Cases: (?P<cases>(?:.+\n)+)",
    re.MULTILINE,
)
ENTRIES = {match["title"]: match for match in ENTRY.finditer(POLICY)}
ID = re.compile(r"`([a-z0-9-]+/[a-z0-9-]+/[a-z0-9-]+)`")
THREAD = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+#[0-9]+")
ITEM = re.compile(r"^- .+(?:\n  .+)*", re.MULTILINE)
BRACKETS = re.compile(r"\(([^()]*)\)")
GROUNDS = ("documented", "observed", "open", "recorded", "settled", "the only sign", "undisputed")


def below(heading, text):
    return [line.removeprefix(heading) for line in text.split("\n") if line.startswith(heading)]


def levels(text):
    """Return the levels that an entry gives, without what stands in brackets."""
    return re.findall(r"\b(must|should|may)\b", BRACKETS.sub("", text))


def test_every_entry_has_its_five_lines_and_stands_once():
    assert list(ENTRIES) == below("### ", POLICY)


def test_entries_are_sorted_within_their_theme():
    for theme in POLICY.split("\n## ")[1:]:
        titles = ["".join(re.findall(r"[a-z0-9 ]", title.lower())).strip() for title in below("### ", theme)]
        assert titles == sorted(titles)


@pytest.mark.parametrize("title", ENTRIES)
def test_every_case_that_an_entry_names_has_one_of_its_levels(title):
    named = ID.findall(ENTRIES[title]["cases"])
    assert named == sorted(set(named))
    assert [id_ for id_ in named if id_ not in CASES] == []
    given = levels(ENTRIES[title]["level"])
    assert [(id_, CASES[id_].level) for id_ in named if CASES[id_].level not in given] == []
    assert set(given) == {CASES[id_].level for id_ in named}


@pytest.mark.parametrize("title", ENTRIES)
def test_a_disputed_case_is_a_must_only_with_its_grounds(title):
    text = " ".join(ENTRIES[title]["level"].split())
    grounds = re.findall(r"\bmust \(([^():]+): [^()]+\)", text)
    assert len(grounds) == levels(text).count("must")
    assert [word.split()[0] for word in grounds if not word.startswith(GROUNDS)] == []


def test_every_case_that_not_covered_names_exists():
    assert [id_ for id_ in ID.findall(NOT_COVERED) if id_ not in CASES] == []


def test_a_bug_that_a_case_guards_is_not_covered_only_beside_a_case():
    guarded = {guard for case in CASES.values() for guard in case.guards}
    assert [
        item
        for item in ITEM.findall(NOT_COVERED)
        if guarded & set(THREAD.findall(item)) and not ID.search(item)
    ] == []


def test_items_of_not_covered_are_sorted_within_their_group():
    for group in NOT_COVERED.split("\n## ")[1:]:
        items = ITEM.findall(group)
        assert items == sorted(items)


def test_what_is_no_folder_of_an_api_is_no_spec():
    assert {path.suffix for path in list_spec_files(SPECS)} == {".yaml"}
    assert {path.parent.name for path in list_spec_files(SPECS)}.isdisjoint({"profiles", "specs"})
