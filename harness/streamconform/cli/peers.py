"""`conform peers`: install libraries that have a bundled adapter, each in its own environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import click

from streamconform.cli import commands, completion, options
from streamconform.peers import environments, node_runtime
from streamconform.peers.environments import Environment
from streamconform.peers.table import PEERS, Peer
from streamconform.plural import format_count

cache_option: Final = options.cache_option("environments")
"""`--cache`, for all commands in this module; `--impl peer:NAME` uses the environment variable or default."""


@click.group("peers", cls=commands.Group)
def command() -> None:
    """Install libraries, to judge them with `--impl peer:NAME`.

    \b
    conform peers list                           peers, and which are installed
    conform peers install openai anthropic       with your own pip or npm, to your cache folder
    conform run -i peer:openai -i peer:anthropic

    A peer is a released library, pinned with all its dependencies, plus a short adapter that follows the
    library's documentation. It talks to a local server that replays the provider's answers; no key is used.
    """


@command.command("install")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=completion.complete_peers)
@cache_option
def install_command(names: tuple[str, ...], where: str | None) -> None:
    """Install peers; those that are already installed are not changed.

    Exit codes: 0 installed, 2 unknown peer, 3 a peer cannot be installed.
    """
    from streamconform.peers.install import install

    root = environments.get_environments_folder(where)
    for peer in [environments.find_peer(name) for name in names]:
        environment = environments.read_environment(root, peer)
        on_node = peer.language == "javascript"
        # The peer may be from an earlier version of streamconform, which ran it on a different Node.js.
        if environment is not None and (not on_node or node_runtime.find_runtime(root)):
            folder = environment.folder
            click.echo(f"{peer.name}: {peer.distribution} {peer.version} is already installed: {folder}")
            continue
        tool = f"npm, to run on Node.js {node_runtime.VERSION}" if on_node else "pip"
        click.echo(f"{peer.name}: installing {' '.join(peer.requirements)} with {tool}", err=True)
        environment = install(root, peer)
        count = format_count(len(environment.distributions), "distribution")
        click.echo(f"{peer.name}: {peer.distribution} {peer.version}, {count} in {environment.folder}")


@command.command("list")
@click.option("--format", "shape", type=commands.Choice(["text", "json"]), default="text", show_default=True)
@cache_option
def list_command(shape: str, where: str | None) -> None:
    """List the peers, and show which are installed."""
    root = environments.get_environments_folder(where)
    installed = {peer.name: environments.read_environment(root, peer) for peer in PEERS.values()}
    if shape == "json":
        documents = [_peer_to_json(peer, installed[peer.name]) for peer in PEERS.values()]
        click.echo(json.dumps(documents, indent=1, ensure_ascii=False))
        return
    rows = [
        (
            peer.name,
            f"{peer.distribution} {peer.version}",
            "installed" if installed[peer.name] else "-",
            "http",
            ", ".join(peer.apis),
        )
        for peer in PEERS.values()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        click.echo("  ".join([*(f"{row[n]:<{widths[n]}}" for n in range(4)), row[4]]))
    count = sum(environment is not None for environment in installed.values())
    click.echo(f"{format_count(len(rows), 'peer')}, {count} installed in {root}", err=True)
    node = node_runtime.find_runtime(root)
    where_node = f"installed in {node.parent}" if node else "installed with the first such peer"
    click.echo(f"Peers named node-… run on Node.js {node_runtime.VERSION}, {where_node}", err=True)


@command.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=completion.complete_peers)
@cache_option
def remove_command(names: tuple[str, ...], where: str | None) -> None:
    """Delete peers' environments; peers with the same release share one."""
    root = environments.get_environments_folder(where)
    for peer in [environments.find_peer(name) for name in names]:
        removed = environments.remove_environment(root, peer)
        result = f"removed{_name_others(peer)}" if removed else "was not installed"
        click.echo(f"{peer.name}: {peer.distribution} {peer.version} {result}")


@command.command("outdated")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=completion.complete_peers)
def outdated_command(names: tuple[str, ...]) -> None:
    """For each peer (default: all), list its library's pinned release and the newest one on the index.

    Exit codes: 0 every library is up to date, 1 at least one is outdated, 2 unknown peer, 3 pip or npm
    failed.
    """
    from streamconform.peers.releases import Package, get_sort_key, list_packages, list_releases

    peers = [environments.find_peer(name) for name in names or PEERS]
    pinned = {
        Package(peer.language, name): version
        for peer in peers
        for name, version in list_packages(peer).items()
    }
    rows = []
    for package, version in pinned.items():
        # Includes the pinned release, which would count as outdated if the index had only older ones.
        newest = max((*list_releases(package), version), key=get_sort_key)
        index = "npm" if package.language == "javascript" else "Python"
        rows.append((package.name, index, version, newest, "" if newest == version else "outdated"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        click.echo("  ".join([*(f"{row[n]:<{widths[n]}}" for n in range(4)), row[4]]).rstrip())
    outdated = sum(bool(row[4]) for row in rows)
    click.echo(f"{outdated} of {format_count(len(rows), 'library')} outdated", err=True)
    raise SystemExit(1 if outdated else 0)


@command.command("history")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=completion.complete_peers)
@click.option(
    "--output",
    type=click.Path(file_okay=False),
    default="docs/matrix/history",
    show_default=True,
    help="Folder for the NAME.yaml files; releases that are already listed there are not tested again.",
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
def history_command(
    names: tuple[str, ...], output: str, releases: int, minutes: float, where: str | None, *, keep: bool
) -> None:
    """For each finding about a peer, find the release that introduced it and the one that fixed it.

    Bisects the releases on the index. Each one is installed into a separate environment, with the
    dependencies available on its release day; then one trial per finding is run, and the environment is
    removed. NAME.yaml is written after each release, so that an interrupted search can continue where it
    stopped.

    \b
    conform peers history openai openai-helper
    conform peers history litellm --minutes 20        continue later with the same command

    The limits apply to each peer. Exit codes: 0 done or a limit was reached, 2 unknown peer, 3 pip or npm
    failed.
    """
    from pathlib import Path

    from streamconform.known_failures.of_peers import list_patterns, read_by_finding
    from streamconform.peers.findings import read_findings
    from streamconform.suite.catalog import read_catalog
    from streamconform.suite.selection import SelectionSettings, find_sources
    from streamconform.tools.history.session import Bounds, find_targets, trace_peer

    # The bundled suite, whatever the config says, because findings name its cases.
    catalog = read_catalog(find_sources(SelectionSettings()))
    root = environments.get_environments_folder(where)
    bounds = Bounds(releases, minutes * 60, keep)
    for peer in [environments.find_peer(name) for name in names]:
        known = read_by_finding(peer.name)
        findings = read_findings()
        patterns = {slug: list_patterns(entries, findings[slug].cases) for slug, entries in known.items()}
        targets = find_targets(peer, catalog, findings, patterns)
        path = Path(output) / f"{peer.name}.yaml"
        history = trace_peer(
            root, peer, catalog, targets, path, bounds, lambda line: click.echo(line, err=True)
        )
        click.echo(f"{peer.name}: {format_count(len(history.findings), 'finding')} in {path}")


def _name_others(peer: Peer) -> str:
    """Return the other peers in the same environment, which are removed with it."""
    others = [other.name for other in PEERS.values() if other.key == peer.key and other is not peer]
    return f", with {', '.join(others)}" if others else ""


def _peer_to_json(peer: Peer, environment: Environment | None) -> Mapping[str, Any]:
    return {
        "name": peer.name,
        "impl": f"peer:{peer.name}",
        "distribution": peer.distribution,
        "version": peer.version,
        "requirements": peer.requirements,
        "language": peer.language,
        "runtime": f"Node.js {node_runtime.VERSION}" if peer.language == "javascript" else "Python",
        "apis": peer.apis,
        "inputs": ("http",),
        "through": peer.through,
        "installed": None if environment is None else _environment_to_json(environment),
    }


def _environment_to_json(environment: Environment) -> Mapping[str, Any]:
    return {
        "folder": str(environment.folder),
        "by": environment.installed_by,
        "distributions": dict(environment.distributions),
    }
