"""The shapes of streams: how they are read, and what lint reports about authored streams."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from streamconform.errors import Problem, SourceError
from streamconform.model.cassette import Derived, Pulled
from streamconform.suite.lint_shapes import lint_shapes, read_form
from streamconform.suite.load import LoadResult, Sources, list_spec_files, load
from streamconform.suite.pulled import make_placeholder
from streamconform.suite.shapes import (
    DOCUMENTED,
    MAX_DEPTH,
    ORDER,
    Explanation,
    Known,
    Shape,
    read_ending,
    read_known,
    read_shapes,
)
from tests.bundled_suite import SOURCES
from tests.harness import builders

API = "anthropic-messages"
PULLED = Pulled("source 1.0", "tests/text.yaml", 1)
EXPLAINED = "shapes: 1\napi: anthropic-messages\nexplained: []\n"


def make(*payloads):
    return builders.cassette(builders.sse_body(payloads))


def test_fields_have_paths_with_the_types_of_objects():
    shapes = read_shapes(make({"type": "delta", "block": {"type": "text", "text": "a", "n": [1, None]}}))
    assert {str(shape) for shape in shapes} == {
        "delta type string",
        "delta block<text> object",
        "delta block<text>.type string",
        "delta block<text>.text string",
        "delta block<text>.n array",
        "delta block<text>.n[] number",
        "delta block<text>.n[] null",
    }


def test_each_word_of_a_member_that_has_words_is_a_shape():
    shapes = read_shapes(make({"type": "end", "status": "done", "note": "done", "reason": "it broke"}))
    assert {str(shape) for shape in shapes if shape.type.startswith("=")} == {"end status = done"}


def test_what_a_program_or_a_user_chose_is_no_shape():
    shapes = read_shapes(make({"type": "call", "arguments": {"city": "Paris"}}))
    assert {str(shape) for shape in shapes} == {"call type string", "call arguments object"}


def test_order_is_one_event_after_another_of_another_name():
    shapes = read_shapes(make({"type": "a"}, {"type": "a"}, {"type": "b"}, {"type": "a"}))
    assert {shape for shape in shapes if shape.type == ORDER} == {
        Shape("a", "b", ORDER),
        Shape("b", "a", ORDER),
    }


@pytest.mark.parametrize(
    ("payload", "event"),
    [
        ({"type": "a", "event_type": "b"}, "a"),
        ({"type": 1, "event_type": "b"}, "b"),
        ({"event_type": "b"}, "b"),
        ({"x": 1}, "named"),
    ],
)
def test_an_event_is_named_by_its_payload_or_else_by_its_frame(payload, event):
    body = f"event: named\ndata: {json.dumps(payload)}\n\n".encode()
    assert {shape.event for shape in read_shapes(builders.cassette(body))} == {event}
    nameless = json.dumps(payload).encode()
    shapes = read_shapes(builders.cassette(b"data: " + nameless + b"\n\n"))
    assert {shape.event for shape in shapes} == {"chunk" if event == "named" else event}


def test_frames_without_an_object_have_no_shapes_and_no_order():
    frames = ['{"type": "a"}', "[DONE]", "[1]", "[" * 100_000, '{"type": "b"}']
    body = "".join(f"data: {frame}\n\n" for frame in frames).encode()
    assert {str(shape) for shape in read_shapes(builders.cassette(body))} == {
        "a type string",
        "b type string",
        "a > b",
    }


def chat(*payloads):
    body = "".join(f"data: {json.dumps(payload)}\n\n" for payload in payloads).encode()
    return builders.cassette(body, api="openai-chat")


def choices(*given):
    return [{"choices": [{"index": 0, **choice}]} for choice in given]


@pytest.mark.parametrize(
    ("given", "ending"),
    [
        (
            [{"delta": {"role": "assistant", "content": "a"}}, {"delta": {}, "finish_reason": "stop"}],
            "content ends with stop",
        ),
        (
            [
                {"delta": {"content": "a"}},
                {"delta": {"content": "", "tool_calls": [{}]}, "finish_reason": "tool_calls"},
            ],
            "tool_calls ends with tool_calls",
        ),
        (
            [{"delta": {"audio": {"data": "AA"}}}, {"delta": {"audio": {"expires_at": 1}}}],
            "audio ends with nothing",
        ),
        ([{"delta": {}, "finish_reason": "stop"}], "nothing ends with stop"),
        ([{"delta": {"content": "a"}}], None),
    ],
)
def test_an_ending_is_the_last_kind_of_content_and_the_word_that_ended_the_answer(given, ending):
    shape = read_ending(chat(*choices(*given)))
    assert ending == (shape and str(shape))


def test_an_error_is_no_ending():
    assert read_ending(chat(*choices({"delta": {"content": "a"}}), {"error": {"message": "m"}})) is None


def test_audio_that_ends_as_no_real_stream_does_is_reported():
    """The suite once had such a stream: audio that ended with a reason, which OpenAI never sends."""
    known = read_known(SOURCES.specs, "openai-chat")
    audio = choices({"delta": {"audio": {"data": "AA"}}}, {"delta": {}, "finish_reason": "stop"})
    invented = read_ending(chat(*audio))
    assert invented not in known.origins
    (explanation,) = [each for each in known.explanations if each.explains(invented)]
    assert explanation.facts == ()


def test_values_deeper_than_the_bound_have_no_shapes():
    value = {"a": 1}
    for _ in range(20):
        value = {"a": value}
    in_lists = 1
    for _ in range(20):
        in_lists = [in_lists]
    paths = {shape.path for shape in read_shapes(make({"type": "x", "m": value, "n": in_lists}))}
    assert max(path.count(".") for path in paths) == MAX_DEPTH
    assert max(path.count("[]") for path in paths) == MAX_DEPTH


@pytest.mark.parametrize(
    ("member", "value", "paths"),
    [
        ("status", "a.b-c_1", {"status string", "status = a.b-c_1"}),
        ("status", "a" * 60, {"status string", f"status = {'a' * 60}"}),
        ("status", "a" * 61, {"status string"}),
        ("status", "two words", {"status string"}),
        ("status", 1.5, {"status number"}),
        ("status", True, {"status boolean"}),
        ("arguments", ["a"], {"arguments array", "arguments[] string"}),
        (
            "list",
            [{"type": "t", "a": [[{}]]}],
            {
                "list array",
                "list[]<t> object",
                "list[]<t>.type string",
                "list[]<t>.a array",
                "list[]<t>.a[] array",
                "list[]<t>.a[][] object",
            },
        ),
    ],
)
def test_a_member_has_its_type_and_a_word_its_value(member, value, paths):
    shapes = read_shapes(make({"type": "x", member: value}))
    assert {str(shape).removeprefix("x ") for shape in shapes} == paths | {"type string"}


def test_known_shapes_have_their_origins_and_explanations_their_lines(specs):
    text = EXPLAINED.replace(
        "[]",
        '\n  - at: ["a b *", "c > *"]\n    evidence: [f]\n  - at: ["x.y number"]\n    why: It is so here.',
    )
    shapes = {Shape("a", "b", "string"), Shape("a", "b", "null"), Shape("a", "c", ORDER)}
    sources = specs(shapes, text)
    path = str(sources.specs / "shapes" / f"{API}.yaml")
    first, second = (
        Explanation(("a b *", "c > *"), ("f",), path, 4),
        Explanation(("x.y number",), (), path, 6),
    )
    assert read_known(sources.specs, API) == Known(dict.fromkeys(shapes, "somewhere"), (first, second))
    matched = (Shape("a", "b", "= w"), Shape("c", "d", ORDER), Shape("x.y", "number", "string"))
    assert [first.explains(shape) for shape in matched] == [True, True, False]
    assert second.explains(Shape("x", "y", "number")) is False  # a dot in a pattern matches only a dot
    assert not first.explains(Shape("xa", "b", "null"))


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        (f"{API}.json", None, None, "no known shapes ("),
        (f"{API}.json", "{", None, "no known shapes ("),
        (
            f"{API}.json",
            "{}",
            None,
            "('events'); `python -m streamconform_dev.corpus.write_shapes` writes it",
        ),
        (f"{API}.yaml", EXPLAINED.replace("shapes: 1", "shapes: 2"), 1, "expected `1`, got `2`"),
    ],
)
def test_damaged_files_of_shapes_are_reported(specs, name, content, line, message):
    sources = specs(set())
    path = sources.specs / "shapes" / name
    path.unlink()
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(SourceError) as raised:
        read_known(sources.specs, API)
    (problem,) = raised.value.problems
    assert (problem.path, problem.line) == (str(path), line)
    assert message in problem.message


def test_the_bundled_streams_have_only_known_shapes():
    cases = load(SOURCES, list_spec_files(SOURCES.specs, recorded=True))
    report = lint_shapes(SOURCES, LoadResult(cases=[*cases]))
    assert report.problems == ()
    assert set(report.streams) == {"seen", "documented", "explained"}


@pytest.fixture
def specs(tmp_path):
    """Return a function that writes known shapes and explanations, and returns the folders."""

    def write(shapes, explained=EXPLAINED, origin="somewhere"):
        folder = tmp_path / "specs" / "shapes"
        folder.mkdir(parents=True, exist_ok=True)
        events = {}
        for shape in shapes:
            events.setdefault(shape.event, {}).setdefault(shape.path, {})[shape.type] = origin
        (folder / f"{API}.json").write_text(json.dumps({"events": events}), "utf-8")
        (folder / f"{API}.yaml").write_text(explained, "utf-8")
        return Sources(tmp_path / "specs", tmp_path / "cassettes")

    return write


def find_problems(sources, *cases):
    report = lint_shapes(sources, LoadResult(cases=list(cases)))
    return [problem.message for problem in report.problems]


def test_a_field_that_no_real_stream_has_is_reported(specs):
    case = builders.case()
    shapes = read_form(case.cassette)
    assert find_problems(specs(shapes), case) == []
    unknown = Shape("message_stop", "type", "string")
    (message,) = find_problems(specs(shapes - {unknown}), case)
    assert "`message_stop type string`" in message
    assert "correct the stream, or explain it in" in message


def test_an_explanation_covers_shapes_and_must_be_needed(specs):
    case = builders.case()
    shapes = read_form(case.cassette) - {Shape("message_stop", "type", "string")}
    text = EXPLAINED.replace("[]", '\n  - at: ["message_stop *"]\n    why: A reason of some length.')
    assert find_problems(specs(shapes, text), case) == []
    (message,) = find_problems(specs(read_form(case.cassette), text), case)
    assert message == "no authored stream has the shape that this entry explains; delete the entry"


def test_an_explanation_that_only_one_stream_needs_is_not_reported(specs):
    case = builders.case()
    shapes = read_form(case.cassette) - {Shape("message_stop", "type", "string")}
    other = replace(make({"type": "extra"}), name="other")
    entry = '\n  - at: ["{} *"]\n    why: A reason of some length.'
    entries = entry.format("message_stop") + entry.format("extra")
    sources = specs(shapes, EXPLAINED.replace("[]", entries))
    assert find_problems(sources, case, replace(case, id=f"{API}/text/other", cassette=other)) == []


def test_an_explanation_cites_facts_that_exist(specs):
    case = builders.case()
    shapes = read_form(case.cassette) - {Shape("message_stop", "type", "string")}
    text = EXPLAINED.replace("[]", '\n  - at: ["message_stop *"]\n    evidence: [stop-has-a-type]')
    sources = specs(shapes, text)
    assert find_problems(sources, case) == ["no fact `stop-has-a-type` in the evidence of anthropic-messages"]
    evidence = sources.specs / "evidence" / f"{API}.yaml"
    evidence.parent.mkdir()
    fact = '{source: "https://docs.example.org/a#b", says: It is always so., read: 2026-11-23}'
    evidence.write_text(f"evidence: 1\nfacts:\n  stop-has-a-type: {fact}\n", "utf-8")
    assert find_problems(sources, case) == []


def test_a_counterpart_is_a_real_stream_with_every_field(specs):
    case = replace(builders.case(), seen_in=f"{API}/recorded-source/text")
    sources = specs(read_form(case.cassette))
    (message,) = find_problems(sources, case)
    assert "no case `anthropic-messages/recorded-source/text` about a real stream" in message
    pulled = replace(case.cassette, provenance=PULLED)
    real = replace(builders.case(), id=case.seen_in, cassette=pulled)
    assert find_problems(sources, case, real) == []
    shorter = replace(real, cassette=replace(pulled, body=pulled.body[: len(pulled.body) // 2]))
    (message,) = find_problems(sources, case, shorter)
    assert f"`{case.seen_in}` has no `" in message
    absent = replace(real, cassette=replace(pulled, body=b""))
    assert find_problems(sources, case, absent) == []


@pytest.mark.parametrize(
    ("fields", "missing"),
    [({"x": 1, "y": 1}, None), ({"x": 1}, "b y number"), ({}, "b x number")],
    ids=["only-order-differs", "one-field", "two-fields"],
)
def test_the_first_missing_field_of_a_counterpart_is_reported(specs, fields, missing):
    authored = make({"type": "b", "x": 1, "y": 1}, {"type": "a"})
    case = replace(builders.case(), cassette=authored, seen_in=f"{API}/r/one")
    pulled = replace(make({"type": "a"}, {"type": "b", **fields}), provenance=PULLED)
    real = replace(case, id=case.seen_in, cassette=pulled, seen_in=None)
    message = f"`{real.id}` has no `{missing}`; choose another one, or leave it out"
    assert find_problems(specs(read_form(authored)), case, real) == (
        [f"case `{case.id}`: `seen_in`: {message}"] if missing else []
    )


@pytest.mark.parametrize("seen_in", [None, f"{API}/r/one", f"{API}/r/absent"])
def test_every_case_is_compared_with_its_own_counterpart(specs, seen_in):
    case = replace(builders.case(), seen_in=seen_in)
    pulled = replace(case.cassette, provenance=PULLED)
    real = replace(case, id=f"{API}/r/one", cassette=pulled, seen_in=None)
    absent = replace(real, id=f"{API}/r/absent", cassette=make_placeholder(API, "absent", PULLED))
    wrong = replace(case, id=f"{API}/text/wrong", seen_in=f"{API}/r/unknown")
    (message,) = find_problems(specs(read_form(case.cassette)), case, wrong, real, absent)
    assert message.startswith(f"case `{wrong.id}`: `seen_in`: {API} has no case `{API}/r/unknown`")


def test_recordings_that_were_not_pulled_need_no_known_shapes(tmp_path):
    absent = replace(builders.case(), cassette=make_placeholder(API, "absent", PULLED))
    report = lint_shapes(Sources(tmp_path, tmp_path), LoadResult(cases=[absent]))
    assert (report.problems, report.streams) == ((), {})


TWICE = '\n  - at: ["message_st* type *"]\n    why: It is so everywhere.'


@pytest.mark.parametrize(
    ("missing", "origin", "explained", "ground"),
    [
        ((), "somewhere", "[]", "seen"),
        ((), DOCUMENTED, "[]", "documented"),
        ((Shape("message_stop", "type", "string"),), DOCUMENTED, TWICE, "explained"),
        (
            (Shape("message_stop", "type", "string"), Shape("message_delta", "delta", "object")),
            "x",
            TWICE,
            "unknown",
        ),
    ],
)
def test_streams_are_counted_by_the_weakest_ground(specs, missing, origin, explained, ground):
    case = builders.case()
    again = replace(case, id=f"{API}/text/again")
    other = replace(case.cassette, name="other")
    sources = specs(read_form(case.cassette) - {*missing}, EXPLAINED.replace("[]", explained), origin)
    cases = [
        case,
        again,
        replace(again, cassette=other),
        replace(again, cassette=replace(other, provenance=Derived("small", "cut"))),
        builders.call().case,
        replace(again, cassette=replace(other, name="document", body=b"{}", status=500)),
    ]
    report = lint_shapes(sources, LoadResult(cases=cases))
    assert report.streams == {ground: 2}
    paths = [str(sources.cassettes / API / f"{name}.yaml") for name in ("small", "other")]
    unknown = [problem for problem in report.problems if "no real stream" in problem.message]
    assert [(problem.path, problem.line) for problem in unknown] == (
        [(path, None) for path in paths] if ground == "unknown" else []
    )
    assert len(report.problems) == len(unknown)


@pytest.mark.parametrize(("count", "more"), [(3, ""), (4, " and 1 more"), (5, " and 2 more")])
def test_three_unknown_shapes_are_listed_and_the_others_counted(specs, count, more):
    case = builders.case()
    unknown = sorted(read_form(case.cassette))[:count]
    sources = specs(read_form(case.cassette) - {*unknown})
    (message,) = find_problems(sources, case)
    listed = ", ".join(f"`{shape}`" for shape in unknown[:3])
    assert f"no real stream or official type has {listed}{more}; correct the stream" in message
    assert message.endswith(f"or explain it in `{sources.specs / 'shapes' / API}.yaml`")


def test_apis_are_checked_with_their_own_shapes_in_the_order_of_their_names(tmp_path, specs):
    case = builders.case()
    sources = specs(read_form(case.cassette))
    chat = replace(case, api="openai-chat", cassette=replace(case.cassette, api="openai-chat"))
    with pytest.raises(SourceError, match=r"openai-chat\.json: no known shapes"):
        find_problems(sources, chat, case)
    folder = tmp_path / "specs/shapes"
    (folder / "openai-chat.json").write_text('{"events": {}}', "utf-8")
    text = EXPLAINED.replace(API, "openai-chat").replace("[]", '\n  - at: ["*****"]\n    evidence: [a]')
    (folder / "openai-chat.yaml").write_text(text, "utf-8")
    (folder / f"{API}.yaml").write_text(text.replace("[a]", "[b]"), "utf-8")
    report = lint_shapes(sources, LoadResult(cases=[chat, case]))
    assert report.problems == (
        Problem(str(folder / f"{API}.yaml"), 4, f"no fact `b` in the evidence of {API}"),
        Problem(
            str(folder / f"{API}.yaml"),
            4,
            "no authored stream has the shape that this entry explains; delete the entry",
        ),
        Problem(str(folder / "openai-chat.yaml"), 4, "no fact `a` in the evidence of openai-chat"),
    )
    assert report.streams == {"seen": 1, "explained": 1}


@pytest.mark.parametrize(
    ("api", "provenance"), [(API, Derived("small", "cut")), ("openai-chat", PULLED)], ids=["kind", "api"]
)
def test_a_counterpart_is_real_and_of_the_same_api(specs, api, provenance):
    case = replace(builders.case(), seen_in=f"{API}/recorded-source/text", path="a.yaml", line=7)
    cassette = replace(case.cassette, api=api, provenance=provenance)
    other = replace(case, id=case.seen_in, seen_in=None, api=api, cassette=cassette)
    sources = specs(read_form(case.cassette))
    (sources.specs / "shapes/openai-chat.json").write_text('{"events": {}}', "utf-8")
    (sources.specs / "shapes/openai-chat.yaml").write_text(EXPLAINED, "utf-8")
    message = f"case `{case.id}`: `seen_in`: {API} has no case `{case.seen_in}` about a real stream"
    assert lint_shapes(sources, LoadResult(cases=[case, other])).problems == (Problem("a.yaml", 7, message),)
