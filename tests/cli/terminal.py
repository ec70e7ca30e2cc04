"""Run `conform` in a terminal of a given width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from typing import Final

from streamconform_dev.docs.command import CONFORM

from .project import Project

_ESCAPE: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""Matches the sequences that color text, and those that move the cursor for the progress bar."""


def run_on_terminal(project: Project, columns: int, *words: str) -> list[str]:
    """Return the lines that `conform WORDS` prints on a terminal, without colors and the progress bar."""
    project.write()
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "CI")}
    environment["TERM"] = "xterm"  # rich gives a dumb terminal 80 columns
    program = subprocess.Popen(
        (*CONFORM, *words), cwd=project.folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    text = b"".join(iter(lambda: _read(ours), b"")).decode()
    os.close(ours)
    program.wait()
    plain = _ESCAPE.sub("", text).replace("\r\n", "\n")
    return [line for line in plain.split("\n") if "\r" not in line and "judging" not in line]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux reports the end of a terminal's output as an error
        return b""
