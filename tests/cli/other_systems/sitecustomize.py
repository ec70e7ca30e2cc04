"""Take away from Python what Windows does not have, in every process that has this folder in its path."""

import asyncio
import fcntl
import multiprocessing.popen_spawn_posix
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

ABSENT = {
    os: ("fork", "forkpty", "getpgid", "killpg", "register_at_fork", "setsid"),
    signal: ("ITIMER_REAL", "SIGALRM", "SIGHUP", "SIGKILL", "alarm", "getitimer", "setitimer"),
}
for module, names in ABSENT.items():
    for name in names:
        delattr(module, name)

# Windows has its own lock.
msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK = fcntl.LOCK_EX | fcntl.LOCK_NB
msvcrt.locking = fcntl.lockf
sys.modules["msvcrt"] = msvcrt
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None

# Python itself uses them there, so these are replaced by what they are on Windows.
subprocess.Popen.kill = subprocess.Popen.terminate
spawned = multiprocessing.popen_spawn_posix.Popen
spawned.kill = lambda process: process._send_signal(9)
asyncio.SelectorEventLoop.add_signal_handler = asyncio.AbstractEventLoop.add_signal_handler

from streamconform import system  # noqa: E402 - it reads Python's modules

system.HAS_PROC, system.PROC = False, Path("absent")
