"""Generate `tests/reports/golden/`: every report of `results.jsonl`, whole and cut by a killed run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from streamconform.reports import REPORTS, STREAMED, render
from streamconform.run.merge import merge
from streamconform.run.reading import read
from streamconform_dev.checkout import ROOT

KINDS: Final = (*REPORTS, STREAMED)
HERE: Final = ROOT / "tests" / "reports"
RESULTS: Final = HERE / "results.jsonl"
SUFFIXES: Final = {"junit": "xml", "markdown": "md", "badge": "json", "json": "json", "jsonl": "jsonl"}
"""The suffixes other than `txt`, by which an editor chooses the syntax for a golden file."""
CUT: Final = 2100
"""The number of bytes of `results.jsonl` that a killed run has written, up to the middle of a line."""


def write_cut_results(folder: Path) -> Path:
    """Write the results of a killed run into `folder` and return their path."""
    path = folder / "cut.jsonl"
    path.write_bytes(RESULTS.read_bytes()[:CUT])
    return path


def render_report(kind: str, path: Path) -> bytes:
    """Return the report that `conform report KIND` writes for the results at `path`."""
    return f"{render(kind, merge([(path.name, read(path))]))}\n".encode("utf-8", "backslashreplace")


def golden_path(kind: str, *, whole: bool) -> Path:
    """Return the path of the golden file for a kind of report."""
    return HERE / "golden" / f"{kind}{'' if whole else '-cut'}.{SUFFIXES.get(kind, 'txt')}"


def generate() -> dict[Path, bytes]:
    """Return every golden file."""
    files = {golden_path(kind, whole=True): render_report(kind, RESULTS) for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        cut = write_cut_results(Path(folder))
        return files | {golden_path(kind, whole=False): render_report(kind, cut) for kind in KINDS}
