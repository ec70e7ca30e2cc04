"""The facts that support cases: how they are read, and what lint reports about them."""

from __future__ import annotations

import pytest

from streamconform.errors import SourceError
from streamconform.suite.evidence import Fact, find_facts, list_cited, read_facts
from streamconform.suite.lint import lint_all
from streamconform.suite.load import Sources, load

SPEC = """\
spec: 1
kind: partial
topic: partial
cases:
  - id: open-brace
    title: An object that has begun
    input: "{"
    tags: [object]
    evidence: [objects-begin-with-a-brace, shared]
    guards: [owner/repo#1]
    expect: {output: {}}
"""
THREADS = """\
threads: 1
entries:
  owner/repo#1: {says: The object is lost., kinds: [k], paths: [function], read: 2026-11-22}
"""
KINDS = """\
kinds: 1
groups: {functions: Functions}
entries:
  k: {group: functions, title: Loses an object, paths: []}
apis: {}
"""
FACTS = """\
evidence: 1
facts:
  objects-begin-with-a-brace:
    source: https://www.rfc-editor.org/rfc/rfc8259#section-4
    says: An object begins with a brace.
    read: 2026-11-23
"""
SHARED = """\
evidence: 1
facts:
  shared:
    observed: a server 1.0, recorded by this project
    says: The brace comes first.
    read: 2026-11-21
"""


@pytest.fixture
def suite(tmp_path):
    """Return a function that writes the suite, with texts replaced in its files, and returns its folders."""
    files = {
        "common/partial.yaml": SPEC,
        "evidence/common.yaml": FACTS,
        "evidence/wire.yaml": SHARED,
        "kinds.yaml": KINDS,
        "threads.yaml": THREADS,
    }

    def write(*changes):
        for name, text in files.items():
            path = tmp_path / "specs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            for old, new in changes:
                text = text.replace(old, new)  # noqa: PLW2901
            path.write_text(text, "utf-8")
        return Sources(tmp_path / "specs", tmp_path / "cassettes")

    return write


def test_the_facts_of_an_api_and_the_shared_ones_are_read_with_their_lines(suite):
    specs = suite().specs
    path, shared = str(specs / "evidence/common.yaml"), str(specs / "evidence/wire.yaml")
    says, source = "An object begins with a brace.", "https://www.rfc-editor.org/rfc/rfc8259#section-4"
    assert read_facts(specs, "common") == {
        "shared": Fact(
            says="The brace comes first.",
            read="2026-11-21",
            observed="a server 1.0, recorded by this project",
            path=shared,
            line=3,
        ),
        "objects-begin-with-a-brace": Fact(says=says, read="2026-11-23", source=source, path=path, line=3),
    }


def test_the_facts_of_a_case_are_found_in_the_order_of_the_case(suite):
    sources = suite(("[objects-begin-with-a-brace, shared]", "[shared, objects-begin-with-a-brace]"))
    facts = find_facts(sources.specs, load(sources))
    assert [fact.read for fact in facts["common/partial/open-brace"]] == ["2026-11-21", "2026-11-23"]


def test_facts_that_cannot_be_read_are_left_out(suite):
    sources = suite(("facts:", "factss:"))
    assert find_facts(sources.specs, load(sources)) == {"common/partial/open-brace": ()}


def test_a_case_after_one_without_evidence_has_its_facts(suite):
    without = 'cases:\n  - {id: empty, title: Nothing, input: "", tags: [object], expect: {output: {}}}\n'
    sources = suite(("cases:\n", without))
    cases = load(sources)
    assert [case.id for case in cases] == ["common/partial/empty", "common/partial/open-brace"]
    facts = find_facts(sources.specs, cases)
    assert {case: len(of_case) for case, of_case in facts.items()} == {"common/partial/open-brace": 2}


def test_the_facts_of_an_api_are_read_without_shared_ones(suite):
    specs = suite().specs
    (specs / "evidence/wire.yaml").unlink()
    assert list(read_facts(specs, "common")) == ["objects-begin-with-a-brace"]


def test_a_good_suite_has_no_problems(suite):
    assert lint_all(suite(), strict=True) == (1, [])


BROKEN = {
    "an unknown fact": (
        (
            "[objects-begin-with-a-brace, shared]",
            "[objects-begin-with-brace, objects-begin-with-a-brace, shared]",
        ),
        False,
        "no fact `objects-begin-with-brace` in `evidence/`; did you mean `objects-begin-with-a-brace`?",
    ),
    "a must without evidence": (
        ("    evidence: [objects-begin-with-a-brace, shared]\n", "    sources: [https://example.org/a]\n"),
        True,
        "a `must` without `evidence`; cite the facts that support it, or lower its level to `should`",
    ),
    "a fact that no case names": (
        (", shared]", "]"),
        False,
        "no case names the fact `shared`; delete it or cite it",
    ),
    "a bare domain": (("rfc/rfc8259#section-4", ""), False, "does not match"),
    "a page without an anchor": (
        ("#section-4", ""),
        False,
        "has no anchor; link the section that states the fact",
    ),
    "a whole repository": (
        ("www.rfc-editor.org/rfc/rfc8259#section-4", "github.com/owner/repo"),
        False,
        "is a whole repository; link the file and line, or the thread",
    ),
    "a fact twice": (("  shared:\n", "  objects-begin-with-a-brace:\n"), False, "choose another name"),
    "no date": (("    read: 2026-11-21\n", ""), False, "key `read` is missing"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_lint_reports(suite, name):
    change, only_strict, message = BROKEN[name]
    sources = suite(change)
    lax, strict = (
        any(message in problem.message for problem in lint_all(sources, strict=strict)[1])
        for strict in (False, True)
    )
    assert (lax, strict) == (not only_strict, True)


PAGES_OF_ONE_SUBJECT = [
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html",
    "https://github.com/owner/repo/issues/1",
    "https://google.aip.dev/193",
]


@pytest.mark.parametrize("page", PAGES_OF_ONE_SUBJECT)
def test_a_page_about_one_thing_needs_no_anchor(suite, page):
    sources = suite(("https://www.rfc-editor.org/rfc/rfc8259#section-4", page))
    assert read_facts(sources.specs, "common")["objects-begin-with-a-brace"].source == page


PAGE = "{source: https://example.org/a%s, says: A brace is an object., read: 2026-11-21}"
LAST_OF_SHARED = "    read: 2026-11-21\n"
PROBLEMS = {
    "both files break the schema": (
        ("evidence: 1", "evidence: 2"),
        [("wire.yaml", 1), ("common.yaml", 1)],
    ),
    "both files are invalid YAML": (
        ("evidence: 1", "evidence: 1: 1"),
        [("wire.yaml", 1), ("common.yaml", 1)],
    ),
    "a fact of both files": (("  shared:\n", "  objects-begin-with-a-brace:\n"), [("common.yaml", 3)]),
    "a page without an anchor": (("#section-4", ""), [("common.yaml", 4)]),
    "a page without an anchor after valid facts": (
        (LAST_OF_SHARED, f"{LAST_OF_SHARED}  with-anchor: {PAGE % '#b'}\n  without-anchor: {PAGE % ''}\n"),
        [("wire.yaml", 8)],
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_evidence_with_problems_raises_all_of_them_with_their_lines(suite, name):
    change, places = PROBLEMS[name]
    sources = suite(change)
    with pytest.raises(SourceError) as caught:
        read_facts(sources.specs, "common")
    assert [(problem.path.rpartition("/")[2], problem.line) for problem in caught.value.problems] == places


def test_what_cases_cite_is_listed_by_kind_with_the_cases_that_cite_it(suite):
    sources = suite()
    cited = list_cited(sources.specs, load(sources))
    assert [(each.kind, each.name, each.says) for each in cited] == [
        ("documented", "objects-begin-with-a-brace", "An object begins with a brace."),
        ("observed", "shared", "The brace comes first."),
        ("reported", "owner/repo#1", "The object is lost."),
    ]
    assert {each.cases for each in cited} == {("common/partial/open-brace",)}
    assert [each.source for each in cited] == [
        "https://www.rfc-editor.org/rfc/rfc8259#section-4",
        "a server 1.0, recorded by this project",
        None,
    ]
