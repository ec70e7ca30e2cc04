"""specs/POLICY.md and specs/NOT_COVERED.md agree with the cases."""

from __future__ import annotations

import re
from pathlib import Path

from streamconform.suite.load import list_spec_files

from ..bundled_suite import cases

SPECS = Path(__file__).resolve().parents[2] / "specs"
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


def cases_by_id():
    return {case.id: case for case in cases()}


def below(heading, text):
    return [line.removeprefix(heading) for line in text.split("\n") if line.startswith(heading)]


def levels(text):
    """Return the levels in an entry, ignoring text in parentheses."""
    return re.findall(r"\b(must|should|may)\b", BRACKETS.sub("", text))


def test_every_entry_has_its_five_lines_and_a_unique_title():
    assert list(ENTRIES) == below("### ", POLICY)


def test_entries_are_sorted_within_their_theme():
    for theme in POLICY.split("\n## ")[1:]:
        titles = ["".join(re.findall(r"[a-z0-9 ]", title.lower())).strip() for title in below("### ", theme)]
        assert titles == sorted(titles)


def test_every_case_that_an_entry_names_has_one_of_its_levels():
    known = cases_by_id()
    named = {title: ID.findall(entry["cases"]) for title, entry in ENTRIES.items()}
    given = {title: levels(entry["level"]) for title, entry in ENTRIES.items()}
    pairs = [(title, id_) for title, ids in named.items() for id_ in ids]
    assert [title for title, ids in named.items() if ids != sorted(set(ids))] == []
    assert [pair for pair in pairs if pair[1] not in known] == []
    assert [(title, id_) for title, id_ in pairs if known[id_].level not in given[title]] == []
    have = {title: {known[id_].level for id_ in ids} for title, ids in named.items()}
    assert [title for title in ENTRIES if set(given[title]) != have[title]] == []


def test_a_disputed_case_is_a_must_only_with_its_grounds():
    texts = {title: " ".join(entry["level"].split()) for title, entry in ENTRIES.items()}
    grounds = {title: re.findall(r"\bmust \(([^():]+): [^()]+\)", text) for title, text in texts.items()}
    assert [title for title in texts if len(grounds[title]) != levels(texts[title]).count("must")] == []
    assert [(title, word) for title in texts for word in grounds[title] if not word.startswith(GROUNDS)] == []


def test_every_case_that_not_covered_names_exists():
    assert sorted(set(ID.findall(NOT_COVERED)) - cases_by_id().keys()) == []


def test_a_bug_that_a_case_guards_is_not_covered_only_beside_a_case():
    guarded = {guard for case in cases() for guard in case.guards}
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
