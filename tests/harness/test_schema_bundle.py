"""`conform schema NAME --bundle`: one self-contained schema, from which generators create types."""

from __future__ import annotations

import json
import subprocess

import pytest
from jsonschema import Draft202012Validator

from streamconform.schemas import NAMES, build_validator, load_schema
from streamconform.schemas.bundle import bundle_schema
from streamconform_dev.type_generators.install import COMMANDS

CALL = {"type": "tool_call", "id": None, "name": "f", "arguments": {}}
OUTCOME = {"status": "complete", "content": [CALL, {"type": "text", "text": "a"}], "stop": {"reason": "stop"}}
SAMPLES = {
    "outcome.v1": [
        OUTCOME,
        OUTCOME | {"status": "done"},
        OUTCOME | {"content": [{"type": "text", "text": 1}]},
        OUTCOME | {"content": [{"type": "film"}]},
        OUTCOME | {"content": [{"type": "tool_call", "name": 1, "arguments": {}}]},
        {"status": "complete"},
    ],
    "event.v1": [
        {"type": "text_delta", "content_index": 0, "delta": "a"},
        {"type": "text_delta", "content_index": 0},
        {"type": "text_start", "content_index": -1},
        {"type": "toolcall_end", "content_index": 0, "tool_call": CALL},
        {"type": "toolcall_end", "content_index": 0, "tool_call": {}},
        {"type": "done", "stop": {"reason": "stop"}},
        {"type": "done", "stop": {"reason": "end_turn"}},
        {"type": "sneeze"},
        {},
    ],
    "protocol.v1": [
        {"op": "result", "id": "1", "outcome": OUTCOME},
        {"op": "result", "id": "1", "outcome": {}},
        {"op": "event", "id": "1", "event": {"type": "sneeze"}},
        {"op": "stop"},
    ],
}


def references(value):
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else []
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references(item)


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_refers_to_nothing_outside_itself(name):
    bundle = bundle_schema(name)
    Draft202012Validator.check_schema(bundle)
    definitions = bundle.get("$defs", {})
    assert {text.removeprefix("#/$defs/") for text in references(bundle)} <= set(definitions)
    assert bundle["$id"] == load_schema(name)["$id"]


@pytest.mark.parametrize(("name", "samples"), SAMPLES.items())
def test_a_bundle_accepts_what_the_schema_accepts(name, samples):
    original, bundle = build_validator(name), Draft202012Validator(bundle_schema(name))
    verdicts = [original.is_valid(sample) for sample in samples]
    assert [bundle.is_valid(sample) for sample in samples] == verdicts
    assert set(verdicts) == {True, False}


@pytest.mark.generators
@pytest.mark.slow
def test_generators_make_types_of_the_bundles(tmp_path):
    for name in ("protocol.v1", "outcome.v1", "event.v1", "results.v1"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(bundle_schema(name)), "utf-8")
        subprocess.run((COMMANDS / "json2ts", "-i", path, "-o", tmp_path / f"{name}.d.ts"), check=True)
    types = (tmp_path / "protocol.v1.d.ts").read_text("utf-8")
    for line in (
        "export type Protocol = ToProgram | FromProgram;",
        "outcome?: OutcomeOutcome;",
        "taken?: number[]",
    ):
        assert line in types
    assert '"text_start" | "thinking_start" | "refusal_start"' in (tmp_path / "event.v1.d.ts").read_text()
    for language, struct in (("rust", "pub struct Outcome"), ("go", "type Outcome struct")):
        target = tmp_path / f"outcome.{language}"
        source = tmp_path / "outcome.v1.json"
        command = (COMMANDS / "quicktype", "-s", "schema", source, "-t", "Outcome", "-l", language)
        subprocess.run((*command, "-o", target), check=True, capture_output=True)
        assert struct in target.read_text("utf-8")
