"""`conform export`: write cassettes in other tools' formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from streamconform.cli import commands, completion, options
from streamconform.config import read_settings
from streamconform.errors import SelectionError, UsageError
from streamconform.model.case import AnyCase, Case, RoundTripCase
from streamconform.model.cassette import Cassette
from streamconform.plural import format_count
from streamconform.suite.cassettes import write_atomically
from streamconform.suite.selection import select

from streamconform_capture.record.export import FORMATS, find_base_url


@click.command("export")
@click.argument("cases", nargs=-1, required=True, metavar="CASE...", shell_complete=completion.complete_cases)
@click.option("--to", "form", required=True, type=commands.Choice(list(FORMATS)), help="Format of the files.")
@click.option("--out", default=".", show_default=True, metavar="FOLDER", help="Folder to write to.")
@click.option(
    "--base-url",
    metavar="URL",
    help="Base URL of the requests in har and vcr files. [default: the provider's]",
)
@options.sources_options
def command(cases: tuple[str, ...], form: str, out: str, base_url: str | None, **arguments: Any) -> None:
    """Write the cassettes of cases in other tools' formats.

    \b
    conform export 'openai-chat/tool-calls/**' --to vcr --out tests/cassettes
    conform export anthropic-messages/text/plain --to raw

    CASE is a case's id or a pattern, as for `conform run -k`. raw is the body alone, and jsonl its payloads;
    har and vcr also include the request. No file is overwritten. Exit codes: 0 written, 2 usage error or
    nothing selected.
    """
    settings = read_settings(arguments).selection
    # The fewest deliveries, because only the cases of the trials are used.
    trials = select(replace(settings, select=cases, deliver="fast")).trials
    found = {trial.case.id: trial.case for trial in trials}.values()
    # Several cases may test one cassette, which becomes one file.
    chosen = {(cassette.api, cassette.name): cassette for case in found for cassette in _list_cassettes(case)}
    if not chosen:
        raise SelectionError("none of the selected cases has a cassette")
    export, suffix = FORMATS[form]
    address = base_url.rstrip("/") if base_url is not None else None
    # All paths are checked before the first file is written.
    files: dict[Path, bytes] = {}
    for (api, name), cassette in chosen.items():
        path = Path(out, api, f"{name}.{suffix or cassette.suffix}")
        if path.exists():
            raise UsageError(f"`{path}` exists; choose another folder with `--out`")
        files[path] = export(cassette, address or find_base_url(cassette))
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
        click.echo(str(path))
    click.echo(format_count(len(files), "file"), err=True)


def _list_cassettes(case: AnyCase) -> tuple[Cassette, ...]:
    match case:
        case Case():
            return () if case.unavailable is not None else (case.cassette,)
        case RoundTripCase():
            return (case.first.cassette, case.second.cassette)
        case _:
            return ()
