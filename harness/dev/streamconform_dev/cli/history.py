"""`conform dev history`: find the releases that introduced and fixed what the findings describe."""

from __future__ import annotations

from pathlib import Path

import click

from streamconform.plural import format_count
from streamconform.suite.catalog import read_catalog
from streamconform.suite.selection import SelectionSettings, find_sources
from streamconform_dev.history.session import Bounds, find_targets, trace_peer
from streamconform_peers import environments
from streamconform_peers.cli import cache_option, complete_peers
from streamconform_peers.findings import read_findings
from streamconform_peers.known import list_patterns, read_by_finding


@click.command("history")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_peers)
@click.option(
    "--output",
    type=click.Path(file_okay=False),
    help="Folder for the NAME.yaml files; releases that are already listed there are not tested again"
    " [default: `history` in the library's folder]",
)
@click.option(
    "--releases",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="Maximum number of installations.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Maximum time in minutes.",
)
@click.option("--keep", is_flag=True, help="Keep the releases' environments.")
@cache_option
def command(
    names: tuple[str, ...],
    output: str | None,
    releases: int,
    minutes: float,
    where: str | None,
    *,
    keep: bool,
) -> None:
    """For each finding about a peer, find the release that introduced it and the one that fixed it.

    Bisects the releases on the index. Each one is installed into a separate environment, with the
    dependencies available on its release day; then one trial per finding is run, and the environment is
    removed. NAME.yaml is written after each release, so that an interrupted search can continue where it
    stopped.

    \b
    conform dev history openai openai-helper
    conform dev history litellm --minutes 20        continue later with the same command

    The limits apply to each peer. Exit codes: 0 done or a limit was reached, 2 unknown peer, 3 pip or npm
    failed.
    """
    # The bundled suite, whatever the config says, because findings name its cases.
    catalog = read_catalog(find_sources(SelectionSettings()))
    root = environments.get_environments_folder(where)
    bounds = Bounds(releases, minutes * 60, keep)
    for peer in [environments.find_peer(name) for name in names]:
        known = read_by_finding(peer.name)
        findings = read_findings()
        patterns = {slug: list_patterns(entries, findings[slug].cases) for slug, entries in known.items()}
        targets = find_targets(peer, catalog, findings, patterns)
        path = Path(output) / peer.history.name if output else peer.history
        history = trace_peer(
            root, peer, catalog, targets, path, bounds, lambda line: click.echo(line, err=True)
        )
        click.echo(f"{peer.name}: {format_count(len(history.findings), 'finding')} in {path}")
