"""The published JSON Schemas, and documents checked against them with line numbers.

jsonschema gives the verdict and the words on what is wrong. A suite has hundreds of files with nothing
wrong, which jsonschema_rs accepts sixty times faster; a test holds that it never accepts more. Both are
imported on first use: most commands and the hot path never need them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from streamconform.apis import APIS
from streamconform.errors import Problem

if TYPE_CHECKING:
    import jsonschema_rs
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

    from streamconform.yaml_text.reader import Document

NAMES = (
    "spec.v1",
    "cassette.v1",
    "outcome.v1",
    "event.v1",
    "protocol.v1",
    "results.v1",
    "known-failures.v1",
    "conversation.v1",
    "profile.v1",
)

MAX_PROBLEMS = 20
"""Problems listed for one document."""


@cache
def schema(name: str) -> dict[str, Any]:
    """Return the schema `name` (one of `NAMES`) as a mapping."""
    text = files(__name__).joinpath(f"{name}.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    if name == "spec.v1":  # its file does not list the APIs, so that a new one is one module
        definition = loaded["$defs"]["api"]
        definition["enum"] = [*APIS]
        del definition["type"]
    return loaded


@cache
def validator(name: str, definition: str | None = None, *, authored: bool = False) -> Draft202012Validator:
    """Return a validator for the schema `name`, or for one of its `$defs`.

    `authored` is for files that people write: there 5.0 is no integer, and a regular expression has to
    be one.
    """
    from jsonschema import Draft202012Validator, FormatChecker, validators
    from referencing import Registry, Resource

    every = [Resource.from_contents(schema(each)) for each in NAMES]
    registry: Registry[Any] = every @ Registry()
    root: dict[str, Any] = schema(name)
    if definition is not None:
        root = {"$ref": f"{root['$id']}#/$defs/{definition}"}
    types = Draft202012Validator.TYPE_CHECKER
    formats = FormatChecker(())
    if authored:
        types = types.redefine("integer", lambda _, value: type(value) is int)
        formats.checks("regex", raises=(re.error, OverflowError, RecursionError))(_compiles)
    extend: Any = validators.extend
    made: Draft202012Validator = extend(Draft202012Validator, {"pattern": _pattern}, type_checker=types)(
        root, registry=registry, format_checker=formats
    )
    return made


@cache
def acceptor(name: str) -> jsonschema_rs.Draft202012Validator:
    """Return a fast validator for files that people write; see `accepts`."""
    import jsonschema_rs

    registry = jsonschema_rs.Registry([(schema(each)["$id"], schema(each)) for each in NAMES])
    return jsonschema_rs.Draft202012Validator(
        schema(name), registry=registry, validate_formats=True, formats={"regex": _is_expression}
    )


def accepts(name: str, value: Any) -> bool:
    """Return whether `value` surely fits the schema `name`, as a file; False says nothing."""
    try:
        return acceptor(name).is_valid(_without_whole_floats(value))
    except ValueError:  # text that is not Unicode
        return False


def check(name: str, document: Document) -> tuple[Problem, ...]:
    """Return every problem of a YAML document against the schema `name`, with its line."""
    if accepts(name, document.value):
        return ()
    found = []
    for at, message in _told(validator(name, authored=True).iter_errors(document.value)):
        where = ".".join(str(step) for step in at)
        found.append(
            (document.line(at) or 0, document.problem(at, f"`{where}`: {message}" if where else message))
        )
    return tuple(problem for _, problem in sorted(found, key=lambda pair: pair[0]))[:MAX_PROBLEMS]


def problems(name: str, value: Any, definition: str | None = None) -> tuple[str, ...]:
    """Return every problem of a JSON value against the schema `name`, as `path: message`."""
    told = _told(validator(name, definition).iter_errors(value))
    return tuple(f"{'.'.join(map(str, at)) or '(whole)'}: {message}" for at, message in told)[:MAX_PROBLEMS]


def _pattern(_: Any, wanted: str, value: Any, __: Any) -> Iterator[ValidationError]:
    """Yield an error where `value` does not fit; `$` is the end, as in ECMA 262, not before a last LF."""
    from jsonschema.exceptions import ValidationError

    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", wanted), value):
        yield ValidationError(f"{value!r} does not match {wanted!r}")


def _compiles(value: Any) -> bool:
    """Return True; raises what `re` raises where `value` is text but no regular expression."""
    return not isinstance(value, str) or re.compile(value) is not None


def _is_expression(value: str) -> bool:
    try:
        return _compiles(value)
    except (re.error, OverflowError, RecursionError):
        return False


def _without_whole_floats(value: Any) -> Any:
    """Return `value` with numbers such as 5.0 replaced by 5.5.

    JSON Schema calls 5.0 an integer; in files that people write it is none, as `validator` holds. No schema
    here bounds a number that may have a fraction, so the replacement is valid exactly where 5.0 is.
    """
    if isinstance(value, dict):
        return {key: _without_whole_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_whole_floats(item) for item in value]
    return value + 0.5 if isinstance(value, float) and value.is_integer() else value


def _told(errors: Iterator[ValidationError]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield (path, words) of each error, going down to the branch that was meant."""
    for error in sorted(errors, key=lambda each: [str(step) for step in each.absolute_path]):
        deepest = _meant(error)
        at = tuple(deepest.absolute_path)
        unknown = _unknown(deepest) if deepest.validator == "additionalProperties" else []
        for key in unknown:
            known = ", ".join(f"`{each}`" for each in sorted(_any(deepest.schema)["properties"]))
            yield (*at, key), f"unknown key `{key}`; known are {known}"
        if not unknown:
            yield at, _words(deepest)


def _meant(error: ValidationError) -> ValidationError:
    """Return the most telling error inside a failed `oneOf` or `anyOf`."""
    while error.context:
        branches: dict[Any, list[ValidationError]] = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0], []).append(inner)
        error = min(branches.values(), key=_strangeness)[0]
    return error


def _strangeness(errors: list[ValidationError]) -> tuple[bool, bool, int]:
    """Rank a failed branch: another kind of value, another discriminator (`kind`, `op`), more errors."""
    other_kind = any(e.validator == "type" and not e.relative_path for e in errors)
    return other_kind, any(e.validator == "const" for e in errors), len(errors)


def _unknown(error: ValidationError) -> list[str]:
    """Return the keys that may not be there, in the order of the file."""
    known = _any(error.schema).get("properties", {})
    return [key for key in _any(error.instance) if known and key not in known]


def _words(error: ValidationError) -> str:
    """Return the message for a person: short, with what was expected."""
    match error.validator:
        case "enum":
            choices = ", ".join("null" if c is None else f"`{c}`" for c in _any(error.validator_value))
            return f"{_shown(error.instance)} is not one of {choices}"
        case "const":
            return f"{_shown(error.instance)} instead of {_shown(error.validator_value)}"
        case "required":
            return "key `{}` is missing".format(error.message.split("'")[1])
        case "format":
            return f"{_shown(error.instance)} is not a regular expression: {error.cause}"
        case "type":
            wanted = error.validator_value
            kinds = " or ".join(wanted) if isinstance(wanted, list) else str(wanted)
            hint = "; quote it" if "string" in kinds and isinstance(error.instance, int | float) else ""
            return f"{_shown(error.instance)} is not a {kinds}{hint}"
        case "pattern":
            about = error.schema.get("description") if isinstance(error.schema, dict) else None
            return f"{_shown(error.instance)} does not fit `{error.validator_value}`" + (
                f" ({about})" if about else ""
            )
        case _:
            return error.message if len(error.message) <= 300 else error.message[:297] + "…"


def _any(value: Any) -> Any:
    """Return `value`; the library types what an error always has as possibly unset."""
    return value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text if len(text) <= 80 else text[:77] + '…'}`"
