"""Generate the output of `conform smoke` in docs/adapters.md, for an adapter with common mistakes."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import Final

from ..cli.project import Project
from .blocks import ROOT, fill

PAGE: Final = ROOT / "docs" / "adapters.md"
MISTAKES: Final = """
from streamconform_reference import adapter as reference


def adapter(run):
    *_, last = reference(run)
    outcome = last["outcome"]
    for block in outcome["content"]:
        if block["type"] == "tool_call":
            block["arguments"] = block["arguments_text"]
    if outcome["stop"]["reason"] == "stop":
        outcome["stop"] = {"reason": "end_turn"}
    outcome["status"] = "complete"
    outcome["cost"] = {"total": 0.000096}
    return outcome


adapter.info = {"name": "my client", "version": "1.2"}
adapter.apis = ["anthropic-messages"]
adapter.capabilities = ["tool_calls", "usage", "cache-usage", "cost"]
"""


def generate() -> dict[Path, bytes]:
    """Return the page."""
    return {PAGE: fill(PAGE.read_text("utf-8"), _run).encode()}


def _run(command: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        package = {"mypkg/__init__.py": "", "mypkg/conform.py": MISTAKES}
        return Project(Path(folder), package).run(*shlex.split(command)[1:]).out
