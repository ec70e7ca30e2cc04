"""The published JSON Schemas, and document validation with line numbers.

jsonschema decides validity and provides the error messages. Most values are valid, and jsonschema_rs accepts
those sixty times faster. This also avoids importing jsonschema, which takes longer than most commands. A test
checks that jsonschema_rs never accepts a value that jsonschema rejects. Both are imported on first use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.schemas.results import build_results_schema
from streamconform.yaml_text import reader
from streamconform.yaml_text.reader import Document

if TYPE_CHECKING:
    import jsonschema_rs
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


NAMES = (
    "scores.v1",
    "finding.v1",
    "spec.v1",
    "suite.v1",
    "cassette.v1",
    "outcome.v1",
    "event.v1",
    "protocol.v1",
    "results.v1",
    "known-failures.v1",
    "conversation.v1",
    "behavior.v1",
    "profile.v1",
    "evidence.v1",
    "kinds.v1",
    "threads.v1",
    "shapes.v1",
    "scenarios.v1",
)

MAX_PROBLEMS = 20
"""Maximum number of problems reported per document."""
_NO_FLOAT: Final = "x-no-float"


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return the schema `name` (one of `NAMES`) as a mapping."""
    if name == "results.v1":
        return build_results_schema()
    text = files(__name__).joinpath(f"{name}.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    if name == "spec.v1":  # the schema file leaves out the list of APIs
        definition = loaded["$defs"]["api"]
        definition["enum"] = [*APIS]
        del definition["type"]
    return loaded


@cache
def build_validator(
    name: str, definition: str | None = None, *, authored: bool = False
) -> Draft202012Validator:
    """Return a validator for the schema `name`, or for one of its `$defs`.

    `authored` is for files that people write: it rejects invalid regular expressions, and 5.0 as an integer.
    """
    from jsonschema import Draft202012Validator, FormatChecker, validators
    from referencing import Registry, Resource

    registry: Registry[Any] = Registry(retrieve=lambda uri: Resource.from_contents(_retrieve(uri)))  # type: ignore[call-arg]
    types = Draft202012Validator.TYPE_CHECKER
    formats = FormatChecker(())
    if authored:
        types = types.redefine("integer", lambda _, value: type(value) is int)
        formats.checks("regex", raises=(re.error, OverflowError, RecursionError))(_compile_pattern)
    extend: Any = validators.extend
    instance: Draft202012Validator = extend(
        Draft202012Validator, {"pattern": _check_pattern}, type_checker=types
    )(_get_root(name, definition), registry=registry, format_checker=formats)
    return instance


def _get_root(name: str, definition: str | None) -> dict[str, Any]:
    """Return the schema `name`, or a reference to one of its `$defs`."""
    schema = load_schema(name)
    return schema if definition is None else {"$ref": f"{schema['$id']}#/$defs/{definition}"}


@cache
def _build_acceptor(name: str, definition: str | None) -> jsonschema_rs.Draft202012Validator:
    """Return a fast validator for files that people write; see `accepts`."""
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(
        _mark_integers(_get_root(name, definition)),
        retriever=lambda uri: _mark_integers(_retrieve(uri)),
        keywords={_NO_FLOAT: _NoFloat},
        validate_formats=True,
        formats={"regex": _is_pattern},
    )


def _retrieve(uri: str) -> dict[str, Any]:
    """Return the schema that another one names."""
    return load_schema(uri.removeprefix("urn:streamconform:"))


def accepts(name: str, value: Any, definition: str | None = None) -> bool:
    """Return whether `value` certainly matches the schema `name`, or one of its `$defs`.

    False does not mean that the value is invalid: the stricter rules for files that people write are applied.
    """
    try:
        return _build_acceptor(name, definition).is_valid(value)
    except (ValueError, RecursionError):  # text that is not Unicode, NaN, or values that are nested too deep
        return False


def read_checked(path: Path, schema: str) -> Document:
    """Return the document in `path`. Raises a `SourceError` with everything wrong by YAML or the schema."""
    return parse_checked(reader.read_file(path, str(path)), str(path), schema)


def parse_checked(data: bytes, path: str, schema: str) -> Document:
    """Return the document in `data`. Raises a `SourceError` like `read_checked`."""
    document = reader.parse(data, path)
    if problems := check_document(schema, document):
        raise SourceError(problems)
    return document


def check_document(name: str, document: Document) -> tuple[Problem, ...]:
    """Validate a YAML document against the schema `name` and return every problem with its line number."""
    if accepts(name, document.value):
        return ()
    problems = []
    for path, message in _describe_errors(build_validator(name, authored=True).iter_errors(document.value)):
        dotted = ".".join(str(step) for step in path)
        text = f"`{dotted}`: {message}" if dotted else message
        problems.append((document.line(path) or 0, document.problem(path, text)))
    return tuple(problem for _, problem in sorted(problems, key=lambda pair: pair[0]))[:MAX_PROBLEMS]


def find_problems(name: str, value: Any, definition: str | None = None) -> tuple[str, ...]:
    """Validate a JSON value against the schema `name` and return every problem as `path: message`."""
    if accepts(name, value, definition):
        return ()
    errors = _describe_errors(build_validator(name, definition).iter_errors(value))
    problems = (f"{'.'.join(map(str, path)) or '(whole)'}: {message}" for path, message in errors)
    # Several rules of a schema may report the same problem with one value.
    return tuple(dict.fromkeys(problems))[:MAX_PROBLEMS]


def _check_pattern(_: Any, wanted: str, value: Any, __: Any) -> Iterator[ValidationError]:
    """Yield an error if `value` does not match; as in ECMA 262, `$` does not match before a final LF."""
    from jsonschema.exceptions import ValidationError

    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", wanted), value):
        yield ValidationError(f"{value!r} does not match {wanted!r}")


def _compile_pattern(value: Any) -> bool:
    """Return True. Raises `re.error` if `value` is a string but not a regular expression."""
    return not isinstance(value, str) or re.compile(value) is not None


def _is_pattern(value: str) -> bool:
    try:
        return _compile_pattern(value)
    except (re.error, OverflowError, RecursionError):
        return False


class _NoFloat:
    """A keyword of our own: rejects 5.0, which is an integer in JSON Schema but not for `build_validator`."""

    def __init__(self, *_: Any) -> None:
        """Take no parameters."""

    def validate(self, value: Any) -> None:
        if isinstance(value, float):
            raise ValueError("not an integer")  # noqa: TRY004 - the only error that the library expects


def _mark_integers(schema: Any) -> Any:
    """Return `schema` with the keyword of `_NoFloat` wherever it allows integers."""
    if isinstance(schema, list):
        return [_mark_integers(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    marked = {key: _mark_integers(value) for key, value in schema.items()}
    return marked | {_NO_FLOAT: True} if "integer" in schema.get("type", ()) else marked


def _describe_errors(errors: Iterator[ValidationError]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield (path, message) for each error, taken from the branch that the author most likely meant."""
    # Steps are compared as text, because keys and list indexes have no common order.
    for error in sorted(errors, key=lambda error: [str(step) for step in error.absolute_path]):
        deepest = _find_deepest(error)
        path = tuple(deepest.absolute_path)
        unknown = _list_unknown_keys(deepest) if deepest.validator == "additionalProperties" else []
        for key in unknown:
            known = ", ".join(f"`{name}`" for name in sorted(_untyped(deepest.schema)["properties"]))
            yield (*path, key), f"unknown key `{key}`; expected {known}"
        if not unknown:
            yield path, _describe_error(deepest)


def _find_deepest(error: ValidationError) -> ValidationError:
    """Return the most specific error within a failed `oneOf` or `anyOf`."""
    while error.context:
        branches: dict[Any, list[ValidationError]] = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0], []).append(inner)
        error = min(branches.values(), key=_rank_branch)[0]
    return error


def _rank_branch(errors: list[ValidationError]) -> tuple[bool, bool, int]:
    """Rank a failed branch, best first: right type, right discriminator (`kind`, `op`), fewest errors."""
    wrong_type = any(e.validator == "type" and not e.relative_path for e in errors)
    return wrong_type, any(e.validator == "const" for e in errors), len(errors)


def _list_unknown_keys(error: ValidationError) -> list[str]:
    """Return the unknown keys in file order."""
    known = _untyped(error.schema).get("properties", {})
    return [key for key in _untyped(error.instance) if known and key not in known]


def _describe_error(error: ValidationError) -> str:
    """Return a short, human-readable message that states the expected value."""
    match error.validator:
        case "enum":
            choices = ", ".join("null" if c is None else f"`{c}`" for c in _untyped(error.validator_value))
            return f"{_quote(error.instance)} is not one of {choices}"
        case "const":
            return f"expected {_quote(error.validator_value)}, got {_quote(error.instance)}"
        case "required":
            # jsonschema names the missing key only in its message.
            return "key `{}` is missing".format(error.message.split("'")[1])
        case "format":
            return f"{_quote(error.instance)} is not a regular expression: {error.cause}"
        case "type":
            expected = error.validator_value
            types = " or ".join(expected) if isinstance(expected, list) else str(expected)
            hint = "; quote it" if "string" in types and isinstance(error.instance, int | float) else ""
            article = "an" if types.startswith(("array", "integer", "object")) else "a"
            return f"{_quote(error.instance)} is not {article} {types}{hint}"
        case "pattern":
            description = error.schema.get("description") if isinstance(error.schema, dict) else None
            return f"{_quote(error.instance)} does not match `{error.validator_value}`" + (
                f" ({description})" if description else ""
            )
        case _:
            # The message quotes the value, which may be as long as the document.
            return error.message if len(error.message) <= 300 else error.message[:297] + "…"


def _untyped(value: Any) -> Any:
    """Return `value` untyped: the library declares some attributes optional although every error has them."""
    return value


def _quote(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text if len(text) <= 80 else text[:77] + '…'}`"
