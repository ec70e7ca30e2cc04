"""`conform peers`: install libraries that have a bundled adapter, each in its own environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import click

from streamconform.cli import commands, options
from streamconform.plural import format_count
from streamconform_peers import environments, node_runtime
from streamconform_peers.environments import Environment
from streamconform_peers.table import PEERS, Peer

cache_option: Final = options.cache_option("environments")
"""`--cache`, for all commands in this module; `--impl peer:NAME` uses the environment variable or default."""


def complete_peers(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the peer names that start with `incomplete`."""
    del ctx, parameter
    return [name for name in PEERS if name.startswith(incomplete)]


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
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_peers)
@cache_option
def install_command(names: tuple[str, ...], where: str | None) -> None:
    """Install peers; those that are already installed are not changed.

    Exit codes: 0 installed, 2 unknown peer, 3 a peer cannot be installed.
    """
    from streamconform_peers.install import install

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
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_peers)
@cache_option
def remove_command(names: tuple[str, ...], where: str | None) -> None:
    """Delete peers' environments; peers with the same release share one."""
    root = environments.get_environments_folder(where)
    for peer in [environments.find_peer(name) for name in names]:
        removed = environments.remove_environment(root, peer)
        result = f"removed{_name_others(peer)}" if removed else "was not installed"
        click.echo(f"{peer.name}: {peer.distribution} {peer.version} {result}")


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
