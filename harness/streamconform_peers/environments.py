"""Find the environments of installed peers, and build the command that runs a peer's adapter in one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform.errors import ImplementationError, UsageError
from streamconform.suggestions import suggest
from streamconform.system import find_venv_python
from streamconform.user_cache import find_user_cache
from streamconform_peers import node_package, node_runtime
from streamconform_peers.peer import PACKAGE
from streamconform_peers.table import PEERS, Peer

MANIFEST: Final = "environment.json"
"""The file in an environment that lists what is installed. It exists only if the installation finished."""
_HOST: Final = PACKAGE / "host.py"


@dataclass(frozen=True, slots=True)
class Environment:
    """An installed peer."""

    folder: Path
    runtime: Path
    """The environment's Python or, for Node.js peers, the `node_modules` folder."""
    installed_by: str
    """The version of streamconform that installed it."""
    distributions: Mapping[str, str]
    """The installed version of each distribution or npm package."""


def get_environments_folder(cache: str | None = None) -> Path:
    """Return the folder that contains all environments, inside `cache` or else the default cache folder."""
    return find_user_cache(cache) / "peers"


def find_peer(name: str) -> Peer:
    """Return the peer `name`. Raises `UsageError` if there is none."""
    if name not in PEERS:
        hint = suggest(name, PEERS) or "; `conform peers list` shows the peers"
        raise UsageError(f"unknown peer `{name}`{hint}")
    return PEERS[name]


def read_environment(root: Path, peer: Peer) -> Environment | None:
    """Return `peer`'s environment, or None if it is not installed with everything that it needs today.

    Raises:
        ImplementationError: the environment is damaged.
    """
    folder = root / peer.key
    if not folder.exists():
        return None
    runtime = folder / "node_modules" if peer.language == "javascript" else find_venv_python(folder)
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        distributions = {str(name): str(version) for name, version in manifest["distributions"].items()}
        installed_by = str(manifest["by"])
        is_complete = set(peer.requirements) <= {*manifest["requirements"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _build_damage_error(peer, folder, f"`{MANIFEST}` is missing or invalid") from error
    if not is_complete:
        return None
    # `bin/python` is a link, which is broken after the user's Python is upgraded.
    if not runtime.exists():
        raise _build_damage_error(peer, folder, f"`{runtime.relative_to(folder).as_posix()}` is missing")
    return Environment(folder, runtime, installed_by, distributions)


def remove_environment(root: Path, peer: Peer) -> bool:
    """Delete `peer`'s environment and leftovers of killed installations; return whether there were any.

    Node.js is removed with the last peer that uses it.
    """
    folders = [folder for folder in (root / peer.key, *root.glob(f".{peer.key}.*")) if folder.exists()]
    for folder in folders:
        shutil.rmtree(folder)
    runs_on_node = [other for other in PEERS.values() if other.language == "javascript"]
    if peer in runs_on_node and not any((root / other.key).exists() for other in runs_on_node):
        # Also other versions of Node.js, and leftovers of killed installations, whose names begin with a dot.
        for folder in root.glob("*node-runtime-*"):
            shutil.rmtree(folder)
    return bool(folders)


def build_command(name: str) -> tuple[str, ...]:
    """Return the command that runs the adapter for the peer `name` in its environment.

    Raises:
        UsageError: there is no such peer.
        ImplementationError: it is not installed, or its environment is damaged.
    """
    peer = find_peer(name)
    environment = read_environment(get_environments_folder(), peer)
    if environment is None:
        raise ImplementationError(f"`peer:{name}` is not installed; run `conform peers install {name}`")
    if peer.language == "javascript":
        node = node_runtime.find_runtime(get_environments_folder())
        if node is None:
            raise ImplementationError(
                f"Node.js {node_runtime.VERSION}, which runs `peer:{name}`, is not installed; "
                f"run `conform peers install {name}`"
            )
        return node_package.build_command(node, environment.folder, peer)
    return build_python_command(environment.runtime, peer)


def build_python_command(python: Path, peer: Peer) -> tuple[str, ...]:
    """Return the command that runs `peer`'s adapter with an environment's Python."""
    # -I keeps PYTHONPATH, the user's site packages and the script's folder out of the import path.
    module = f"streamconform_peers.{peer.library}.{peer.module}"
    return (str(python), "-I", str(_HOST), module, json.dumps(peer.hello))


def _build_damage_error(peer: Peer, folder: Path, reason: str) -> ImplementationError:
    return ImplementationError(
        f"the environment of `peer:{peer.name}` in `{folder}` is damaged: {reason}; "
        f"run `conform peers remove {peer.name}`, then `conform peers install {peer.name}`"
    )
