"""`conform dev outdated`: list the libraries whose pinned release is not the newest one."""

from __future__ import annotations

import click

from streamconform.plural import format_count
from streamconform_dev.names.newer import find_new_names
from streamconform_peers import environments
from streamconform_peers.cli import complete_peers
from streamconform_peers.releases import Package, get_sort_key, list_packages, list_releases
from streamconform_peers.table import PEERS


@click.command("outdated")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=complete_peers)
@click.option(
    "--new-names",
    is_flag=True,
    help="Also install the newest release of each outdated SDK of a provider, and list the events, types, "
    "fields and enum values in its types that the listed release does not have.",
)
def command(names: tuple[str, ...], *, new_names: bool) -> None:
    """For each peer (default: all), list its library's pinned release and the newest one on the index.

    Exit codes: 0 every library is up to date, 1 at least one is outdated, 2 unknown peer, 3 pip or npm
    failed.
    """
    peers = [environments.find_peer(name) for name in names or PEERS]
    pinned = {
        Package(peer.language, name): version
        for peer in peers
        for name, version in list_packages(peer).items()
    }
    rows = []
    newer: list[tuple[Package, str]] = []
    for package, version in pinned.items():
        # Includes the pinned release, which would count as outdated if the index had only older ones.
        newest = max((*list_releases(package), version), key=get_sort_key)
        index = "npm" if package.language == "javascript" else "Python"
        rows.append((package.name, index, version, newest, "" if newest == version else "outdated"))
        if new_names and newest != version:
            newer.append((package, newest))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        click.echo("  ".join([*(f"{row[n]:<{widths[n]}}" for n in range(4)), row[4]]).rstrip())
    for package, newest in newer:
        _print_new_names(package, newest)
    outdated = sum(bool(row[4]) for row in rows)
    click.echo(f"{outdated} of {format_count(len(rows), 'library')} outdated", err=True)
    raise SystemExit(1 if outdated else 0)


def _print_new_names(package: Package, version: str) -> None:
    for api, found in find_new_names(package, version).items():
        click.echo(f"{package.name} {version}, {api}: {format_count(len(found), 'new name')}")
        for name in found:
            click.echo(f"  {name}")
