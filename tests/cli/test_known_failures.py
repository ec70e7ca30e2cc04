"""`--known-failures` and `--update-known-failures`, in real runs of a broken parser."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml

from streamconform_dev.checkout import ROOT

from .project import Project

KNOWN = "known.yaml"
RUN = (
    *("run", "-i", "mutant:usage-summed", "--specs", "specs", "--cassettes", str(ROOT / "cassettes")),
    *("--deliver", "fast", "-n", "1"),
)
LISTED = (*RUN, "--known-failures", KNOWN)
UPDATE = (*LISTED, "--update-known-failures")
TRIALS = {"tokens-too-many": 66, "cached-tokens-twice": 2, "usage-wrong": 2}
PLAIN = "anthropic-messages/cost/cost-plain"
TEXT = "anthropic-messages/text/single-text-block"
DAY = """\
known-failures: 1
entries:
  - {match: a/b/c, verdict: fail, reason: old, issue: a#1, expires: "2026-02-30"}
"""
HANGS = """
def adapter(run):
    while True:
        pass


adapter.capabilities = []
"""


@pytest.fixture(scope="module")
def by_cause(tmp_path_factory):
    """The file that an update writes, and the output when it was made."""
    project = suite(Project(tmp_path_factory.mktemp("known")))
    ran = project.run(*UPDATE)
    return (project.folder / KNOWN).read_text("utf-8"), ran


@pytest.fixture(scope="module")
def by_case(tmp_path_factory):
    """A file that lists every failing case of the mutant by a pattern."""
    project = suite(Project(tmp_path_factory.mktemp("cases")))
    project.run(*RUN)
    lines = map(json.loads, project.results.read_text().splitlines())
    cases = dict.fromkeys(line["case"] for line in lines if line.get("verdict") in ("fail", "warn"))
    entry = "  - match: {}@*\n    verdict: fail\n    reason: 'TODO: say why'\n    issue: TODO\n"
    return "known-failures: 1\nentries:\n" + "".join(map(entry.format, cases))


def suite(project):
    """Give a project two topics of the bundled specs as its own, with 35 cases that the mutant fails."""
    home = project.folder / "specs/anthropic-messages"
    home.mkdir(parents=True)
    for topic in ("cost", "usage"):
        shutil.copy(ROOT / f"specs/anthropic-messages/{topic}.yaml", home)
    return project


@pytest.fixture
def own(project):
    return suite(project)


def line_of(text, part):
    return next(number for number, line in enumerate(text.splitlines(), start=1) if part in line)


def wrong(ran):
    """Return the lines of the output that name the file."""
    return [line for line in ran.out.splitlines() if line.startswith(f"{KNOWN}:")]


def mended(project, case):
    """Remove the expectations that the mutant does not meet from a case, so that it passes."""
    path = project.folder / "specs/anthropic-messages/cost.yaml"
    head, id_, rest = path.read_text("utf-8").partition(f"  - id: {case}\n")
    own, end, others = rest.partition("\n  - id: ")
    kept = own.partition("      usage:")[0]
    path.write_text(head + id_ + kept + end + others, "utf-8")


def test_an_update_lists_thirty_five_failing_cases_by_their_three_causes(own, by_cause):
    text, made = by_cause
    assert made.code == 1, "the run that writes the list is judged without it"
    assert f"{KNOWN}: 3 added; replace each `TODO`" in made.err
    keys = [(each["cause"], each["api"], each["trials"]) for each in yaml.safe_load(text)["entries"]]
    assert keys == [(cause, "anthropic-messages", trials) for cause, trials in TRIALS.items()]
    assert "scope:\n  deliver: fast\n" in text
    ran = own.with_file(KNOWN, text).run(*LISTED)
    assert ran.code == 0, ran.out
    assert ran.last.startswith("No new failures: ")
    assert ", 70 known failures in " in ran.last
    assert wrong(ran) == []
    lines = [json.loads(line) for line in own.results.read_text().splitlines()]
    known = [line for line in lines if line.get("verdict") == "known"]
    assert {line["known"] for line in known} == {"TODO: say why"}
    assert "problems" not in lines[-1]
    assert lines[-1]["counts"]["known"] == len(known) == 70


@pytest.mark.parametrize(
    ("listed", "words", "message"),
    [
        (
            70,
            (),
            "stale: `tokens-too-many` of anthropic-messages fails in only 66 of 70 trials: set `trials: 66`",
        ),
        (60, (), "grown: `tokens-too-many` of anthropic-messages fails in 66 trials, but lists 60: "),
        (70, ("-k", "cost-plain"), None),
        (70, ("--shard", "1/2"), None),
        (70, ("-x",), "stale: "),
        (60, ("-k", "anthropic-messages/**"), "grown: "),
        (70, ("--api", "anthropic-messages"), "stale: "),
    ],
    ids=["fewer", "more", "a part", "a shard", "no new failure", "more of a part", "its API"],
)
def test_a_wrong_number_of_trials_fails_the_run_at_its_line(own, by_cause, listed, words, message):
    text = by_cause[0].replace("trials: 66", f"trials: {listed}")
    ran = own.with_file(KNOWN, text).run(*LISTED, *words)
    assert [line.partition(": ")[2][: len(message or "")] for line in wrong(ran)] == (
        [message] if message else []
    )
    assert ran.code == (1 if message else 0)
    assert all(line.startswith(f"{KNOWN}:{line_of(text, 'cause: tokens')}: ") for line in wrong(ran))


def test_the_numbers_of_another_selection_are_not_checked_and_the_report_states_that(own, by_cause):
    text = by_cause[0].replace("trials: 66", "trials: 70")
    ran = own.with_file(KNOWN, text).run(*LISTED, "--faults", "one")
    assert wrong(ran) == []
    note = (
        "its `trials` are not checked: they are for `deliver: fast`, but this run has"
        " `deliver: fast`, `faults: one`"
    )
    assert ran.err == f"{KNOWN}: {note}\n"
    ran = own.run(*UPDATE, "--faults", "one")
    assert ran.code == 2
    assert f"{note}; use the same settings, or change `scope` in the file first" in ran.err
    assert (own.folder / KNOWN).read_text("utf-8") == text


def test_an_update_counts_again_and_keeps_reasons_and_comments(own, by_cause):
    text = (
        by_cause[0]
        .replace("trials: 66", "trials: 70  # many")
        .replace("'TODO: say why'", "summed  # by whom?", 1)
    )
    gone = "  - {cause: usage-null, api: anthropic-messages, trials: 2, reason: old, issue: a#1}\n"
    first, _, rest = text.partition("  - cause: cached-tokens-twice\n")
    without = first + rest.partition("as-is\n")[2]
    ran = own.with_file(KNOWN, without + gone).run(*UPDATE)
    assert ran.code == 1
    assert f"{KNOWN}: 1 added, 1 changed, 1 removed; replace each" in ran.err
    after = (own.folder / KNOWN).read_text("utf-8")
    assert "trials: 66  # many\n    reason: summed  # by whom?\n" in after
    assert "usage-null" not in after
    assert own.with_file(KNOWN, after).run(*UPDATE).code == 0


@pytest.mark.parametrize("place", ["config", "command line"])
def test_an_update_of_some_apis_leaves_the_entries_of_others(own, by_cause, place):
    others = (
        "  - {cause: usage-wrong, api: openai-chat, trials: 9, reason: old, issue: a#1}\n"
        "  - {match: 'openai-*/**@bytewise', verdict: hang, reason: old, issue: a#1}\n"
    )
    shutil.copytree(ROOT / "specs/openai-chat", own.folder / "specs/openai-chat")
    shutil.copy(ROOT / "specs/behavior.yaml", own.folder / "specs")
    project = own.with_file(KNOWN, by_cause[0].partition("  - cause: usage-wrong")[0] + others)
    words = ("--api", "anthropic-messages")
    if place == "config":
        project, words = project.with_file("conform.toml", 'api = "anthropic-messages"\n'), ()
    ran = project.run(*UPDATE, *words)
    assert f"{KNOWN}: 1 added; replace" in ran.err
    assert others in (own.folder / KNOWN).read_text("utf-8")
    again = own.run(*LISTED, *words)
    assert (again.code, wrong(again)) == (0, []), again.out


def test_an_entry_whose_case_passes_now_fails_the_run_at_its_line(own, by_case):
    text = by_case
    project = own.with_file(KNOWN, text)
    mended(project, "cost-plain")
    ran = project.run(*LISTED)
    assert ran.code == 1
    (message,) = wrong(ran)
    assert message.startswith(f"{KNOWN}:{line_of(text, f'{PLAIN}@')}: stale: ")
    assert "remove the entry" in message
    assert ran.last.startswith("No new failures, but 1 known-failures entry is out of date: ")
    assert ", 68 known failures in " in ran.last


def test_an_entry_that_has_expired_fails_the_run_at_its_line(own, by_case):
    text = by_case + '    expires: "2001-01-01"\n'
    ran = own.with_file(KNOWN, text).run(*LISTED)
    assert ran.code == 1
    (message,) = wrong(ran)
    last = max(i for i, line in enumerate(text.splitlines(), start=1) if "- match:" in line)
    assert message.startswith(f"{KNOWN}:{last}: expired: ")
    assert "70 known failures" in ran.last


def test_an_entry_whose_case_was_renamed_fails_the_run_at_its_line(own, by_case):
    text = by_case
    project = own.with_file(KNOWN, text)
    specs = project.folder / "specs/anthropic-messages/cost.yaml"
    specs.write_text(specs.read_text("utf-8").replace("id: cost-plain\n", "id: cost-simple\n"), "utf-8")
    ran = project.run(*LISTED)
    assert ran.code == 1
    (message,) = wrong(ran)
    assert message.startswith(f"{KNOWN}:{line_of(text, f'{PLAIN}@')}: unmatched: ")
    assert ran.last.startswith("Failed: 1 cause, in 2 of ")


def test_a_new_failure_beside_the_known_ones_fails_the_run(own, by_case):
    text = by_case.replace(f"{PLAIN}@*", f"{PLAIN}@bytewise")
    ran = own.with_file(KNOWN, text).run(*LISTED)
    assert ran.code == 1
    assert wrong(ran) == []
    assert ran.last.startswith("Failed: 1 cause, in 1 of 82 trials (69 known failures)")


def test_under_a_filter_only_entries_about_what_is_selected_are_judged(own, by_case):
    ran = own.with_file(KNOWN, by_case).run(*LISTED, "-k", "cost-plain")
    assert (ran.code, wrong(ran)) == (0, [])
    assert "2 known failures" in ran.last


def test_an_update_makes_the_file_true_and_leaves_the_rest_as_it_is(own, by_case):
    """One entry is stale, one too wide, one unmatched, one duplicated, and one missing."""
    first = "  - match: anthropic-messages/cost/cost-plain@*\n"
    head, _, rest = by_case.partition(first)
    entries = rest.split("  - match: ")
    text = (
        head
        + "  # counted twice\n"
        + first
        + entries[0].replace("'TODO: say why'", "summed up  # by whom?")
        + "  # the others\n"
        + "  - match: "
        + "  - match: ".join(entries[1:-1])
        + "  - {match: anthropic-messages/cost/gone@*, verdict: fail, reason: old, issue: a#1}\n"
        + "  - {match: anthropic-messages/cost/cost-plain@*, verdict: fail, reason: old, issue: a#1}\n"
        + "# the end\n"
    )
    project = own.with_file(KNOWN, text)
    mended(project, "cost-cache-read")
    before = project.run(*LISTED)
    kinds = [line.split(": ")[1] for line in wrong(before)]
    assert kinds == ["stale", "unmatched", "duplicate"]
    assert project.run(*UPDATE).code == 1
    after = (project.folder / KNOWN).read_text("utf-8")
    assert "  # counted twice\n" + first in after
    assert "reason: summed up  # by whom?\n" in after
    assert "  # the others\n" in after
    assert after.endswith("# the end\n")
    assert "gone" not in after
    assert after.count("- match:") == 33
    assert after.count("- cause:") == 1
    again = own.with_file(KNOWN, after).run(*LISTED)
    assert again.code == 0, again.out


def test_an_update_that_changes_nothing_leaves_every_byte(own, by_case):
    text = by_case.replace("\n", "\r\n")
    path = own.folder / KNOWN
    path.write_bytes(text.encode())
    ran = own.run(*UPDATE)
    assert ran.code == 0
    assert f"{KNOWN}: up to date" in ran.err
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("-k", "cost-plain"), "`-k`"),
        (("--level", "must"), "`--level`"),
        (("--last-failed",), "`--last-failed`"),
        (("--shard", "1/2"), "`--shard`"),
        (("-x",), "`-x`"),
        (("--maxfail", "3"), "`--maxfail`"),
        (("--budget", "60"), "`--budget`"),
        (("-i", "reference"), f"`{KNOWN}` does not name its implementation"),
        (("-i", "mutant:usage-summed"), "if an implementation is given twice"),
    ],
)
def test_an_update_refuses_to_judge_by_a_part(own, by_case, words, named):
    ran = own.with_file(KNOWN, by_case).run(*UPDATE, *words)
    assert ran.code == 2
    assert named in ran.err
    assert (own.folder / KNOWN).read_text("utf-8") == by_case


def test_an_update_without_a_file_says_which_option_is_missing(own):
    ran = own.run(*RUN, "--update-known-failures")
    assert ran.code == 2
    assert "`--known-failures PATH`" in ran.err


MUTANT = "mutant:usage-summed"
ABOUT = (
    "known-failures: 1\nimplementation: {}\nentries:\n"
    "  - {{match: {}, verdict: fail, reason: old, issue: a#1}}\n"
)


def test_a_folder_has_a_file_for_each_implementation_that_fails(own):
    both = (*RUN, "-i", "reference", "--known-failures", "known")
    made = own.run(*both, "--update-known-failures")
    assert made.code == 1
    assert "known/mutant-usage-summed.yaml: 3 added" in made.err
    assert [path.name for path in (own.folder / "known").iterdir()] == ["mutant-usage-summed.yaml"]
    text = (own.folder / "known/mutant-usage-summed.yaml").read_text("utf-8")
    assert f"known-failures: 1\nimplementation: {MUTANT}\nscope:\n  deliver: fast\nentries:\n" in text
    ran = own.run(*both, "--update-known-failures")
    assert (ran.code, ran.err.count(": up to date")) == (0, 1)
    assert ran.last.startswith("No new failures: ")
    assert "70 known failures" in ran.last


def test_a_file_about_an_implementation_that_is_not_judged_is_not_judged_either(own):
    ran = own.with_file(KNOWN, ABOUT.format("peer:other", "gone/**")).run(
        *RUN[:1], "-i", "reference", *RUN[3:], "--known-failures", KNOWN
    )
    assert (ran.code, wrong(ran)) == (0, []), ran.out


def test_files_stand_beside_each_other_and_each_problem_names_its_own(own, by_case):
    entry = f"  - match: {PLAIN}@*\n"
    before, _, after = by_case.partition(entry)
    rest = before + after.partition("  - match: ")[1] + after.partition("  - match: ")[2]
    general = ABOUT.format("x", f"{PLAIN}@*").replace("implementation: x\n", "")
    project = own.with_file("lists/b.yaml", rest).with_file("lists/a.yaml", general)
    named = ("--known-failures", "lists/a.yaml", "--known-failures", "lists", "--known-failures", "more.yaml")
    project = project.with_file("more.yaml", ABOUT.format(MUTANT, "gone/**"))
    ran = project.run(*RUN, *named)
    assert ran.code == 1
    assert ran.last.startswith("No new failures, but 1 known-failures entry is out of date: ")
    assert ", 70 known failures in " in ran.last
    assert "more.yaml:4: unmatched: " in ran.out
    mended(project, "cost-plain")
    ran = project.run(*RUN, *named)
    assert "lists/a.yaml:3: stale: " in ran.out
    assert "more.yaml:4: unmatched: " in ran.out


def test_an_update_amends_the_file_that_is_about_the_implementation(own):
    text = ABOUT.format(MUTANT, "gone/**")
    general = (
        f"known-failures: 1\nentries:\n  - {{match: {PLAIN}@*, verdict: fail, reason: old, issue: a#1}}\n"
    )
    project = own.with_file("known/mine.yaml", text).with_file("known/all.yaml", general)
    ran = project.run(*RUN, "--known-failures", "known", "--update-known-failures")
    assert "known/mine.yaml: 3 added, 1 removed" in ran.err
    assert "known/all.yaml: up to date" in ran.err
    assert (own.folder / "known/mine.yaml").read_text("utf-8").startswith(text.partition("entries")[0])
    assert sorted(path.name for path in (own.folder / "known").iterdir()) == ["all.yaml", "mine.yaml"]


def test_an_update_refuses_where_no_file_is_about_the_implementation(own):
    ran = own.with_file(KNOWN, ABOUT.format("peer:other", "gone/**")).run(*UPDATE)
    assert ran.code == 2
    assert f"no file applies only to `{MUTANT}`" in ran.err


def test_the_mistakes_of_every_file_of_a_folder_are_reported_at_once(own):
    project = own.with_file("known/a.yaml", DAY).with_file("known/b.yaml", "known-failures: 2\nentries: []\n")
    ran = project.run(*RUN, "--known-failures", "known")
    assert ran.code == 2
    assert "known/a.yaml:3: " in ran.err
    assert "known/b.yaml:1: " in ran.err


def test_the_config_may_name_several(own, by_case):
    project = own.with_file("conform.toml", 'known_failures = ["lists", "more.yaml"]\n')
    project = project.with_file("more.yaml", ABOUT.format("peer:other", "gone/**"))
    assert project.with_file("lists/known.yaml", by_case).run(*RUN).code == 0


def test_the_file_may_stand_in_the_config_relative_to_it(own, by_case):
    project = own.with_file("conform.toml", 'known_failures = "lists/known.yaml"\n')
    assert project.with_file("lists/known.yaml", by_case).run(*RUN).code == 0


def test_a_hang_is_listed_as_one_and_a_message_narrows_it(project):
    made = project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", HANGS)
    entry = f"- {{match: {TEXT}@*, verdict: hang, message: MESSAGE, reason: it waits, issue: a/b#1}}"
    text = f"known-failures: 1\nentries:\n  {entry}\n"
    run = ("run", "-i", "mypkg", "-k", f"{TEXT}@whole", "--timeout", "0.5", "--known-failures", KNOWN)
    fits = made.with_file(KNOWN, text.replace("MESSAGE", "no answer in")).run(*run)
    assert "1 known failure" in fits.last, fits.out + fits.err
    other = made.with_file(KNOWN, text.replace("MESSAGE", "no answer at all")).run(*run)
    assert other.last.startswith("Failed: 1 cause, in 1 of 1 trial (1 timed out); 1 known-failures entry is")
    assert "no longer has `hang` with this message" in other.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("known-failures: 2\nentries: []\n", f"{KNOWN}:1: "),
        ("known-failures: 1\nentries:\n  - match: a\n", f"{KNOWN}:3: "),
        ("known-failures: 1\nentries: []\nmore: 1\n", f"{KNOWN}:3: `more`: unknown key"),
        (DAY, f"{KNOWN}:3: `2026-02-30` is not a valid date"),
        ("entries: &a []\n", "anchors are not allowed"),
    ],
)
def test_a_file_with_mistakes_is_refused_with_their_lines(own, text, message):
    ran = own.with_file(KNOWN, text).run(*LISTED)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def test_a_file_that_is_missing_is_named(own):
    ran = own.run(*LISTED)
    assert ran.code == 2
    assert f"{KNOWN}: cannot be read" in ran.err
