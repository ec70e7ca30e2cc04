"""Generate the output blocks of README.md and docs/cli.md.

Blocks of peers that are not installed stay unchanged.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.blocks import fill, strip_lines
from streamconform_dev.docs.command import Run, run_conform
from streamconform_peers import environments
from streamconform_peers.table import PEERS

PAGES = (ROOT / "README.md", ROOT / "docs" / "cli.md")
PEER = re.compile(r"\bpeer:([a-z-]+)")


def run_command(command: str, run: Run = run_conform) -> str:
    """Return what `command` prints in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        return strip_lines(run(command, Path(folder)).out)


def is_runnable(command: str) -> bool:
    """Return whether the peers that `command` names are installed."""
    return all(
        environments.read_environment(environments.get_environments_folder(), PEERS[name])
        for name in PEER.findall(command)
    )


def generate() -> dict[Path, bytes]:
    """Return the pages with every output that this machine can produce."""
    return {page: fill(page.read_text("utf-8"), _run_if_possible).encode() for page in PAGES}


def _run_if_possible(command: str) -> str | None:
    return run_command(command) if is_runnable(command) else None
