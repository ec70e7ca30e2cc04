"""Install Node.js next to the peers that run on it, so that the machine's own Node.js is not used."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from streamconform.errors import ImplementationError
from streamconform_peers import node_package

VERSION: Final = "26.10.0"
"""The only Node.js release that runs peers. On npm, there is one package per platform."""
PINS: Final = node_package.SHARED / "runtime.json"
"""The lock file with the digest of each platform's package."""
FOLDER: Final = f"node-runtime-{VERSION}"


def find_runtime(root: Path) -> Path | None:
    """Return the `node` program for the environments in `root`, or None if it is not installed."""
    programs = sorted((root / FOLDER / "node_modules").glob("node-*/bin/node*"))
    return programs[0] if programs else None


def install_runtime(root: Path) -> Path:
    """Install Node.js into `root`, unless it is already there, and return the `node` program.

    Raises:
        ImplementationError: npm is missing or failed, or there is no package for this platform.
    """
    installed = find_runtime(root)
    if installed is not None:
        return installed
    # Renamed into place when complete, like the environment of a peer.
    with tempfile.TemporaryDirectory(prefix=f".{FOLDER}.", dir=root) as work:
        folder = Path(work) / "environment"
        folder.mkdir()
        if not node_package.fill(folder, PINS):
            raise ImplementationError(f"npm has no Node.js {VERSION} package for this platform (`{PINS}`)")
        if not (root / FOLDER).exists():  # another process may have installed it in the meantime
            folder.replace(root / FOLDER)
    program = find_runtime(root)
    if program is None:
        raise ImplementationError(f"`{root / FOLDER}` is damaged: remove it, and install the peer again")
    return program
