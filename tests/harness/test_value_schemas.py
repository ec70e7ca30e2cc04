"""The fast path of `find_problems` finds a problem in every value that a schema rejects."""

from __future__ import annotations

from typing import Any

import pytest

from streamconform.schemas import build_validator, find_problems

HELLO = {
    "op": "hello",
    "protocol": 1,
    "implementation": {"name": "a-parser", "version": "1.0", "language": "c"},
    "apis": ["openai-chat"],
    "capabilities": ["tool_calls"],
    "inputs": ["bytes"],
    "concurrency": 2,
}
BLOCK = {"type": "tool_call", "id": "call_1", "name": "f", "arguments_text": "{}", "arguments": {}}
OUTCOME = {
    "status": "complete",
    "content": [BLOCK, {"type": "text", "text": "Hi."}],
    "stop": {"reason": "stop", "raw": "end_turn"},
    "usage": {"input": 3, "output": 5},
}
EVENT = {"type": "text_delta", "content_index": 0, "delta": "Hi."}
STRANGE = (
    None,
    True,
    -1,
    1,
    5.0,
    2**70,
    float("nan"),
    "",
    "x\n",
    "\ud800",
    "a" * 600,
    [],
    [1, 1],
    {},
    {"x": 1},
)


def changes(value: Any) -> list[Any]:
    """Return `value`, and copies with one value in it replaced, removed or renamed."""
    if isinstance(value, dict):
        parts = [{**value, key: part} for key, inner in value.items() for part in changes(inner)]
        without = [{k: v for k, v in value.items() if k != key} for key in value]
        return [value, *STRANGE, *parts, *without, {**value, "surplus": 1}]
    if isinstance(value, list):
        return [value, *STRANGE, *([part] for inner in value for part in changes(inner))]
    return [value, *STRANGE]


@pytest.mark.parametrize(
    ("schema", "definition", "valid"),
    [
        ("protocol.v1", "hello", HELLO),
        ("outcome.v1", "block", BLOCK),
        ("outcome.v1", None, OUTCOME),
        ("event.v1", None, EVENT),
    ],
)
def test_a_value_has_problems_exactly_if_the_schema_rejects_it(schema, definition, valid):
    validator = build_validator(schema, definition)
    verdicts = set()
    for value in changes(valid):
        verdicts.add(validator.is_valid(value))
        assert (find_problems(schema, value, definition) == ()) == validator.is_valid(value), value
    assert verdicts == {True, False}
