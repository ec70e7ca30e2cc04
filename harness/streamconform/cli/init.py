"""`conform init`: write an adapter, a workflow, a known-failures file and a config."""

from __future__ import annotations

from pathlib import Path

import click

from streamconform.apis import APIS
from streamconform.errors import UsageError
from streamconform.suite.cassettes import write_atomically
from streamconform.tools.init.plan import WORKFLOW, Kept, Language, NewFile, Target, planned, target


@click.command("init")
@click.option("--package", metavar="NAME", help="The package to judge. [default: the only package here]")
@click.option(
    "--language",
    type=click.Choice(["python", "node"]),
    default="python",
    show_default=True,
    help="Language of the adapter.",
)
@click.option(
    "--api",
    multiple=True,
    type=click.Choice(list(APIS)),
    help="An API that it reads. [default: all] Repeatable.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--dry-run", is_flag=True, help="Only print what would be written.")
def command(
    package: str | None,
    language: Language,
    api: tuple[str, ...],
    force: bool,  # noqa: FBT001 - click passes flags like this
    dry_run: bool,  # noqa: FBT001
) -> None:
    """Add an adapter, a workflow, known failures and a config to the project in this folder.

    The adapter runs as it is but reads nothing yet; its comments say what to fill in. Existing files are
    kept.

    \b
    conform init                     writes mypkg/conform.py, if there is one package
    conform init --language node     writes conform_adapter.mjs
    """
    folder = Path()
    project = target(folder, language, package)
    for file in planned(folder, project, api or tuple(APIS)):
        click.echo(_write_file(folder, file, force=force, dry_run=dry_run))
    for line in _list_next_steps(folder, project, dry_run=dry_run):
        click.echo(line)


def _write_file(folder: Path, file: NewFile | Kept, *, force: bool, dry_run: bool) -> str:
    """Write one file, unless it exists, and return the line to print."""
    if isinstance(file, Kept):
        return f"kept   {file.path}: {file.why}"
    path = folder / file.path
    exists = path.exists() or path.is_symlink()
    if exists and not file.appends and not force:
        return f"kept   {file.path}: it exists; use --force to overwrite it"
    if dry_run:
        return f"would {'add to' if file.appends else 'overwrite' if exists else 'write'}  {file.path}"
    try:
        _write(path, file, exists=exists)
    except OSError as error:
        raise UsageError(f"`{file.path}` cannot be written: {error.strerror or error}") from error
    return f"{'added to' if file.appends else 'wrote'}  {file.path}"


def _write(path: Path, file: NewFile, *, exists: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if file.appends:
        before = path.read_bytes()
        line_end = b"\r\n" if b"\r\n" in before else b"\n"
        with path.open("ab") as stream:
            stream.write(
                (b"" if before.endswith(b"\n") or not before else line_end)
                + file.text.encode().replace(b"\n", line_end)
            )
    elif exists:
        write_atomically(path, file.text.encode())
    else:
        # Exclusive, so that a file which appeared in the meantime is not overwritten.
        with path.open("xb") as stream:
            stream.write(file.text.encode())


def _list_next_steps(folder: Path, project: Target, *, dry_run: bool) -> list[str]:
    lines = []
    if _is_inside_repository(folder):
        lines.append(f"note: GitHub reads workflows at the root of the repository; move {WORKFLOW} there")
    if not dry_run:
        first = f"`{project.first}`, then " if project.first else ""
        lines += [
            f"next: {first}`conform run` shows what fails while the adapter is empty",
            f"      fill in {project.adapter}, then check it with `conform smoke {project.words}`",
            "      `conform run --update-known-failures` lists what still fails, so that CI is green",
        ]
    return lines


def _is_inside_repository(folder: Path) -> bool:
    """Return whether `folder` is below the root of a repository."""
    resolved = folder.resolve()
    return not (resolved / ".git").exists() and any((parent / ".git").exists() for parent in resolved.parents)
