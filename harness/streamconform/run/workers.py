"""The default number of workers."""

from __future__ import annotations

import os
from typing import Final

MAX_DEFAULT_WORKERS: Final = 4
"""Upper limit on the default number of workers; each one is a process that loads the library under test."""


def count_default_workers() -> int:
    """Return the default number of workers: one per core, at most `MAX_DEFAULT_WORKERS`."""
    return max(1, min(os.cpu_count() or 1, MAX_DEFAULT_WORKERS))
