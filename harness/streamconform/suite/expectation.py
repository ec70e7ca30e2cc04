"""The `expect` mapping of a spec, shorthands undone, to an `Expectation`; and how leaves are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from streamconform.model.case import Expectation, ExpectedBlock
from streamconform.model.leaf import AnyOf, Leaf, Literally, Matches, PrefixOf, Present
from streamconform.model.outcome import BlockType

MATCHERS: Final = ("matches", "present", "any_of", "prefix_of")
THINKING_FIELDS: Final = ("text", "signature", "redacted")
LITERAL_JSON: Final = ("arguments", "data")
"""Leaves that are any JSON value, in which nothing is a matcher."""


def parse(expect: Mapping[str, Any]) -> Expectation:
    """Return the expectation in `expect`, which fits the schema."""
    fields: dict[str, Leaf] = {"status": parse_leaf(expect["status"])}
    stop = expect["stop"]
    if isinstance(stop, Mapping) and ("reason" in stop or "raw" in stop):
        fields |= {f"stop.{name}": parse_leaf(value) for name, value in stop.items()}
    else:
        fields["stop.reason"] = parse_leaf(stop)
    for group in ("usage", "cost", "error"):
        if group not in expect:
            continue
        if expect[group] is None:
            fields[group] = Literally(None)
        else:
            fields |= {f"{group}.{name}": parse_leaf(value) for name, value in expect[group].items()}
    for name in ("model", "response_id"):
        if name in expect:
            fields[name] = parse_leaf(expect[name])
    if "error" not in expect and expect["status"] == "complete":
        fields["error"] = Literally(None)
    return Expectation(tuple(parse_block(each) for each in expect["content"]), fields)


def parse_output(expect: Mapping[str, Any]) -> Literally | AnyOf:
    """Return what a call must return: the value of `output`, or one of `any_of`. Both are literal JSON."""
    return (
        AnyOf(tuple(expect["any_of"]), expect["why"]) if "any_of" in expect else Literally(expect["output"])
    )


def parse_block(entry: Mapping[str, Any]) -> ExpectedBlock:
    """Return the block in `entry`, a mapping with one key, the block's type."""
    ((key, given),) = entry.items()
    type_ = cast(BlockType, key)  # the schema has only these keys
    match type_:
        case "text" | "refusal":
            return ExpectedBlock(type_, {"text": parse_leaf(given)})
        case "thinking":
            whole = isinstance(given, Mapping) and any(name in given for name in THINKING_FIELDS)
            fields = (
                {name: parse_leaf(value) for name, value in given.items()}
                if whole
                else {"text": parse_leaf(given)}
            )
            return ExpectedBlock(type_, fields)
        case "tool_call":
            defaults: dict[str, Leaf] = {"complete": Literally(True), "executor": Literally("client")}
            return ExpectedBlock(type_, defaults | _parse_fields(given))
        case "other":
            return ExpectedBlock(type_, _parse_fields(given))


def parse_leaf(given: Any) -> Leaf:
    """Return the literal, or the matcher that stands in its place."""
    if not isinstance(given, Mapping):
        return Literally(given)
    why = given.get("why")
    if "matches" in given:
        return Matches(re.compile(given["matches"]), why)
    if "present" in given:
        return Present(given["present"], why)
    if "any_of" in given:
        return AnyOf(tuple(given["any_of"]), why)
    return PrefixOf(given["prefix_of"], why)


def serialize_leaf(expected: Leaf) -> Any:
    """Return the JSON value by which results and reports name what was expected."""
    match expected:
        case Literally(value):
            return value
        case Matches(pattern):
            return {"matches": pattern.pattern}
        case Present(present):
            return {"present": present}
        case AnyOf(values):
            return {"any_of": list(values)}
        case PrefixOf(text):
            return {"prefix_of": text}


def _parse_fields(given: Mapping[str, Any]) -> dict[str, Leaf]:
    return {
        name: Literally(value) if name in LITERAL_JSON else parse_leaf(value) for name, value in given.items()
    }
