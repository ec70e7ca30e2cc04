"""Run `conform` as a reader of a page would."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CONFORM: Final = (sys.executable, "-m", "streamconform")


@dataclass(frozen=True, slots=True)
class Ran:
    """The output and exit code of a command."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The last line on stdout."""
        return self.out.rstrip().rpartition("\n")[2]


Run = Callable[[str, Path], Ran]
"""A function that runs a command line of `conform` in a folder; tests have a faster one."""


def run_conform(command: str, folder: Path) -> Ran:
    """Run `command`, which starts with the word `conform`, in `folder`."""
    done = subprocess.run(
        (*CONFORM, *shlex.split(command)[1:]),
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
