"""A partition: the part of an input that one worker reads at a time."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace

from streamconform_capture.compare.inputs.recording import Entry

PARTITION_BYTES = 4 * 1024 * 1024
"""The default size of a partition. It does not affect memory use, since a worker holds one recording at a
time; it determines how much work is repeated when a worker dies.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The input, and the positions at which a worker starts and stops reading."""

    url: str
    """The input: a path, or an fsspec URL."""
    format: str
    """A key of `inputs.READERS`."""
    start: int = 0
    stop: int | None = None
    """Positions in the format's unit (bytes, members, row groups); None stands for the end."""
    size: int = 0
    """The size in bytes, used to show progress."""
    entries: tuple[Entry, ...] = ()
    """The recordings, if the input is a folder."""
    only: frozenset[str] | None = None
    """The names of the recordings to examine; None for all."""
    without: tuple[tuple[str, str], ...] = ()
    """Recordings that are not examined because they kill the worker, with the reason."""
    unreadable: str | None = None
    """The reason why the partition cannot be examined; normally None."""

    @property
    def id(self) -> str:
        """Return a name that is the same whenever the same input is divided in the same way."""
        fields = asdict(replace(self, only=None, without=(), unreadable=None))
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:20]
