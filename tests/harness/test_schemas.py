"""The published schemas are valid and documented, and agree with the types in the code."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from streamconform import schemas
from streamconform.adapters.interface import Greeting
from streamconform.errors import Problem, SourceError
from streamconform.known_failures import model
from streamconform.known_failures.reading import SCOPE
from streamconform.model import cassette, event, outcome, result, verdict
from streamconform.model.capability import CAPABILITIES
from streamconform.model.case import LEVELS, Case
from streamconform.model.trial import DELIVERIES, FAULTS, OLD_NAMES, FaultSet, Input
from streamconform.run.results import to_json
from streamconform.schemas import NAMES, check_document, find_problems, load_schema
from streamconform.suite.profiles import Profile
from streamconform.yaml_text import reader

SAID_BY_ITSELF = ("description", "title", "$ref", "const")
"""A property is documented by a description, by the definition that it refers to, or by being a constant."""


def undescribed(node: Any, at: str = "") -> list[str]:
    """Return the undocumented properties; conditions (`if`) are not documentation."""
    if isinstance(node, list):
        return [each for i, child in enumerate(node) for each in undescribed(child, f"{at}/{i}")]
    if not isinstance(node, dict):
        return []
    found = []
    for name, child in node.get("properties", {}).items():
        if not any(word in child for word in SAID_BY_ITSELF):
            found.append(f"{at}/{name}")
    return found + [
        each for name, child in node.items() if name != "if" for each in undescribed(child, f"{at}/{name}")
    ]


def definition(name: str, of: str) -> dict[str, Any]:
    found: dict[str, Any] = load_schema(name)["$defs"][of]
    return found


def properties(name: str, of: str) -> set[str]:
    return set(definition(name, of)["properties"])


def names(type_: type, *without: str) -> set[str]:
    return {name for base in type_.__mro__ for name in vars(base).get("__annotations__", ())} - set(without)


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_valid_and_has_a_description(name):
    Draft202012Validator.check_schema(load_schema(name))
    assert load_schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert load_schema(name)["$id"].endswith(name)
    assert load_schema(name)["title"]
    assert load_schema(name)["description"]


@pytest.mark.parametrize("name", NAMES)
def test_every_property_of_the_published_formats_is_described(name):
    assert undescribed(load_schema(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_between_schemas_resolves(name):
    text = json.dumps(load_schema(name))
    known = {load_schema(each)["$id"] for each in NAMES}
    for ref in (part.partition('"')[0] for part in text.split('"$ref": "')[1:]):
        base, _, fragment = ref.partition("#")
        assert not base or base in known
        target = next(
            load_schema(each)
            for each in NAMES
            if load_schema(each)["$id"] == (base or load_schema(name)["$id"])
        )
        for step in fragment.strip("/").split("/"):
            target = target[step] if step else target


PAIRS = [
    ("outcome.v1", "outcome", outcome.Outcome),
    ("outcome.v1", "stop", outcome.Stop),
    ("outcome.v1", "usage", outcome.Usage),
    ("outcome.v1", "cost", outcome.Cost),
    ("outcome.v1", "error", outcome.Error),
    ("outcome.v1", "text_block", outcome.Text),
    ("outcome.v1", "refusal_block", outcome.Refusal),
    ("outcome.v1", "thinking_block", outcome.Thinking),
    ("outcome.v1", "tool_call_block", outcome.ToolCall),
    ("outcome.v1", "other_block", outcome.Other),
    ("spec.v1", "usage_report", outcome.Usage),
    ("cassette.v1", "recorded", cassette.Recorded),
    ("cassette.v1", "authored", cassette.Authored),
]


@pytest.mark.parametrize(("name", "of", "type_"), PAIRS, ids=[f"{n}-{o}" for n, o, _ in PAIRS])
def test_types_and_schemas_have_the_same_fields(name, of, type_):
    assert properties(name, of) == names(type_) - {"absent", "omitted"} or of == "other_block"
    if of == "other_block":
        assert properties(name, of) == names(type_)


def test_a_derived_cassette_calls_its_source_from():
    assert properties("cassette.v1", "derived") == (names(cassette.Derived) - {"source"}) | {"from"}


def test_cassette_and_request_agree_with_their_schema():
    top = load_schema("cassette.v1")["properties"]
    assert set(top["request"]["properties"]) == names(cassette.Request)
    assert set(top["response"]["properties"]) == {"status", "headers", "body", "sha256", "chunks"}
    assert set(top) == {"cassette", "provenance", "request", "response", "twin"}


def test_a_case_agrees_with_its_schema():
    """`api`, `topic` and the kind are above the cases; path and line are the file's; `growth` is derived."""
    derived = ("api", "stream", "path", "line", "unavailable", "growth")
    assert properties("spec.v1", "case") == names(Case, *derived)
    required = {each.name for each in fields(Case) if each.default is MISSING}
    assert set(definition("spec.v1", "case")["required"]) == required - {"api"}


def test_a_greeting_agrees_with_its_schema():
    top = definition("protocol.v1", "hello")["properties"]
    documented = (set(top) - {"op", "protocol", "implementation"}) | set(top["implementation"]["properties"])
    assert documented == names(Greeting)


def test_profiles_and_known_failures_agree_with_their_schemas():
    assert set(load_schema("profile.v1")["properties"]) == names(Profile) | {"profile"}
    listed = load_schema("known-failures.v1")["properties"]
    assert set(listed) == names(model.KnownFailures, "path", "declares_line") | {"known-failures"}
    assert set(listed["scope"]["properties"]) == set(SCOPE)
    for name, kind in (("pattern", model.KnownFailure), ("cause", model.KnownCause)):
        assert set(definition("known-failures.v1", name)["properties"]) == names(kind, "line")


def enum(name: str, *path: str) -> list[Any]:
    node: Any = load_schema(name)
    for step in path:
        node = node[step]
    return [each for each in node["enum"] if each is not None]


ENUMS = [
    (("outcome.v1", "$defs", "outcome", "properties", "status"), outcome.STATUSES),
    (("outcome.v1", "$defs", "stop", "properties", "reason"), outcome.REASONS),
    (("outcome.v1", "$defs", "tool_call_block", "properties", "executor"), outcome.EXECUTORS),
    (("outcome.v1", "$defs", "block", "properties", "type"), get_args(outcome.BlockType)),
    (("event.v1", "properties", "type"), (*event.BLOCK_EVENTS, *event.OTHER_EVENTS)),
    (("spec.v1", "$defs", "level"), LEVELS),
    (("spec.v1", "$defs", "delivery"), (*DELIVERIES, *OLD_NAMES)),
    (("spec.v1", "$defs", "fault"), tuple(FAULTS)),
    (("spec.v1", "$defs", "reason_leaf", "else"), outcome.REASONS),
    (("spec.v1", "$defs", "expect", "properties", "status", "else"), outcome.STATUSES),
    (("protocol.v1", "$defs", "hello", "properties", "inputs", "items"), get_args(Input)),
    (("profile.v1", "properties", "deliveries", "items"), (*DELIVERIES, *OLD_NAMES)),
    (("profile.v1", "properties", "faults"), get_args(FaultSet)),
    (
        ("known-failures.v1", "$defs", "pattern", "properties", "verdict"),
        get_args(model.Failing),
    ),
]


@pytest.mark.parametrize(("path", "values"), ENUMS, ids=["-".join(path) for path, _ in ENUMS])
def test_choices_are_the_same_in_types_and_schemas_and_in_the_same_order(path, values):
    assert enum(*path) == list(values)


def test_capabilities_are_the_same_in_types_and_schema():
    assert set(enum("protocol.v1", "$defs", "capability")) == CAPABILITIES


@pytest.mark.parametrize(
    ("name", "shape"), sorted((n, s.__name__) for n, (s, _) in event.BLOCK_EVENTS.items())
)
def test_every_event_of_a_block_has_a_content_index(name, shape):
    assert find_problems("event.v1", {"type": name}), shape


RESULTS = [
    result.Header(
        version="0.1.0",
        cases=1,
        trials=2,
        implementations=(
            result.ImplementationInfo(
                name="x", version=None, language=None, issues=None, impl="cmd:x", input="bytes"
            ),
            result.ImplementationInfo(
                name="y",
                version="1",
                language="c",
                issues=None,
                impl="y",
                input="http",
                claims={"ollama-chat": ("usage",), "common": ()},
            ),
        ),
        selection={"patterns": []},
        seed=0,
        date="2026-05-01",
        command="conform run -i y",
        platform="Python 3.12.1, Linux 6.1, x86_64",
    ),
    result.TrialResult(
        implementation=0,
        id="a/b/c@whole",
        case="a/b/c",
        delivery="whole",
        level="must",
        verdict="pass",
        culprit=None,
        ms=0.1,
        passed=3,
    ),
    result.TrialResult(
        implementation=0,
        id="a/b/c@whole",
        case="a/b/c",
        delivery=None,
        level="should",
        verdict="warn",
        culprit="implementation",
        ms=0,
        checks=(
            verdict.Check(path="usage.input", level="should", verdict="warn", expected=1, got=None),
            verdict.Check(
                path="invariant.unique-ids", level="must", verdict="fail", message="no id", frames=(1, 7)
            ),
        ),
        reason="because",
        observation={"outcome": {"status": "complete"}, "events": []},
        known="old",
        tracked=("a/b#2",),
        title="A title",
        guards=("a/b#1",),
    ),
    result.Footer(counts={"pass": 1, "fail": 0}, exit=0, complete=True, seconds=1.5),
    result.Footer(counts={}, exit=1, complete=True, problems=(Problem("known.yaml", 4, "stale: it passes"),)),
]


@pytest.mark.parametrize("line", RESULTS, ids=lambda each: type(each).__name__)
def test_lines_of_results_fit_their_schema(line):
    assert find_problems("results.v1", json.loads(json.dumps(to_json(line)))) == ()


def test_an_end_of_line_is_no_part_of_a_pattern():
    """Python's `$` also matches before a last line feed; ECMA 262, which JSON Schema names, does not."""
    assert find_problems("outcome.v1", {"status": "complete", "content": [], "cost": {"total": "1\n"}})


def test_in_files_that_people_write_a_float_is_no_integer():
    """A chunk mark of 5.0 would pass as an integer, and then fail as an index."""
    text = b"spec: 1\napi: anthropic-messages\ntopic: t\ncases: []\n"
    assert schemas.build_validator("spec.v1", "usage_report").is_valid({"input": 5.0})
    assert not schemas.build_validator("spec.v1", "usage_report", authored=True).is_valid({"input": 5.0})
    assert check_document("spec.v1", reader.parse(text, "f"))


def test_problems_of_a_hostile_document_are_bounded_in_number_and_length():
    wrong = {"status": "x" * 10_000, "content": [{"type": "text"}] * 1000, "usage": {"input": -1}}
    documented = find_problems("outcome.v1", wrong)
    assert len(documented) <= schemas.MAX_PROBLEMS
    assert all(len(each) < 500 for each in documented)


def test_an_unreadable_file_is_reported_like_an_error_in_it(tmp_path):
    with pytest.raises(SourceError, match=r"nothing\.yaml: cannot be read"):
        reader.read(tmp_path / "nothing.yaml")
