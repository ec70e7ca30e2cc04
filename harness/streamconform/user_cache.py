"""The folder that keeps what was downloaded for a user: pulled recordings, environments of peers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

VARIABLE: Final = "CONFORM_CACHE"
"""Environment variable that names the folder."""


def user_cache(given: str | None) -> Path:
    """Return `given`, else what `CONFORM_CACHE` names, else streamconform's part of the user's cache folder.

    XDG Base Directory Specification: a relative `XDG_CACHE_HOME` is ignored.
    """
    given = given or os.environ.get(VARIABLE)
    if given:
        return Path(given).expanduser().absolute()
    named = Path(os.environ.get("XDG_CACHE_HOME") or "~")
    base = named if named.is_absolute() else Path("~/.cache").expanduser()
    return base / "streamconform"
