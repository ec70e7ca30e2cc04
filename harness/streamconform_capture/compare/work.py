"""The functions that an engine's workers run, each on one partition."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import Final

from streamconform.model.case import Case
from streamconform_capture.compare.examiner import Examiner, Stopped
from streamconform_capture.compare.inputs import read_partition
from streamconform_capture.compare.inputs.partition import Partition
from streamconform_capture.compare.job import Job
from streamconform_capture.compare.part import Part
from streamconform_capture.compare.sample import Sample, SampleRequest, take_sample
from streamconform_capture.compare.store import PartWriter

EXAMINERS: Final[dict[tuple[str, int], Examiner]] = {}
"""The implementations that this process has started, by job and thread; a worker may use several threads."""


def examine_partition(job: Job, partition: Partition, stop_file: str | None = None) -> Part:
    """Return the results of `partition`, and write its findings if the job stores them.

    Raises `ImplementationError` if an implementation cannot be started, and `Stopped` once `stop_file`
    exists.
    """
    examiner = get_examiner(job)

    def check(_recording: str) -> None:
        if stop_file is not None and os.path.exists(stop_file):  # noqa: PTH110 - asked for every recording
            raise Stopped

    writer = PartWriter(job, partition.id) if job.results is not None else None
    keep = writer.keep if writer is not None else None
    found = examiner.examine(read_partition(partition, job.apis), keep=keep, before=check)
    if writer is not None:
        writer.finish(found)
    return found


def get_examiner(job: Job) -> Examiner:
    """Return this thread's examiner for `job`; the first call starts it. Raises `ImplementationError`."""
    key = job.digest, threading.get_ident()
    if key not in EXAMINERS:
        EXAMINERS[key] = Examiner(job).__enter__()
    return EXAMINERS[key]


def sample_partition(request: SampleRequest, partition: Partition, stop_file: str | None = None) -> Sample:
    """Return the recordings in `partition` that may be in the sample."""
    del stop_file  # reading takes only a moment
    return take_sample(request, read_partition(partition))


def fetch_recordings(
    names: frozenset[str], partition: Partition, stop_file: str | None = None
) -> tuple[Case, ...]:
    """Return the recordings in `partition` whose name is in `names`."""
    del stop_file
    wanted = read_partition(replace(partition, only=names))
    return tuple(each for each in wanted if isinstance(each, Case))


def list_recordings(_nothing: None, partition: Partition, stop_file: str | None = None) -> tuple[str, ...]:
    """Return the names of the recordings in `partition`."""
    del stop_file
    return tuple(each.id for each in read_partition(partition) if isinstance(each, Case))


def close_examiners() -> None:
    """Stop the implementations that this process has started."""
    while EXAMINERS:
        EXAMINERS.popitem()[1].close()
