"""Install Node.js peers with the user's npm, and run them with a Node.js that is installed with the peers."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from streamconform.errors import ImplementationError
from streamconform.files import write_atomically
from streamconform_peers.peer import PACKAGE, Peer

SHARED: Final = PACKAGE / "node"
"""The modules that adapters share."""
INSTALL_COMMAND: Final = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")
"""Installs exactly what the lock file lists, without running packages' install scripts."""
MAX_OUTPUT_LINES: Final = 6
"""The maximum number of lines of npm's output to show in an error message."""


def fill(folder: Path, lock_file: Path) -> dict[str, str]:
    """Install what `lock_file` lists into `folder`, which must be empty; return the version of each package.

    The user's registry, proxy and cache are used.

    Raises:
        ImplementationError: npm is missing or failed.
    """
    lock = lock_file.read_bytes()
    packages = json.loads(lock)["packages"]
    root = packages[""]
    required = {**root.get("dependencies", {}), **root.get("optionalDependencies", {})}
    requirements = " ".join(f"{name}@{version}" for name, version in required.items())
    npm = shutil.which("npm")
    if npm is None:
        raise ImplementationError(f"cannot install {requirements}: `npm` is not on the PATH")
    (folder / "package-lock.json").write_bytes(lock)
    # `npm ci` requires a package.json that agrees with the lock file.
    (folder / "package.json").write_text(json.dumps({"private": True, **root}), "utf-8")
    result = subprocess.run(  # noqa: S603 - the user's npm, and arguments of our own
        (npm, *INSTALL_COMMAND),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode != 0:
        raise ImplementationError(_describe_failure(requirements, result.stderr + result.stdout))
    return _list_installed(folder, packages)


def build_command(node: Path, folder: Path, peer: Peer) -> tuple[str, ...]:
    """Copy the adapter into `folder`, and return the command that runs `peer` with the program `node`."""
    # A module finds packages only in the folders above its own, so it must be next to `node_modules`.
    # Copying on every start ensures that the modules are from this release, whichever release installed the
    # packages.
    for module in (*SHARED.glob("*.mjs"), *peer.folder.glob("*.mjs")):
        copy, source = folder / module.relative_to(PACKAGE), module.read_bytes()
        if not copy.exists() or copy.read_bytes() != source:
            copy.parent.mkdir(exist_ok=True)
            write_atomically(copy, source)
    program = folder / peer.library / f"{peer.module}.mjs"
    return (str(node), str(program), json.dumps(peer.hello), *peer.arguments)


def _list_installed(folder: Path, packages: dict[str, Any]) -> dict[str, str]:
    """Return the version of each installed package; npm skips packages for other operating systems."""
    installed = {path: entry for path, entry in packages.items() if path and (folder / path).exists()}
    return {path.rpartition("node_modules/")[2]: str(entry["version"]) for path, entry in installed.items()}


def _describe_failure(requirements: str, output: str) -> str:
    """Return the error message for an npm failure, given npm's output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    # Older releases of npm write `npm ERR!`.
    errors = [line for line in lines if line.startswith(("npm error", "npm ERR!"))]
    # The first lines, because npm names the error first and ends with the path of its log.
    selected = (errors or lines or ["(no output)"])[:MAX_OUTPUT_LINES]
    return "\n".join([f"npm cannot install {requirements}:", *(f"  {line[:300]}" for line in selected)])
