"""Print the fields of the payloads that some classes describe: `python sdk_types.py MODULE:NAME…`.

It runs in the environment of a provider's SDK, without this project. It prints a line `["event", "path",
"type"]` for each field of each payload, and for each word that the field may have, in the notation of
`streamconform.suite.shapes`. `bedrock:OPERATION` reads botocore's model.
"""

import enum
import importlib
import json
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

MAX_DEPTH = 12
ANYTHING = ("object", "array", "string", "number", "boolean", "null")
AWS_TYPES = {
    "string": "string",
    "blob": "string",
    "timestamp": "string",
    "integer": "number",
    "long": "number",
    "double": "number",
    "float": "number",
    "boolean": "boolean",
    "structure": "object",
    "map": "object",
    "list": "array",
}


def list_variants(annotation: Any) -> Iterator[Any]:
    """Yield the members of a union, without annotations and aliases."""
    while get_origin(annotation) is typing.Annotated:
        annotation = get_args(annotation)[0]
    annotation = getattr(annotation, "__value__", annotation)
    if get_origin(annotation) is typing.Annotated or get_origin(annotation) in (Union, types.UnionType):
        members = (
            get_args(annotation)[:1] if get_origin(annotation) is typing.Annotated else get_args(annotation)
        )
        for member in members:
            yield from list_variants(member)
    else:
        yield annotation


def list_words(model: Any, name: str) -> list[str]:
    """Return the values of a field that allows only certain words."""
    info = getattr(model, "model_fields", {}).get(name)
    variants = list_variants(info.annotation) if info is not None else ()
    return [word for variant in variants for word in get_args(variant) if isinstance(word, str)]


def name_field(name: str, info: Any) -> str:
    """Return the name of a field in JSON."""
    aliases = [data.alias for data in info.metadata if isinstance(getattr(data, "alias", None), str)]
    return str(aliases[0] if aliases else info.serialization_alias or info.alias or name)


def walk(annotation: Any, path: str, depth: int, inside: tuple[Any, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield path and type of everything that a value of `annotation` may contain."""
    if depth > MAX_DEPTH:
        return
    for variant in list_variants(annotation):
        origin = get_origin(variant)
        if hasattr(variant, "model_fields"):
            if inside.count(variant) < 2:
                yield from walk_model(variant, path, depth, inside)
        elif variant is type(None):
            yield path, "null"
        elif origin is Literal:
            yield path, name_type(type(get_args(variant)[0]))
            yield from ((path, f"= {word}") for word in get_args(variant) if isinstance(word, str))
        elif origin in (list, tuple, set, Sequence) or variant is list:
            yield path, "array"
            for item in get_args(variant)[:1]:
                yield from walk(item, f"{path}[]", depth + 1, inside)
        elif origin in (dict, Mapping) or variant is dict:
            yield path, "object"
        elif variant in (object, Any):
            yield from ((path, kind) for kind in ANYTHING)
        elif isinstance(variant, type):
            yield path, name_type(variant)
            if issubclass(variant, enum.Enum):
                yield from ((path, f"= {member.value}") for member in variant)


def name_type(kind: type) -> str:
    """Return the JSON type of a Python class."""
    if issubclass(kind, bool):
        return "boolean"
    return "number" if issubclass(kind, int | float) and not issubclass(kind, enum.Enum) else "string"


def walk_model(model: Any, path: str, depth: int, inside: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    """Yield path and type of the members of a model, once for each value of its `type`."""
    for kind in list_words(model, "type") or [""]:
        at = f"{path}<{kind}>" if path and kind else path
        if at:
            yield at, "object"
        for name, info in model.model_fields.items():
            key = name_field(name, info)
            yield from walk(info.annotation, f"{at}.{key}" if at else key, depth + 1, (*inside, model))


def list_payloads(root: Any) -> Iterator[tuple[str, str, str]]:
    """Yield event, path and type for each payload that `root`, a class or a union of classes, describes."""
    for model in list_variants(root):
        events = list_words(model, "event_type") or list_words(model, "type") or ["chunk"]
        for event in events:
            yield from ((event, path, kind) for path, kind in walk(model, "", 0) if path)


def list_aws_payloads(operation: str) -> Iterator[tuple[str, str, str]]:
    """Yield the same for the stream of an operation of Bedrock."""
    session = importlib.import_module("botocore.session").get_session()
    output = session.get_service_model("bedrock-runtime").operation_model(operation).output_shape
    for event, shape in output.members["stream"].members.items():
        yield from ((event, path, kind) for path, kind in walk_aws(shape, "", 0) if path)


def walk_aws(shape: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield path and type of everything in a shape of botocore."""
    if depth > MAX_DEPTH:
        return
    if getattr(shape, "is_document_type", False):
        yield from ((path, kind) for kind in ANYTHING)
        return
    yield path, AWS_TYPES[shape.type_name]
    yield from ((path, f"= {word}") for word in getattr(shape, "enum", ()))
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            yield from walk_aws(member, f"{path}.{name}" if path else name, depth + 1)
    elif shape.type_name == "list":
        yield from walk_aws(shape.member, f"{path}[]", depth + 1)


def main() -> None:
    """Print a line for each field of each payload."""
    found: set[tuple[str, str, str]] = set()
    for word in sys.argv[1:]:
        module, _, name = word.partition(":")
        if module == "bedrock":
            found.update(list_aws_payloads(name))
        else:
            found.update(list_payloads(getattr(importlib.import_module(module), name)))
    for line in sorted(found):
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
