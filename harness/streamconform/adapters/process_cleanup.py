"""What a program leaves behind: processes that it started, found by a mark in their environment.

A child in a session of its own survives the end of its parent's process group. Every program therefore gets
an environment variable whose name is unique; whatever it starts inherits it. The variable's name, not its
value, is the mark: a program that starts programs of its own passes on both marks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from pathlib import Path
from typing import Final

PREFIX: Final = "CONFORM_PROGRAM_"
ROUNDS: Final = 20
"""Looks at the process table: what is killed may have started another one meanwhile."""
PAUSE: Final = 0.005


def new_mark() -> str:
    """Return the name of an environment variable that nobody else has."""
    return f"{PREFIX}{secrets.token_hex(8).upper()}"


def marked(mark: str) -> frozenset[int]:
    """Return the ids of living processes with `mark`; none where the system does not show environments."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
                    if f"{mark}=".encode() in (entry / "environ").read_bytes():
                        found.add(int(entry.name))
    return frozenset(found)


async def kill_marked(mark: str, *, group: int) -> None:
    """End every process with `mark`; the members of the process group `group` are dying already."""
    for _ in range(ROUNDS):
        found = marked(mark) - {group, os.getpid()}
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        await asyncio.sleep(PAUSE)
