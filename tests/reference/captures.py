"""The real recorded streams that other projects made, where STREAMCONFORM_CORPUS names their folder."""

from __future__ import annotations

import os
from pathlib import Path

from streamconform.wire import stripped

FOLDER = Path(os.environ.get("STREAMCONFORM_CORPUS") or ".")


def bodies(api: str) -> list[Path]:
    """Return the captured streams of `api`."""
    return sorted(path for path in (FOLDER / api).glob("*") if path.suffix in (".sse", ".jsonl"))


def body_of(path: Path) -> bytes:
    """Return the recorded bytes; a `.jsonl` lost its framing at its source and gets it back."""
    raw = path.read_bytes()
    return raw if path.suffix == ".sse" else stripped.restore(path.parent.name, raw)
