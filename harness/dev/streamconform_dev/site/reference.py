"""Generate the reference as Markdown: commands, the adapter contract, kinds of bugs and JSON Schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import click

from streamconform.apis import APIS
from streamconform.cli import conform
from streamconform.cli.verbs import load_verbs
from streamconform.model.capability import CALLED, CAPABILITIES, CLAIMED_BY_NAME
from streamconform.model.trial import DELIVERIES, FAULTS
from streamconform.resources import find_bundled
from streamconform.schemas import NAMES, load_schema
from streamconform.schemas.bundle import bundle_schema
from streamconform.suite.kinds import PATHS, CasePath, Cell, read_kinds
from streamconform_dev.selftest.cells import MARKS, Row, count_cells, make_rows
from streamconform_mutants import MUTANTS

JsonObject = Mapping[str, Any]

CONTRACT: Final = ("protocol.v1", "outcome.v1", "event.v1")
"""The schemas that an adapter has to know."""
LETTERS: Final[Mapping[CasePath, str]] = {
    "stream": "S",
    "document": "D",
    "request": "Q",
    "replay": "R",
    "behavior": "B",
}
"""The letter of each path in the table of kinds."""


def write_reference() -> dict[str, str]:
    """Return the Markdown pages by path, relative to the folder of the documentation."""
    schemas = {f"reference/{name}.md": "\n".join(_write_schema(name)) for name in NAMES}
    return {
        "reference/commands.md": "\n".join(_write_commands()),
        "reference/adapter.md": "\n".join(_write_contract()),
        "reference/kinds.md": "\n".join(_write_kinds()),
        "reference/schemas.md": "\n".join(_write_schema_list()),
        **schemas,
    }


def write_schemas() -> dict[str, str]:
    """Return the schemas, each with the definitions that it refers to, by path in the site."""
    return {
        f"schemas/{name}.json": json.dumps(bundle_schema(name), indent=2, ensure_ascii=False) + "\n"
        for name in NAMES
    }


def _write_commands() -> Iterator[str]:
    yield "# Commands\n"
    yield (
        "Every command with its arguments and options, generated from the code. [Commands and exit"
        " codes](../cli.md) explains how they work together.\n"
    )
    context = click.Context(conform, info_name="conform")
    for verb in load_verbs():
        command = conform.get_command(context, verb)
        assert command is not None, "each verb has a command"
        yield from _write_command(command, click.Context(command, context, info_name=verb), "##")


def _write_command(command: click.Command, context: click.Context, heading: str) -> Iterator[str]:
    yield f"{heading} `{context.command_path}`\n"
    for paragraph in (command.help or "").split("\n\n"):
        text = paragraph.strip("\n")
        if text.lstrip().startswith("\b"):
            lines = [line.rstrip() for line in text.split("\n") if line.strip() != "\b"]
            yield "```console\n" + "\n".join(line.removeprefix("    ") for line in lines) + "\n```\n"
        else:
            yield " ".join(line.strip() for line in text.split("\n")) + "\n"
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f"```console\n{context.command_path} {pieces}\n```\n"
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [record for record in records if record is not None]
    if rows:
        yield "| option | meaning |\n|---|---|"
        for name, meaning in rows:
            yield f"| {_format_code(name.replace('|', ' | '))} | {_format_cell(meaning)} |"
        yield ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _write_command(child, click.Context(child, context, info_name=name), "###")


def _write_contract() -> Iterator[str]:
    yield "# The adapter contract\n"
    yield (
        "What an adapter receives and returns, generated from the code. [Adapters](../adapters.md) explains"
        " it with examples; the pages of the schemas have every field.\n"
    )
    yield "| format | holds |\n|---|---|"
    for name in CONTRACT:
        yield f"| [`{name}`]({name}.md) | {_format_cell(load_schema(name)['description'])} |"
    yield "\n## APIs\n"
    yield "An adapter names those that it reads in `apis`.\n"
    yield ", ".join(f"`{api}`" for api in APIS) + "\n"
    yield "## Capabilities\n"
    yield (
        "An adapter is judged only on the capabilities that it claims. Without a list, it claims those of"
        " streams; the others have to be named.\n"
    )
    functions = {capability: function for function, capability in CALLED.values()}
    yield "| capability | claimed | function |\n|---|---|---|"
    for name in sorted(CAPABILITIES):
        claimed = "only by name" if name in CLAIMED_BY_NAME else "by default"
        yield f"| `{name}` | {claimed} | {_format_code(functions.get(name, ''))} |"
    yield "\n## Deliveries\n"
    yield "Ways to hand over the same stream. The outcome must not change.\n"
    yield "| delivery | level | what it does |\n|---|---|---|"
    for delivery in DELIVERIES.values():
        yield f"| `{delivery.name}` | {delivery.level} | {_format_cell(delivery.does)} |"
    yield "\n## Faults\n"
    yield "Ways to break a stream. A broken stream must not be reported as complete.\n"
    yield "| fault | level |\n|---|---|"
    for fault, level in FAULTS.items():
        yield f"| `{fault}` | {level} |"


def _write_kinds() -> Iterator[str]:
    kinds = read_kinds(find_bundled("specs"))
    rows = make_rows(kinds, MUTANTS.values())
    counts = count_cells(rows)
    yield "# Kinds of bugs\n"
    paths = ", ".join(f"`{letter}` {path}" for path, letter in LETTERS.items())
    yield (
        f"The suite asks {len(rows)} kinds of bugs of each API. A letter stands for what the client does:"
        f" {paths}. A case catches a client with such a bug, as `conform dev selftest` proves. `-`: the API's"
        f" documentation rules the kind out there; the reasons are below. There are {counts['asked']} cells"
        f" with a case, {counts['excluded']} ruled out, and {counts['empty']} empty.\n"
    )
    for group, title in kinds.groups.items():
        of_group = [row for row in rows if row.kind.group == group]
        if not of_group:
            continue
        yield f"## {_format_cell(title)}\n"
        yield f"| kind | {' | '.join(_format_code(api) for api in APIS)} |\n|---|{'---|' * len(APIS)}"
        for row in of_group:
            name = f"{_format_cell(row.kind.title)} (`{row.kind.name}`)"
            yield f"| {name} | {' | '.join(_format_code(_mark_cell(row, api)) for api in APIS)} |"
        yield ""
        for row in of_group:
            for cell, reason in row.kind.excluded.items():
                yield f"- `{row.kind.name}`, {cell.api}, {cell.path}: {_format_cell(reason)}"
        yield ""


def _mark_cell(row: Row, api: str) -> str:
    """Return a letter for each path on which the kind is asked of `api`, and a dash where it cannot occur."""
    states = {path: row.describe(Cell(api, path)) for path in PATHS}
    return "".join(
        LETTERS[path] if state == "asked" else MARKS[state].strip() for path, state in states.items()
    )


def _write_schema_list() -> Iterator[str]:
    yield "# JSON Schemas\n"
    yield "Every format is published as JSON Schema; `conform schema NAME --bundle` prints it.\n"
    yield "| schema | describes |\n|---|---|"
    for name in NAMES:
        yield f"| [`{name}`]({name}.md) | {_format_cell(load_schema(name)['description'])} |"


def _write_schema(name: str) -> Iterator[str]:
    schema = load_schema(name)
    yield f"# `{name}`\n"
    yield f"{schema['description']}\n"
    file = f"[{name}.json](../../schemas/{name}.json)"
    yield f"The schema itself: {file}, or `conform schema {name} --bundle`.\n"
    if "properties" in schema:
        yield "## The document\n"
        yield from _write_properties(schema)
    definitions = schema.get("$defs", {})
    for key, definition in sorted(definitions.items(), key=lambda item: "properties" not in item[1]):
        yield f"## {key}\n"
        if "description" in definition:
            yield f"{definition['description']}\n"
        if "properties" in definition:
            yield from _write_properties(definition)
        else:
            yield f"{_describe_type(definition)}\n"


def _write_properties(schema: JsonObject) -> Iterator[str]:
    required = schema.get("required", ())
    yield "| field | type | meaning |\n|---|---|---|"
    for name, field in schema["properties"].items():
        yield from _write_field(name, field, required=name in required)
    yield ""


def _write_field(path: str, field: JsonObject | Literal[True], *, required: bool) -> Iterator[str]:
    """Yield the row of a field, and those of the fields inside it."""
    schema: JsonObject = {} if isinstance(field, bool) else field
    meaning = _format_cell(schema.get("description", ""))
    yield f"| {_format_code(path)}{', required' if required else ''} | {_describe_type(schema)} | {meaning} |"
    inner, prefix = schema, f"{path}."
    if "properties" not in inner and isinstance(schema.get("items"), dict):
        inner, prefix = schema["items"], f"{path}[]."
    for name, child in inner.get("properties", {}).items():
        yield from _write_field(f"{prefix}{name}", child, required=name in inner.get("required", ()))


def _describe_type(schema: JsonObject) -> str:
    """Return the type of a value in a few words, with links to the definitions that it refers to."""
    if "$ref" in schema:
        return _link_definition(schema["$ref"])
    if "const" in schema:
        return _format_code(json.dumps(schema["const"], ensure_ascii=False))
    if "enum" in schema:
        return " or ".join(_format_code(json.dumps(value, ensure_ascii=False)) for value in schema["enum"])
    for key, word in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
        if key in schema:
            return word.join(dict.fromkeys(filter(None, map(_describe_type, schema[key]))))
    types = schema.get("type", "any")
    words = [types] if isinstance(types, str) else list(types)
    if "array" in words and isinstance(schema.get("items"), dict):
        words[words.index("array")] = f"array of {_describe_type(schema['items'])}"
    text = " or ".join(words)
    return f"{text}, matches {_format_code(schema['pattern'])}" if "pattern" in schema else text


def _link_definition(reference: str) -> str:
    """Return a link to a definition: `#/$defs/stop`, `urn:streamconform:outcome.v1#/$defs/usage`."""
    document, _, pointer = reference.partition("#")
    name = document.rpartition(":")[2]
    key = pointer.rpartition("/")[2] or name
    page = f"{name}.md" if name else ""
    anchor = f"#{key.lower()}" if pointer else ""
    return f"[{key}]({page}{anchor})"


def _format_code(text: str) -> str:
    """Return `text` as a code span in a cell."""
    if not text:
        return ""
    tick = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{tick}{space}{text}{space}{tick}".replace("|", "\\|")


def _format_cell(text: str) -> str:
    """Return `text` on one line of a table; what looks like HTML outside code is escaped."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    escaped = "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)
    return escaped.replace("|", "\\|")
