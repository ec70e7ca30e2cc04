"""The settings that a worker needs to examine recordings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from streamconform.adapters.connect import Connection
from streamconform.adapters.program import START_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The implementations to run, and the settings."""

    connections: tuple[Connection, ...]
    deliveries: tuple[str, ...]
    seed: int
    timeout: float
    """Seconds per trial."""
    start_timeout: float = START_SECONDS
    examples: int
    """The number of recordings named per cause."""
    apis: frozenset[str] = frozenset()
    """The APIs to examine; empty for all."""
    results: str | None = None
    """The folder in which every finding is stored: a path or an fsspec URL."""

    @property
    def digest(self) -> str:
        """Return a digest that is the same for all runs whose results can be added up."""
        fields = asdict(self) | {"apis": sorted(self.apis), "results": None, "start_timeout": None}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:20]
