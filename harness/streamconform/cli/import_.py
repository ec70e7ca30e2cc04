"""`conform import`: a capture of any tool to a cassette and a draft spec."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

from streamconform.apis import APIS
from streamconform.cli import options
from streamconform.errors import Problem, SourceError, UsageError
from streamconform.model.cassette import Cassette
from streamconform.reports.words import counted
from streamconform.run.exits import Exit
from streamconform.suite import cassettes
from streamconform.tools.record import draft, importers
from streamconform.tools.record.exchange import collect_parts
from streamconform.tools.record.importers.exchange import SkippedExchange
from streamconform.tools.record.scan import scan
from streamconform.wire.framings import split

RANDOM = "a random word"
"""What a finding is called that may be harmless: the others look like keys."""
STDIN = Path("-")
TOPIC = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--api",
    type=click.Choice(list(APIS)),
    help="The wire format. [default: by the requests' paths, where the file holds them]",
)
@click.option("--name", help="Name of the cassette and of its case. [default: the file's name]")
@click.option("--topic", default="imported", show_default=True, help="Spec that the case is appended to.")
@click.option("--specs", type=click.Path(file_okay=False), help="Folder of specs. [default: specs]")
@click.option(
    "--cassettes", type=click.Path(file_okay=False), help="Folder of cassettes. [default: cassettes]"
)
@click.option(
    "--allow",
    multiple=True,
    metavar="WORD",
    help="Let a finding of the look for secrets pass: its fingerprint, or a JSON field. Repeatable.",
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
    **given: Any,
) -> None:
    """Turn captured streams into cassettes and draft specs.

    \b
    curl -iN … > incident.sse
    conform import incident.sse --api anthropic-messages
    conform import tests/cassettes/test_stream.yaml       vcrpy, YAML or JSON
    conform run --specs specs -i mypkg

    FILE is a cassette of vcrpy, or a body: what `curl -N` printed (with `-i` its headers in front), `.sse`,
    `.ndjson`, `.json`, or `.jsonl` with one payload a line; - is stdin. The expectation of a draft is what
    the bundled parser made of the stream: review it before you trust it.
    """
    if name is not None and len(files) > 1:
        raise UsageError("`--name` names one cassette; import the files one by one")
    if not TOPIC.fullmatch(topic) or len(topic) > 80:
        raise UsageError(f"`--topic {topic}`: expected lower-case words joined by hyphens")
    if STDIN in files and name is None:
        raise UsageError("give `--name` with stdin: it has no name of its own")
    chosen = options.settings(given)
    specs = Path(chosen.get("specs", "specs"))
    store = Path(chosen.get("cassettes", "cassettes"))
    taken = [importers.import_file(path, _read(path), api, name) for path in files]
    found = [cassette for each in taken for cassette in each.cassettes]
    _refuse_known(found, specs, store, topic)
    _look_for_secrets(found, allow)
    for cassette in found:
        click.echo(_written(cassette, specs, store, topic))
    _tell_left([left for each in taken for left in each.skipped])
    if not found:
        click.echo("nothing was imported", err=True)
        ctx.exit(Exit.USAGE)
    click.echo(
        f"{counted(len(found), 'draft')}: review what they expect, then `conform run --specs {specs}`",
        err=True,
    )


def _read(path: Path) -> bytes:
    try:
        if path == STDIN:
            return sys.stdin.buffer.read(importers.MAX_FILE + 1)
        with path.open("rb") as file:
            return file.read(importers.MAX_FILE + 1)
    except OSError as error:
        raise SourceError((Problem(str(path), None, f"cannot be read: {error.strerror}"),)) from error


def _refuse_known(found: list[Cassette], specs: Path, store: Path, topic: str) -> None:
    """Raise, before anything is written, where a cassette or case is there already."""
    seen: set[tuple[str, str]] = set()
    for cassette in found:
        path = store / cassette.api / f"{cassette.name}.yaml"
        if path.exists() or (cassette.api, cassette.name) in seen:
            raise UsageError(f"`{path}` is there already, or named twice; give `--name`")
        seen.add((cassette.api, cassette.name))
        draft.compose_spec(specs, cassette, topic, _title(cassette))


def _look_for_secrets(found: list[Cassette], allowed: tuple[str, ...]) -> None:
    """Raise where something looks like a key; say where a long random word stands."""
    problems = []
    for cassette in found:
        for finding in scan(collect_parts(cassette), allowed):
            if finding.looks_like == RANDOM:
                click.echo(f"look at {cassette.name}: {finding}", err=True)
            else:
                words = f"{finding}; blank it, or `--allow {finding.fingerprint}`"
                problems.append(Problem(cassette.name, None, words))
    if problems:
        raise SourceError(tuple(problems))


def _written(cassette: Cassette, specs: Path, store: Path, topic: str) -> str:
    """Write cassette and draft and return what was written."""
    path = cassettes.save(store, cassette)
    spec = draft.append_draft(specs, cassette, topic, _title(cassette))
    cassettes.load(store, cassette.api, cassette.name)
    framed = APIS[cassette.api].detect_framing(cassette.status, cassette.body)
    frames = len(split(framed, cassette.body))
    said = counted(frames, "frame") if frames else f"status {cassette.status}, no frame of {cassette.api}"
    found = draft.decode_cassette(cassette)
    reason = found.error.type if found.error else found.stop.reason
    return (
        f"{path}: {len(cassette.body)} bytes, {said}\n"
        f"{spec}: draft case `{cassette.name}` ({found.status}{f', {reason}' if reason else ''})"
    )


def _title(cassette: Cassette) -> str:
    origin = getattr(cassette.provenance, "source", cassette.name)
    return f"DRAFT, imported from {origin}"


def _tell_left(left: list[SkippedExchange]) -> None:
    for each in left:
        click.echo(f"not imported: {each.origin}: {each.why}", err=True)
