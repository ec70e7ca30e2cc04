"""The door: everything that comes from outside is opened here, and in this package unpacked and bounded.

Only regular files are opened, because opening a named pipe blocks until there is a writer, and terminal input
never ends; with `os.O_NONBLOCK`, opening never blocks. All errors are `OSError`s whose `strerror` is the
reason. Files are also written here, so that they are never incomplete.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import nullcontext
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Final

MAX_TEXT: Final = 4 * 1024 * 1024
"""The maximum size of a text file that a person writes; the largest bundled one is smaller than 200 kB."""
BUFFER: Final = 256 * 1024
# Windows has no `O_NONBLOCK`, but needs `O_BINARY`, without which it translates line ends.
_BINARY: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_NONBLOCK: Final = getattr(os, "O_NONBLOCK", 0)


class UnreadableError(OSError):
    """The file cannot be read, for a reason that only this package knows."""

    def __init__(self, reason: str) -> None:
        """Store the reason where the operating system's errors have it."""
        super().__init__(reason)
        self.strerror = reason


class NotRegularError(UnreadableError):
    """The path is a named pipe, a socket, a device or a folder."""


class TooLargeError(UnreadableError):
    """The file, or what it unpacks to, is larger than its limit."""


class DamagedError(UnreadableError):
    """The file is not what its name says, or was changed by accident."""


class CutError(DamagedError):
    """The file ends too early."""


def read_regular(path: Path | str, limit: int = MAX_TEXT) -> bytes:
    """Return the bytes of a regular file. Raises `OSError`, for example if there are more than `limit`."""
    handle = _open(path, _BINARY | _NONBLOCK)
    # Without file objects, which take most of the time: a suite has thousands of small files.
    try:
        data = b""
        # Enough for the whole file in one step; it may have grown, and those in `/proc` have no size.
        step = max(os.fstat(handle).st_size, 4096)
        while part := os.read(handle, min(step, limit + 1 - len(data))):
            data += part
            if len(data) > limit:
                raise TooLargeError(f"the file is larger than {limit} bytes")
        return data
    finally:
        os.close(handle)


def open_regular(path: Path | str, *, pipe: bool = False) -> BufferedReader:
    """Open a regular file for reading, or a named pipe if `pipe` is set. Raises `OSError`."""
    return BufferedReader(FileIO(_open(path, _BINARY | (0 if pipe else _NONBLOCK), pipe=pipe)), BUFFER)


def read_given(path: Path | str, limit: int) -> bytes:
    """Return the bytes of a file that a user named, which may be a named pipe, or stdin for `-`.

    Raises `OSError`, for example if there are more than `limit` bytes.
    """
    is_stdin = str(path) == "-"
    with nullcontext(sys.stdin.buffer) if is_stdin else open_regular(path, pipe=True) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TooLargeError(f"the file is larger than {limit} bytes")
    return data


def _open(path: Path | str, flags: int, *, pipe: bool = False) -> int:
    handle = os.open(path, flags)
    # The open file is checked instead of the path, which could name a different file by the time it is
    # opened.
    mode = os.fstat(handle).st_mode
    if not (stat.S_ISREG(mode) or (pipe and stat.S_ISFIFO(mode))):
        os.close(handle)
        raise NotRegularError(f"it is {_name_kind(mode)}, expected a regular file")
    return handle


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to a temporary file and rename it to `path`, which is therefore never incomplete."""
    # In the same folder, because a file cannot be renamed across file systems.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # `mkstemp` makes files that only the owner can read.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    # `BaseException`, so that an interrupt leaves no temporary file behind either.
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _name_kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "a socket"
