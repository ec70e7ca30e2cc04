"""Where Debian's packages have the sources of crates."""

from __future__ import annotations

from pathlib import Path
from typing import Final

DEBIAN: Final = Path("/usr/share/cargo/registry")
NEEDED: Final = ("flate2", "regex", "serde", "serde_derive", "serde_json", "serde_yaml", "sha2")
"""The crates that the judge in Rust needs; each is in a package `librust-NAME-dev`."""


def explain_missing() -> str | None:
    """Return which crates are missing, or None."""
    missing = [name for name in NEEDED if not any(DEBIAN.glob(f"{name}-[0-9]*"))]
    return f"no crate {', '.join(missing)} from Debian" if missing else None
