"""The matrix: the counts in its cells, and the page that shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from streamconform.model.verdict import Check
from streamconform.reports.describe import WARNINGS_TITLE
from streamconform.reports.matrix import LEFT_OUT, MAX_BYTES, PageContext, render
from streamconform.reports.matrix.context import link_issue
from streamconform.reports.matrix.score import Score, score_rows
from streamconform.run.merge import sort_trials
from streamconform_dev.checkout import ROOT

from ..cli.project import Project
from ..harness import builders

CHAT = "openai-chat"
HOSTILE = "<b>@all</b> [x](https://evil.example) `|` #1 \u202e"
ONE = "anthropic-messages/tool-use/call-split-mid-token-and-escape"


def info(name="lib", **more):
    head = {"version": "1.0", "language": "python", "issues": "https://example.com/issues", "input": "http"}
    return builders.info(name, impl=f"peer:{name}", **{**head, **more})


def trial(case, delivery="as-is", verdict="pass", at=0, path="usage.input", **more):
    wrong = {"fail": "fail", "known": "fail", "warn": "warn"}.get(verdict)
    check = Check(path=path, level="must", verdict=wrong, expected=1, got=2) if wrong else None
    fields = {"implementation": at, "checks": (check,) if check else (), **more}
    return builders.result(verdict, case=case, delivery=delivery, **fields)


def results(trials, *infos, **selection):
    return builders.results(*trials, infos=infos or (info(),), selection=selection)


def suite(**tags):
    """Return cases by id; `a__text="usage stop"` is the case `openai-chat/a/text` with two tags."""
    made = {}
    for name, words in tags.items():
        id_ = f"{CHAT}/{name.replace('__', '/')}"
        case = replace(builders.case(id=id_), tags=frozenset(words.split()), title=f"Title of {name}")
        made[id_] = replace(case, path=str(ROOT / "specs/openai-chat/a.yaml"), line=7)
    return made


def place(cases=None, folder=ROOT / "docs/matrix", **more):
    return PageContext(cases or {}, str(folder), str(ROOT), **more)


A = f"{CHAT}/a/one"
SUITE = suite(a__one="usage", a__two="usage text", a__made="framing", a__cut="truncation")
TWO, MADE, CUT = (f"{CHAT}/a/{name}" for name in ("two", "made", "cut"))
SKIPS = {"usage": (1, 0, 0, 1), "text": (1, 0)}
SCORED = [
    ("a case counts in the column of each tag", [trial(TWO)], {"usage": (1, 0), "text": (1, 0)}),
    ("it fails as it was is", [trial(A, verdict="fail"), trial(A, "whole")], {"usage": (0, 1)}),
    ("what is known fails", [trial(A, verdict="known")], {"usage": (0, 1)}),
    ("so does a hang", [trial(A, verdict="hang")], {"usage": (0, 1)}),
    ("and what is faulted", [trial(A, verdict="faulted")], {"usage": (0, 1)}),
    ("what is listed and passes has passed", [trial(A, verdict="stale")], {"usage": (1, 0)}),
    ("a warning passes", [trial(A, verdict="warn")], {"usage": (1, 0, 1)}),
    ("what is skipped is not judged", [trial(A, verdict="skipped"), trial(TWO)], SKIPS),
    (
        "other deliveries are framing, once",
        [trial(A), trial(A, "whole", "fail"), trial(A, "crlf", "fail")],
        {"usage": (1, 0), "framing": (0, 1)},
    ),
    (
        "only where it passes as is",
        [trial(A, verdict="fail"), trial(A, "whole", "fail"), trial(A, "reset.3", "fail")],
        {"usage": (0, 1)},
    ),
    ("a case about framing counts in it too", [trial(MADE), trial(MADE, "whole")], {"framing": (2, 0)}),
    (
        "faults are truncation, once",
        [trial(A), trial(A, "reset.3"), trial(A, "cut-inside-json.1", "fail")],
        {"usage": (1, 0), "truncation": (0, 1)},
    ),
    ("a case about truncation counts in it too", [trial(CUT), trial(CUT, "stall.2")], {"truncation": (2, 0)}),
    (
        "a warning that is there as is too is none of framing",
        [trial(A, verdict="warn"), trial(A, "whole", "warn")],
        {"usage": (1, 0, 1), "framing": (1, 0)},
    ),
    ("without a recorded trial all count", [trial(A, "whole"), trial(A, "crlf", "fail")], {"usage": (0, 1)}),
]


@pytest.mark.parametrize(("about", "trials", "columns"), SCORED, ids=[row[0] for row in SCORED])
def test_what_a_case_counts_as(about, trials, columns):
    (row,) = score_rows(results(trials), SUITE)
    found = {name: each for name, each in row.columns.items() if each.judged}
    assert found == {name: Score(*each) for name, each in columns.items()}, about


def test_under_strict_a_warning_fails():
    (row,) = score_rows(results([trial(A, verdict="warn")], strict=True), SUITE)
    assert row.cases == Score(0, 1)


def test_a_case_that_the_suite_has_not_is_judged_but_in_no_column_of_a_tag():
    made = results([trial(f"{CHAT}/gone/case"), trial(f"{CHAT}/gone/case", "whole")])
    (row,) = score_rows(made, SUITE)
    assert (row.cases, set(row.columns)) == (Score(1), {"framing"})
    assert "> 1 case is not in this version of the suite" in render(made, place(SUITE))


def test_an_api_that_an_implementation_does_not_speak_is_nowhere():
    other = trial("ollama-chat/a/one", verdict="skipped", reason="the API ollama-chat is not claimed")
    text = render(results([trial(A), other]), place(SUITE))
    assert "ollama" not in text


def test_an_implementation_that_was_not_judged_is_nowhere():
    text = render(results([trial(A), trial(A, verdict="skipped", at=1)], info(), info("idle")), place(SUITE))
    assert "idle" not in text


def test_a_column_about_what_is_not_claimed_is_a_dash_whatever_else_was_judged():
    given = results([trial(TWO)], info(claims={CHAT: ("tool_calls",)}))
    (row,) = score_rows(given, SUITE)
    assert row.columns == {"usage": Score(skipped=1), "text": Score(1)}
    assert "| 1/1 | 1/1 | - |" in render(given, place(SUITE))


FAILING = [
    trial(A, verdict="known", known="counted twice", tracked=("findings.md#counted-twice", "me/lib#4")),
    trial(A, "whole", "known", known="counted twice", tracked=("findings.md#counted-twice",)),
    trial(TWO, verdict="fail"),
]


def test_a_page_is_a_summary_a_table_an_api_and_a_section_an_implementation():
    text = render(results([*FAILING, trial(MADE)], known_failures=["known"]), place(SUITE))
    assert "| [`lib`](#of-lib) `1.0` | [1/3](#of-lib-openai-chat) | 1/1 |" in text
    assert '<a id="of-lib-openai-chat"></a>' in text
    assert "**openai-chat**: 3 cases; failing: 2 as is." in text
    cause = "- `Reports too many tokens` (text, usage), harm: bills incorrectly; at fault: the implementation"
    assert f"{cause}: 2 cases, 3 trials; `usage.input: expected 1, got 2`" in text
    assert "  - **new failure**: 1 trial" in text
    linked = "[`counted twice`](findings.md#counted-twice), [`me/lib#4`](https://github.com/me/lib/issues/4)"
    assert f"  - known: `counted twice` {linked}" in text
    assert "  - [`Title of a__one`](../../specs/openai-chat/a.yaml#L7) (`as-is`, `whole`)" in text
    assert text.count("<details>") == text.count("</details>") == 1


def test_warnings_are_listed_below_the_failures():
    text = render(results([*FAILING, trial(MADE, verdict="warn")]), place(SUITE))
    assert text.index("- `Reports too many tokens`") < text.index(WARNINGS_TITLE)
    assert text.count("<details>") == text.count("</details>") == 2


def test_where_nothing_fails_there_is_no_list():
    text = render(results([trial(A)]), place(SUITE))
    assert "**openai-chat**: 1 case; no failures." in text
    assert "<details>" not in text


def test_every_link_within_the_page_has_its_place():
    made = results([*FAILING, trial(A, verdict="fail", at=1)], info(), info(version="2.0"))
    text = render(made, place(SUITE))
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= set(re.findall(r'<a id="([^"]+)">', text))
    assert len(re.findall(r'<a id="', text)) == len(set(re.findall(r'<a id="([^"]+)"', text)))


def test_a_page_outside_the_folder_of_the_suite_has_no_path_in_it(tmp_path):
    text = render(results(FAILING), place(SUITE, folder=tmp_path))
    assert "`Title of a__one`" in text
    assert ".yaml" not in text
    assert str(tmp_path) not in text


def test_the_order_in_which_trials_ended_changes_nothing():
    there, back = (render(sort_trials(results(trials)), place(SUITE)) for trials in (FAILING, FAILING[::-1]))
    assert there == back


def test_a_page_of_a_cut_run_says_so():
    assert "**These results are incomplete**" in render(replace(results(FAILING), footer=None), place(SUITE))


def test_outside_text_is_code_and_links_go_nowhere_that_it_says():
    id_ = f"{HOSTILE}/a/{HOSTILE}"
    cases = {id_: replace(SUITE[A], id=id_, title=HOSTILE, path=str(ROOT / "specs/x](y).yaml"))}
    bad = trial(id_, HOSTILE, "fail", path=HOSTILE, known=HOSTILE, tracked=(HOSTILE, "javascript:alert(1)"))
    who = info(HOSTILE, version=HOSTILE, language=HOSTILE, issues=f"https://a.example/) {HOSTILE}")
    text = render(replace(results([bad], who)), place(cases))
    plain = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    plain = re.sub(r'<a id="[a-z0-9-]+"></a>|</?details>|</?summary>|\]\(#[a-z0-9-]+\)', "", plain)
    assert not re.search(r"[@<]|://|\]\(|\u202e", plain), plain


TRACKED = [
    ("findings.md#a-b", "[`a b`](findings.md#a-b)"),
    ("https://example.com/x#y", "[`y`](https://example.com/x#y)"),
    ("a/b#12", "[`a/b#12`](https://github.com/a/b/issues/12)"),
    ("TODO", "`TODO`"),
    ("../up.md", "`../up.md`"),
    ("http://plain.example", "`http://plain.example`"),
    ("https://a.example/)[x](y", "`https://a.example/)[x](y`"),
]


@pytest.mark.parametrize(("issue", "shown"), TRACKED)
def test_an_issue_is_a_link_where_it_is_a_harmless_one(issue, shown):
    assert link_issue(issue) == shown


def test_a_page_of_nineteen_implementations_that_fail_everything_is_bounded():
    cases = {f"{CHAT}/a/{n}": replace(SUITE[A], id=f"{CHAT}/a/{n}", title="t" * 300) for n in range(300)}
    trials = [
        trial(id_, verdict="fail", at=at, path=f"content.{chr(97 + n % 26)}{n // 26}")
        for at in range(19)
        for n, id_ in enumerate(cases)
    ]
    text = render(results(trials, *(info(f"lib-{n}") for n in range(19))), place(cases))
    assert 50_000 < len(text.encode()) <= MAX_BYTES
    assert "more causes left out here" in text
    assert "## `lib-18`" in text
    assert LEFT_OUT not in text


def test_run_and_report_write_the_same_page(tmp_path):
    """It contains the date, which is the day on which the run began."""
    project = Project(tmp_path)
    ran = project.run("run", "-k", ONE, "-i", "mutant:usage-summed", "--report", "matrix=docs/run.md")
    assert ran.code == 1, ran.err
    again = project.run("report", "matrix=docs/report.md")
    assert (again.code, again.err) == (0, "")
    text = Path(tmp_path / "docs/report.md").read_text("utf-8")
    assert text == Path(tmp_path / "docs/run.md").read_text("utf-8")
    assert project.run("report", "matrix").out == text
    assert re.search(r"judged by streamconform `0\.1\.0`, on `\d{4}-\d\d-\d\d`\.", text)
    assert "| `anthropic-messages` |" in text
