"""Loading specs: every mistake is reported at once, each at its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamconform.errors import SelectionError, SourceError
from streamconform.model.leaf import Literally
from streamconform.model.outcome import Usage
from streamconform.suite import cassettes
from streamconform.suite.lint import lint_all, lint_paths
from streamconform.suite.load import Sources, list_spec_files, load

from . import builders

API = builders.ANTHROPIC

GOOD = """\
spec: 1
api: anthropic-messages
topic: text
cases:
  - id: small
    title: A small answer
    cassette: small
    tags: [text]
    sources: [https://docs.example.org]
    expect:
      status: complete
      stop: stop
      content: [{text: hello}]
"""
WITHOUT_EVIDENCE = GOOD + "    level: should\n"
"""A case that strict lint accepts without facts to rest on."""


@pytest.fixture
def sources(tmp_path):
    made = Sources(tmp_path / "specs", tmp_path / "cassettes")
    (made.specs / API).mkdir(parents=True)
    cassettes.save(made.cassettes, builders.cassette())
    return made


def write(sources: Sources, text: str, name: str = f"{API}/text.yaml") -> Path:
    path = sources.specs / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def read_problems(sources: Sources) -> list[tuple[int | None, str]]:
    with pytest.raises(SourceError) as caught:
        load(sources)
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_a_spec_becomes_cases(sources):
    path = write(sources, GOOD.replace("cassette: small", "cassette: small\n    usage_seen: [{input: 3}]"))
    (case,) = load(sources)
    assert (case.id, case.path, case.line) == ("anthropic-messages/text/small", str(path), 5)
    assert case.cassette == builders.cassette()
    assert case.usage_seen == (Usage(input=3),)
    assert (case.level, case.reviewed, case.pricing, case.skip) == ("must", True, None, None)
    assert case.expect.fields["error"] == Literally(None)


MISTAKES = [
    ("unknown-key", "title: A small", "colour: red\n    title: A small", 6, "unknown key `colour`"),
    ("bad-enum", "status: complete", "status: done", 11, '`"done"` is not one of `complete`'),
    ("bad-level", "cassette: small", "cassette: small\n    level: maybe", 8, "is not one of `must`"),
    ("unknown-cassette", "cassette: small", "cassette: nothing", 7, "cassette `nothing` cannot be used"),
    ("bad-regex", "{text: hello}", "{text: {matches: '('}}", 13, "is not a regular expression"),
    ("huge-regex", "{text: hello}", "{text: {matches: 'a{99999999999}'}}", 13, "is not a regular expression"),
    ("wrong-topic", "topic: text", "topic: other", 3, "`topic` is `other` but the file is `text.yaml`"),
    ("wrong-folder", "api: anthropic-messages", "api: ollama-chat", 2, "they must agree"),
    ("no-status", "      status: complete\n", "", 10, "key `status` is missing"),
    ("no-title", "    title: A small answer\n", "", 5, "key `title` is missing"),
    ("number-as-text", "{text: hello}", "{text: 12}", 13, "quote it"),
    ("bad-id", "id: small", "id: Small", 5, "does not match"),
    ("id-with-line-end", "id: small", 'id: "small\\n"', 5, "does not match"),
    ("bad-guard", "tags: [text]", "guards: ['#12']", 8, "does not match"),
    ("two-block-types", "{text: hello}", "{text: a, refusal: b}", 13, "too many properties"),
    ("unknown-block", "{text: hello}", "{image: x}", 13, "unknown key `image`"),
    ("two-matchers", "{text: hello}", "{text: {present: true, any_of: [a]}}", 13, "valid under"),
    ("kind-is-a-matcher", "{text: hello}", "{other: {kind: {present: true}}}", 13, "is not a string"),
    ("unknown-delivery", "tags: [text]", "skip: {deliveries: [slowly], why: it is}", 8, "is not one of"),
    (
        "no-kind",
        "spec: 1",
        "spec: 1\nkind: telepathy",
        2,
        "is not one of `stream`, `document`, `heal`, `partial`",
    ),
    ("unknown-price", "tags: [text]", 'pricing: {input: "1", output: "1", zzz: "1"}', 8, "unknown key `zzz`"),
    (
        "unquoted-price",
        "tags: [text]",
        'pricing: {input: 3.00, output: "1"}',
        8,
        "`3.0` is not a string; quote it",
    ),
    ("float-count", "stop: stop", "stop: stop\n      usage: {input: 5.0}", 13, "is not a integer"),
]


@pytest.mark.parametrize(
    ("old", "new", "line", "says"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES]
)
def test_a_mistake_is_reported_at_its_line(sources, old, new, line, says):
    assert old in GOOD
    write(sources, GOOD.replace(old, new))
    problems = read_problems(sources)
    assert any(at == line and says in message for at, message in problems), problems


def test_three_mistakes_are_three_problems(sources):
    wrong = GOOD.replace("status: complete", "status: done").replace("stop: stop", "stop: halt")
    write(sources, wrong.replace("title: A small answer", "title: 12"))
    assert [line for line, _ in read_problems(sources)] == [6, 11, 12]


def test_every_unknown_key_is_read_problems(sources):
    write(sources, GOOD.replace("tags:", "colour: red\n    size: 3\n    tags:"))
    assert [line for line, _ in read_problems(sources)] == [8, 9]


def test_mistakes_of_several_files_are_reported_together(sources):
    write(sources, "[", f"{API}/a.yaml")
    write(sources, GOOD.replace("topic: text", "topic: x"))
    with pytest.raises(SourceError) as caught:
        load(sources)
    assert [Path(problem.path).name for problem in caught.value.problems] == ["a.yaml", "text.yaml"]


def test_a_duplicate_id_is_reported_with_its_first_line(sources):
    case = GOOD.partition("cases:\n")[2]
    write(sources, GOOD + case)
    assert read_problems(sources) == [(14, "duplicate case `small`, first defined in line 5")]


def test_an_invalid_cassette_is_reported_once_for_all_its_cases(sources):
    (sources.cassettes / API / "small.sse").write_bytes(b"x")
    write(sources, GOOD + GOOD.partition("cases:\n")[2].replace("id: small", "id: again"))
    first, second = (message for _, message in read_problems(sources))
    assert first == "cassette `small` cannot be used"
    assert second.startswith("`small.sse` was changed: its SHA-256 is ")


def test_only_folders_named_like_an_api_are_specs(sources):
    write(sources, "not a spec", "notes/text.yaml")
    path = write(sources, GOOD)
    assert list_spec_files(sources.specs) == [path]


def test_a_missing_folder_is_reported(tmp_path):
    with pytest.raises(SelectionError, match="is not a folder"):
        list_spec_files(tmp_path / "nothing")


def test_lint_finds_nothing_wrong_with_a_good_suite(sources):
    write(sources, WITHOUT_EVIDENCE)
    assert lint_all(sources, strict=True) == (1, [])


def test_lint_reports_unused_cassettes_and_files_without_a_cassette(sources):
    write(sources, GOOD)
    cassettes.save(sources.cassettes, builders.cassette(name="unused"))
    (sources.cassettes / API / "stray.sse").write_bytes(b"")
    said = [problem.message for problem in lint_all(sources, strict=False)[1]]
    assert said == [
        "this file belongs to no cassette: `stray.yaml` is missing",
        "no case uses this cassette; add a case or delete the cassette",
    ]


STRICT = [
    ("draft", "tags: [text]", "tags: [text]\n    reviewed: false", "it is a draft"),
    ("no-sources", "    sources: [https://docs.example.org]\n", "", "neither `evidence` nor `sources`"),
    ("no-tags", "    tags: [text]\n", "", "no `tags`"),
]


@pytest.mark.parametrize(("old", "new", "says"), [row[1:] for row in STRICT], ids=[row[0] for row in STRICT])
def test_strict_lint_rejects_incomplete_drafts(sources, old, new, says):
    path = write(sources, WITHOUT_EVIDENCE.replace(old, new))
    assert lint_all(sources, strict=False) == (1, [])
    (problem,) = lint_all(sources, strict=True)[1]
    assert (problem.path, problem.line) == (str(path), 5)
    assert says in problem.message


def test_lint_of_single_files_reads_specs_and_cassettes(sources, tmp_path):
    spec = write(sources, WITHOUT_EVIDENCE)
    elsewhere = Sources(tmp_path, tmp_path)
    tape = sources.cassettes / API / "small.yaml"
    assert lint_paths([spec, tape], elsewhere, strict=True) == (1, [])
    tape.with_suffix(".sse").unlink()
    found = lint_paths([tape], elsewhere, strict=True)[1]
    assert ["No such file" in each.message for each in found] == [True]
