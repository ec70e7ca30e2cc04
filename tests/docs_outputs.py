"""Fill the output blocks of the README and of docs/cli.md: `python -m tests.docs_outputs`.

A block follows a line `<!-- output: COMMAND -->` and holds what COMMAND prints. The tests compare everything
but the times. Blocks of peers that are not installed are kept as they are.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from streamconform.peers import environments
from streamconform.peers.table import PEERS

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "cli.md")
BLOCK = re.compile(r"(<!-- output: (?P<command>.+?) -->\n```\n)(?P<text>.*?)(```)", re.DOTALL)
TIME = re.compile(r"in \d+\.\d s")
PEER = re.compile(r"\bpeer:([a-z-]+)")


def printed(command: str) -> str:
    """Return what `command` prints in an empty folder."""
    argv = [sys.executable, "-m", "streamconform", *shlex.split(command)[1:]]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            argv, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | {"NO_COLOR": "1"}
        )
    text = done.stdout.replace(f"{ROOT}/", "")
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines()) + "\n"


def without_times(text: str) -> str:
    """Return `text` without the times, which differ from run to run."""
    return TIME.sub("in # s", text)


def is_runnable(command: str) -> bool:
    """Return whether the peers that `command` names are installed."""
    return all(environments.installed(environments.home(None), PEERS[name]) for name in PEER.findall(command))


def main() -> None:
    """Write every block that can be produced on this machine."""
    for page in PAGES:
        text = page.read_text("utf-8")
        page.write_text(BLOCK.sub(_filled, text), "utf-8")


def _filled(block: re.Match[str]) -> str:
    command = block["command"]
    return block[1] + printed(command) + block[4] if is_runnable(command) else block[0]


if __name__ == "__main__":
    main()
