"""`conform schema`: print the published formats."""

from __future__ import annotations

import json

import click

from streamconform.schemas import NAMES, load_schema


@click.command("schema")
@click.argument("name", required=False, type=click.Choice(NAMES))
def command(name: str | None) -> None:
    """Print the JSON Schema NAME; without NAME, list the schemas."""
    if name is not None:
        click.echo(json.dumps(load_schema(name), indent=2, ensure_ascii=False))
        return
    for schema_name in NAMES:
        click.echo(f"{schema_name:<18} {load_schema(schema_name)['title']}")
