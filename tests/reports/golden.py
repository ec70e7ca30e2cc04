"""Writes `golden/` anew from `results.jsonl`: `python -m tests.reports.golden`; then read the difference."""

from __future__ import annotations

from pathlib import Path

from streamconform.cli.report import KINDS
from streamconform.reports import render
from streamconform.run.merge import merge
from streamconform.run.reading import read

HERE = Path(__file__).parent
RESULTS = HERE / "results.jsonl"
GOLDEN = HERE / "golden"
SUFFIX = {
    "junit": "xml",
    "markdown": "md",
    "github": "txt",
    "badge": "json",
    "json": "json",
    "jsonl": "jsonl",
}
CUT = 2100
"""Bytes of `results.jsonl` in the golden files of a run that was killed: in the middle of a line."""


def cut_file(folder: Path) -> Path:
    """Return the path of the results as a kill would have left them."""
    path = folder / "cut.jsonl"
    path.write_bytes(RESULTS.read_bytes()[:CUT])
    return path


def made(kind: str, path: Path) -> bytes:
    """Return what `conform report KIND` makes of `path`."""
    return f"{render(kind, merge([(path.name, read(path))]))}\n".encode("utf-8", "backslashreplace")


def golden(kind: str, *, whole: bool) -> Path:
    """Return where the golden file of `kind` is."""
    return GOLDEN / f"{kind}{'' if whole else '-cut'}.{SUFFIX[kind]}"


def main() -> None:
    """Write every golden file."""
    GOLDEN.mkdir(exist_ok=True)
    cut = cut_file(GOLDEN)
    for kind in KINDS:
        golden(kind, whole=True).write_bytes(made(kind, RESULTS))
        golden(kind, whole=False).write_bytes(made(kind, cut))
    cut.unlink()


if __name__ == "__main__":
    main()
