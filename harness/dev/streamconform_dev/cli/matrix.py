"""`conform dev matrix`: judge peers, and write docs/matrix."""

from __future__ import annotations

import click

from streamconform_dev.docs.generators import GENERATORS
from streamconform_dev.matrix.changes import list_changes
from streamconform_dev.matrix.judge_peers import judge_peers
from streamconform_peers.cli import complete_peers
from streamconform_peers.table import PEERS


@click.command("matrix")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=complete_peers)
@click.option("--update", is_flag=True, help="Rewrite the known failures, and list what changed.")
def command(names: tuple[str, ...], *, update: bool) -> None:
    """Judge peers (default: all) one after another, and write docs/matrix.

    Exits with the worst exit code of their runs.
    """
    code = judge_peers(names or [*PEERS], update=update)
    for name in ("matrix", "findings"):
        list(GENERATORS[name].write())
    if update:
        for line in list_changes():
            click.echo(line)
    raise SystemExit(code)
