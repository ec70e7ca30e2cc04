"""A copy of the checkout in which the steps of CONTRIBUTING.md are performed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform_dev.checkout import ROOT

from .page import Section

# Modules find the checkout by their resolved path, so code is copied. The many cassettes are only linked,
# because nothing changes them.
COPIED: Final = ("harness", "reference_impl", "tests", "docs", "specs")
LINKED: Final = "cassettes"
_PROGRAMS: Final = {"conform": "streamconform", "pytest": "pytest", "ruff": "ruff"}


@dataclass(frozen=True, slots=True)
class Checkout:
    """A copy of the checkout."""

    root: Path

    def add_files(self, section: Section) -> None:
        """Add the files of a section's example."""
        for path in section.files:
            target = self.root / path
            if target.exists():
                raise ValueError(f"the example replaces {path}")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(section.example / path, target)

    def run(self, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command from the page in the copy, like a reader with `.venv` activated."""
        functions = [f'python() {{ {shlex.quote(sys.executable)} "$@"; }}']
        functions += [f'{name}() {{ python -m {module} "$@"; }}' for name, module in _PROGRAMS.items()]
        paths = (self.root / "harness", self.root / "harness/dev", self.root / "reference_impl")
        return subprocess.run(
            ("bash", "-c", "; ".join((*functions, line))),
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={
                **os.environ,
                "NO_COLOR": "1",
                "PYTHONPATH": os.pathsep.join(map(str, paths)),
                **environment,
            },
        )


def copy_checkout(root: Path) -> Checkout:
    """Copy the files that the steps read or change to `root`, including compiled modules to save time."""
    root.mkdir()
    for path in (
        *ROOT.glob("*.md"),
        ROOT / "pyproject.toml",
        ROOT / "Makefile",
        ROOT / "action.yml",
        ROOT / "LICENSE",
    ):
        shutil.copy2(path, root)
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name)
    for folder in (ROOT / LINKED).iterdir():
        target = root / LINKED / folder.name
        target.mkdir(parents=True)
        for file in folder.iterdir():
            (target / file.name).symlink_to(file)
    return Checkout(root)
