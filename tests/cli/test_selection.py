"""The trials of a run: levels, shards, faults, profiles, and those that failed last."""

from __future__ import annotations

import json
import re

import pytest

from streamconform_dev.checkout import ROOT

TOPIC = "anthropic-messages/cost/**"
ONE = "anthropic-messages/cost/cost-plain"
BROKEN = ("-i", "mutant:usage-summed", "-n", "1")
PROFILE = f"""\
profile: 1
name: small-1
title: Two cases
frozen: true
deliveries: [whole, cr]
faults: none
cases:
  - {ONE}
  - anthropic-messages/cost/cost-cache-read
"""


def listed(project, *words):
    ran = project.run("list", "--trials", *words)
    assert ran.code == 0, ran.err
    return [tuple(line.split()[:2]) for line in ran.out.splitlines()]


def ids(project, *words):
    return [id_ for id_, _ in listed(project, *words)]


def header(project):
    return json.loads(project.results.read_text().splitlines()[0])


@pytest.fixture
def profiled(project):
    """Give a project its own specs with a profile, and the bundled cassettes."""
    text = (ROOT / "specs/anthropic-messages/cost.yaml").read_text("utf-8")
    made = project.with_file("specs/anthropic-messages/cost.yaml", text)
    config = f'specs = "specs"\ncassettes = "{ROOT / "cassettes"}"\n'
    return made.with_file("conform.toml", config).with_file("specs/profiles/small-1.yaml", PROFILE)


def test_a_level_leaves_what_is_as_strict_or_stricter(project):
    words = ("-k", "anthropic-messages/stop-reasons/**", "--deliver", "full", "--faults", "none")
    every = listed(project, *words)
    assert {level for _, level in every} == {"must", "should", "may"}
    for level, kept in (("must", {"must"}), ("should", {"must", "should"})):
        assert listed(project, *words, "--level", level) == [each for each in every if each[1] in kept]
    assert listed(project, *words, "--level", "may") == every


def test_shards_are_disjoint_make_up_the_whole_and_keep_cases_together(project):
    words = ("-k", "anthropic-messages/stop-reasons/**", "--deliver", "fast")
    parts = [ids(project, *words, "--shard", f"{k}/3") for k in (1, 2, 3)]
    cases = [{id_.partition("@")[0] for id_ in part} for part in parts]
    assert sorted(id_ for part in parts for id_ in part) == sorted(ids(project, *words))
    assert all(parts)
    assert sum(map(len, cases)) == len(set().union(*cases))


def test_a_run_of_a_shard_says_so_in_its_results(project):
    assert project.run("run", "-k", TOPIC, "--deliver", "fast", "--shard", "1/2").code == 0
    assert header(project)["selection"]["shard"] == "1/2"


def test_an_empty_shard_runs_nothing(project):
    codes = [project.run("run", "-k", f"{ONE}@whole", "--shard", f"{k}/2").code for k in (1, 2)]
    assert sorted(codes) == [0, 5]


def faults_of(trials):
    return {id_.partition("@")[2] for id_ in trials if "." in id_.partition("@")[2]}


def test_faults_follow_the_deliveries_unless_they_are_requested(project):
    words = ("-k", ONE)
    one, every = (faults_of(ids(project, *words, "--faults", each)) for each in ("one", "all"))
    assert one < every
    assert len({each.partition(".")[0] for each in one}) == len(one)
    assert faults_of(ids(project, *words)) == one
    assert faults_of(ids(project, *words, "--deliver", "full")) == every
    assert faults_of(ids(project, *words, "--deliver", "fast")) == set()
    assert faults_of(ids(project, *words, "--deliver", "full", "--faults", "none")) == set()


def test_a_pattern_may_name_a_fault(profiled):
    project = profiled  # a pattern without an API reads all specs
    wanted = f"{ONE}@cut-after-frame.3"
    assert ids(project, "-k", wanted, "--faults", "all") == [wanted]
    several = ids(project, "-k", f"{ONE}@cut-after-frame.*", "--faults", "all")
    assert wanted in several
    assert all(id_.startswith(f"{ONE}@cut-after-frame.") for id_ in several)
    assert wanted in ids(project, "-k", "frame.3", "--faults", "all")


def test_a_pattern_that_names_a_trial_which_is_not_requested_says_how_to_ask(project):
    ran = project.run("run", "-k", f"{ONE}@cut-after-frame.3", "--faults", "none")
    assert ran.code == 2
    assert f"`-k {ONE}@cut-after-frame.3` matches no trial" in ran.err
    assert "`--deliver full --faults all`" in ran.err


@pytest.mark.parametrize(
    ("trial", "requested"), [(f"{ONE}@error-frame.5", "--faults all"), (f"{ONE}@padding", "--deliver full")]
)
def test_the_line_that_reproduces_a_fault_or_a_rare_delivery_does(project, trial, requested):
    first = project.run("run", *BROKEN, "--strict", "-k", trial, "--deliver", "full")
    assert first.code == 1
    line = re.search(r"reproduce: conform (run [^<]*)", project.run("report", "junit").out)[1]
    assert line == f"run -i mutant:usage-summed -k {trial} {requested}"
    again = project.run(*line.split())
    assert again.code == 1, again.err
    assert again.last.startswith("Failed: 1 cause, in 1 of 1 trial")


def test_last_failed_runs_what_was_unexpected_whatever_else_is_requested(project):
    first = project.run("run", *BROKEN, "-k", ONE, "--deliver", "full")
    count = int(re.match(r"Failed: 1 cause, in (\d+) of ", first.last)[1])
    again = project.run("run", *BROKEN, "--last-failed", "--deliver", "fast")
    assert again.code == 1
    assert again.last.startswith(f"Failed: 1 cause, in {count} of {count} trials")
    mended = project.run("run", "--lf")
    assert mended.last.startswith(f"No failures: {count} passed")
    assert mended.err == ""


def test_where_nothing_failed_last_everything_runs_and_that_is_reported(project):
    words = ("run", "-k", ONE, "--deliver", "fast", "--lf")
    for _ in range(2):
        ran = project.run(*words)
        assert ran.code == 0
        assert ran.last.startswith("No failures: 2 passed")
        assert "no trial failed in the last run" in ran.err


def test_last_failed_reads_the_results_where_they_were_requested(project):
    words = ("run", *BROKEN, "-k", TOPIC, "--deliver", "fast", "--report", "jsonl=mine.jsonl")
    project.run(*words, "-x")
    again = project.run(*words, "--lf")
    assert again.last.startswith("Failed: 1 cause, in 1 of 1 trial")


def test_a_profile_is_its_cases_in_its_deliveries(profiled):
    assert ids(profiled, "--profile", "small-1") == [
        f"anthropic-messages/cost/{name}@{delivery}"
        for name in ("cost-plain", "cost-cache-read")
        for delivery in ("whole", "cr")
    ]
    assert profiled.run("run", "--profile", "small-1").code == 0
    assert header(profiled)["selection"]["profile"] == "small-1"


def test_options_win_over_a_profile_each_for_itself(profiled):
    deliveries = {id_.partition("@")[2] for id_ in ids(profiled, "--profile", "small-1", "--deliver", "fast")}
    assert deliveries == {"as-is", "bytewise"}
    broken = ids(profiled, "--profile", "small-1", "--faults", "one")
    assert faults_of(broken)
    assert {id_.partition("@")[2] for id_ in broken} >= {"whole", "cr"}


def test_a_profile_that_is_requested_wins_over_deliveries_in_the_config(profiled):
    config = profiled.files["conform.toml"] + 'deliver = "fast"\n'
    assert len(ids(profiled.with_file("conform.toml", config), "--profile", "small-1")) == 4
    both = profiled.with_file("conform.toml", config + 'profile = "small-1"\n')
    assert len(ids(both)) == 4
    assert "@as-is" in ids(both)[0]


def test_next_is_what_no_profile_lists(profiled):
    words = ("--deliver", "fast")
    every, rest = ids(profiled, *words), ids(profiled, *words, "--profile", "next")
    small = {id_.partition("@")[0] for id_ in ids(profiled, "--profile", "small-1")}
    assert rest == [id_ for id_ in every if id_.partition("@")[0] not in small]


def test_a_profile_with_mistakes_is_refused_with_their_lines(profiled):
    text = PROFILE.replace("cost-cache-read", "cost-cache-red").replace("name: small-1", "name: small-2")
    made = profiled.with_file("specs/profiles/small-1.yaml", text)
    ran = made.run("run", "--profile", "small-1")
    assert ran.code == 2
    assert "small-1.yaml:2: `name` is `small-2`, but" in ran.err
    assert "small-1.yaml:9: no case `anthropic-messages/cost/cost-cache-red`" in ran.err
    assert "`anthropic-messages/cost/cost-cache-read`" in ran.err
    assert "small-1.yaml:9: no case" in made.run("lint").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--profile", "nosuch"), "no profile `nosuch`"),
        (("--shard", "3/2"), "expected K/N"),
        (("--shard", "half"), "expected K/N"),
        (("--level", "shall"), "'shall' is not one of"),
        (("--faults", "some"), "'some' is not one of"),
        (("--level", "must", "-k", f"{TOPIC}@cr", "--deliver", "full"), "leave no trials"),
    ],
)
def test_a_selection_that_cannot_be_is_one_clear_message(project, words, message):
    ran = project.run("run", *words)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("key", ["deliver", "faults", "level"])
def test_a_wrong_choice_in_the_config_is_reported_like_one_on_the_command_line(project, key):
    ran = project.with_file("conform.toml", f'{key} = "pigeon"\n').run("list")
    assert ran.code == 2
    assert f"`{key}` is `pigeon`; expected one of" in ran.err


def test_a_run_of_a_profile_ends_by_saying_what_the_full_suite_adds(profiled):
    ran = profiled.run("run", "--profile", "small-1")
    total = len({id_.partition("@")[0] for id_ in ids(profiled)})
    assert ran.last == f"small-1: 2 of {total} cases. The full suite adds {total - 2}: conform run"
    assert profiled.run("run", "--profile", "small-1", "-q").out.count("\n") == 1
    assert "full suite" not in profiled.run("run", "--profile", "small-1", "-k", "cache-read").out
    configured = profiled.with_file("conform.toml", profiled.files["conform.toml"] + 'profile = "small-1"\n')
    assert configured.run("run").last.endswith(
        "To run the full suite, remove `profile` from the config file."
    )


def test_a_resumed_run_of_a_profile_ends_like_the_one_that_was_interrupted(project):
    made = project.with_file(
        "mine.py", "def adapter(run):\n    return {}\n\n\nadapter.apis = ['ollama-chat']\n"
    )
    words = ("-i", "python:mine:adapter", "--profile", "core", "-n", "1")
    first = made.run("run", *words, "-x").last
    assert first.endswith(": conform run -i python:mine:adapter")
    for more in ((), words):
        assert made.run("run", "--resume", "-x", *more).last == first
    configured = made.with_file("conform.toml", 'profile = "core"\n')
    assert configured.run("run", "--resume", "-x").last.endswith(
        "To run the full suite, remove `profile` from the config file."
    )


def test_the_share_of_a_profile_counts_the_claimed_apis_only(project):
    made = project.with_file(
        "mine.py", "def adapter(run):\n    return {}\n\n\nadapter.apis = ['ollama-chat']\n"
    )
    words = ("-i", "python:mine:adapter", "--deliver", "fast", "-x", "-n", "1")
    line = made.run("run", *words, "--profile", "core").last
    assert re.fullmatch(
        r"core-[\d.]+: 26 of \d+ cases of ollama-chat\. The full suite adds \d+:"
        r" conform run -i python:mine:adapter",
        line,
    )


def test_the_evidence_of_the_selected_cases_is_listed_in_columns_and_by_kind(project):
    words = ("list", "--api", "ollama-chat", "--evidence")
    every = project.run(*words)
    kinds = [line.split()[0] for line in every.out.splitlines()]
    assert set(kinds) == {"documented", "observed", "reported"}
    assert len({line.index(line.split(maxsplit=3)[3]) for line in every.out.splitlines()}) == 1
    assert every.err == f"{len(kinds)} entries\n"
    observed = project.run(*words, "observed").out.splitlines()
    assert len(observed) == kinds.count("observed")
    assert all(line.startswith("observed") for line in observed)
    cited = json.loads(project.run(*words, "--format", "json").out)
    assert [each["kind"] for each in cited] == kinds
    assert all(case.startswith("ollama-chat/") for each in cited for case in each["cases"])
