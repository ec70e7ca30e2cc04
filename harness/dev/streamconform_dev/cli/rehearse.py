"""`conform dev rehearse`: build each package of a release, install it in an empty folder, and use it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from streamconform.cli import commands
from streamconform.run.exits import Exit
from streamconform_dev.rehearsal import PACKAGES, RehearsalError, rehearse


@click.command("rehearse")
@click.argument("names", nargs=-1, metavar="[PACKAGE...]", type=commands.Choice([*PACKAGES]))
@click.option(
    "--keep",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the built files in FOLDER/PACKAGE, which must not exist.",
)
@click.pass_context
def command(ctx: click.Context, /, names: tuple[str, ...], keep: Path | None) -> None:
    """Build each PACKAGE (default: all), install it from the file in an empty folder, and use it there.

    Nothing is published. Exit codes: 0 every package works, 1 one does not, or a program that it needs is
    missing.
    """
    code = Exit.EXPECTED
    for name in names or PACKAGES:
        with tempfile.TemporaryDirectory() as folder:
            out, project = Path(folder, "out") if keep is None else keep / name, Path(folder, "project")
            out.mkdir(parents=True)
            project.mkdir()
            try:
                done = rehearse(PACKAGES[name], out.resolve(), project)
            except RehearsalError as error:
                code = Exit.UNEXPECTED
                click.echo(f"FAIL  {name}: {error}")
                continue
            size = sum(path.stat().st_size for path in done.files) / 1e6
            built, installed, used = done.seconds
            files = done.files[0].name if len(done.files) == 1 else f"{len(done.files)} files"
            times = f"built in {built:.0f} s, installed in {installed:.0f} s, used for {used:.0f} s"
            click.echo(f"ok    {name}: {files}, {size:.1f} MB; {times}")
    ctx.exit(code)
