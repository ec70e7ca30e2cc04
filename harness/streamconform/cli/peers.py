"""`conform peers`: libraries that can be judged without writing an adapter, each in its own environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from streamconform.cli import cached
from streamconform.peers import environments
from streamconform.peers.environments import Environment
from streamconform.peers.table import PEERS, Peer
from streamconform.reports.words import counted

cache_option: Final = cached.cache_option("environments")
"""`--cache`, for every verb here; `--impl peer:NAME` looks where the variable or the default says."""


@click.group("peers")
def command() -> None:
    """Install libraries to be judged as `--impl peer:NAME`.

    \b
    conform peers list                           what there is, and what is installed
    conform peers install openai anthropic       with your own pip or npm, to your cache folder
    conform run -i peer:openai -i peer:anthropic

    Each is a released library, pinned with everything that it depends on, and a short adapter that uses it as
    its own documentation says. It asks a server on the loopback that stands for the provider; no key is used.
    """


@command.command("install")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@cache_option
def install_command(names: tuple[str, ...], where: str | None) -> None:
    """Install peers; one that is there already is left as it is.

    Exit codes: 0 they are there, 2 no such peer, 3 one cannot be installed.
    """
    from streamconform.peers.install import install

    root = environments.get_environments_folder(where)
    for peer in [environments.find_peer(name) for name in names]:
        there = environments.read_environment(root, peer)
        if there is not None:
            click.echo(f"{peer.name}: {peer.distribution} {peer.version} is there already: {there.folder}")
            continue
        tool = "npm" if peer.language == "javascript" else "pip"
        click.echo(f"{peer.name}: {tool} installs {' '.join(peer.requirements)}", err=True)
        there = install(root, peer)
        said = counted(len(there.distributions), "distribution")
        click.echo(f"{peer.name}: {peer.distribution} {peer.version}, {said} in {there.folder}")


@command.command("list")
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
@cache_option
def list_command(shape: str, where: str | None) -> None:
    """List the peers, and which are installed."""
    root = environments.get_environments_folder(where)
    there = {peer.name: environments.read_environment(root, peer) for peer in PEERS.values()}
    if shape == "json":
        documents = [_json(peer, there[peer.name]) for peer in PEERS.values()]
        click.echo(json.dumps(documents, indent=1, ensure_ascii=False))
        return
    rows = [
        (
            peer.name,
            f"{peer.distribution} {peer.version}",
            "installed" if there[peer.name] else "-",
            "http",
            ", ".join(peer.apis),
        )
        for peer in PEERS.values()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        click.echo("  ".join([*(f"{row[n]:<{widths[n]}}" for n in range(4)), row[4]]))
    number = sum(each is not None for each in there.values())
    click.echo(f"{counted(len(rows), 'peer')}, {number} installed in {root}", err=True)


@command.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@cache_option
def remove_command(names: tuple[str, ...], where: str | None) -> None:
    """Take the environments of peers away; peers of one release have one together."""
    root = environments.get_environments_folder(where)
    for peer in [environments.find_peer(name) for name in names]:
        gone = environments.remove_environment(root, peer)
        said = "removed" if gone else "was not installed"
        click.echo(f"{peer.name}: {peer.distribution} {peer.version} {said}{_too(peer) if gone else ''}")


def _too(peer: Peer) -> str:
    """Return the other peers that were in the same environment."""
    others = [each.name for each in PEERS.values() if each.key == peer.key and each is not peer]
    return f", and with it {', '.join(others)}" if others else ""


def _json(peer: Peer, there: Environment | None) -> Mapping[str, Any]:
    return {
        "name": peer.name,
        "impl": f"peer:{peer.name}",
        "distribution": peer.distribution,
        "version": peer.version,
        "requirements": peer.requirements,
        "language": peer.language,
        "apis": peer.apis,
        "inputs": ("http",),
        "through": peer.through,
        "installed": None if there is None else _installed(there),
    }


def _installed(there: Environment) -> Mapping[str, Any]:
    folder: Path = there.folder
    return {"folder": str(folder), "by": there.installed_by, "distributions": dict(there.distributions)}
