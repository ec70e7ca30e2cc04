"""Generate the output of `conform explain --outcome` in docs/http.md: run the page's script on a server."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from ..cli.project import Project
from ..replay.serving import serve
from .blocks import ROOT, fill

PAGE: Final = ROOT / "docs" / "http.md"
_FILE: Final = re.compile(r"<!-- file: (?P<name>.+?) -->\n```python\n(?P<text>.*?)```", re.DOTALL)


def read_files() -> dict[str, str]:
    """Return the files that the page shows, by name."""
    return {match["name"]: match["text"] for match in _FILE.finditer(PAGE.read_text("utf-8"))}


def ask_server(project: Project, script: str) -> tuple[str, str, str]:
    """Run the page's script against a server. Returns its output, the server's first line and its log."""
    project.with_file("ask.py", script).write()
    with serve(project.folder, "--api", "anthropic-messages", "-k", "interleaved-fragments") as server:
        (url,) = server.urls
        done = subprocess.run(
            (sys.executable, "ask.py", url), cwd=project.folder, capture_output=True, check=True, text=True
        )
    return done.stdout, server.lines[0], server.log


def generate() -> dict[Path, bytes]:
    """Return the page."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        outcome, _, _ = ask_server(project, read_files()["ask.py"])
        project = project.with_file("outcome.json", outcome)

        def run(command: str) -> str:
            return project.run(*shlex.split(command)[1:]).out

        return {PAGE: fill(PAGE.read_text("utf-8"), run).encode()}
