"""Record the answers to the trials of an API in parallel, and write them to `answers-<api>.jsonl.gz`."""

from __future__ import annotations

import gzip
import multiprocessing
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from streamconform.model.case import AnyCase, Case
from streamconform_dev.judges.answers import encode_judged, expand_covered
from streamconform_dev.judges.record import record_case
from streamconform_dev.selftest.execute import raise_timed_out

_CASES: Final[list[Case]] = []
"""In a worker, the cases, which it inherits from the parent process."""


def record_answers(cases: Iterable[AnyCase], workers: int, *, full: bool = False) -> Iterator[bytes]:
    """Yield a line for each distinct answer to the trials of `cases`, with what a judge must find in it.

    Without `full`, it is a sample, the same on every machine.
    """
    streams = [case for case in cases if isinstance(case, Case)]
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), _start_worker, (streams,)) as pool:
        for lines in pool.map(partial(_record, full=full), range(len(streams))):
            yield from lines


def _start_worker(cases: Sequence[Case]) -> None:
    _CASES[:] = cases
    signal.signal(signal.SIGALRM, raise_timed_out)


def _record(position: int, *, full: bool) -> list[bytes]:
    trials = [*expand_covered(_CASES[position : position + 1], full=full)]
    return [encode_judged(trial, answered) for trial, answered in record_case(trials, full=full)]


def write_answers(api: str, lines: Iterable[bytes], folder: Path) -> Path:
    """Write the lines of answers of an API into `folder`, and return the path."""
    path = folder / f"answers-{api}.jsonl.gz"
    # Without name and time, like the suite.
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as compressed:
        compressed.writelines(lines)
    return path


def read_answers(path: Path) -> list[bytes]:
    """Return the lines of a file of answers."""
    with gzip.open(path) as file:
        return file.readlines()
