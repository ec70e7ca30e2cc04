"""Generate the output of `conform smoke` in docs/adapters.md, for an adapter with common mistakes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.blocks import fill
from streamconform_dev.docs.command import Run, run_conform

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


def generate(run: Run = run_conform) -> dict[Path, bytes]:
    """Return the page."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "mypkg"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "conform.py").write_text(MISTAKES, "utf-8")
        text = fill(PAGE.read_text("utf-8"), lambda command: run(command, Path(folder)).out)
    return {PAGE: text.encode()}
