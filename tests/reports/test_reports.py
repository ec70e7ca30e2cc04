"""Every kind of report, byte by byte, and contents that must never appear."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from streamconform import reports
from streamconform.cli.report import KINDS
from streamconform.model.verdict import VERDICTS, Check
from streamconform.printable import escape_line
from streamconform.reports import badge, github, junit, markdown
from streamconform.reports.causes import format_explain_command, format_run_command
from streamconform.reports.changes import render_text
from streamconform.reports.describe import name_implementations
from streamconform.reports.history import compare_results
from streamconform.reports.style import render_lines
from streamconform.reports.terminal import Terminal
from streamconform.reports.trial import describe_trial
from streamconform.run.merge import sort_trials
from streamconform.run.reading import read
from streamconform.run.results import Results
from streamconform.schemas import find_problems
from streamconform_dev.docs.blocks import describe_outdated
from streamconform_dev.docs.golden import HERE, RESULTS, golden_path, render_report, write_cut_results

WHOLE = read(RESULTS)
XSD = xmlschema.XMLSchema(HERE / "junit.xsd")
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufffe\uffff\ud800-\udfff]"
)
KILLED = replace(WHOLE, trials=WHOLE.trials[:4], footer=None)
STOPPED = replace(KILLED, footer=replace(WHOLE.footer, complete=False, exit=130))
PASSING = replace(
    WHOLE,
    header=replace(WHOLE.header, trials=2),
    trials=tuple(each for each in WHOLE.trials if each.implementation == 1 and each.verdict == "pass")[:2],
    footer=replace(WHOLE.footer, counts={"pass": 2}, exit=0, problems=()),
)


def many(count, **given):
    """Return results with `count` causes."""
    one = next(each for each in WHOLE.trials if each.verdict == "fail")
    checks = [
        Check(
            path=f"content.{chr(97 + i // 26)}{chr(97 + i % 26)}", level="must", verdict="fail", got="x" * 99
        )
        for i in range(count)
    ]
    trials = tuple(
        replace(one, id=f"{one.case}@{i}", checks=(check,), **given) for i, check in enumerate(checks)
    )
    header, footer = replace(WHOLE.header, trials=count), replace(WHOLE.footer, counts={"fail": count})
    return replace(WHOLE, header=header, trials=trials, footer=footer)


def parsed(text):
    return ET.fromstring(text)  # noqa: S314 - we wrote it


def test_the_fixture_has_every_verdict_and_is_in_the_published_form():
    lines = [json.loads(line) for line in RESULTS.read_text("utf-8").split("\n")[:-1]]
    assert [find_problems("results.v1", line) for line in lines] == [()] * len(lines)
    assert {line["verdict"] for line in lines[1:-1]} == set(VERDICTS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_the_golden_file_byte_by_byte(kind, tmp_path):
    for whole, results in ((True, RESULTS), (False, write_cut_results(tmp_path))):
        path = golden_path(kind, whole=whole)
        assert path.is_file(), describe_outdated("reports")
        assert render_report(kind, results) == path.read_bytes(), describe_outdated("reports")


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_in_which_trials_ended_changes_nothing(kind):
    backwards = replace(WHOLE, trials=WHOLE.trials[::-1])
    assert reports.render(kind, sort_trials(backwards)) == reports.render(kind, sort_trials(WHOLE))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("results", [WHOLE, KILLED], ids=["whole", "cut"])
def test_nothing_unseen_is_in_a_report(kind, results):
    assert UNSEEN.search(reports.render(kind, results)) is None


def poison(trial):
    """Return `trial` with an escape sequence and a line end in each text from a results file."""
    checks = tuple(replace(check, path=f"{check.path}{POISON}") for check in trial.checks)
    return replace(
        trial,
        id=f"{trial.id}{POISON}",
        case=f"{trial.case}{POISON}",
        delivery=f"{trial.delivery}{POISON}",
        checks=checks,
        guards=(f"example/client#1{POISON}",),
        reason=POISON,
        title=POISON,
        known=trial.known and POISON,
    )


POISON = "\x1b[2J\nNo failures"
POISONED = replace(
    WHOLE,
    header=replace(
        WHOLE.header,
        version=POISON,
        implementations=tuple(
            replace(info, name=f"{i}{POISON}", impl=f"{i}{POISON}")
            for i, info in enumerate(WHOLE.header.implementations)
        ),
        selection={"specs": POISON, "cassettes": POISON},
    ),
    trials=tuple(map(poison, WHOLE.trials)),
)


def render_terminal(results):
    shown = io.StringIO()
    with Terminal(quiet=0, verbose=2, strict=False, stream=shown) as terminal:
        terminal.start(results.header)
        terminal.finish(results, None)
    return shown.getvalue()


def render_history(results):
    passed = tuple(replace(trial, verdict="pass", checks=()) for trial in results.trials)
    history = compare_results(replace(results, trials=passed), results)
    return render_lines(render_text(history, verbose=True))


def render_trials(results):
    return "\n".join(line for trial in results.trials for line in describe_trial(trial, results.header))


@pytest.mark.parametrize("render", [render_terminal, render_history, render_trials])
def test_no_field_of_a_results_file_can_move_the_cursor_or_begin_a_line(render):
    assert UNSEEN.search(render(POISONED)) is None
    assert "\nNo failures" not in render(POISONED)
    assert "\\x1b[2J\\nNo failures" in render(POISONED)


@pytest.mark.parametrize("probe", [None, f"conform probe {POISON}"])
def test_a_command_in_a_report_is_one_line(probe):
    header = replace(POISONED.header, selection={**POISONED.header.selection, "probe": probe})
    info, trial = header.implementations[0], POISONED.trials[0]
    assert UNSEEN.search(format_run_command(info, trial, header)) is None
    assert UNSEEN.search(format_explain_command(info, trial, header)) is None
    assert "\n" not in format_run_command(info, trial, header)


@pytest.mark.parametrize(
    "code", [*range(0x20), 0x7F, 0x85, 0x61C, 0x200E, 0x202E, 0x2066, 0xD800, 0xFFFE, 0xFFFF]
)
def test_what_does_not_print_is_shown_as_text(code):
    shown = escape_line(f"a{chr(code)}b")
    assert UNSEEN.search(shown) is None
    assert shown.startswith("a\\")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "jsonl"])
@pytest.mark.parametrize("results", [KILLED, STOPPED], ids=["killed", "stopped"])
def test_a_report_of_a_cut_run_says_so(kind, results):
    assert "4 of 18 trials" in reports.render(kind, results)
    assert "4 of 18 trials" not in reports.render(kind, WHOLE)


@pytest.mark.parametrize("results", [WHOLE, KILLED, STOPPED, PASSING, many(30)])
def test_junit_fits_what_ci_servers_agree_on(results):
    XSD.validate(junit.render(results))


def test_two_implementations_of_one_name_have_suites_of_their_own():
    info = WHOLE.header.implementations[1]
    for other in (replace(info, version="2"), replace(info, impl="zig2"), info):
        header = replace(WHOLE.header, implementations=(info, other))
        assert len(set(name_implementations(header))) == 2
        XSD.validate(junit.render(replace(WHOLE, header=header)))


def test_junit_counts_what_is_in_it():
    root = parsed(junit.render(WHOLE))
    assert len(root.findall(".//testcase")) == len(WHOLE.trials) + 1, (
        "and the entry that is not true any more"
    )
    for suite in root:
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
        assert int(suite.get("errors")) == len(suite.findall("testcase/error"))
        assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))


def test_junit_of_a_cut_run_is_not_green():
    killed = replace(PASSING, header=WHOLE.header, footer=None)
    root = parsed(junit.render(killed))
    assert root.find("testsuite[@name='streamconform']/testcase/error").get("type") == "cut"
    assert root.find(".//property[@name='cut']").get("value") == "the run was killed: 2 of 18 trials ended"
    assert "error" not in {each.tag for each in parsed(junit.render(PASSING)).iter()}


def test_one_implementation_alone_is_not_in_the_names_of_classes():
    header = replace(WHOLE.header, implementations=WHOLE.header.implementations[:1])
    alone = replace(WHOLE, header=header, trials=tuple(t for t in WHOLE.trials if t.implementation == 0))
    classes = {case.get("classname") for case in parsed(junit.render(alone)).iter("testcase")}
    assert "anthropic-messages.tool-use" in classes


def test_a_failure_in_junit_is_bounded():
    check = Check(path="content.0.text", level="must", verdict="fail", message="y" * 10**6)
    one = replace(WHOLE.trials[0], checks=(check,) * 3000, title="t" * 10**6, guards=("g" * 10**5,) * 100)
    assert len(junit.render(replace(WHOLE, trials=(one,)))) < 30_000


def test_markdown_shows_outside_text_only_as_code():
    text = re.sub(r"^(`{3,})text\n.*?^\1$", "", markdown.render(WHOLE), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"[@<]|://|#\d", text), text


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("plain", "`plain`"),
        ("a|b", "`a\\|b`"),
        ("a\\|b", "`a\\\\x7cb`"),
        ("`", "`` ` ``"),
        ("a``b`c", "``` a``b`c ```"),
        ("one\ntwo", "`one\\ntwo`"),
    ],
)
def test_a_cell_of_a_table_ends_where_it_should(text, span):
    assert markdown.format_cell(text) == span


def test_markdown_fits_a_comment_and_says_what_is_left_out():
    text = markdown.render(many(600, title="é" * 400))
    assert 50_000 < len(text.encode()) <= markdown.MAX_BYTES < 65_536
    assert text.endswith(markdown.LEFT_OUT)
    assert text.count("```") % 2 == 0


def test_github_gets_one_line_an_annotation_and_no_more_than_it_shows():
    for count in (1, 10, 11, 600):
        lines = github.render(many(count)).splitlines()
        assert all(re.match(r"::(error|warning|notice) [^:]*::", line) for line in lines)
        assert sum(line.startswith("::error") for line in lines) == min(count + 1, 10)
        assert any("more errors, in" in line for line in lines) is (count > 9)


def test_github_properties_hold_nothing_that_ends_them():
    for line in github.render(WHOLE).splitlines():
        _, properties, data = line.split("::", 2)
        assert all(
            name in ("title", "file", "line")
            for name, *_ in map(str.split, re.findall(r"(\w+)=", properties))
        )
        assert not re.search(r"[\r\n]|%(?!25|0D|0A)", data)
        assert not re.search(r"[\r\n:]|%(?!25|0D|0A|3A|2C)", properties)
    assert "100%25 wrong, ::error::no" in github.render(WHOLE)


@pytest.mark.parametrize(
    ("results", "message", "color", "wrong"),
    [
        (PASSING, "2 passed", "brightgreen", False),
        (WHOLE, "failed: 6 causes", "red", False),
        (KILLED, "incomplete: 4 of 18 trials", "lightgrey", True),
        (replace(PASSING, trials=()), "incomplete: 0 of 2 trials", "lightgrey", True),
        (
            Results(replace(PASSING.header, trials=0), (), replace(PASSING.footer, counts={})),
            "nothing ran",
            "lightgrey",
            True,
        ),
    ],
)
def test_a_badge_says_how_many_are_as_they_should_be(results, message, color, wrong):
    made_badge = json.loads(badge.render(results))
    reported = (made_badge["message"], made_badge["color"], made_badge.get("isError", False))
    assert reported == (message, color, wrong)
    assert made_badge["schemaVersion"] == 1


def test_a_strict_run_fails_by_its_warnings_in_every_report():
    selection = {**WHOLE.header.selection, "strict": True}
    strict = replace(WHOLE, header=replace(WHOLE.header, selection=selection))
    assert json.loads(badge.render(strict))["message"] == "failed: 7 causes"
    assert "::warning" not in github.render(strict)
    assert parsed(junit.render(strict)).get("failures") == "8"
    assert "#### Warnings" not in markdown.render(strict)


def test_values_nested_as_deep_as_json_is_read_are_reported():
    deep: object = "end"
    for _ in range(900):
        deep = [deep]
    check = Check(path="content.0.arguments", level="must", verdict="fail", expected=[[1]], got=deep)
    one = replace(WHOLE.trials[0], checks=(check,))
    for kind in KINDS:
        assert reports.render(kind, replace(WHOLE, trials=(one,)))


def test_a_report_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new/folder/report.json"
    reports.write_text(str(path), "one")
    reports.write_text(str(path), "two")
    assert path.read_text() == "two\n"
    assert [each.name for each in path.parent.iterdir()] == ["report.json"]
    link = tmp_path / "link"
    link.symlink_to(path)
    reports.write_text(str(link), "three")
    assert link.is_symlink()
    assert path.read_text() == "three\n"


def test_what_is_no_file_is_not_replaced(tmp_path):
    reports.write_text("/dev/null", "gone")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(reports.ReportError, match="cannot be written: Is a directory"):
        reports.write_text(str(tmp_path), "x")
