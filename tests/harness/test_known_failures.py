"""Known failures: the resulting verdicts, outdated entries, and updates of the file."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from streamconform.causes.roots import find_root, fold_crashes, get_api, list_ids
from streamconform.errors import SourceError
from streamconform.known_failures.context import (
    KnownFailuresContext,
    find_unmatched,
    get_checked_paths,
    list_problems,
)
from streamconform.known_failures.file import EMPTY, apply_amendment, create_empty, parse_document
from streamconform.known_failures.match import (
    CheckedPaths,
    Coverage,
    OutdatedEntry,
    Settler,
    find_outdated,
    get_match_status,
    to_problems,
)
from streamconform.known_failures.model import KnownCause, KnownFailure, KnownFailures
from streamconform.known_failures.update import Amendment, plan_update
from streamconform.model.capability import CAPABILITIES
from streamconform.model.verdict import Check
from streamconform.resources import find_bundled
from streamconform.suite.expand import expand
from streamconform.suite.load import Sources, collect
from streamconform.yaml_text.reader import parse

from . import builders

CASE = "anthropic-messages/text/small"
PATHS = frozenset({"status", "content.0.text", "usage.input"})
TODAY = date(2026, 5, 1)


def entry(match=f"{CASE}@*", verdict="fail", message=None, line=0, **more):
    reported = {"reason": "not mended", "issue": "a/b#1"} | more
    return KnownFailure(match=match, verdict=verdict, message=message, line=line, **reported)


def known_cause(cause="usage-wrong", trials=1, api="anthropic-messages", line=0, **more):
    reported = {"reason": "not mended", "issue": "a/b#2"} | more
    return KnownCause(cause=cause, api=api, trials=trials, line=line, **reported)


def result(delivery="whole", verdict="pass", *failed, case=CASE, reason=None, implementation=0, check=None):
    checks = tuple(
        Check(path=path, level="must", verdict=check or verdict, expected=1, got="é") for path in failed
    )
    fields = {"implementation": implementation, "checks": checks, "reason": reason}
    return builders.result(verdict, case=case, delivery=delivery, **fields)


def every_path(_):
    return CheckedPaths(PATHS, PATHS | {"content.1.text"})


def settled(entries, results, *, strict=False):
    settle = Settler([KnownFailures("known.yaml", tuple(entries))], every_path, strict=strict)
    return [settle(each).verdict for each in results]


def untrue(entries, results, missing=(), **more):
    known = KnownFailures("known.yaml", tuple(entries))
    found = find_outdated(known, results, every_path, unmatched=frozenset(missing), today=TODAY, **more)
    return [(each.entry, each.kind) for each in found]


FAILED = result("whole", "fail", "usage.input")
HUNG = result("whole", "hang", reason="no answer in 10 s")
WARNED = result("whole", "warn", "usage.input")
TOLERATED = result("whole", "pass", "usage.input", check="may")
BROKEN = result("whole", "faulted", reason="ValueError: no")
SKIPPED = result("whole", "skipped", reason="not claimed")

TOLERATED_STATUS = result("whole", "pass", "status", check="may")
TWO_CHECKS = replace(FAILED, checks=(*TOLERATED_STATUS.checks, *FAILED.checks))

SETTLED = [
    ("a case", entry(CASE), FAILED, "known"),
    ("a trial", entry(f"{CASE}@whole"), FAILED, "known"),
    ("any", entry("**"), FAILED, "known"),
    ("another trial", entry(f"{CASE}@crlf"), FAILED, "fail"),
    ("another case", entry("*/text/other"), FAILED, "fail"),
    ("a check", entry(f"{CASE}@*:usage.*"), FAILED, "known"),
    ("a check of a case", entry("**:usage.input"), FAILED, "known"),
    ("another check", entry(f"{CASE}@*:status"), FAILED, "fail"),
    ("another verdict", entry(verdict="hang"), FAILED, "fail"),
    ("a hang", entry(verdict="hang"), HUNG, "known"),
    ("a hang without a reason", entry(verdict="hang", message="X"), result("whole", "hang"), "hang"),
    ("the message of the worst check", entry(message="usage.input"), TWO_CHECKS, "known"),
    ("a hang with its message", entry(verdict="hang", message="no answer"), HUNG, "known"),
    ("a hang with another", entry(verdict="hang", message="answer"), HUNG, "hang"),
    ("a fault", entry(verdict="faulted", message="ValueError"), BROKEN, "known"),
    ("a check of what has none", entry("**:status", "faulted"), BROKEN, "faulted"),
    ("a message", entry(message='usage.input: expected 1, got "é"'), FAILED, "known"),
    ("a path as message", entry(message="usage.input"), FAILED, "known"),
    ("another message", entry(message="usage.output"), FAILED, "fail"),
    ("a warning", entry(), WARNED, "warn"),
    ("listed, passes", entry(), result(), "stale"),
    ("a listed check passes", entry("**:status"), result(), "stale"),
    ("a check that the trial has not", entry("**:cost.total"), result(), "pass"),
    ("a check that may not be made", entry("**:content.1.text"), result(), "pass"),
    ("a may that differs", entry(), TOLERATED, "pass"),
    ("skipped", entry(), SKIPPED, "skipped"),
]


@pytest.mark.parametrize(("about", "listed", "given", "verdict"), SETTLED, ids=[row[0] for row in SETTLED])
def test_the_verdict_of_a_listed_trial(about, listed, given, verdict):
    assert settled([listed], [given]) == [verdict], about


def test_a_warning_is_known_under_strict():
    assert settled([entry()], [WARNED], strict=True) == ["known"]


def test_every_check_that_fails_has_to_be_listed():
    given = result("whole", "fail", "usage.input", "status")
    assert settled([entry("**:usage.*")], [given]) == ["fail"]
    assert settled([entry("**:usage.*"), entry("**:status")], [given]) == ["known"]


@pytest.mark.parametrize(("unlisted", "verdict"), [("fail", "fail"), ("warn", "fail"), ("may", "known")])
def test_under_strict_every_failed_or_warned_check_must_be_listed(unlisted, verdict):
    failed = result("whole", "fail", "usage.input")
    other = Check(path="status", level="must", verdict=unlisted, expected=1, got=2)
    both = replace(failed, checks=(*failed.checks, other))
    assert settled([entry("**:usage.*")], [both], strict=True) == [verdict]


def test_a_known_result_has_the_reasons_of_its_entries():
    entries = (entry("**:usage.*", reason="summed"), entry("**:status", reason="late"))
    settle = Settler([KnownFailures("k", entries)], every_path, strict=False)
    assert settle(result("whole", "fail", "usage.input", "status")).known == "summed; late"


def test_a_known_result_tracks_each_issue_once():
    entries = (entry("**:usage.*"), entry("**:status", issue="a/b#2"), entry("**:usage.input"))
    settle = Settler([KnownFailures("k", entries)], every_path, strict=False)
    assert settle(result("whole", "fail", "usage.input", "status")).tracked == ("a/b#1", "a/b#2")


def test_a_stale_result_names_the_line_of_its_entry():
    settle = Settler([KnownFailures("known.yaml", (entry(line=7),))], every_path, strict=False)
    assert "known.yaml:7" in settle(result()).reason


MALFORMED_PATH = "invariant.outcome-schema"
PASSED, OTHER = result("crlf"), result("crlf", "fail", "status")
AUDITED = [
    ("it fails", [entry()], [FAILED], []),
    ("all fail", [entry()], [FAILED, OTHER], []),
    ("all pass", [entry()], [result(), PASSED], [(0, "stale")]),
    ("some pass", [entry()], [FAILED, PASSED], [(0, "too-wide")]),
    ("it passes for another", [entry()], [FAILED, result(implementation=1)], [(0, "too-wide")]),
    ("fails otherwise", [entry(verdict="hang")], [FAILED], [(0, "stale")]),
    ("some fail otherwise", [entry(verdict="hang")], [HUNG, OTHER], []),
    ("another message", [entry(message="nope")], [FAILED], [(0, "stale")]),
    ("a check fails", [entry("**:usage.*")], [FAILED], []),
    ("another check fails", [entry("**:usage.*")], [OTHER], [(0, "stale")]),
    ("a check fails sometimes", [entry("**:usage.*")], [FAILED, OTHER], [(0, "too-wide")]),
    ("a check that others have not", [entry("**:cost.*")], [result("bom", "fail", "cost.total"), OTHER], []),
    ("only warned of", [entry()], [WARNED], []),
    ("warned of beside", [entry()], [FAILED, result("bom", "warn", "status")], []),
    ("tolerated", [entry()], [TOLERATED], [(0, "stale")]),
    ("tolerated beside", [entry()], [FAILED, result("cr", "pass", "status", check="may")], []),
    ("skipped", [entry()], [SKIPPED], []),
    ("a check of what has none", [entry("**:status", "faulted")], [BROKEN], [(0, "stale")]),
    ("not run", [entry("other/**")], [FAILED], []),
    ("expired yesterday", [entry(expires="2026-04-30")], [FAILED], [(0, "expired")]),
    ("expires today", [entry(expires="2026-05-01")], [FAILED], []),
    ("twice", [entry(), entry(reason="again")], [FAILED], [(1, "duplicate")]),
    ("two verdicts", [entry(), entry(verdict="hang")], [FAILED, result("crlf", "hang")], []),
    ("two messages", [entry(message="usage"), entry(message="st")], [FAILED, OTHER], []),
    ("several", [entry("x"), entry()], [PASSED], [(1, "stale")]),
    ("malformed beside", [entry("**:usage.*")], [FAILED, result("crlf", "fail", MALFORMED_PATH)], []),
    ("no checks beside", [entry("**:usage.*")], [FAILED, result("crlf", "fail", reason="declined")], []),
]


@pytest.mark.parametrize(("about", "entries", "results", "found"), AUDITED, ids=[row[0] for row in AUDITED])
def test_outdated_entries_are_found(about, entries, results, found):
    assert untrue(entries, results) == found, about


@pytest.mark.parametrize(
    ("listed", "results", "message"),
    [
        (entry(), [FAILED, PASSED], "fails in only 1 of 2 trials: narrow the pattern"),
        (entry("gone/**"), [FAILED], "matches nothing in the suite (was a case renamed?): "),
        (entry(expires="2026-04-30"), [FAILED], "expired on 2026-04-30: "),
        (entry(), [PASSED], "is fixed, its trial passes: "),
        (entry(), [PASSED, result()], "is fixed, all 2 trials pass: "),
        (entry("**:content.1.text"), [PASSED, result()], "is fixed, all 2 trials pass: "),
        (entry(verdict="hang"), [FAILED], "no longer has `hang`, but"),
        (entry(message="nope"), [FAILED], "no longer has `fail` with this message, but"),
    ],
)
def test_an_outdated_entry_is_explained(listed, results, message):
    known = KnownFailures("known.yaml", (listed,))
    unmatched = frozenset({0} if listed.match == "gone/**" else ())
    (outdated,) = find_outdated(known, results, every_path, unmatched=unmatched, today=TODAY)
    assert outdated.message.startswith(message)


def test_an_entry_without_any_match_is_reported():
    assert untrue([entry("gone/**"), entry()], [FAILED], missing=[0]) == [(0, "unmatched")]


def test_a_duplicate_names_the_line_of_the_first_entry():
    known = KnownFailures("known.yaml", (entry(line=3), entry(line=9)))
    (outdated,) = find_outdated(known, [FAILED], every_path, unmatched=frozenset(), today=TODAY)
    assert outdated.message == "is a duplicate of the entry on line 3: remove one"


def test_each_problem_has_the_line_of_its_entry():
    known = KnownFailures("known.yaml", (entry(line=3), entry(line=9, expires="2026-01-01")))
    found = find_outdated(known, [result()], every_path, unmatched=frozenset(), today=TODAY)
    lines = [str(each).split(": ")[:2] for each in to_problems(known, found)]
    assert lines == [
        ["known.yaml:3", "stale"],
        ["known.yaml:9", "stale"],
        ["known.yaml:9", "expired"],
        ["known.yaml:9", "duplicate"],
    ]


SUITE = tuple(builders.case(id=f"anthropic-messages/text/{name}") for name in ("one", "two"))
UNMATCHED = [
    ("anthropic-messages/text/one", False),
    ("anthropic-messages/text/one@*", False),
    ("anthropic-messages/text/one@crlf", False),
    ("**@cut-after-frame.*", False),
    ("**@bom", False),
    ("**:content.0.text", False),
    ("**:invariant.*", False),
    ("**@cut-after-frame.0", False),
    ("**@cut-after-frame.5", False),
    ("**:grammar.done-marker", False),
    ("**:upstream.tools", False),
    ("anthropic-messages/text/three", True),
    ("anthropic-messages/*", True),
    ("**@pigeon", True),
    ("**@cut-after-frame.999", True),
    ("**:content.5.text", True),
    ("one", True),
]


@pytest.mark.parametrize(("match", "missing"), UNMATCHED)
def test_unmatched_entries_are_found_in_the_full_suite_whatever_is_selected(match, missing):
    selected = tuple(expand(SUITE[1:], ["whole"], "bytes", 0))
    assert bool(find_unmatched([entry(match)], builders.catalog(SUITE), selected, 0)) is missing
    assert bool(find_unmatched([entry(match)], builders.catalog(SUITE), (), 0)) is missing


def test_an_entry_about_pulled_recordings_is_checked_only_if_the_suite_has_some():
    listed = [entry("anthropic-messages/recorded-x/gone")]
    pulled = builders.case(id="anthropic-messages/recorded-x/one")
    assert find_unmatched(listed, builders.catalog(SUITE), (), 0) == frozenset()
    assert find_unmatched(listed, builders.catalog((*SUITE, pulled)), (), 0) == {0}


def test_the_checks_of_a_trial_are_known_before_it_runs():
    trial = builders.trial()
    assert {"status", "content.0.text", "usage.input"} <= get_checked_paths(trial, CAPABILITIES).certain
    assert "usage.input" not in get_checked_paths(trial, frozenset()).certain
    broken = [each for each in expand([trial.case], (), "bytes", 0, "all") if "cut" in each.delivery]
    early = get_checked_paths(broken[0], CAPABILITIES)
    assert "content.0.text" in early.possible - early.certain


def read_checked_paths(path, claims=CAPABILITIES):
    """Return the paths of the checks of the first case in a bundled spec."""
    sources = Sources(find_bundled("specs"), find_bundled("cassettes"))
    (first, *_) = collect(sources, [sources.specs / path]).cases
    (trial, *_) = expand([first], ["whole"], "http", 0)
    return get_checked_paths(trial, claims)


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ("common/heal.yaml", {"output"}),
        ("ollama-chat/requests.yaml", {"body.messages.0.content", "invariant.unique-ids"}),
        ("ollama-chat/round-trips.yaml", {"first.usage.input", "request.body.model", "outcome.status"}),
    ],
)
def test_the_checks_of_other_cases_are_certain(spec, paths):
    checked = read_checked_paths(spec)
    assert paths <= checked.certain
    assert checked.certain == checked.possible


def test_the_checks_of_a_round_trip_depend_on_the_claims():
    assert "first.usage.input" not in read_checked_paths("ollama-chat/round-trips.yaml", frozenset()).certain


UNCHECKED = result("whole", "fail", reason="declined")
FAILED_TWICE = replace(FAILED, checks=(*OTHER.checks, *FAILED.checks))
STATUSES = [
    (entry(), UNCHECKED, "matched"),
    (entry(), result("whole", "warn"), "matched"),
    (entry(message="declined"), UNCHECKED, "matched"),
    (entry("**:usage.*"), UNCHECKED, "mismatched"),
    (entry(verdict="hang"), FAILED, "mismatched"),
    (
        entry("**:usage.*", message="usage.input"),
        replace(FAILED, checks=(*OTHER.checks, *FAILED.checks)),
        "matched",
    ),
    (entry(), TOLERATED, "inconclusive"),
    (entry("**:status"), PASSED, "passing"),
    (entry("**:content.1.text"), PASSED, "inconclusive"),
    (entry("**:nothing"), PASSED, None),
    (entry("other/**"), FAILED, None),
    (entry(), SKIPPED, None),
]


@pytest.mark.parametrize(("listed", "trial_result", "status"), STATUSES)
def test_an_entry_has_one_status_per_result(listed, trial_result, status):
    assert get_match_status(listed, trial_result, every_path) == status


def test_the_paths_are_those_of_the_result():
    seen = []
    get_match_status(entry("**:status"), PASSED, lambda checked: seen.append(checked) or every_path(checked))
    assert seen == [PASSED]


def amendment(entries, results, *, strict=False, missing=()):
    known = KnownFailures("known.yaml", tuple(entries))
    found = find_outdated(known, results, every_path, unmatched=frozenset(missing), today=TODAY)
    change = plan_update(known, results, found, every_path, strict=strict)
    return change.apply(known.entries)


def matches(entries):
    return [(each.match, each.verdict) for each in entries]


def trials(**verdicts):
    """Return results of the case by delivery; `_` stands for a hyphen, and `__` for a dot."""
    names = {name: name.replace("__", ".").replace("_", "-") for name in verdicts}
    return [
        result(names[name], verdict, *(["status"] if verdict in ("fail", "warn") else []))
        for name, verdict in verdicts.items()
    ]


def narrowed(results):
    """Return the patterns that replace one which matches all `results` of the case."""
    return matches(each for each in amendment([entry()], results) if isinstance(each, KnownFailure))


NARROWED = [
    (trials(whole="fail", crlf="fail"), [(f"{CASE}@*", "fail")]),
    (trials(whole="fail", crlf="pass"), [(f"{CASE}@whole", "fail")]),
    (trials(whole="fail", crlf="skipped"), [(f"{CASE}@*", "fail")]),
    (
        trials(whole="fail", crlf="fail", bom="pass", cr="fail"),
        [(f"{CASE}@{name}", "fail") for name in ("whole", "crlf", "cr")],
    ),
]


@pytest.mark.parametrize(("results", "listed"), NARROWED)
def test_a_pattern_is_narrowed_to_what_fails(results, listed):
    assert narrowed(results) == listed
    assert untrue(amendment([entry()], results), results) == []


@pytest.mark.parametrize(
    ("results", "listed"),
    [
        (trials(whole="fail", cut__1="fail", cut__2="fail", cr="pass"), [f"{CASE}@cut.*", f"{CASE}@whole"]),
        (
            trials(whole="fail", crlf="fail", cut__1="fail", cut__2="pass"),
            [f"{CASE}@*", f"{CASE}@cut.1"],
        ),
        (trials(whole="pass", cut__1="fail", cut__2="fail"), [f"{CASE}@cut.*"]),
        (trials(whole="pass", cut__1="fail"), [f"{CASE}@cut.1"]),
    ],
)
def test_a_pattern_for_every_trial_is_narrowed_by_kinds_of_fault(results, listed):
    made = amendment([entry(f"{CASE}@**")], results)
    assert sorted(each.match for each in made) == listed
    assert untrue(made, results) == []


RAISED = {"raised": {"type": "KeyError", "message": "usage", "where": "lib/sse.py:12 in parse"}}
CRASH = "raises-on-valid-stream:KeyError:lib/sse.py:parse"


def crashed(delivery, path="status", expected="complete", got="error", case=CASE):
    """Return a failed trial in which the library raised one exception."""
    failed = result(delivery, "fail", case=case)
    check = Check(path=path, level="must", verdict="fail", expected=expected, got=got)
    return replace(failed, checks=(check,), observation=RAISED, culprit="implementation")


CRASHED = crashed("whole")
IN_A_FAULT = crashed("error-frame.1", "error.message", "busy", "usage")
NULL_USAGE = replace(
    FAILED, checks=(Check(path="usage.input", level="must", verdict="fail", expected=1, got=None),)
)
RUNS = replace(
    FAILED,
    checks=(
        Check(path="content.complete_calls", level="must", verdict="fail", expected=0, got=1),
        *FAILED.checks,
    ),
)
BY_CAUSE = [
    ("its cause", known_cause(), FAILED, "known"),
    ("another cause", known_cause("usage-null"), FAILED, "fail"),
    ("a new cause", known_cause(), NULL_USAGE, "fail"),
    ("another API", known_cause(api="openai-chat"), FAILED, "fail"),
    ("a worse cause beside it", known_cause(), RUNS, "fail"),
    ("a less serious cause beside it", known_cause("unfinished-call-executable"), RUNS, "known"),
    ("a hang", known_cause("no-answer"), HUNG, "known"),
    ("an adapter error", known_cause("adapter-error:valueerror-no"), BROKEN, "known"),
    ("a warning", known_cause(), WARNED, "warn"),
    ("it passes", known_cause(), result(), "pass"),
    ("skipped", known_cause(), SKIPPED, "skipped"),
    ("a crash", known_cause(CRASH), CRASHED, "known"),
    ("the same exception in a fault", known_cause(CRASH), IN_A_FAULT, "known"),
    ("another exception", known_cause(CRASH.replace("Key", "Type")), CRASHED, "fail"),
]


@pytest.mark.parametrize(("about", "listed", "given", "verdict"), BY_CAUSE, ids=[row[0] for row in BY_CAUSE])
def test_the_verdict_of_a_trial_whose_cause_is_listed(about, listed, given, verdict):
    assert settled([listed], [given]) == [verdict], about


def test_the_causes_of_a_trial_are_those_that_folding_can_give_it():
    results = [CRASHED, IN_A_FAULT, ELSEWHERE, FAILED, HUNG]
    folded = [root.id for root in fold_crashes(results)]
    assert folded[:2] == [CRASH, CRASH]
    assert CRASH not in folded[2:]
    for one, id_ in zip(results, folded, strict=True):
        assert list_ids(one)[0] == find_root(one).id
        assert id_ in list_ids(one)
    assert list_ids(FAILED) == ("usage-wrong",)


def test_a_pattern_comes_before_a_cause_and_the_own_cause_before_a_crash():
    def track(*entries, given=FAILED):
        settle = Settler([KnownFailures("known.yaml", entries)], every_path, strict=False)
        return settle(given).tracked

    assert track(known_cause(), entry()) == ("a/b#1",)
    assert track(known_cause(), entry("**:status")) == ("a/b#2",)
    own = known_cause(find_root(IN_A_FAULT).id, issue="a/b#3")
    assert track(known_cause(CRASH), own, given=IN_A_FAULT) == ("a/b#3",)
    assert track(known_cause(), known_cause(issue="a/b#4")) == ("a/b#2",)


def test_a_trial_with_a_pattern_for_a_part_of_it_and_a_cause_tracks_both():
    settle = Settler(
        [KnownFailures("k", (entry("**:status"), known_cause("wrong-status", reason="summed")))],
        every_path,
        strict=False,
    )
    settled_ = settle(FAILED_TWICE)
    assert (settled_.verdict, settled_.known) == ("known", "not mended; summed")


def test_under_strict_a_warning_has_a_cause():
    assert settled([known_cause()], [WARNED], strict=True) == ["known"]
    assert untrue([known_cause()], [WARNED], strict=True) == []
    assert untrue([known_cause()], [WARNED]) == [(0, "stale")]


USAGE_AGAIN = result("crlf", "fail", "usage.input")
PART, OTHER_SCOPE = Coverage("part"), Coverage("other")
COUNTS = [
    ("as many", 2, [FAILED, USAGE_AGAIN], {}, []),
    ("more", 1, [FAILED, USAGE_AGAIN], {}, ["grown"]),
    ("fewer", 3, [FAILED, USAGE_AGAIN], {}, ["stale"]),
    ("none", 2, [PASSED], {}, ["stale"]),
    ("none of the API was judged", 2, [SKIPPED], {}, []),
    ("more in a part", 1, [FAILED, USAGE_AGAIN], {"coverage": PART}, ["grown"]),
    ("fewer in a part", 3, [FAILED, USAGE_AGAIN], {"coverage": PART}, []),
    ("more in another scope", 1, [FAILED, USAGE_AGAIN], {"coverage": OTHER_SCOPE}, []),
    ("fewer in another scope", 3, [FAILED, USAGE_AGAIN], {"coverage": OTHER_SCOPE}, []),
    ("another API is selected", 3, [FAILED], {"coverage": Coverage(apis=frozenset({"openai-chat"}))}, []),
    (
        "its API is selected",
        3,
        [FAILED],
        {"coverage": Coverage(apis=frozenset({"anthropic-messages"}))},
        ["stale"],
    ),
    ("two implementations", 1, [FAILED, replace(FAILED, implementation=1)], {}, []),
]


@pytest.mark.parametrize(
    ("about", "listed", "results", "more", "kinds"), COUNTS, ids=[row[0] for row in COUNTS]
)
def test_the_trials_of_a_cause_are_counted(about, listed, results, more, kinds):
    assert [kind for _, kind in untrue([known_cause(trials=listed)], results, **more)] == kinds, about


def test_a_run_that_stopped_early_has_a_part_of_the_trials():
    apis = frozenset({"openai-chat"})
    assert Coverage("all", apis).cut_short() == Coverage("part", apis)
    assert [each.cut_short() for each in (PART, OTHER_SCOPE)] == [PART, OTHER_SCOPE]


def test_trials_that_a_pattern_also_lists_are_counted():
    assert untrue([known_cause(trials=2), entry(f"{CASE}@whole")], [FAILED, USAGE_AGAIN]) == []


@pytest.mark.parametrize(
    ("listed", "results", "message"),
    [
        (
            known_cause(trials=2),
            [FAILED],
            "`usage-wrong` of anthropic-messages fails in only 1 of 2 trials: set `trials: 1`",
        ),
        (known_cause(trials=2), [PASSED], "`usage-wrong` of anthropic-messages is fixed: remove the entry"),
        (
            known_cause(),
            [FAILED, USAGE_AGAIN],
            (
                "`usage-wrong` of anthropic-messages fails in 2 trials, but lists 1: find the new ones"
                f" (see `{CASE}@whole`, `{CASE}@crlf`) with `conform diff` and an earlier run,"
                " or set `trials: 2`"
            ),
        ),
        (
            known_cause(),
            [FAILED, USAGE_AGAIN, result("cr", "fail", "usage.input")],
            (
                "`usage-wrong` of anthropic-messages fails in 3 trials, but lists 1: find the new ones"
                f" (see `{CASE}@whole`, `{CASE}@crlf`, `{CASE}@cr`) with `conform diff` and an earlier run,"
                " or set `trials: 3`"
            ),
        ),
        (
            known_cause(CRASH, trials=3),
            [*(crashed(name) for name in ("whole", "crlf", "cr")), IN_A_FAULT],
            (
                f"`{CRASH}` of anthropic-messages fails in 4 trials, but lists 3: find the new ones"
                f" (see `{IN_A_FAULT.id}`) with `conform diff` and an earlier run, or set `trials: 4`"
            ),
        ),
        (
            known_cause(trials=3),
            [result(name, "fail", "usage.input") for name in ("whole", "crlf", "cr", "bom")],
            (
                "`usage-wrong` of anthropic-messages fails in 4 trials, but lists 3: find the new ones"
                " with `conform diff` and an earlier run, or set `trials: 4`"
            ),
        ),
    ],
    ids=["fewer", "none", "two", "three", "more of a crash", "more"],
)
def test_a_wrong_number_of_trials_is_explained(listed, results, message):
    known = KnownFailures("known.yaml", (replace(listed, line=3),))
    found = find_outdated(known, results, every_path, unmatched=frozenset(), today=TODAY)
    (problem,) = to_problems(known, found)
    assert str(problem).partition(": ")[2].partition(": ")[2] == message


def test_a_cause_may_be_listed_once_per_api_and_may_expire():
    entries = [
        known_cause(),
        known_cause(api="openai-chat"),
        known_cause(reason="again"),
        known_cause("x", expires="2026-04-30"),
    ]
    assert untrue(entries, [FAILED]) == [(2, "duplicate"), (3, "stale"), (3, "expired")]


def test_a_pattern_outside_the_selected_apis_is_left_alone():
    coverage = Coverage(apis=frozenset({"anthropic-messages"}))
    entries = [entry(f"{CASE}@*"), entry("**@whole"), entry("anthropic-*/**"), entry("openai-chat/**")]
    assert untrue(entries, [PASSED, result()], coverage=coverage) == [(0, "stale")]
    assert untrue(entries, [PASSED, result()]) == [(0, "stale"), (1, "stale"), (2, "stale")]


def test_a_cause_of_an_api_without_cases_matches_nothing():
    entries = [known_cause(), known_cause(api="openai-chat")]
    for selected in (tuple(expand(SUITE[1:], ["whole"], "bytes", 0)), ()):
        assert find_unmatched(entries, builders.catalog(SUITE), selected, 0) == {1}
    known = KnownFailures("known.yaml", (known_cause(api="openai-chat"),))
    (found,) = find_outdated(known, [FAILED], every_path, unmatched=[0], today=TODAY)
    message = "is of an API without cases in the suite: fix `api` or remove the entry"
    assert (found.kind, found.message) == ("unmatched", message)


def test_the_first_part_of_the_id_of_a_question_is_not_its_api():
    assert get_api(result(case="probe/openai-chat/text")) == "openai-chat"


ELSEWHERE = crashed("reset.1", "error.message", "busy", "usage", case="anthropic-messages/text/two")


def test_new_failures_are_listed_by_cause_and_api():
    results = [
        FAILED,
        PASSED,
        result("cr", "fail", "usage.input"),
        result("crlf", "fail", "usage.input", case="openai-chat/text/one"),
        HUNG,
        WARNED,
    ]
    made = amendment([], results)
    assert [(each.key, each.trials, each.example) for each in made] == [
        (("anthropic-messages", "usage-wrong"), 2, FAILED.id),
        (("openai-chat", "usage-wrong"), 1, "openai-chat/text/one@crlf"),
        (("anthropic-messages", "no-answer"), 1, HUNG.id),
    ]
    assert {(each.reason, each.issue, each.line) for each in made} == {("TODO: say why", "TODO", 0)}
    assert untrue(made, results) == []
    assert settled(made, results) == ["known", "pass", "known", "known", "known", "warn"]


def test_under_strict_warnings_are_listed():
    (made,) = amendment([], [WARNED], strict=True)
    assert (made.cause, made.trials) == ("usage-wrong", 1)


def test_a_crash_and_its_faults_are_one_entry_but_not_the_faults_of_other_streams():
    results = [CRASHED, IN_A_FAULT, ELSEWHERE]
    made = amendment([], results)
    assert [(each.cause, each.trials) for each in made] == [(CRASH, 1), (find_root(ELSEWHERE).id, 2)]
    assert untrue(made, results) == []
    (alone,) = amendment([], results[:2])
    assert (alone.cause, alone.trials) == (CRASH, 2)
    # A fault that only raises the same exception is known, but an update lists its own cause.
    assert settled([alone], results) == ["known"] * 3
    assert untrue([alone], results) == [(0, "grown")]
    assert amendment([alone], results) == made


def test_an_update_counts_the_trials_of_causes_and_removes_those_without():
    kept = known_cause(trials=5, reason="kept", expires="2026-01-01")
    gone, elsewhere = known_cause("usage-null"), known_cause(api="openai-chat", trials=9)
    assert amendment([gone, kept, elsewhere, kept], [FAILED, USAGE_AGAIN]) == (
        replace(kept, trials=2),
        elsewhere,
    )
    assert amendment([replace(kept, trials=1)], [FAILED, USAGE_AGAIN]) == (replace(kept, trials=2),)


def test_an_update_of_some_apis_leaves_the_entries_of_others():
    coverage = Coverage(apis=frozenset({"openai-chat"}))
    known = KnownFailures("known.yaml", (known_cause(trials=5), entry("**")))
    found = find_outdated(
        known, [FAILED, PASSED], every_path, unmatched=frozenset(), today=TODAY, coverage=coverage
    )
    change = plan_update(known, [FAILED, PASSED], found, every_path, strict=False, coverage=coverage)
    assert change.empty


def test_a_file_that_is_not_the_home_of_new_failures_gets_none():
    known = KnownFailures("known.yaml", (known_cause("usage-null", trials=2),))
    change = plan_update(known, [FAILED], (), every_path, strict=False, beside=None)
    assert (change.added, change.removed) == ((), {0})


def test_a_pattern_of_another_file_whose_check_passes_lists_no_failure():
    other = KnownFailures("other.yaml", (entry("**:status"),))
    change = plan_update(
        KnownFailures("known.yaml", ()), [FAILED], (), every_path, strict=False, beside=[other]
    )
    assert [each.cause for each in change.added] == ["usage-wrong"]


def test_failures_that_patterns_list_get_no_entry_for_their_cause():
    assert amendment([entry(f"{CASE}@whole")], [FAILED]) == (entry(f"{CASE}@whole"),)
    both = amendment([entry(f"{CASE}@whole")], [FAILED, USAGE_AGAIN])
    assert [each.trials for each in both if isinstance(each, KnownCause)] == [2]


@pytest.mark.parametrize(
    ("entries", "scope", "written"),
    [
        ((), None, {"deliver": "full"}),
        ((entry("b/**"),), None, {"deliver": "full"}),
        ((), {"deliver": "full"}, None),
        ((known_cause("wrong-status"),), None, None),
    ],
)
def test_the_scope_is_written_with_the_first_entry_for_a_cause(entries, scope, written):
    known = KnownFailures("known.yaml", entries, None, scope)
    change = plan_update(known, [FAILED], (), every_path, strict=False, scope={"deliver": "full"})
    assert change.scope == written


def test_an_entry_that_is_too_wide_becomes_those_that_are_not_with_its_reason():
    wide = entry(f"{CASE}@*:usage.*", reason="summed up", issue="a/b#7")
    results = [FAILED, result("crlf"), result("bom", "fail", "usage.input")]
    made = amendment([wide], results)
    assert matches(made) == [(f"{CASE}@whole:usage.*", "fail"), (f"{CASE}@bom:usage.*", "fail")]
    assert {(each.reason, each.issue) for each in made} == {("summed up", "a/b#7")}
    assert untrue(made, results) == []


def test_a_narrowed_entry_lists_a_topic_where_every_case_of_it_fails():
    failing = [
        result(delivery, "fail", "usage.input", case=f"anthropic-messages/{case}")
        for case in ("text/a", "text/b", "tools/a")
        for delivery in ("cut.1", "cut.2")
    ]
    passing = result("cut.1", case="anthropic-messages/tools/b")
    made = amendment([entry("anthropic-messages/**@cut.*", line=5)], [*failing, passing])
    assert [each.match for each in made] == ["anthropic-messages/text/*@**", "anthropic-messages/tools/a@**"]
    assert {each.line for each in made} == {0}
    assert untrue(made, [*failing, passing]) == []


def test_a_narrowed_entry_lists_what_fails_in_every_case_of_a_topic_or_api():
    def narrow(delivery, *cases, wide="**"):
        passing = result("whole", case="openai-chat/text/x")
        failing = [result(delivery, "fail", "status", case=case) for case in cases]
        whole = [result("whole", case=case) for case in cases]
        made = amendment([entry(wide)], [passing, *whole, *failing])
        return [each.match for each in made if isinstance(each, KnownFailure)]

    texts = ("anthropic-messages/text/a", "anthropic-messages/text/b")
    assert narrow("cut.1", *texts) == ["anthropic-messages/**@cut.*"]
    assert narrow("bom", *texts) == ["anthropic-messages/**@bom"]
    assert narrow("cut.1", texts[0], "anthropic-messages/tools/a") == ["anthropic-messages/**@cut.*"]
    assert narrow("cut.1", texts[0]) == [f"{texts[0]}@cut.1"]


def test_a_narrowed_entry_lists_functions_of_a_topic_and_single_trials():
    calls = [
        replace(result("x", verdict, *paths, case=f"common/{case}"), id=f"common/{case}", delivery=None)
        for case, verdict, paths in (
            ("heal/a", "fail", ["output"]),
            ("heal/b", "fail", ["output"]),
            ("tokens/a", "pass", []),
        )
    ]
    assert [each.match for each in amendment([entry("common/**")], calls)] == ["common/heal/*"]
    alone = amendment(
        [entry("anthropic-messages/**")], [FAILED, result("whole", case="anthropic-messages/b/c")]
    )
    assert [each.match for each in alone] == [FAILED.id]


def test_an_update_keeps_valid_entries_and_removes_outdated_ones():
    kept = entry(f"{CASE}@whole", reason="kept")
    made = amendment([entry("gone/**"), kept, entry(f"{CASE}@crlf"), kept], [FAILED, PASSED], missing=[0])
    assert made == (kept,)


def test_a_narrowed_entry_without_a_check_has_no_line_yet():
    (made,) = amendment([entry(line=5)], [FAILED, PASSED])
    assert (made.match, made.line) == (f"{CASE}@whole", 0)


def test_a_listed_warning_is_not_added_again_under_strict():
    assert amendment([entry()], [WARNED], strict=True) == (entry(),)


def test_an_entry_whose_check_is_not_always_made_stays():
    listed = entry("**:content.1.text")
    assert amendment([listed], [result("whole", "fail", "content.1.text"), PASSED]) == (listed,)


def test_an_update_keeps_expired_entries():
    old = entry(expires="2026-01-01")
    assert amendment([old], [FAILED]) == (old,)


FILE = """\
# at the top
known-failures: 1  # the version
entries:
  # about A
  - match: a/b/one@*
    verdict: fail
    reason: >-
      a long
      story
      # no comment
    issue: a/b#1  # see there

  # about B
  - match: a/b/two@*
    verdict: hang
    reason: "it: waits"
    issue: a/b#2
  -
    match: a/b/three@*
    verdict: fail
    reason: three
    issue: a/b#3
    # of three
# at the end
"""
NEW = known_cause("lost", 12, "a", reason="TODO: say why", issue="TODO", example="a/b/c@as-is")
NEW_TEXT = """\
  - cause: lost
    api: a
    trials: 12
    reason: 'TODO: say why'
    issue: TODO
    example: a/b/c@as-is
"""
NARROW = entry("a/b/two@cr")
NARROW_TEXT = """\
  - match: a/b/two@cr
    verdict: fail
    reason: not mended
    issue: a/b#1
"""


def amend(text, removed=(), narrowed=None, added=(), counted=None, scope=None):
    change = Amendment(frozenset(removed), narrowed or {}, counted or {}, tuple(added), scope)
    return apply_amendment(text.encode(), "known.yaml", change).decode()


def cut(text, start, end):
    lines = text.splitlines(keepends=True)
    return "".join(lines[: start - 1] + lines[end:])


@pytest.mark.parametrize(
    ("removed", "lines"), [(0, (5, 11)), (1, (14, 17)), (2, (18, 23))], ids=["first", "second", "last"]
)
def test_removing_an_entry_removes_only_its_lines(removed, lines):
    assert amend(FILE, [removed]) == cut(FILE, *lines)


def test_new_entries_follow_the_last_one():
    assert amend(FILE, added=[NEW]) == FILE.replace("# at the end\n", NEW_TEXT + "# at the end\n")


def test_a_narrowed_entry_replaces_the_wide_one():
    assert amend(FILE, narrowed={1: (NARROW,)}) == cut(FILE, 14, 17).replace(
        "  # about B\n", "  # about B\n" + NARROW_TEXT
    )


COUNTED = """\
known-failures: 1
scope: {deliver: full}
entries:
  - api: openai-chat
    cause: lost  # trials: 2
    reason: "in trials: 3"
    trials: 4  # four
    issue: a#1
  - {cause: lost, api: openai-responses, "trials": 5, reason: "of trials: 5", issue: a#1}
"""


def test_a_new_number_of_trials_changes_nothing_else():
    assert amend(COUNTED, counted={0: 7, 1: 19}) == COUNTED.replace("trials: 4", "trials: 7").replace(
        '"trials": 5', '"trials": 19'
    )


def test_the_scope_of_the_first_numbers_is_written_before_the_entries():
    made = amend(EMPTY, added=[NEW], scope={"deliver": "full", "select": ["a/**"]})
    scope = "scope:\n  deliver: full\n  select:\n  - a/**\n"
    assert made == EMPTY.replace("entries: []\n", f"{scope}entries:\n{NEW_TEXT}")
    assert parse_document(parse(made.encode(), "k")).scope == {"deliver": "full", "select": ["a/**"]}


def test_a_list_without_entries_is_still_a_list():
    made = amend(FILE, [0, 1, 2])
    assert "entries: []\n" in made
    assert "  # about A\n" in made
    assert amend(made, added=[NEW]).count(NEW_TEXT) == 1


def test_a_new_file_has_a_header():
    made = amend(EMPTY, added=[NEW])
    assert made.endswith(f"entries:\n{NEW_TEXT}")
    assert made.startswith("# ")
    assert parse_document(parse(EMPTY.encode(), "known.yaml")).entries == ()


@pytest.mark.parametrize("end", ["", "\r\n"], ids=["cut", "whole"])
def test_line_ends_and_indentation_stay_as_they_are(end):
    text = "known-failures: 1\r\nentries:\r\n- {match: a/b/c, verdict: fail, reason: old, issue: a#1}" + end
    added = NEW_TEXT.replace("\n  ", "\n").replace("  - ", "- ", 1).replace("\n", "\r\n")
    assert amend(text, added=[NEW]) == text.removesuffix("\r\n") + "\r\n" + added


@pytest.mark.parametrize(
    ("entries", "line"),
    [
        ("[{match: a/b/c, verdict: fail, reason: old, issue: a#1}]", 2),
        ("\n  [{match: a/b/c, verdict: fail, reason: old, issue: a#1}]", 3),
    ],
)
def test_entries_that_share_a_line_are_rejected(entries, line):
    with pytest.raises(SourceError, match=rf"^known\.yaml:{line}: .*lines of its own"):
        amend(f"known-failures: 1\nentries: {entries}\n", [0])


def test_every_problem_of_a_file_has_its_line():
    entries = "".join(
        f'  - verdict: fail\n    match: "{match}"\n    reason: old\n    issue: a#1\n    expires: "{date_}"\n'
        for match, date_ in (("a@b@c", "2026-02-30"), ("d:e:f", "2026-01-01"))
    )
    with pytest.raises(SourceError) as refused:
        parse_document(parse(f"known-failures: 1\nentries:\n{entries}".encode(), "known.yaml"))
    assert [str(problem) for problem in refused.value.problems] == [
        "known.yaml:4: `a@b@c` matches nothing: an id has only one `@`",
        "known.yaml:7: `2026-02-30` is not a valid date",
        "known.yaml:9: `d:e:f` matches nothing: an id has only one `:`",
    ]


def test_a_parsed_file_has_its_name():
    assert parse_document(parse(EMPTY.encode(), "known.yaml")).path == "known.yaml"


@pytest.mark.parametrize(
    ("keys", "missing"),
    [
        ("match: a", "key `verdict` is missing"),
        ("cause: a, api: b", "key `trials` is missing"),
        ("cause: a, trials: 1", "key `api` is missing"),
        ("cause: a, api: b, trials: 0", "0 is less than the minimum of 1"),
        ("api: b, trials: 1", "key `cause` is missing"),
    ],
)
def test_an_entry_is_for_a_pattern_or_for_a_cause(keys, missing):
    text = f"known-failures: 1\nentries:\n  - {{{keys}, reason: old, issue: a#1}}\n"
    with pytest.raises(SourceError, match=rf"known\.yaml:3: `entries\.0.*`: {missing}$"):
        parse_document(parse(text.encode(), "known.yaml"))


@pytest.mark.parametrize("match", ["a@b@c", "a:b:c"])
def test_a_pattern_that_can_match_nothing_is_refused(match):
    text = f'known-failures: 1\nentries:\n  - {{match: "{match}", verdict: fail, reason: old, issue: a#1}}\n'
    with pytest.raises(SourceError, match=r"known\.yaml:3: .* matches nothing: an id has only one"):
        parse_document(parse(text.encode(), "known.yaml"))


def test_a_new_file_is_for_every_implementation_or_names_one():
    assert create_empty() == EMPTY.encode()
    text = create_empty("peer:ai").decode()
    assert text == EMPTY.replace("known-failures: 1\n", "known-failures: 1\nimplementation: peer:ai\n")
    assert parse_document(parse(text.encode(), "known.yaml")).implementation == "peer:ai"


@pytest.mark.parametrize(
    ("implementation", "impl", "applies"),
    [(None, "mypkg", True), ("mypkg", "mypkg", True), ("mypkg", "other", False)],
)
def test_a_file_applies_to_its_implementation_or_to_every_one(implementation, impl, applies):
    assert KnownFailures("known.yaml", (), implementation).applies_to(impl) is applies


def test_the_problems_of_several_files_are_listed_in_order():
    contexts = [
        KnownFailuresContext(KnownFailures(name, (entry(line=line),)), frozenset(), TODAY)
        for name, line in (("a.yaml", 3), ("b.yaml", 9))
    ]
    outdated = [(OutdatedEntry(0, "stale", "a"),), (OutdatedEntry(0, "unmatched", "b"),)]
    problems = list_problems(contexts, outdated)
    assert [str(problem).partition(": `")[0] for problem in problems] == [
        "a.yaml:3: stale",
        "b.yaml:9: unmatched",
    ]


def test_an_invalid_file_is_reported_with_its_name():
    with pytest.raises(SourceError, match=r"^known\.yaml:"):
        amend("known-failures: 1\nentries: [\n", [0])


def test_new_entries_have_the_line_end_of_the_first_line():
    made = amend(
        "known-failures: 1\r\nentries:\n- {match: a, verdict: fail, reason: old, issue: a#1}\n", added=[NEW]
    )
    assert made.endswith("example: a/b/c@as-is\r\n")


def test_only_the_key_of_the_list_changes_when_the_last_entry_goes():
    head = "known-failures: 1\nentries:  # the entries: below\n"
    text = head + "- {match: a, verdict: fail, reason: old, issue: a#1}\n"
    assert amend(text, [0]) == head.replace("entries:", "entries: []", 1)


def test_an_entry_ends_with_its_last_key_even_if_that_is_not_indented():
    head = "known-failures: 1\nentries:\n"
    text = head + "- {match: a/b/c, verdict: fail, reason: old,\nissue: a#1}\n"
    assert amend(text, [0]) == head.replace("entries:", "entries: []")


def test_an_edit_that_would_break_the_file_is_refused():
    text = "known-failures: 1\nentries:\n- {match: a, verdict: fail, reason: old, issue: a#1\n}\n"
    with pytest.raises(SourceError) as refused:
        amend(text, [0])
    assert str(refused.value) == (
        "known.yaml: cannot be updated as written;"
        " write each entry as `- cause: …` or `- match: …` on lines of its own"
    )


def test_text_that_yaml_cannot_hold_is_reported_with_its_place():
    with pytest.raises(SourceError, match=r"^implementation: "):
        create_empty("\ud800")
    with pytest.raises(SourceError, match=r"^scope: "):
        amend(EMPTY, added=[NEW], scope={"select": ["\ud800"]})
    with pytest.raises(SourceError, match=r"^entries: "):
        amend(FILE, added=[replace(NEW, reason="\ud800")])
