"""Build the schema `results.v1` from the types that define the format."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Final, get_type_hints

import msgspec

from streamconform.errors import Problem
from streamconform.model.result import (
    SUITE_FIELDS,
    WRITTEN_ALWAYS,
    Footer,
    Header,
    ImplementationInfo,
    Raised,
    Resources,
    TrialResult,
    UncomparedClaim,
)
from streamconform.model.verdict import Check

_LINES: Final = (Header, TrialResult, Footer)
_TYPES: Final = (*_LINES, Raised, Resources, ImplementationInfo, Check, UncomparedClaim, Problem)


def build_results_schema() -> dict[str, Any]:
    """Return the schema of one line of `results.jsonl`."""
    _, definitions = msgspec.json.schema_components(_TYPES, ref_template="#/$defs/{name}")
    for type_ in _TYPES:
        _describe_members(type_, definitions[type_.__name__])
    _nest_suite(definitions["Header"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:streamconform:results.v1",
        "title": "streamconform results, version 1: one line of results.jsonl",
        "description": "A header, one line per trial as it ends, and a footer. A file without a footer is "
        "truncated. Reports are generated from this file alone.",
        "oneOf": [{"$ref": f"#/$defs/{line.__name__}"} for line in _LINES],
        "$defs": definitions,
    }


def _describe_members(type_: Any, definition: dict[str, Any]) -> None:
    """Add what msgspec leaves out: descriptions, the order, and which members are always written."""
    hints = get_type_hints(type_, include_extras=True)
    definition["properties"] = {field.name: definition["properties"][field.name] for field in fields(type_)}
    for name, member in definition["properties"].items():
        member.pop("default", None)
        if len(member.get("enum", ())) == 1:
            (member["const"],) = member.pop("enum")
        for text in getattr(hints[name], "__metadata__", ()):
            if isinstance(text, str):
                member["description"] = text
    definition["required"] = [
        field.name for field in fields(type_) if field.default is MISSING or field.name in WRITTEN_ALWAYS
    ]


def _nest_suite(header: dict[str, Any]) -> None:
    """Move the suite's members into `suite`, where the writer writes them."""
    required = header["required"]
    suite = {
        "type": "object",
        "description": "The suite.",
        "required": [name for name in SUITE_FIELDS if name in required],
        "properties": {name: header["properties"].pop(name) for name in SUITE_FIELDS},
    }
    header["properties"]["suite"] = suite
    header["required"] = ["suite", *(name for name in required if name not in SUITE_FIELDS)]
