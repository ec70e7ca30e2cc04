"""`conform init`: write an adapter, a workflow, a known-failures file and a config."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from streamconform.apis import APIS, TEMPLATE_API
from streamconform.cli import commands
from streamconform.errors import UsageError
from streamconform.files import read_regular, write_atomically
from streamconform.init.kits import LANGUAGES, Language, detect_language
from streamconform.init.plan import (
    ADAPTER_MODES,
    WORKFLOW,
    AdapterMode,
    AdapterTarget,
    Kept,
    NewFile,
    find_target,
    plan_files,
)
from streamconform.resources import find_bundled
from streamconform.suite.profiles import find_release

PROFILE: Final = "core"
"""The profile for a first run."""


@click.command("init")
@click.option(
    "--language",
    type=commands.Choice(LANGUAGES),
    help="The adapter's language. [default: the project's]",
)
@click.option(
    "--input",
    "mode",
    type=commands.Choice(ADAPTER_MODES),
    default="bytes",
    show_default=True,
    help="The adapter's input: the answer's chunks (for a parser), or the URL of a local server (for a "
    "complete client).",
)
@click.option("--package", metavar="NAME", help="Python package to test. [default: the project's]")
@click.option(
    "--api",
    multiple=True,
    type=commands.Choice(list(APIS)),
    help=f"API that the library reads. [default: {TEMPLATE_API}, as in the template] Repeatable.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--dry-run", is_flag=True, help="Only print what would be written.")
def command(
    language: Language | None,
    mode: AdapterMode,
    package: str | None,
    api: tuple[str, ...],
    force: bool,  # noqa: FBT001 - click passes flags like this
    dry_run: bool,  # noqa: FBT001
) -> None:
    """Add an adapter, a workflow, known failures and a config to the project in this folder.

    The adapter is written to the tests folder. It works as generated, with a small reader for OpenAI Chat
    Completions in place of your library; its comments say what to replace. Existing files are kept.

    \b
    conform init                     a parser, in the language of the project's manifest
    conform init --input http        a client, with its HTTP library
    conform init --language java     the template for another language
    """
    folder = Path()
    target = find_target(folder, language or detect_language(folder), package)
    # The config names a frozen release, because new cases in `core` could break the project's CI.
    profile = find_release(find_bundled("specs"), PROFILE) or PROFILE
    for file in plan_files(folder, target, api or (TEMPLATE_API,), mode, profile):
        click.echo(_write_file(folder, file, force=force, dry_run=dry_run))
    for line in _list_next_steps(folder, target, dry_run=dry_run):
        click.echo(line)


def _write_file(folder: Path, file: NewFile | Kept, *, force: bool, dry_run: bool) -> str:
    """Write one file, unless it exists, and return the line to print."""
    if isinstance(file, Kept):
        return f"kept   {file.path}: {file.why}"
    path = folder / file.path
    # A symbolic link to a missing file counts as nonexistent, but writing would follow it.
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
        before = read_regular(path)
        line_end = b"\r\n" if b"\r\n" in before else b"\n"
        with path.open("ab") as stream:
            stream.write(
                (b"" if before.endswith(b"\n") or not before else line_end)
                + file.text.encode().replace(b"\n", line_end)
            )
    elif exists:
        write_atomically(path, file.text.encode())
    else:
        # Exclusive mode, so that a file created in the meantime is not overwritten.
        with path.open("xb") as stream:
            stream.write(file.text.encode())


def _list_next_steps(folder: Path, target: AdapterTarget, *, dry_run: bool) -> list[str]:
    lines = []
    if _is_inside_repository(folder):
        lines.append(f"note: GitHub reads workflows at the root of the repository; move {WORKFLOW} there")
    if not dry_run:
        first = f"`{target.first}`, then " if target.first else ""
        smoke, run = f"conform smoke {target.arguments}", f"conform run --profile {PROFILE}"
        lines += [
            f"next: {first}`{smoke}` checks the adapter, which already reads {TEMPLATE_API}",
            f"      replace the code at FILL IN in {target.adapter} with your library",
            f"      `{run}` tests it in less than a minute for most clients",
            f"      `{run} --update-known-failures` lists the failures, so that CI passes",
        ]
    return lines


def _is_inside_repository(folder: Path) -> bool:
    """Return whether `folder` is below a repository's root."""
    resolved = folder.resolve()
    return not (resolved / ".git").exists() and any((parent / ".git").exists() for parent in resolved.parents)
