"""Minimise the examples of a comparison, with the reference's outcome as the expectation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from streamconform.errors import ConformError
from streamconform.model.capability import OF_STREAMS
from streamconform.model.case import Case
from streamconform.model.trial import Trial
from streamconform.suite.expand import make_trial
from streamconform_capture.compare.differences import build_expectation
from streamconform_capture.compare.findings import Finding
from streamconform_capture.compare.job import Job
from streamconform_capture.compare.part import Part
from streamconform_capture.importers.exchange import make_slug
from streamconform_capture.minimise.expected import decode_by_reference
from streamconform_capture.minimise.search import MinimiseJob, Search
from streamconform_capture.minimise.write import write_result

MAX_TRIALS: Final = 400
MAX_SECONDS: Final = 30.0
"""The limits for one example; when one is reached, the smallest stream so far is kept."""


def minimise_examples(
    found: Part, cases: Mapping[str, Case], job: Job, folder: Path
) -> Mapping[Finding, str]:
    """Write the smallest streams that still fail to `folder`; return the cassette of each example.

    An example is omitted if it does not stream, or if the implementation reads it as the reference does, or
    reads it differently the second time.
    """
    written: dict[Finding, str] = {}
    for cause in found.causes:
        connection = job.connections[cause.who[-1]]
        for example in cause.examples:
            if example.file not in cases or not cases[example.file].stream:
                continue
            search = Search(
                MinimiseJob(
                    connection,
                    (_make_trial(cases[example.file], example.delivery, job.seed),),
                    check=example.path or None,
                    timeout=job.timeout,
                    start_timeout=job.start_timeout,
                    max_trials=MAX_TRIALS,
                    seconds=MAX_SECONDS,
                )
            )
            command = f"conform compare {connection.impl} --minimise {folder}"
            try:
                asyncio.run(search.run())
                if search.best is not None:
                    written[example] = str(write_result(folder, search, search.best, command).cassette)
            except ConformError:
                continue
    return written


def _make_trial(case: Case, delivery: str, seed: int) -> Trial:
    """Return an example's trial, with the reference's outcome as the expectation."""
    reading = decode_by_reference(case.cassette, case)
    expect = build_expectation(reading.outcome, OF_STREAMS, others=False)
    # The id becomes a file name, and a recording may have any name.
    name = make_slug(case.id.removeprefix(f"{case.api}/"))
    return make_trial(replace(case, id=f"{case.api}/{name}", expect=expect), delivery, seed)
