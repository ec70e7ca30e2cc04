"""Open files and folders by path or URL, with fsspec."""

from __future__ import annotations

import io
import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from streamconform.errors import UsageError
from streamconform.files import BUFFER, open_regular
from streamconform.files.compressed import decompress, find_codec
from streamconform.install import format_install


def open_storage(url: str) -> tuple[Any, str]:
    """Return the file system for `url`, and the path within it.

    Raises `UsageError` for an unknown protocol.
    """
    import fsspec  # only URLs and result folders need it, and it takes as long as the rest of this package

    try:
        storage, path = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError, OSError) as error:
        raise UsageError(f"`{url}` cannot be opened: {str(error).splitlines()[0]}") from error
    return storage, path


def open_file(url: str, name: str = "") -> IO[bytes]:
    """Open `url`, or the file `name` in it, as a seekable file for reading. Raises `OSError`."""
    if is_local(url):
        return open_regular(Path(url, name))
    storage, path = open_storage(url)
    if name:
        path = posixpath.join(path, name)
    if "file" in storage.protocol:
        return open_regular(path)
    # `readline` has no limit for remote files.
    return io.BufferedReader(storage.open(path, "rb"), BUFFER)


@contextmanager
def open_unpacked(url: str) -> Iterator[IO[bytes]]:
    """Open `url` like `open_file`; if its name ends like that of a compressed file, decompress it.

    Raises `OSError`, also where a compressed file is cut or damaged.
    """
    codec = find_codec(url)
    try:
        with open_file(url) as file:
            yield file if codec is None else decompress(file, codec)
    except ImportError as error:
        raise UsageError(f"`{url}` needs {error.name}: {format_install('corpora')}") from error


def measure_file(url: str) -> int:
    """Return the size of `url` in bytes, or 0 if the server does not report it. Raises `OSError`."""
    if is_local(url):
        return Path(url).stat().st_size
    storage, path = open_storage(url)
    return int(storage.size(path) or 0)


def is_folder(url: str) -> bool:
    """Return whether `url` is a folder."""
    if is_local(url):
        return Path(url).is_dir()
    storage, path = open_storage(url)
    return bool(storage.isdir(path))


def make_absolute(url: str) -> str:
    """Return `url` in a form that also works from a different working directory."""
    return os.path.abspath(url) if is_local(url) else url  # noqa: PTH100 - links stay as they are


def is_local(url: str) -> bool:
    """Return whether `url` is a local path."""
    return "://" not in url
