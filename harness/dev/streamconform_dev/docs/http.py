"""Generate the output of `conform explain --outcome` in docs/http.md: run the page's script on a server."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.blocks import fill
from streamconform_dev.docs.command import CONFORM, run_conform

PAGE: Final = ROOT / "docs" / "http.md"
_FILE: Final = re.compile(r"<!-- file: (?P<name>.+?) -->\n```python\n(?P<text>.*?)```", re.DOTALL)


def read_files() -> dict[str, str]:
    """Return the files that the page shows, by name."""
    return {match["name"]: match["text"] for match in _FILE.finditer(PAGE.read_text("utf-8"))}


def ask_server(folder: Path, script: str) -> tuple[str, str, str]:
    """Run the page's script against a server. Returns its output, the server's first line and its log."""
    (folder / "ask.py").write_text(script, "utf-8")
    command = (*CONFORM, "serve", "--api", "anthropic-messages", "-k", "interleaved-fragments")
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            line = server.stdout.readline().rstrip()
            ask = (sys.executable, "ask.py", line.split()[0])
            done = subprocess.run(ask, cwd=folder, capture_output=True, check=True, text=True)
        finally:
            server.send_signal(signal.SIGINT)
        _, log = server.communicate(timeout=30)
    return done.stdout, line, log.partition("\n")[2]


def generate() -> dict[Path, bytes]:
    """Return the page."""
    with tempfile.TemporaryDirectory() as folder:
        outcome, _, _ = ask_server(Path(folder), read_files()["ask.py"])
        (Path(folder) / "outcome.json").write_text(outcome, "utf-8")
        text = fill(PAGE.read_text("utf-8"), lambda command: run_conform(command, Path(folder)).out)
        return {PAGE: text.encode()}
