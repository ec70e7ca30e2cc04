"""The real recorded streams that other projects made, where STREAMCONFORM_CORPUS names their folder."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from streamconform.model.case import Case
from streamconform.tools.compare.recordings import Folder, read


@cache
def corpus() -> Folder:
    """Return all of it; nothing where there is no folder."""
    folder = os.environ.get("STREAMCONFORM_CORPUS")
    return read(Path(folder), (), None) if folder else Folder((), ())


def streams(*folders: str) -> list[Case]:
    """Return the streams that lie in these folders, of all where none is named; HTTP errors are none."""
    return [
        case
        for case in corpus().cases
        if case.cassette.status < 400 and (not folders or case.id.partition("/")[0] in folders)
    ]


def params(cases: list[Case]) -> list[object]:
    """Return the cases as parameters that are named like their files."""
    return [pytest.param(case, id=case.id) for case in cases]
