"""Loading specs reports all mistakes together, each with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamconform.apis import APIS
from streamconform.errors import SelectionError, SourceError
from streamconform.model.case import NOTHING_EXPECTED, CallCase, Case, RoundTripCase, Skip, Turn
from streamconform.model.leaf import Literally
from streamconform.model.outcome import Usage
from streamconform.suite import cassettes, request_expectation
from streamconform.suite.expectation import parse
from streamconform.suite.lint import lint_all, lint_paths
from streamconform.suite.load import Sources, collect, list_spec_files, load, load_heads

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
"""A case that strict lint accepts without supporting facts."""


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


FULL = """\
    why: It is seldom.
    level: should
    reviewed: false
    evidence: [a-fact]
    guards: [owner/repo#1]
    pricing: {input: "1", output: "2"}
    usage_seen: [{input: 3}, {input: 4, output: 1}]
    models_seen: [m-1]
    seen_in: anthropic-messages/recorded/text
    skip: {deliveries: [recorded, bytewise], faults: [stall], why: It is.}
"""


def test_a_case_has_all_that_its_entry_says(sources):
    path = write(sources, GOOD + FULL)
    (case,) = load(sources)
    assert case == Case(
        id="anthropic-messages/text/small",
        api=API,
        title="A small answer",
        level="should",
        why="It is seldom.",
        reviewed=False,
        tags=frozenset({"text"}),
        evidence=("a-fact",),
        sources=("https://docs.example.org",),
        guards=("owner/repo#1",),
        path=str(path),
        line=5,
        cassette=builders.cassette(),
        expect=case.expect,
        pricing={"input": "1", "output": "2"},
        usage_seen=(Usage(input=3), Usage(input=4, output=1)),
        models_seen=("m-1",),
        seen_in="anthropic-messages/recorded/text",
        skip=Skip("It is.", frozenset({"as-is", "bytewise"}), frozenset({"stall"})),
    )


@pytest.mark.parametrize(
    ("entry", "skip"),
    [
        ("{faults: [stall], why: It is.}", Skip("It is.", faults=frozenset({"stall"}))),
        ("{deliveries: [bytewise], why: It is.}", Skip("It is.", deliveries=frozenset({"bytewise"}))),
    ],
    ids=["only-faults", "only-deliveries"],
)
def test_a_skip_may_name_only_deliveries_or_only_faults(sources, entry, skip):
    write(sources, GOOD + f"    skip: {entry}\n")
    (case,) = load(sources)
    assert case.skip == skip


BARE = """\
spec: 1
{more}topic: {topic}
cases:
  - id: one
    title: A bare case
{entry}"""
RESULTS = '[{name: f, content: "1"}]'
ROUND_TRIP = f"""\
    cassettes: [small, other]
    conversation: {{model: m, messages: [{{role: user, content: hi}}]}}
    results: {RESULTS}
    expect:
      request: {{must: {{model: m}}}}
      outcome: {{status: complete, stop: stop, content: [{{text: a}}]}}
"""
ANSWER = parse({"status": "complete", "stop": "stop", "content": [{"text": "a"}]})


def write_round_trip(sources, entry=ROUND_TRIP):
    cassettes.save(sources.cassettes, builders.cassette(b"data: {}\n\n", name="other"))
    more = f"kind: round_trip\napi: {API}\n"
    return write(sources, BARE.format(more=more, topic="trips", entry=entry), f"{API}/trips.yaml")


@pytest.mark.parametrize(
    ("change", "first", "pricing"),
    [
        (("", ""), NOTHING_EXPECTED, None),
        (
            ("    expect:\n", '    pricing: {input: "1", output: "2"}\n    expect:\n'),
            NOTHING_EXPECTED,
            {"input": "1", "output": "2"},
        ),
        (
            (
                "      outcome",
                "      first: {status: complete, stop: stop, content: [{text: a}]}\n      outcome",
            ),
            ANSWER,
            None,
        ),
    ],
    ids=["bare", "priced", "first"],
)
def test_a_round_trip_has_two_answers_and_the_request_between_them(sources, change, first, pricing):
    path = write_round_trip(sources, ROUND_TRIP.replace(*change, 1))
    head = {"id": f"{API}/trips/one", "api": API, "title": "A bare case", "path": str(path), "line": 6}
    other = builders.cassette(b"data: {}\n\n", name="other")
    assert load(sources) == (
        RoundTripCase(
            answers=(
                Case(cassette=builders.cassette(), expect=first, pricing=pricing, **head),
                Case(cassette=other, expect=ANSWER, pricing=pricing, **head),
            ),
            conversation={"model": "m", "messages": [{"role": "user", "content": "hi"}]},
            turns=(Turn(results=({"name": "f", "content": "1"},)),),
            requests=(request_expectation.parse({"must": {"model": "m"}}),),
            **head,
        ),
    )


@pytest.mark.parametrize("missing", ["small", "other"])
def test_a_round_trip_without_one_of_its_cassettes_is_a_problem_at_its_line(sources, missing):
    write_round_trip(sources)
    (sources.cassettes / API / f"{missing}.yaml").unlink()
    (line, message), (_, reason) = read_problems(sources)
    assert (line, message, reason) == (8, f"cassette `{missing}` cannot be used", "no such cassette")


def test_an_invalid_matcher_in_the_request_of_a_round_trip_is_reported_at_its_line(sources):
    wrong = "{must: {model: m, a: [{b: {matches: '('}}]}, may: {c: {present: 1}}}"
    write_round_trip(sources, ROUND_TRIP.replace("{must: {model: m}}", wrong))
    (line, must), (same_line, may) = read_problems(sources)
    assert (line, must.partition(":")[0]) == (12, "`must.a.0.b`")
    assert (same_line, may.partition(":")[0]) == (12, "`may.c`")


def test_a_request_and_a_function_without_an_api_become_calls(sources):
    conversation = "    conversation: {model: m, messages: [{role: user, content: hi}]}\n"
    entry = f"{conversation}    expect: {{must: {{model: m}}}}\n"
    more = f"kind: request\napi: {API}\n"
    request_path = write(
        sources, BARE.format(more=more, topic="requests", entry=entry), f"{API}/requests.yaml"
    )
    entry = '    input: "{"\n    expect: {output: {}}\n'
    path = write(
        sources, BARE.format(more="kind: partial\n", topic="partial", entry=entry), "common/partial.yaml"
    )
    head = {"title": "A bare case"}
    request, partial = load(sources)
    assert request == CallCase(
        id=f"{API}/requests/one",
        api=API,
        kind="request",
        input={"model": "m", "messages": [{"role": "user", "content": "hi"}]},
        expect=request_expectation.parse({"must": {"model": "m"}}),
        path=str(request_path),
        line=6,
        **head,
    )
    assert partial == CallCase(
        id="common/partial/one",
        api=None,
        kind="partial",
        input="{",
        expect=Literally({}),
        path=str(path),
        line=5,
        **head,
    )
    (head_of_partial,) = load_heads(sources, [path], ["common/partial/one"])
    assert (head_of_partial.api, head_of_partial.id, head_of_partial.line) == (None, partial.id, 5)


def test_specs_without_an_api_are_in_the_common_folder(sources):
    entry = '    input: "{"\n    expect: {output: {}}\n'
    write(sources, BARE.format(more="kind: partial\n", topic="text", entry=entry))
    assert read_problems(sources) == [
        (2, f"specs of kind `partial` belong to no API; move the file from `{API}` to `common`")
    ]


def test_files_come_in_the_order_of_the_apis_with_the_common_ones_at_the_end(sources):
    names = [f"{API}/b.yaml", f"{API}/a.yaml", "common/a.yaml", "ollama-chat/a.yaml", "openai-chat/a.yaml"]
    for name in names:
        write(sources, "", name)
    found = [str(path.relative_to(sources.specs)) for path in list_spec_files(sources.specs)]
    in_order = [api for api in (*APIS, "common") if any(name.startswith(f"{api}/") for name in names)]
    assert [*dict.fromkeys(name.partition("/")[0] for name in found)] == in_order
    assert [name for name in found if name.startswith(API)] == [f"{API}/a.yaml", f"{API}/b.yaml"]
    assert sorted(found) == sorted(names)


def test_only_the_chosen_cases_are_loaded_and_only_their_cassettes_are_read(sources):
    again = (
        GOOD.partition("cases:\n")[2]
        .replace("id: small", "id: again")
        .replace("cassette: small", "cassette: none")
    )
    path = write(sources, GOOD + again)
    (case,) = load(sources, [path], ["anthropic-messages/text/small", "anthropic-messages/text/other"])
    assert case.id == "anthropic-messages/text/small"
    loaded = collect(sources, [path], ["anthropic-messages/text/again"])
    assert loaded.used == {(API, "none")}
    assert [problem.line for problem in loaded.problems] == [16, None]


MISTAKES = [
    ("unknown-key", "title: A small", "colour: red\n    title: A small", 6, "unknown key `colour`"),
    ("bad-enum", "status: complete", "status: done", 11, '`"done"` is not one of `complete`'),
    ("bad-level", "cassette: small", "cassette: small\n    level: maybe", 8, "is not one of `must`"),
    ("unknown-cassette", "cassette: small", "cassette: nothing", 7, "cassette `nothing` cannot be used"),
    ("bad-regex", "{text: hello}", "{text: {matches: '('}}", 13, "is not a regular expression"),
    ("huge-regex", "{text: hello}", "{text: {matches: 'a{99999999999}'}}", 13, "is not a regular expression"),
    ("wrong-topic", "topic: text", "topic: other", 3, "`topic` is `other`, but the file is `text.yaml`"),
    ("wrong-folder", "api: anthropic-messages", "api: ollama-chat", 2, "they must match"),
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
    ("float-count", "stop: stop", "stop: stop\n      usage: {input: 5.0}", 13, "is not an integer"),
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


@pytest.mark.parametrize(
    ("start", "first_line", "line"),
    [
        ("- id: small\n    title: A small answer", 5, 14),
        ("- title: A small answer\n    id: small", 6, 15),
    ],
    ids=["id-first", "title-first"],
)
def test_a_duplicate_id_is_reported_with_its_first_line(sources, start, first_line, line):
    spec = GOOD.replace("- id: small\n    title: A small answer", start)
    write(sources, spec + spec.partition("cases:\n")[2])
    assert read_problems(sources) == [(line, f"duplicate case `small`, first defined on line {first_line}")]


def test_an_invalid_cassette_is_reported_once_for_all_its_cases(sources):
    (sources.cassettes / API / "small.sse").write_bytes(b"x")
    write(sources, GOOD + GOOD.partition("cases:\n")[2].replace("id: small", "id: again"))
    first, second = (message for _, message in read_problems(sources))
    assert first == "cassette `small` cannot be used"
    assert second.startswith("`small.sse` was changed: its SHA-256 is ")


def test_every_missing_cassette_is_reported_at_the_line_of_its_case(sources):
    case = GOOD.partition("cases:\n")[2]
    others = [case.replace("small\n", f"{name}\n") for name in ("second", "third")]
    write(sources, GOOD + "".join(others))
    assert read_problems(sources) == [
        (16, "cassette `second` cannot be used"),
        (None, "no such cassette"),
        (25, "cassette `third` cannot be used"),
        (None, "no such cassette"),
    ]


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
    messages = [problem.message for problem in lint_all(sources, strict=False)[1]]
    assert messages == [
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
