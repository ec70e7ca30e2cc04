"""`conform import`: turn a captured stream into a cassette and a draft spec."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Final

import click

from streamconform.apis import APIS
from streamconform.cli import commands, options
from streamconform.errors import Problem, SourceError, UsageError
from streamconform.model.cassette import Cassette
from streamconform.printable import escape_line
from streamconform.reports.describe import format_count
from streamconform.run.exits import Exit
from streamconform.suite import cassettes
from streamconform.tools.record import draft, importers, save, scrub
from streamconform.tools.record.scan import redact
from streamconform.tools.record.scanned import Scanned, Unscanned, scan_for_writing
from streamconform.wire.framings import split

MAX_REASON: Final = 400
"""Characters printed of why an exchange is not imported."""
STDIN: Final = Path("-")
TOPIC: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--api",
    type=commands.Choice(list(APIS)),
    help="The wire format. [default: told by the request's path, else by the frames]",
)
@click.option("--name", help="Name of the cassette and of its case. [default: the file's name]")
@click.option("--topic", default="imported", show_default=True, help="Spec to which the case is added.")
@click.option("--specs", type=click.Path(file_okay=False), help="Folder of specs. [default: specs]")
@click.option(
    "--cassettes", type=click.Path(file_okay=False), help="Folder of cassettes. [default: cassettes]"
)
@click.option(
    "--allow",
    multiple=True,
    metavar="WORD",
    help="Ignore a possible secret: its fingerprint, or a JSON field. Repeatable.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[Path, ...],
    api: str | None,
    name: str | None,
    topic: str,
    allow: tuple[str, ...],
    **arguments: Any,
) -> None:
    """Turn captured streams into cassettes and draft specs.

    \b
    curl -iN … > incident.sse
    conform import incident.sse --api anthropic-messages
    conform import tests/cassettes/test_stream.yaml       vcrpy, YAML or JSON
    conform run --specs specs -i mypkg

    FILE is a vcrpy cassette, a HAR, flows of mitmproxy, an httprr trace or a response body: the output of
    `curl -N` (with headers if you used `-i`), `.sse`, `.ndjson`, `.json`, or `.jsonl` with one payload or
    chunk per line; - is stdin. A draft expects the outcome
    that the bundled parser gives: review it before you trust it. Exit codes: 0 imported, 2 nothing imported,
    or a usage or input error.
    """
    if name is not None and len(files) > 1:
        raise UsageError("`--name` works with a single file; import the files one by one")
    if not TOPIC.fullmatch(topic) or len(topic) > 80:
        raise UsageError(f"`--topic {topic}`: expected lower-case words joined by hyphens")
    if STDIN in files and name is None:
        raise UsageError("stdin has no name; add `--name NAME`")
    settings = options.merge_settings(arguments | {"allow": allow})
    specs = Path(settings.get("specs", "specs"))
    store = Path(settings.get("cassettes", "cassettes"))
    imports = [importers.import_file(path, _read_file(path), api, name) for path in files]
    imported = [cassette for result in imports for cassette in result.cassettes]
    # Everything is checked before anything is written.
    drafts = _check_names(imported, specs, store, topic)
    secrets = tuple(secret for result in imports for secret in result.secrets)
    for scanned in _check_secrets(imported, drafts, secrets, tuple(settings.get("allow", ()))):
        click.echo(_write_cassette(scanned, specs, store, topic))
    for result in imports:
        for left in result.skipped:
            why = scrub.blank(left.why.encode("utf-8", "replace"), secrets).decode("utf-8", "replace")
            click.echo(f"not imported: {left.origin}: {escape_line(redact(why), MAX_REASON)}", err=True)
    if not imported:
        click.echo("nothing was imported", err=True)
        ctx.exit(Exit.USAGE)
    click.echo(
        f"{format_count(len(imported), 'draft')}: review them, then `conform run --specs {specs}`",
        err=True,
    )


def _read_file(path: Path) -> bytes:
    try:
        if path == STDIN:
            return sys.stdin.buffer.read(importers.MAX_FILE + 1)
        with path.open("rb") as file:
            return file.read(importers.MAX_FILE + 1)
    except OSError as error:
        raise SourceError((Problem(str(path), None, f"cannot be read: {error.strerror}"),)) from error


def _check_names(imported: list[Cassette], specs: Path, store: Path, topic: str) -> list[str]:
    """Return the draft cases; raise if a cassette or a case of the same name exists."""
    seen: set[tuple[str, str]] = set()
    drafts = []
    for cassette in imported:
        path = store / cassette.api / f"{cassette.name}.yaml"
        if path.exists() or (cassette.api, cassette.name) in seen:
            raise UsageError(f"`{path}` exists, or two imports have the same name; use `--name`")
        seen.add((cassette.api, cassette.name))
        drafts.append(draft.format_case(cassette, _make_title(cassette)))
        draft.add_case(specs, cassette, topic, drafts[-1])
    return drafts


def _check_secrets(
    imported: list[Cassette], drafts: list[str], secrets: tuple[bytes, ...], allowed: tuple[str, ...]
) -> tuple[Scanned, ...]:
    """Raise if a secret is left; print a note for each long random word."""
    unscanned = (
        Unscanned(cassette=cassette, text=text, where=_get_origin(cassette), secrets=secrets)
        for cassette, text in zip(imported, drafts, strict=True)
    )
    # A recording can be made again with another request, an imported file cannot: its random words are only
    # noted.
    scanned = scan_for_writing(unscanned, allowed, refuse_random_words=False)
    for item in scanned:
        for note in item.notes:
            click.echo(f"check {item.cassette.name}: {note}", err=True)
    return scanned


def _write_cassette(scanned: Scanned, specs: Path, store: Path, topic: str) -> str:
    """Write cassette and draft case, and return the lines that name them."""
    path = save.save_cassette(store, scanned)
    spec = save.append_case(specs, scanned, topic)
    cassette = scanned.cassette
    cassettes.load(store, cassette.api, cassette.name)  # what was written must load again
    framing_name = APIS[cassette.api].detect_framing(cassette.status, cassette.body)
    frames = len(split(framing_name, cassette.body))
    size = (
        format_count(frames, "frame") if frames else f"status {cassette.status}, no frames of {cassette.api}"
    )
    outcome = draft.decode_cassette(cassette)
    reason = escape_line((outcome.error.type if outcome.error else outcome.stop.reason) or "")
    return (
        f"{path}: {len(cassette.body):,} bytes, {size}\n"
        f"{spec}: draft case `{cassette.name}` ({outcome.status}{f', {reason}' if reason else ''})"
    )


def _make_title(cassette: Cassette) -> str:
    return f"DRAFT, imported from {_get_origin(cassette)}"


def _get_origin(cassette: Cassette) -> str:
    return getattr(cassette.provenance, "source", cassette.name)
