"""How users install streamconform: one line, in every page, template and workflow."""

from __future__ import annotations

from typing import Final

SOURCE: Final[str] = "git+https://github.com/streamconform/streamconform"
"""Where pip gets the package. A release on a package index is "streamconform"."""
INSTALL: Final = f"pip install {SOURCE}"


def format_install(extra: str) -> str:
    """Return the line that installs streamconform with the optional dependencies `extra`."""
    origin = "" if SOURCE == "streamconform" else f" @ {SOURCE}"
    requirement = f"streamconform[{extra}]{origin}"
    return f"pip install '{requirement}'"
