"""Measure complete commands, each in a separate process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CONFORM: Final = str(Path(sys.executable).parent / "conform")
HELP: Final = (CONFORM, "--help")
CLICK: Final = (sys.executable, "-c", "import click")
SUITE: Final = (CONFORM, "run", "--deliver", "full", "--quiet")


@dataclass(frozen=True, slots=True)
class Suite:
    """The times of a run of every case, with every delivery and fault, on the reference."""

    cases: int
    trials: int
    seconds: float
    processor: float
    """The CPU seconds of all programs together; two cores need at least half of that."""


def help_ratio(runs: int) -> float:
    """Return the ratio of the fastest `conform --help` to the fastest `import click`."""
    pairs = [(_seconds(HELP), _seconds(CLICK)) for _ in range(runs)]
    return min(first for first, _ in pairs) / min(second for _, second in pairs)


def suite(runs: int, folder: Path) -> Suite:
    """Return the shortest times of `runs` runs of the full suite, which writes results to `folder`."""
    command = (*SUITE, "--report", f"jsonl={folder / 'results.jsonl'}")
    seconds, processor = [], []
    for _ in range(runs):
        start, before = time.perf_counter(), _of_children()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
        processor.append(_of_children() - before)
    with (folder / "results.jsonl").open() as results:
        header = json.loads(next(results))["suite"]
    return Suite(header["cases"], header["trials"], min(seconds), min(processor))


def _seconds(command: tuple[str, ...]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def _of_children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
