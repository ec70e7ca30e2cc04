"""A claim of which no value was ever compared fails the run, and every report says so."""

from __future__ import annotations

import json

import pytest

TOPIC = "anthropic-messages/usage/**"
THINKING = "anthropic-messages/thinking/**"
ADAPTER = """
from streamconform_reference import adapter as reference


def adapter(run):
    outcome = list(reference(run))[-1]["outcome"]
    {change}
    return outcome


adapter.apis = ["anthropic-messages"]
adapter.capabilities = ["tool_calls", "parallel_tool_calls", "thinking", {claims}]
"""
MISSPELT = 'outcome["usage"] = {"input_tokens": 999999}'
UNSIGNED = 'for block in outcome["content"]: block.pop("signature", None)'
USAGE = "`python:mine.py:adapter` claims `usage`, but none of the "
SIGNATURES = "`python:mine.py:adapter` claims `signatures`, but none of the "
ADVICE = "report it, or leave it out of `capabilities`"
HINT = "`usage.input_tokens`: unknown key; did you mean `input`? ("

KNOWN = """known-failures: 1
entries:
  - match: "{case}@*"
    verdict: fail
    reason: the library drops the usage
    issue: mine#1
"""


def run(project, change, claims, *words):
    made = project.with_file("mine.py", ADAPTER.format(change=change, claims=claims))
    return made.run("run", "-i", "python:mine.py:adapter", "--deliver", "fast", "--faults", "none", *words)


def read_claims(path):
    footer = json.loads(path.read_text().splitlines()[-1])
    return [(claim["capability"], claim["trials"]) for claim in footer.get("claims", [])]


def test_usage_under_the_providers_names_fails_the_run_and_is_explained(project):
    ran = run(project, MISSPELT, '"usage"', "-k", TOPIC)
    assert ran.code == 1, ran.out + ran.err
    assert "usage.input: expected 18451, got null" in ran.out
    assert USAGE in ran.out
    assert ADVICE in ran.out
    assert HINT in ran.out
    assert "1 claim was never compared" in ran.last


def test_usage_that_is_not_claimed_may_have_any_key(project):
    ran = run(project, MISSPELT, '"signatures"', "-k", TOPIC)
    assert ran.code == 0, ran.out + ran.err
    assert HINT in ran.out
    assert "No failures: " in ran.last


def test_a_claim_whose_key_is_never_reported_fails_an_otherwise_green_run(project):
    ran = run(project, UNSIGNED, '"signatures"', "-k", THINKING, "--report", "json=run.json")
    assert ran.code == 1, ran.out + ran.err
    assert SIGNATURES in ran.out
    document = json.loads((project.folder / "run.json").read_text())
    green = [t["id"] for t in document["trials"] if t["verdict"] == "pass" and t.get("uncompared")]
    alone = run(project, UNSIGNED, '"signatures"', "-k", green[0])
    assert alone.code == 1
    assert alone.last.startswith("No failures, but 1 claim was never compared: 1 passed")
    assert read_claims(project.results) == [("signatures", 1)]


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        (UNSIGNED, "anthropic-messages/text/**"),  # no trial expects a signature
        ("pass", THINKING),
    ],
    ids=["nothing-expected", "reported"],
)
def test_a_claim_that_was_compared_or_never_expected_does_not_fail_the_run(project, change, pattern):
    ran = run(project, change, '"signatures"', "-k", pattern)
    assert ran.code == 0, ran.out + ran.err
    assert "claim" not in ran.out
    assert read_claims(project.results) == []


def test_saved_answers_and_merged_shards_have_the_claims_of_the_run(project):
    saved = ("--answers", "answers.jsonl", "--report", "jsonl=run.jsonl")
    assert run(project, UNSIGNED, '"signatures"', "-k", THINKING, *saved).code == 1
    claims = read_claims(project.folder / "run.jsonl")
    assert [name for name, _ in claims] == ["signatures"]
    again = project.run("report", "jsonl=again.jsonl", "--judge", "answers.jsonl", "--exit-code")
    assert again.code == 1, again.err
    assert read_claims(project.folder / "again.jsonl") == claims
    for part in ("1/2", "2/2"):
        report = f"jsonl=shard-{part[0]}.jsonl"
        run(project, UNSIGNED, '"signatures"', "-k", THINKING, "--shard", part, "--report", report)
    merged = project.run("report", "jsonl=all.jsonl", "shard-1.jsonl", "shard-2.jsonl", "--exit-code")
    assert merged.code == 1, merged.err
    assert read_claims(project.folder / "all.jsonl") == claims


def test_a_resumed_run_counts_the_trials_of_the_interrupted_one(project):
    assert run(project, UNSIGNED, '"signatures"', "-k", THINKING).code == 1
    claims = read_claims(project.results)
    lines = project.results.read_text().splitlines(keepends=True)
    trials = [line for line in lines[1:-1] if json.loads(line).get("uncompared")]
    project.results.write_text("".join((lines[0], *trials)))
    # No trial that expects a signature is left.
    ran = project.run("run", "--resume")
    assert ran.code == 1, ran.out + ran.err
    assert SIGNATURES in ran.out
    assert read_claims(project.results) == claims


def test_a_stopped_run_decides_no_claims(project):
    ran = run(project, MISSPELT, '"usage"', "-k", TOPIC, "-x")
    assert ran.code == 1
    assert "never compared" not in ran.out


def test_values_that_are_missing_in_known_failures_are_not_held_against_the_claim(project):
    case = "anthropic-messages/usage/usage-cache-read"
    ran = run(project, 'del outcome["usage"]', '"usage"', "-k", case)
    assert (ran.code, "never compared" in ran.last) == (1, True)
    listed = project.with_file("known.yaml", KNOWN.format(case=case))
    ran = run(listed, 'del outcome["usage"]', '"usage"', "-k", case, "--known-failures", "known.yaml")
    assert ran.code == 0, ran.out + ran.err
    assert "never compared" not in ran.out
