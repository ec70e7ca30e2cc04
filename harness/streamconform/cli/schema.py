"""`conform schema`: print the published formats."""

from __future__ import annotations

import json

import click

from streamconform.cli import commands
from streamconform.errors import UsageError
from streamconform.schemas import NAMES, load_schema
from streamconform.schemas.bundle import bundle_schema


@click.command("schema")
@click.argument("name", required=False, metavar="[NAME]", type=commands.Choice(NAMES))
@click.option("--bundle", is_flag=True, help="Include the definitions of other schemas that NAME refers to.")
def command(name: str | None, *, bundle: bool) -> None:
    """Print the JSON Schema called NAME; without NAME, list the schemas.

    \b
    conform schema protocol.v1 --bundle > protocol.json
    npx json-schema-to-typescript protocol.json > protocol.d.ts
    npx quicktype -s schema protocol.json -o protocol.rs
    """
    if name is not None:
        schema = bundle_schema(name) if bundle else load_schema(name)
        click.echo(json.dumps(schema, indent=2, ensure_ascii=False))
        return
    if bundle:
        raise UsageError("`--bundle` needs the NAME of a schema")
    for schema_name in NAMES:
        click.echo(f"{schema_name:<18} {load_schema(schema_name)['title']}")
