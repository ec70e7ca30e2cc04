"""Recorded streams of other projects, in the folder that STREAMCONFORM_CORPUS names."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from streamconform.model.case import Case
from streamconform.tools.compare.recordings import RecordingFolder, read


@cache
def corpus() -> RecordingFolder:
    """Return all recordings, none if there is no folder."""
    folder = os.environ.get("STREAMCONFORM_CORPUS")
    return read(Path(folder), (), None) if folder else RecordingFolder((), ())


def streams(*folders: str) -> list[Case]:
    """Return the streams in these folders, by default in all; HTTP errors are excluded."""
    return [
        case
        for case in corpus().cases
        if case.cassette.status < 400 and (not folders or case.id.partition("/")[0] in folders)
    ]


def params(cases: list[Case]) -> list[object]:
    """Return the cases as parameters with their file names as ids."""
    return [pytest.param(case, id=case.id) for case in cases]
