"""Kill the processes that a program started, found by a mark in their environment.

A child in its own session survives the death of its parent's process group. Every program therefore gets an
environment variable with a unique name, which its children inherit. The mark is the variable's name, not its
value, so that a harness that runs inside a harness passes on both marks.
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
"""Scans of the process table: a process may start another one before it is killed."""
PAUSE: Final = 0.005
"""Seconds between two scans."""


def create_mark() -> str:
    """Return a unique name for an environment variable."""
    return f"{PREFIX}{secrets.token_hex(8).upper()}"


def find_marked(mark: str) -> frozenset[int]:
    """Return the ids of running processes with `mark`; empty on systems without `/proc/*/environ`."""
    pids = set()
    with contextlib.suppress(OSError):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):  # it has exited, or belongs to another user
                    if f"{mark}=".encode() in (entry / "environ").read_bytes():
                        pids.add(int(entry.name))
    return frozenset(pids)


async def kill_marked(mark: str, *, group: int) -> None:
    """Kill every process with `mark` except the leader of `group`, which has been killed already."""
    for _ in range(ROUNDS):
        pids = find_marked(mark) - {group, os.getpid()}
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not pids:
            return
        await asyncio.sleep(PAUSE)
