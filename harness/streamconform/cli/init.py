"""`conform init`: an adapter, a workflow, a list of known failures and a config, ready to run."""

from __future__ import annotations

from pathlib import Path

import click

from streamconform.apis import APIS
from streamconform.errors import UsageError
from streamconform.suite.cassettes import write_atomically
from streamconform.tools.init.plan import WORKFLOW, Kept, Language, NewFile, Target, planned, target


@click.command("init")
@click.option("--package", metavar="NAME", help="The package that is judged. [default: the one that is here]")
@click.option(
    "--language",
    type=click.Choice(["python", "node"]),
    default="python",
    show_default=True,
    help="What the adapter is written in.",
)
@click.option(
    "--api",
    multiple=True,
    type=click.Choice(list(APIS)),
    help="An api that it reads. [default: all] Repeatable.",
)
@click.option("--force", is_flag=True, help="Overwrite files that are there already.")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
def command(
    package: str | None,
    language: Language,
    api: tuple[str, ...],
    force: bool,  # noqa: FBT001 - click hands flags over so
    dry_run: bool,  # noqa: FBT001
) -> None:
    """Put an adapter, a workflow, known failures and a config into the project in this folder.

    The adapter runs as it is and reads nothing yet: what to fill in is said in it. Files that are there
    already are kept.

    \b
    conform init                     mypkg/conform.py, where there is one package
    conform init --language node     conform_adapter.mjs
    """
    folder = Path()
    of = target(folder, language, package)
    for each in planned(folder, of, api or tuple(APIS)):
        click.echo(_done(folder, each, force=force, dry_run=dry_run))
    for line in _next(folder, of, dry_run=dry_run):
        click.echo(line)


def _done(folder: Path, each: NewFile | Kept, *, force: bool, dry_run: bool) -> str:
    """Write one file, unless it is there, and return the line that tells."""
    if isinstance(each, Kept):
        return f"kept   {each.path}: {each.why}"
    path = folder / each.path
    there = path.exists() or path.is_symlink()
    if there and not each.appends and not force:
        return f"kept   {each.path}: it is there already; --force overwrites it"
    if dry_run:
        return f"would {'add to' if each.appends else 'overwrite' if there else 'write'}  {each.path}"
    try:
        _write(path, each, there=there)
    except OSError as error:
        raise UsageError(f"`{each.path}` cannot be written: {error.strerror or error}") from error
    return f"{'added to' if each.appends else 'wrote'}  {each.path}"


def _write(path: Path, each: NewFile, *, there: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if each.appends:
        before = path.read_bytes()
        end = b"\r\n" if b"\r\n" in before else b"\n"
        with path.open("ab") as file:
            file.write(
                (b"" if before.endswith(b"\n") or not before else end)
                + each.text.encode().replace(b"\n", end)
            )
    elif there:
        write_atomically(path, each.text.encode())
    else:
        with path.open("xb") as file:
            file.write(each.text.encode())


def _next(folder: Path, of: Target, *, dry_run: bool) -> list[str]:
    """Return what to do now."""
    lines = []
    if _inside_a_repository(folder):
        lines.append(f"note: workflows are read at the root of a repository; move {WORKFLOW} there")
    if not dry_run:
        first = f"`{of.first}`, then " if of.first else ""
        lines += [
            f"next: {first}`conform run` shows what fails while nothing is filled in",
            f"      fill in {of.adapter}; `conform smoke {of.words}` says whether it is sane",
            "      `conform run --update-known-failures` lists what still fails: CI is green meanwhile",
        ]
    return lines


def _inside_a_repository(folder: Path) -> bool:
    """Return whether this is a folder inside a repository, not its root."""
    here = folder.resolve()
    return not (here / ".git").exists() and any((above / ".git").exists() for above in here.parents)
