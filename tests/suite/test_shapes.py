"""What streams look like: how shapes are read, and what lint says about authored ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from streamconform.model.cassette import Pulled
from streamconform.suite.lint_shapes import lint_shapes
from streamconform.suite.load import LoadResult, Sources, collect, list_spec_files
from streamconform.suite.shapes import ORDER, Shape, read_shapes

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


def test_the_bundled_streams_have_only_known_shapes():
    report = lint_shapes(SOURCES, collect(SOURCES, list_spec_files(SOURCES.specs, recorded=True)))
    assert report.problems == ()
    assert set(report.streams) == {"seen", "documented", "explained"}


@pytest.fixture
def specs(tmp_path):
    """Return a function that writes known shapes and explanations, and returns the folders."""

    def write(shapes, explained=EXPLAINED):
        folder = tmp_path / "specs" / "shapes"
        folder.mkdir(parents=True, exist_ok=True)
        events = {}
        for shape in shapes:
            events.setdefault(shape.event, {}).setdefault(shape.path, {})[shape.type] = "somewhere"
        (folder / f"{API}.json").write_text(json.dumps({"events": events}), "utf-8")
        (folder / f"{API}.yaml").write_text(explained, "utf-8")
        return Sources(tmp_path / "specs", tmp_path / "cassettes")

    return write


def find_problems(sources, *cases):
    report = lint_shapes(sources, LoadResult(cases=list(cases)))
    return [problem.message for problem in report.problems]


def test_a_field_that_no_real_stream_has_is_reported(specs):
    case = builders.case()
    shapes = read_shapes(case.cassette)
    assert find_problems(specs(shapes), case) == []
    unknown = Shape("message_stop", "type", "string")
    (message,) = find_problems(specs(shapes - {unknown}), case)
    assert "`message_stop type string`" in message
    assert "correct the stream, or explain it in" in message


def test_an_explanation_covers_shapes_and_must_be_needed(specs):
    case = builders.case()
    shapes = read_shapes(case.cassette) - {Shape("message_stop", "type", "string")}
    text = EXPLAINED.replace("[]", '\n  - at: ["message_stop *"]\n    why: A reason of some length.')
    assert find_problems(specs(shapes, text), case) == []
    (message,) = find_problems(specs(read_shapes(case.cassette), text), case)
    assert message == "this entry explains no shape of any authored stream; delete it"


def test_an_explanation_cites_facts_that_exist(specs):
    case = builders.case()
    shapes = read_shapes(case.cassette) - {Shape("message_stop", "type", "string")}
    text = EXPLAINED.replace("[]", '\n  - at: ["message_stop *"]\n    evidence: [no-such-fact]')
    (message,) = find_problems(specs(shapes, text), case)
    assert message == "no fact `no-such-fact` in the evidence of anthropic-messages"


def test_a_counterpart_is_a_real_stream_with_every_field(specs):
    case = replace(builders.case(), seen_in=f"{API}/recorded-source/text")
    sources = specs(read_shapes(case.cassette))
    (message,) = find_problems(sources, case)
    assert "no case `anthropic-messages/recorded-source/text` over a real stream" in message
    pulled = replace(case.cassette, provenance=PULLED)
    real = replace(builders.case(), id=case.seen_in, cassette=pulled)
    assert find_problems(sources, case, real) == []
    shorter = replace(real, cassette=replace(pulled, body=pulled.body[: len(pulled.body) // 2]))
    (message,) = find_problems(sources, case, shorter)
    assert f"`{case.seen_in}` has no `" in message
    absent = replace(real, cassette=replace(pulled, body=b""))
    assert find_problems(sources, case, absent) == []
