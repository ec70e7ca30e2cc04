"""What lint reports in addition to loading: single files and folders, and conflicting expectations."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamconform.errors import Problem, SelectionError
from streamconform.suite import cassettes
from streamconform.suite.lint import lint_all, lint_paths
from streamconform.suite.load import Sources
from tests.harness import builders

API = builders.ANTHROPIC
HEAD = f"spec: 1\napi: {API}\ntopic: text\ncases:\n"
CASE = """\
  - id: {id}
    title: A small answer
    cassette: small
    level: should
    tags: [text]
    sources: [https://docs.example.org]
    expect: {{status: complete, stop: stop, content: [{{{content}}}]}}
"""
ROUND_TRIP = f"""\
spec: 1
kind: round_trip
api: {API}
topic: trips
cases:
  - id: trip
    title: A small round trip
    cassettes: [small, small]
    level: should
    tags: [text]
    sources: [https://docs.example.org]
    conversation:
      model: m
      messages: [{{role: user, content: hi}}]
      tools: [{{name: f, parameters: {{}}}}, {{name: g, parameters: {{}}}}]
    results: RESULTS
    expect:
      FIRST
      request: {{must: {{model: m}}}}
      outcome: {{status: complete, stop: stop, content: [SECOND]}}
"""
PULLED_SPEC = f"""\
spec: 1
api: {API}
topic: recorded-x
source: {{name: x, version: "1"}}
cases:
  - id: one
    title: A pulled recording
    cassette: {{file: a.yaml, entry: 1, sha256: "{"0" * 64}"}}
    reviewed: false
    expect: {{status: complete, stop: stop, content: []}}
"""
PROFILE = """\
profile: 1
name: core-1
title: What everybody needs
frozen: false
deliveries: [as-is]
faults: none
cases: [{}]
"""


@pytest.fixture
def sources(tmp_path):
    """Folders with one cassette and one spec."""
    made = Sources(tmp_path / "specs", tmp_path / "cassettes")
    cassettes.save(made.cassettes, builders.cassette())
    write(made, HEAD + CASE.format(id="small", content="text: a"))
    return made


def write(sources: Sources, text: str, name: str = f"{API}/text.yaml") -> Path:
    path = sources.specs / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def lint(sources, *, strict=False):
    return [(problem.line, problem.message) for problem in lint_all(sources, strict=strict)[1]]


CONTENTS = [
    ("literal", "text: a}, {text: b", None),
    ("a-matcher", "text: {prefix_of: a}}, {text: b", "text"),
    ("a-matcher-after", "text: a}, {text: {prefix_of: b}", "text"),
    ("refusals", "refusal: {prefix_of: a}}, {refusal: b", "refusal"),
    ("other-type", "text: {prefix_of: a}}, {refusal: b", None),
    ("thoughts", "thinking: {prefix_of: a}}, {thinking: b", None),
    ("digests", "text: {length: 1, sha256: '" + "0" * 64 + "'}}, {text: b", None),
    ("not-neighbors", "text: {prefix_of: a}}, {thinking: b}, {text: c", None),
    ("signed", "thinking: {signature: s}", "thinking"),
    ("signed-with-text", "thinking: {signature: s, text: ''}", None),
    ("signed-and-redacted", "thinking: {signature: s, redacted: true}", None),
    ("not-signed", "thinking: {redacted: false}", None),
    ("signed-call", "tool_call: {name: f, signature: s}", None),
]
MESSAGES = {
    "text": "adjacent text blocks may be joined; do not use matchers in them",
    "refusal": "adjacent refusal blocks may be joined; do not use matchers in them",
    "thinking": "a thinking block with a `signature` needs a `text`, even if empty",
}


@pytest.mark.parametrize(
    ("content", "problem"), [row[1:] for row in CONTENTS], ids=[row[0] for row in CONTENTS]
)
def test_blocks_that_cannot_be_compared_are_reported_in_every_answer(sources, content, problem):
    write(sources, HEAD + CASE.format(id="small", content=content))
    expected = [] if problem is None else [(5, f"case `{API}/text/small`: {MESSAGES[problem]}")]
    assert lint(sources) == expected
    assert lint_paths([sources.specs / API / "text.yaml"], sources, strict=False) == (
        1,
        [Problem(str(sources.specs / API / "text.yaml"), *each) for each in expected],
    )
    write(sources, HEAD + CASE.format(id="small", content="text: a"))
    trip = ROUND_TRIP.replace("RESULTS", '[{name: f, content: "1"}]')
    for first, second in ((content, "{text: a}"), (None, f"{{{content}}}")):
        status = f"first: {{status: complete, stop: stop, content: [{{{first}}}]}}"
        text = trip.replace("FIRST", status if first else "").replace("SECOND", second)
        write(sources, text, f"{API}/trips.yaml")
        expected = [] if problem is None else [(6, f"case `{API}/trips/trip`: {MESSAGES[problem]}")]
        assert [each for each in lint(sources) if "the results are" not in each[1]] == expected


CALL = "{{tool_call: {{name: {}}}}}"
F, G = '{name: f, content: "1"}', '{name: g, content: "2"}'
NO_TOOL = "there is a result for `h`, but the conversation has no such tool"
RESULTS = [
    ("equal", [CALL.format("f"), CALL.format("g")], [F, G], []),
    ("another-order", [CALL.format("f"), CALL.format("g")], [G, F], []),
    ("twice", [CALL.format("f")] * 2, [F, F], []),
    (
        "not-enough",
        [CALL.format("f")] * 2,
        [F],
        ["the results are for f, but answer 1 calls f, f"],
    ),
    (
        "another",
        [CALL.format("f")],
        [G, F],
        ["the results are for g, f, but answer 1 calls f"],
    ),
    (
        "unknown",
        [CALL.format("f")],
        [F.replace("f", "h")] * 2,
        [NO_TOOL, "the results are for h, h, but answer 1 calls f"],
    ),
    ("provided", [CALL.format("f"), "{tool_call: {name: g, executor: provider}}"], [F], []),
    ("text", ["{text: a}", CALL.format("f")], [F], []),
    ("any-name", [CALL.format("{present: true}")], [F], []),
    ("no-expectation", None, [F, G], []),
]


@pytest.mark.parametrize(
    ("calls", "results", "problems"), [row[1:] for row in RESULTS], ids=[row[0] for row in RESULTS]
)
def test_tool_results_are_of_declared_tools_and_of_the_calls(sources, calls, results, problems):
    first = (
        "" if calls is None else f"first: {{status: complete, stop: tool_use, content: [{', '.join(calls)}]}}"
    )
    text = ROUND_TRIP.replace("FIRST", first).replace("SECOND", "{text: a}")
    path = write(sources, text.replace("RESULTS", f"[{', '.join(results)}]"), f"{API}/trips.yaml")
    expected = [(6, f"case `{API}/trips/trip`: {message}") for message in problems]
    assert lint(sources) == expected
    assert lint_paths([path], sources, strict=True)[0] == 1


def test_a_conversation_without_tools_has_no_results(sources):
    text = ROUND_TRIP.replace("FIRST", "").replace("SECOND", "{text: a}").replace("RESULTS", f"[{F}]")
    lines = [line for line in text.splitlines() if "tools:" not in line]
    write(sources, "\n".join(lines), f"{API}/trips.yaml")
    assert lint(sources) == [(6, f"case `{API}/trips/trip`: {NO_TOOL.replace('`h`', '`f`')}")]


def test_a_profile_names_cases_that_are_not_recorded_elsewhere(sources):
    write(sources, PULLED_SPEC, f"{API}/recorded-x.yaml")
    write(sources, PROFILE.format(f"{API}/text/small"), "profiles/core-1.yaml")
    assert lint_all(sources, strict=False) == (2, [])
    path = write(sources, PROFILE.format(f"{API}/recorded-x/one"), "profiles/core-1.yaml")
    (problem,) = lint_all(sources, strict=False)[1]
    assert (problem.path, problem.line) == (str(path), 7)
    assert problem.message.startswith(f"no case `{API}/recorded-x/one`")


def test_profiles_are_not_checked_against_cases_that_do_not_load(sources):
    write(sources, PROFILE.format(f"{API}/other/small"), "profiles/core-1.yaml")
    write(sources, "spec: 2\n", f"{API}/other.yaml")
    assert {Path(problem.path).name for problem in lint_all(sources, strict=False)[1]} == {"other.yaml"}


def test_pulled_recordings_need_neither_review_nor_tags(sources):
    path = write(sources, PULLED_SPEC, f"{API}/recorded-x.yaml")
    assert lint_all(sources, strict=True) == (2, [])
    assert lint_paths([path], sources, strict=True) == (1, [])


def test_a_draft_after_a_pulled_recording_is_reported(sources):
    write(sources, PULLED_SPEC, f"{API}/recorded-x.yaml")
    draft = CASE.format(id="small", content="text: a") + "    reviewed: false\n"
    write(sources, HEAD + draft)
    (problem,) = lint_all(sources, strict=True)[1]
    assert "it is a draft" in problem.message


STRICT = [
    ("reviewed: true", "evidence: [a]", []),
    ("reviewed: false", "", ["it is a draft (`reviewed: false`); check it against the documentation"]),
    (
        "level: must",
        "",
        ["a `must` without `evidence`; cite the facts that support it, or lower its level to `should`"],
    ),
    ("tags: []", "", ["no `tags`"]),
    ("sources: []", "", ["the expectation has neither `evidence` nor `sources`"]),
    ("sources: []", "evidence: [a]", []),
    ("level: must", "evidence: [a]", []),
]
FACT = '{source: "https://docs.example.org/a#b", says: It is always so., read: 2026-11-23}'
FACTS = f"evidence: 1\nfacts:\n  a: {FACT}\n"


@pytest.mark.parametrize(("change", "evidence", "messages"), STRICT)
def test_finished_cases_are_reviewed_and_have_grounds_and_tags(sources, change, evidence, messages):
    key = change.partition(":")[0]
    lines = CASE.format(id="small", content="text: a").splitlines()
    lines = [line for line in lines if not line.startswith(f"    {key}:")]
    lines[2:2] = [f"    {line}" for line in (change, evidence) if line]
    path = write(sources, HEAD + "\n".join(lines) + "\n")
    if evidence:
        write(sources, FACTS, f"evidence/{API}.yaml")
    expected = [Problem(str(path), 5, f"case `{API}/text/small`: {message}") for message in messages]
    for strict, problems in ((True, expected), (False, [])):
        assert lint_all(sources, strict=strict) == (1, problems)
        for selected in (path, sources.specs):
            assert lint_paths([selected], sources, strict=strict) == (1, problems)


def test_a_fact_that_no_case_names_is_reported_only_for_a_whole_suite(sources):
    path = write(sources, FACTS, f"evidence/{API}.yaml")
    found = lint_all(sources, strict=False)[1]
    assert found == [Problem(str(path), 3, "no case names the fact `a`; delete it or cite it")]
    assert lint_paths([sources.specs / API / "text.yaml"], sources, strict=False) == (1, [])
    cites = "    evidence: [a]\n    expect"
    write(sources, (HEAD + CASE.format(id="small", content="text: a")).replace("    expect", cites))
    assert lint(sources) == []
    write(sources, "spec: 2\n", f"{API}/other.yaml")
    write(sources, HEAD + CASE.format(id="small", content="text: a"))
    assert {Path(problem.path).name for problem in lint_all(sources, strict=False)[1]} == {"other.yaml"}


def test_an_unknown_fact_or_bug_does_not_hide_the_next(sources):
    write(sources, FACTS, f"evidence/{API}.yaml")
    cites = "    evidence: [zzz, ab, a]\n    guards: [o/r#1, o/r#2]\n    expect"
    path = write(sources, (HEAD + CASE.format(id="small", content="text: a")).replace("    expect", cites))
    facts = ["no fact `zzz` in `evidence/`", "no fact `ab` in `evidence/`; did you mean `a`?"]
    bugs = [f"`o/r#{n}` is not in `threads.yaml`; read the thread and add it" for n in (1, 2)]
    for strict, messages in ((False, facts), (True, facts + bugs)):
        expected = [Problem(str(path), 5, f"case `{API}/text/small`: {message}") for message in messages]
        assert lint_all(sources, strict=strict) == lint_paths([path], sources, strict=strict) == (1, expected)


@pytest.mark.parametrize(
    ("facts", "hint"),
    [
        (["abx"], "; did you mean `abx`?"),
        (["a", "abxy", "abcde", "ab"], "; did you mean `abcde`, `ab`?"),
        (["axyz"], ""),
    ],
)
def test_up_to_three_similar_facts_are_suggested(sources, facts, hint):
    entries = "".join(f"  {name}: {FACT}\n" for name in facts)
    write(sources, f"evidence: 1\nfacts:\n{entries}", f"evidence/{API}.yaml")
    case = CASE.format(id="small", content="text: a") + "    evidence: [abc]\n"
    path = write(sources, HEAD + case)
    assert lint_paths([path], sources, strict=False) == (
        1,
        [Problem(str(path), 5, f"case `{API}/text/small`: no fact `abc` in `evidence/`{hint}")],
    )


def test_evidence_that_cannot_be_read_does_not_hide_that_of_the_next_api(sources):
    write(sources, "evidence: 2\nfacts: {}\n", f"evidence/{API}.yaml")
    write(sources, "evidence: 2\nfacts: {}\n", "evidence/openai-chat.yaml")
    cassettes.save(sources.cassettes, builders.cassette(api="openai-chat"))
    spec = HEAD + CASE.format(id="small", content="text: a")
    write(sources, spec.replace(API, "openai-chat"), "openai-chat/text.yaml")
    files = [Path(problem.path).name for problem in lint_all(sources, strict=False)[1]]
    assert files == [f"{API}.yaml", "openai-chat.yaml"]


def test_unused_files_are_reported_in_the_order_of_their_names(sources):
    folder = sources.cassettes / "ollama-chat"
    folder.mkdir()
    for name in ("b.yaml", "a.ndjson", "c.twin.json", "b.ndjson"):
        (folder / name).write_bytes(b"")
    (sources.cassettes / "README").write_bytes(b"")
    cassettes.save(sources.cassettes, builders.cassette(name="other", twin=b"{}"))
    unused = "no case uses this cassette; add a case or delete the cassette"
    stray = "this file belongs to no cassette: `{}.yaml` is missing"
    assert lint_all(sources, strict=False)[1] == [
        Problem(str(sources.cassettes / API / "other.yaml"), None, unused),
        Problem(str(folder / "a.ndjson"), None, stray.format("a")),
        Problem(str(folder / "b.yaml"), None, unused),
        Problem(str(folder / "c.twin.json"), None, stray.format("c")),
    ]


def test_all_paths_are_linted_and_their_cases_counted(sources, tmp_path):
    second = write(
        sources,
        HEAD.replace("topic: text", "topic: more") + CASE.format(id="a", content="text: a"),
        f"{API}/more.yaml",
    )
    tape = sources.cassettes / API / "small.yaml"
    elsewhere = Sources(tmp_path / "nowhere", tmp_path / "nowhere")
    assert lint_paths([sources.specs, second, tape, second], elsewhere, strict=True) == (4, [])
    tape.with_suffix(".sse").write_bytes(b"")
    count, problems = lint_paths([tape, second, sources.specs], elsewhere, strict=True)
    assert count == 0
    assert sum("was changed" in problem.message for problem in problems) == 3


def test_a_spec_without_cassettes_beside_it_uses_those_of_the_options(sources, tmp_path):
    spec = tmp_path / "elsewhere/specs" / API / "text.yaml"
    spec.parent.mkdir(parents=True)
    spec.write_text(HEAD + CASE.format(id="small", content="text: a"), "utf-8")
    for path in (spec, spec.parent.parent):
        assert lint_paths([path], sources, strict=False) == (1, [])
    (tmp_path / "elsewhere/cassettes").mkdir()
    for path in (spec, spec.parent.parent):
        assert "no such cassette" in [
            problem.message for problem in lint_paths([path], sources, strict=False)[1]
        ]


def test_a_folder_without_specs_is_an_error(sources, tmp_path):
    with pytest.raises(SelectionError) as raised:
        lint_paths([tmp_path], sources, strict=False)
    assert str(raised.value) == f"no specs in `{tmp_path}`; expected files <api>/<topic>.yaml"
    write(sources, PULLED_SPEC, f"{API}/recorded-x.yaml")
    (sources.specs / API / "text.yaml").unlink()
    assert lint_paths([sources.specs], sources, strict=True)[0] == 1
