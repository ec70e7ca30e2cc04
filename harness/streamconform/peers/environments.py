"""Where the environments of peers lie on a user's machine, and the program that is started in one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform.errors import ImplementationError, UsageError
from streamconform.peers import node_package
from streamconform.peers.table import PEERS, Peer
from streamconform.user_cache import find_user_cache

ABOUT: Final = "environment.json"
"""In the folder of an environment: what is installed. It is there if and only if pip came to its end."""
HERE: Final = Path(__file__).parent
HOST: Final = HERE.parent / "adapters" / "peer_host.py"


@dataclass(frozen=True, slots=True)
class Environment:
    """What is installed for a peer."""

    folder: Path
    python: Path
    """Its Python; of those on Node.js the folder of packages."""
    by: str
    """Version of streamconform that installed it."""
    distributions: Mapping[str, str]
    """The version of each."""


def home(given: str | None) -> Path:
    """Return the folder of environments; `given` is the cache folder that a user names."""
    return find_user_cache(given) / "peers"


def named(name: str) -> Peer:
    """Return the peer that is called `name`; raises `UsageError` with those that there are."""
    if name not in PEERS:
        raise UsageError(f"no peer `{name}`; known are {', '.join(PEERS)}")
    return PEERS[name]


def installed(root: Path, peer: Peer) -> Environment | None:
    """Return the environment of `peer`, or None; raises `ImplementationError` where it is damaged."""
    folder = root / peer.key
    if not folder.exists():
        return None
    javascript = peer.language == "javascript"
    runs = "node_modules" if javascript else "Scripts/python.exe" if os.name == "nt" else "bin/python"
    python = folder / runs
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        found = {str(name): str(version) for name, version in about["distributions"].items()}
        by = str(about["by"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(peer, folder, "is not what `conform peers install` made") from error
    if not python.exists():  # a link to a Python that is not there any more
        raise _damaged(peer, folder, f"has lost its {'packages' if javascript else 'Python'}")
    return Environment(folder, python, by, found)


def remove(root: Path, peer: Peer) -> bool:
    """Take the environment of `peer` away, and what killed ones left; return whether there was any."""
    there = [each for each in (root / peer.key, *root.glob(f".{peer.key}.*")) if each.exists()]
    for each in there:
        shutil.rmtree(each)
    return bool(there)


def program(name: str) -> tuple[str, ...]:
    """Return the program that hosts the peer `name`, in its environment.

    Raises `UsageError` for a name that is none, `ImplementationError` where it is not installed.
    """
    peer = named(name)
    there = installed(home(None), peer)
    if there is None:
        raise ImplementationError(f"`peer:{name}` is not installed; run `conform peers install {name}`")
    if peer.language == "javascript":
        return node_package.program(there.folder, peer)
    # -I: no PYTHONPATH, no packages of the user's, nothing from the folder of the script
    return (str(there.python), "-I", str(HOST), name)


def pins(peer: Peer) -> Path:
    """Return the file that names the release of everything that is installed with `peer`."""
    return HERE / "pins" / f"{peer.key}.txt"


def _damaged(peer: Peer, folder: Path, how: str) -> ImplementationError:
    words = f"run `conform peers remove {peer.name}`, then `conform peers install {peer.name}`"
    return ImplementationError(f"the environment of `peer:{peer.name}`, `{folder}`, {how}; {words}")
