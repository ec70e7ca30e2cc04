"""Read files from an untrusted suite without blocking, and write files that are never incomplete.

Opening a named pipe blocks until there is a writer, and terminal input never ends; with `os.O_NONBLOCK`,
opening never blocks.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Final

# Windows has no `O_NONBLOCK`, but needs `O_BINARY`, without which it translates line ends.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotRegularError(OSError):
    """The path is a named pipe, a socket, a device or a folder."""

    def __init__(self, kind: str) -> None:
        """Store a description of the file type found at the path."""
        super().__init__()
        self.strerror = f"it is {kind}, expected a regular file"


def read_regular(path: Path | str, limit: int) -> bytes:
    """Return up to `limit` bytes of a regular file. Raises `OSError`, with the reason in `strerror`."""
    handle = os.open(path, _FLAGS)
    # Without file objects, which take most of the time: a suite has thousands of small files.
    try:
        # The open file is checked instead of the path, which could name a different file by the time it is
        # opened.
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise NotRegularError(_name_kind(status.st_mode))
        data = b""
        # Enough for the whole file in one step; it may have grown, and those in `/proc` have no size.
        step = max(status.st_size, 4096)
        while part := os.read(handle, min(step, limit - len(data))):
            data += part
        return data
    finally:
        os.close(handle)


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
