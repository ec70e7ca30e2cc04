"""Recordings that other projects publish, fetched by another package that is found by entry point."""

from __future__ import annotations

from typing import Final

from streamconform.errors import UsageError
from streamconform.suite.selection import SelectionSettings

GROUP: Final = "streamconform.recordings"
"""The entry points: functions that fetch what is missing, after a question unless `agreed` is true."""


def fetch_recordings(settings: SelectionSettings, *, agreed: bool) -> None:
    """Fetch the published recordings that the selection needs and the cache lacks.

    Without the package for it, nothing is fetched. Raises `UsageError` if the selection needs none.
    """
    if settings.includes_recorded:
        from importlib.metadata import entry_points

        for entry in entry_points(group=GROUP):
            entry.load()(agreed=agreed)
    elif agreed:
        raise UsageError("--pull fetches the recordings for --recorded; add it")
