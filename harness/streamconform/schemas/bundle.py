"""Build one self-contained schema for type generators, which cannot resolve our URNs."""

from __future__ import annotations

import re
from typing import Any, Final

from streamconform.schemas import load_schema

_URN: Final = re.compile(r"urn:streamconform:([a-z-]+\.v[0-9]+)(?:#/\$defs/(\w+))?")

_Target = tuple[str, str | None]
"""A schema and the name of one of its definitions, or None for the complete schema."""


def bundle_schema(name: str) -> dict[str, Any]:
    """Return the schema `name`, with every definition that it refers to copied into its own `$defs`.

    Definitions from other schemas are prefixed with the schema's name. The bundle accepts the same values as
    the original, but is adapted to generators. They name types after titles, so the titles of definitions
    become descriptions. They create a second type for a reference that has a description, so that description
    is dropped. They ignore `if`, so a choice based on the value of `type` becomes `oneOf`.
    """
    schema = load_schema(name)
    pending: list[_Target] = [(name, key) for key in schema.get("$defs", {})]
    bundled: dict[str, Any] = _localize(_simplify(_without(schema, "$defs"), schema), name, name, pending)
    bundled["title"] = "".join(word.capitalize() for word in name.partition(".")[0].split("-"))
    bundled["description"] = f"{schema['title']}. {schema['description']}"
    definitions: dict[str, Any] = {}
    while pending:
        owner, key = pending.pop()
        local = _get_local_name(name, owner, key)
        if local not in definitions:
            source = load_schema(owner)
            part = (
                _without(source, "$schema", "$id", "$defs", "title") if key is None else source["$defs"][key]
            )
            definitions[local] = _localize(_simplify(_move_title(part), source), name, owner, pending)
    if definitions:
        bundled["$defs"] = dict(sorted(definitions.items()))
    return bundled


def _simplify(part: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """Return `part` with an `allOf` of conditions on `type` (`if`, `then`) replaced by a `oneOf`."""
    branches = part.get("allOf", [])
    if not branches or any(branch.keys() != {"if", "then"} for branch in branches):
        return part
    choices = []
    for branch in branches:
        definition = source["$defs"][branch["then"]["$ref"].removeprefix("#/$defs/")]
        choices.append(
            {
                **_move_title(definition),
                "type": "object",
                "required": ["type", *definition.get("required", ())],
                "properties": {**branch["if"]["properties"], **definition["properties"]},
            }
        )
    return _without(part, "allOf", "type", "required", "properties") | {"oneOf": choices}


def _localize(value: Any, root: str, owner: str, pending: list[_Target]) -> Any:
    """Return `value`, a part of the schema `owner`, with local references; add their targets to `pending`."""
    if isinstance(value, list):
        return [_localize(item, root, owner, pending) for item in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if not isinstance(reference, str):
        return {key: _localize(item, root, owner, pending) for key, item in value.items()}
    match = _URN.fullmatch(reference)
    target = (match[1], match[2]) if match else (owner, reference.removeprefix("#/$defs/"))
    pending.append(target)
    others = {
        key: _localize(item, root, owner, pending) for key, item in _without(value, "description").items()
    }
    return others | {"$ref": f"#/$defs/{_get_local_name(root, *target)}"}


def _get_local_name(root: str, owner: str, key: str | None) -> str:
    """Return the bundle's name for a definition, or for a complete schema if `key` is None."""
    prefix = owner.partition(".")[0].replace("-", "_")
    if key is None:
        return f"{prefix}_v1"
    return key if owner == root else f"{prefix}_{key}"


def _move_title(definition: dict[str, Any]) -> dict[str, Any]:
    title, description = definition.get("title"), definition.get("description")
    if title is None:
        return definition
    text = title if description is None else f"{title}. {description}"
    return {key: value for key, value in definition.items() if key != "title"} | {"description": text}


def _without(mapping: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}
