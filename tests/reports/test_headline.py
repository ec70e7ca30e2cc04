"""The headline, its color, and the lines next to it: warnings, known failures, unexposed values."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from streamconform.model.result import UncomparedClaim
from streamconform.model.verdict import Check
from streamconform.reports import badge, github, html, junit, markdown
from streamconform.reports.causes import list_causes
from streamconform.reports.describe import ADAPTER_WARNINGS_TITLE, CLAIMS_TITLE, WARNINGS_TITLE
from streamconform.reports.html.data import results_to_json
from streamconform.reports.html.source import Suite
from streamconform.reports.summary import (
    MAX_UNKNOWN_KEYS,
    describe_claims,
    describe_not_exposed,
    describe_unknown_keys,
)
from streamconform.reports.terminal import Terminal
from streamconform.run.results import Results

from ..harness import builders

CRASH = Check(path="status", level="should", verdict="warn", expected="complete", got="error")
TEXT = Check(path="content.0.text", level="should", verdict="warn", expected="abc", got="ab")
RAISED = {"type": "KeyError", "message": "'delta' \u202e\x1b[31m", "where": "lib/sse.py:12 in parse"}


def trial(verdict, *checks, **fields):
    level = "should" if verdict == "warn" else "must"
    culprit = "implementation" if checks else None
    return builders.result(verdict, level=level, culprit=culprit, checks=checks, **fields)


def results(*trials):
    return builders.results(*trials, cases=2)


PASSED = trial("pass")
WARNED = trial("warn", CRASH, case="openai-chat/text/two", observation={"outcome": None, "raised": RAISED})
ALSO_WARNED = trial("warn", TEXT, case="openai-chat/text/three")
KNOWN = trial("known", replace(TEXT, verdict="fail", level="must"), case="openai-chat/text/four", known="old")
SKIPPED = trial("skipped", case="openai-chat/text/five", reason="tool_calls is not claimed")
FAILED = trial("fail", replace(TEXT, verdict="fail", level="must"), case="openai-chat/text/six")


def print_run(run):
    stream = io.StringIO()
    Terminal(quiet=0, verbose=0, strict=False, stream=stream).finish(run, None)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("trials", "headline", "message", "color", "tone"),
    [
        ((PASSED, SKIPPED), "No failures: 1 passed, 1 skipped", "1 passed", "brightgreen", "good"),
        ((PASSED, WARNED), "No failures: 1 passed, 1 warning", "1 passed, 1 warning", "yellow", "warn"),
        (
            (PASSED, KNOWN, WARNED),
            "No new failures: 1 passed, 1 known failure, 1 warning",
            "1 passed, 1 known failure, 1 warning",
            "yellow",
            "warn",
        ),
        (
            (PASSED, FAILED, KNOWN, SKIPPED),
            "Failed: 1 cause, in 1 of 3 trials (1 known failure, 1 skipped)",
            "failed: 1 cause",
            "red",
            "bad",
        ),
    ],
)
def test_known_failures_and_warnings_are_in_the_headline_and_make_it_amber(
    trials, headline, message, color, tone
):
    run = results(*trials)
    assert print_run(run).splitlines()[-1] == headline
    made = json.loads(badge.render(run))
    assert (made["message"], made["color"]) == (message, color)
    page = html.render(run)
    assert f"<h1>{headline}</h1>" in page
    assert f'<section class="verdict {tone}">' in page


def test_warnings_are_listed_like_failures_and_a_crash_comes_first():
    run = results(ALSO_WARNED, WARNED, PASSED)
    crash = "Raises KeyError on a valid stream (lib/sse.py:12 in parse)"
    for text in (print_run(run), markdown.render(run)):
        details = text[text.index(WARNINGS_TITLE) :]
        assert details.index(crash) < details.index("Truncates text")
        assert "\u202e" not in text
        assert "\x1b" not in text
        # The exception is right below the check.
        lines = [line.strip() for line in text.splitlines()]
        at = lines.index('status: expected "complete", got "error"')
        assert lines[at + 1].startswith("raised KeyError: 'delta' \\u202e")
        assert "conform explain openai-chat/text/two@as-is -i mypkg" in text


def test_a_mistake_of_the_adapter_is_not_among_what_the_documentation_does_not_settle():
    malformed = Check(
        path="invariant.outcome-schema", level="should", verdict="warn", message="status: missing"
    )
    run = results(ALSO_WARNED, replace(WARNED, checks=(malformed,), culprit="adapter"), PASSED)
    title = "Returns an outcome that is not in the normal form"
    for text in (print_run(run), markdown.render(run)):
        library, adapter = text[text.index(WARNINGS_TITLE) :].split(ADAPTER_WARNINGS_TITLE)
        assert "Truncates text" in library
        assert title in adapter
    assert [
        (cause["kind"], cause["what"])
        for cause in results_to_json(run, Suite({}), list_causes(run))["causes"]
    ] == [
        ("warn", "Truncates text"),
        ("adapter", title),
    ]
    (line,) = (line for line in github.render(run).splitlines() if title in line)
    assert "at fault: the adapter, not the library" in line
    assert WARNINGS_TITLE not in print_run(results(PASSED, replace(WARNED, culprit="adapter")))


def test_values_that_are_not_exposed_are_one_line_of_every_summary():
    hidden = replace(PASSED, not_exposed=("model", "tool_call.id"))
    other = replace(ALSO_WARNED, not_exposed=("model",))
    run = results(hidden, other, WARNED)
    line = "Not exposed: model, tool_call.id (2 cases)"
    assert describe_not_exposed(run) == line
    for text in (print_run(run), markdown.render(run), html.render(run)):
        assert line in text
    assert describe_not_exposed(results(PASSED, WARNED)) is None


def test_a_long_list_of_values_that_are_not_exposed_is_cut():
    names = tuple(f"field{n:02}\u202e" for n in range(40))
    line = describe_not_exposed(results(replace(PASSED, not_exposed=names)))
    assert line.endswith(" and 32 more (1 case)")
    assert line.isprintable()


REASONS = [trial("skipped", case=f"a/b/c{n}", reason=f"reason {chr(97 + n % 15)}") for n in range(30)]


def test_skipped_trials_and_warnings_are_counted_with_their_reasons():
    lines = print_run(results(PASSED, WARNED, ALSO_WARNED, SKIPPED)).splitlines()
    assert "2 warnings: failures with --strict" in lines
    assert "1 trial skipped: tool_calls is not claimed" in lines
    many = print_run(results(*REASONS)).splitlines()
    assert [line for line in many if line.startswith("2 trials skipped: reason ")] == many[-14:-2]
    assert many[-2] == "3 more reasons for skipped trials; `-v` lists them"


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (
            {"error": {"status": 500, "type": "failure", "message": "Something\nwent wrong"}},
            r"error: 500 failure: Something\nwent wrong",
        ),
        ({"error": {"type": "overloaded_error", "message": None}}, "error: overloaded_error"),
        ({"error": {"message": "busy"}}, "error: busy"),
    ],
)
def test_the_error_that_the_implementation_reported_is_shown(outcome, line):
    failed = trial("fail", replace(CRASH, verdict="fail"), observation={"outcome": outcome})
    assert line in [text.strip() for text in print_run(results(failed)).splitlines()]


@pytest.mark.parametrize("outcome", [None, [], {"error": None}, {"error": "busy"}, {"error": {}}])
def test_an_error_without_words_is_not_shown(outcome):
    failed = trial("fail", replace(CRASH, verdict="fail"), observation={"outcome": outcome})
    assert "error:" not in print_run(results(failed))


WHOLE = results(PASSED, KNOWN)
LOST = "1 of 3 trials have no result"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (replace(WHOLE, header=replace(WHOLE.header, trials=3)), LOST),
        (replace(WHOLE, trials=(PASSED, PASSED)), "1 of 2 trials have no result"),
        (replace(WHOLE, trials=(PASSED, KNOWN, KNOWN)), "2 trials planned, 3 results"),
        (
            replace(
                WHOLE,
                header=replace(WHOLE.header, trials=3),
                footer=replace(WHOLE.footer, complete=False, lost=("a/b/c@as-is",)),
            ),
            f"{LOST}, such as a/b/c@as-is",
        ),
    ],
    ids=["missing", "replaced", "repeated", "named"],
)
def test_results_that_do_not_add_up_are_never_green(run, words):
    last = print_run(run).splitlines()[-1]
    assert last.startswith("The results do not add up: ")
    assert words in last
    assert json.loads(badge.render(run))["isError"]


def test_the_bundled_parser_in_another_process_is_noted():
    run = replace(WHOLE, footer=replace(WHOLE.footer, imported_reference=(True,)))
    assert "note: `mypkg` imported the bundled reference parser" in print_run(run)
    assert "imported" not in print_run(WHOLE)


def test_why_a_run_was_stopped_is_in_its_last_line():
    footer = replace(WHOLE.footer, complete=False, stopped="the proxy answers 500")
    run = Results(replace(WHOLE.header, trials=50), WHOLE.trials, footer)
    assert print_run(run).splitlines()[-1].endswith("incomplete, 48 trials not run: the proxy answers 500")


def with_claims(run, *claims):
    pairs = [UncomparedClaim(implementation=0, capability=name, trials=count) for name, count in claims]
    return replace(run, footer=replace(run.footer, exit=1, claims=tuple(pairs)))


@pytest.mark.parametrize(
    ("trials", "claims", "headline", "message"),
    [
        (
            (PASSED,),
            (("usage", 2),),
            "No failures, but 1 claim was never compared: 1 passed",
            "1 passed, 1 claim was never compared",
        ),
        (
            (PASSED, KNOWN),
            (("signatures", 1), ("usage", 2)),
            "No new failures, but 2 claims were never compared: 1 passed, 1 known failure",
            "1 passed, 1 known failure, 2 claims were never compared",
        ),
        (
            (PASSED, FAILED),
            (("usage", 2),),
            "Failed: 1 cause, in 1 of 2 trials; 1 claim was never compared",
            "failed: 1 cause",
        ),
    ],
)
def test_claims_that_were_never_compared_fail_every_report(trials, claims, headline, message):
    run = with_claims(results(*trials), *claims)
    lines = describe_claims(run)
    assert len(lines) == len(claims)
    assert print_run(run).splitlines()[-1] == headline
    made = json.loads(badge.render(run))
    assert (made["message"], made["color"]) == (message, "red")
    page = html.render(run)
    assert f"<h1>{headline}</h1>" in page
    assert '<section class="verdict bad">' in page
    for text in (print_run(run), markdown.render(run), page):
        assert CLAIMS_TITLE in text
        assert all(line in text for line in lines)
    assert junit.render(run).count('<failure type="claim"') == len(claims)
    assert github.render(run).startswith(
        "::error title=streamconform%3A claims never compared::`mypkg` claims"
    )


def test_the_line_about_a_claim_counts_its_trials_and_says_what_to_do():
    one, more = describe_claims(with_claims(results(PASSED), ("usage", 1), ("cost", 1234)))
    advice = "report it, or leave it out of `capabilities`"
    assert one == f"`mypkg` claims `usage`, but the only trial that expects one compared no value; {advice}"
    assert more == (
        f"`mypkg` claims `cost`, but none of the 1,234 trials that expect one compared a value; {advice}"
    )


@pytest.mark.parametrize(
    ("paths", "lines"),
    [
        ((), []),
        (("usage.total",), ["1 unknown key"]),
        (("usage.total", "x", "y"), ["3 unknown keys"]),
        (("usage.input_tokens",), ["`usage.input_tokens`: unknown key; did you mean `input`? (2 trials)"]),
        (
            ("tool_call.args", "x", "y\u202e"),
            [
                "`tool_call.args`: unknown key; did you mean `arguments`? (2 trials)",
                "and 2 other unknown keys",
            ],
        ),
    ],
)
def test_unknown_keys_are_listed_once_if_they_are_near_misses(paths, lines):
    run = results(replace(PASSED, unknown_keys=paths), replace(WARNED, unknown_keys=paths))
    assert describe_unknown_keys(run) == lines
    assert all(line in print_run(run).splitlines() for line in lines)


def test_a_long_list_of_unknown_keys_is_cut():
    paths = tuple(f"usage.reasoning{n:02}" for n in range(40))
    lines = describe_unknown_keys(results(replace(PASSED, unknown_keys=paths)))
    assert len(lines) == MAX_UNKNOWN_KEYS + 1
    assert lines[-1] == "and 28 other unknown keys"
