"""Fills the block of docs/adapters.md with what `conform smoke` prints: `-m tests.cli.smoke_document`."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from .project import ROOT, Project

DOCUMENT = ROOT / "docs" / "adapters.md"
BLOCK = re.compile(r"(<!-- output: conform smoke mypkg -->\n```\n).*?(```\n)", re.DOTALL)
MISTAKES = """
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


def filled() -> str:
    """Return the document with the block as it is printed."""
    with tempfile.TemporaryDirectory() as folder:
        made = (
            Project(Path(folder)).with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", MISTAKES)
        )
        printed = made.run("smoke", "mypkg").out
    return BLOCK.sub(lambda match: match[1] + printed + match[2], DOCUMENT.read_text("utf-8"))


if __name__ == "__main__":
    DOCUMENT.write_text(filled(), "utf-8")
