"""The folder for what can be made again: pulled recordings, peer environments and the parsed suite."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

VARIABLE: Final = "CONFORM_CACHE"
"""The environment variable that sets the folder's path."""

CORPUS: Final = "corpus"
"""The name of the subfolder for pulled recordings."""


def find_user_cache(folder: str | None) -> Path:
    """Return `folder`, or `CONFORM_CACHE`, or `streamconform` in the user's cache folder."""
    folder = folder or os.environ.get(VARIABLE)
    if folder:
        return Path(folder).expanduser().absolute()
    xdg_home = Path(os.environ.get("XDG_CACHE_HOME") or "~")
    # The XDG Base Directory Specification says to ignore a relative path here.
    base = xdg_home if xdg_home.is_absolute() else Path("~/.cache").expanduser()
    return base / "streamconform"
