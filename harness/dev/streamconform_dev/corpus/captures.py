"""Recorded streams of other projects, in the folder that STREAMCONFORM_CORPUS names."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from streamconform.model.case import Case
from streamconform_capture.compare.inputs import RecordingFolder, read


@cache
def corpus() -> RecordingFolder:
    """Return all recordings, or none if there is no folder."""
    folder = os.environ.get("STREAMCONFORM_CORPUS")
    return read(Path(folder), (), None) if folder else RecordingFolder((), ())


def streams(*folders: str) -> list[Case]:
    """Return the streams in these folders (by default, in all); HTTP errors are excluded."""
    return [
        case
        for case in corpus().cases
        if case.cassette.status < 400 and (not folders or case.id.rpartition("/")[0] in folders)
    ]


def check_each(cases: Sequence[Case], check: Callable[[Case], None]) -> None:
    """Check every recording. Raises one `AssertionError` that names each recording that fails.

    There is one test per API, not per recording, because collecting 3,000 tests in each pytest process would
    take longer than the checks.
    """
    assert cases, "no recordings"
    failures: dict[str, Exception] = {}
    for case in cases:
        try:
            check(case)
        except Exception as error:  # noqa: BLE001 - the others are checked too
            failures[case.id] = error
    if failures:
        lines = [f"{name}: {type(error).__name__}: {error}" for name, error in failures.items()]
        message = "\n".join([f"{len(failures)} of {len(cases)} recordings fail", *lines])
        raise AssertionError(message) from next(iter(failures.values()))
