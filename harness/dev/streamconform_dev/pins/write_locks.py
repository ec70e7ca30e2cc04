"""Write the missing lock files of Node.js libraries: `python -m streamconform_dev.pins.write_locks`.

npm resolves the packages and asks its registry for their digests. Unused ones are removed. A
lock file that exists is kept, so that a package that was replaced in the registry is noticed when it is
installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from streamconform_peers.table import PEERS, Peer

OPTIONS: Final = ("--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact")


def resolve(peer: Peer) -> dict[str, Any]:
    """Return the lock file for the requirements of `peer`, without the addresses of the registry."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("`npm` is not on the PATH")
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        (folder / "package.json").write_text('{"name": "peer", "private": true}', "utf-8")
        command = (npm, "install", *OPTIONS, *peer.requirements)
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(ran.stderr)
        lock: dict[str, Any] = json.loads((folder / "package-lock.json").read_bytes())
    for entry in lock["packages"].values():
        entry.pop("resolved", None)
    return lock


def main() -> None:
    """Write the files."""
    for peer in PEERS.values():
        if peer.language == "javascript" and not peer.pins.exists():
            peer.pins.write_text(json.dumps(resolve(peer), indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
