"""Kill the processes that a program started, found by two marks that they inherit.

A child in its own session survives when its parent's process group is killed. Every program therefore gets
two marks, and every process with either of them is killed:

* an environment variable with a unique name. The mark is the name, not the value, so that a harness that
  runs inside a harness passes on both marks.
* on Linux, a unique resource limit, for children that are given an empty environment. `RLIMIT_LOCKS` has had
  no effect since Linux 2.4.25, and is inherited. Source: https://man7.org/linux/man-pages/man2/getrlimit.2.html

Systems without `/proc` show neither mark. On those, `ps` lists a program's descendants before it is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from streamconform.system import PROC, kill, limit_locks

PREFIX: Final = "CONFORM_PROGRAM_"
ROUNDS: Final = 20
"""The number of times the process table is scanned; several scans are needed, because a process may start
another one before it is killed.
"""
PAUSE: Final = 0.005
"""Seconds between two scans."""
PS_SECONDS: Final = 5.0
_LOCKS_LINE: Final = re.compile(rb"^Max file locks +(\d+) ", re.MULTILINE)


class Mark(Struct, frozen=True):
    """The marks of one program."""

    variable: str
    """The environment variable's name."""
    limit: int
    """The resource limit."""


def create_mark() -> Mark:
    """Return unique marks."""
    # 62 bits: a soft limit must not exceed the hard limit, which is normally infinity.
    return Mark(f"{PREFIX}{secrets.token_hex(8).upper()}", secrets.randbits(62))


def limit_process(pid: int, mark: Mark) -> None:
    """Give the process `pid` the resource limit from `mark` if the system can; its children inherit it.

    So do the children that it has already started: on a busy machine, a program is fast enough for that.
    """
    limit_locks(pid, mark.limit)
    for child in _list_children(pid):
        limit_process(child, mark)


def _list_children(pid: int) -> Iterator[int]:
    """Yield the ids of the children of a process; none if it has ended, or where the system hides them."""
    with contextlib.suppress(OSError):
        for thread in (PROC / str(pid) / "task").iterdir():
            yield from map(int, (thread / "children").read_bytes().split())


def find_marked(mark: Mark) -> frozenset[int]:
    """Return the ids of running processes with `mark`; the result is empty on systems without `/proc`."""
    pids = set()
    with contextlib.suppress(OSError):
        for entry in PROC.iterdir():
            if entry.name.isdigit() and _is_marked(entry, mark):
                pids.add(int(entry.name))
    return frozenset(pids)


def _is_marked(entry: Path, mark: Mark) -> bool:
    with contextlib.suppress(OSError):  # it has exited, or belongs to another user
        if f"{mark.variable}=".encode() in (entry / "environ").read_bytes():
            return True
    with contextlib.suppress(OSError):
        found = _LOCKS_LINE.search((entry / "limits").read_bytes())
        return found is not None and int(found[1]) == mark.limit
    return False


def list_descendants(root: int) -> frozenset[int]:
    """Return the ids of all descendants of `root` that `ps` lists."""
    try:
        table = subprocess.run(
            ("ps", "-A", "-o", "pid=,ppid="),  # noqa: S607 - its folder differs between systems
            capture_output=True,
            check=True,
            timeout=PS_SECONDS,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    children: defaultdict[int, list[int]] = defaultdict(list)
    for line in table.splitlines():
        pid, parent = map(int, line.split())
        children[parent].append(pid)
    found: set[int] = set()
    parents = [root]
    while parents:
        new = [pid for pid in children[parents.pop()] if pid not in found]
        found.update(new)
        parents.extend(new)
    return frozenset(found)


async def kill_marked(mark: Mark, *, group: int, descendants: frozenset[int] = frozenset()) -> bool:
    """Kill `descendants` and every process with `mark`, except the killed leader of `group`.

    Returns True if none of them is left.
    """
    _kill(descendants - {group, os.getpid()})
    # The killed leader is left out because it stays in the process table until asyncio reaps it.
    for _ in range(ROUNDS):
        pids = find_marked(mark) - {group, os.getpid()}
        _kill(pids)
        if not pids:
            return True
        await asyncio.sleep(PAUSE)
    return False


def _kill(pids: frozenset[int]) -> None:
    for pid in pids:
        kill(pid)
