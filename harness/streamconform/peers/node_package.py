"""Peers that run on Node.js: what the pins name, installed by the user's npm and run by the user's node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from streamconform.errors import ImplementationError
from streamconform.peers.peer import Peer
from streamconform.suite.cassettes import write_atomically

HERE: Final = Path(__file__).parent / "node"
"""The adapters, and under `pins` a lock file for each environment: versions and digests, no addresses."""
CI: Final = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")
"""Exactly what the lock file names; nothing that is installed is run."""
SAID_MAX: Final = 6
"""Lines of npm's that are shown."""


def pins(peer: Peer) -> Path:
    """Return the lock file of everything that is installed with `peer`."""
    return HERE / "pins" / f"{peer.key}.json"


def fill(folder: Path, peer: Peer) -> dict[str, str]:
    """Install into `folder`, which is empty, and return the version of each package.

    Raises `ImplementationError` where npm is not there, or fails. Registry, proxy and cache are the user's.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise ImplementationError(f"`{peer.name}` is installed with npm, which is not on the path")
    locked = pins(peer).read_bytes()
    packages = json.loads(locked)["packages"]
    (folder / "package-lock.json").write_bytes(locked)
    (folder / "package.json").write_text(json.dumps({"private": True, **packages[""]}), "utf-8")
    ran = subprocess.run(  # noqa: S603 - the user's npm, and words of our own
        (npm, *CI),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if ran.returncode != 0:
        raise ImplementationError(_why(peer, ran.stderr + ran.stdout))
    return _versions(folder, packages)


def program(folder: Path, peer: Peer) -> tuple[str, ...]:
    """Return the program that is the adapter of `peer`, put beside what is installed in `folder`.

    A module of node's looks for packages beside itself; so the adapters of this release are laid there.
    Raises `ImplementationError` where there is no node.
    """
    node = shutil.which("node")
    if node is None:
        raise ImplementationError(f"`peer:{peer.name}` runs on Node.js, and `node` is not on the path")
    module, *words = peer.module.split()
    for ours in HERE.glob("*.mjs"):
        there, source = folder / ours.name, ours.read_bytes()
        if not there.exists() or there.read_bytes() != source:
            write_atomically(there, source)
    about = {"package": peer.distribution, "issues": peer.issues, "apis": peer.capabilities}
    return (node, str(folder / f"{module}.mjs"), json.dumps(about), *words)


def _versions(folder: Path, packages: dict[str, Any]) -> dict[str, str]:
    """Return what was installed; what is for another system was not."""
    there = {path: each for path, each in packages.items() if path and (folder / path).exists()}
    return {path.rpartition("node_modules/")[2]: str(each["version"]) for path, each in there.items()}


def _why(peer: Peer, said: str) -> str:
    lines = [each.strip() for each in said.splitlines() if each.strip()]
    errors = [each for each in lines if each.startswith(("npm error", "npm ERR!"))]
    shown = (errors or lines or ["it says nothing"])[:SAID_MAX]
    return "\n".join(
        [f"npm cannot install {' '.join(peer.requirements)}:", *(f"  {each[:300]}" for each in shown)]
    )
