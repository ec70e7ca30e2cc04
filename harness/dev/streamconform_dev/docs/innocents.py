"""Generate docs/internals/innocents.md, the table of innocents and of the cases that punish them."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.command import CONFORM

PAGE: Final = ROOT / "docs" / "internals" / "innocents.md"


def generate() -> dict[Path, bytes]:
    """Return the page. If the self-test fails, it prints the reason, and its table is still written."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.md"
        subprocess.run((*CONFORM, "dev", "selftest", "--innocent", "--table", str(table)), check=False)
        return {PAGE: table.read_bytes()}
