"""Measure complete commands, each in a separate process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CONFORM: Final = str(Path(sys.executable).parent / "conform")
HELP: Final = (CONFORM, "--help")
CLICK: Final = (sys.executable, "-c", "import click")
SUITE: Final = (CONFORM, "run", "--deliver", "full", "--quiet")


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that a command took; `processor` is the CPU time of all its processes."""

    elapsed: float
    processor: float


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
    pairs = [(measure_command(HELP).elapsed, measure_command(CLICK).elapsed) for _ in range(runs)]
    return min(first for first, _ in pairs) / min(second for _, second in pairs)


def suite(runs: int, folder: Path) -> Suite:
    """Return the shortest times of `runs` runs of the full suite, which writes results to `folder`."""
    command = (*SUITE, "--report", f"jsonl={folder / 'results.jsonl'}")
    spent = [measure_command(command) for _ in range(runs)]
    with (folder / "results.jsonl").open() as results:
        header = json.loads(next(results))["suite"]
    shortest = min(each.elapsed for each in spent), min(each.processor for each in spent)
    return Suite(header["cases"], header["trials"], *shortest)


def measure_command(command: Sequence[str], folder: str | None = None) -> Spent:
    """Run `command` in `folder`, and return what it took."""
    start, before = time.perf_counter(), _sum_children()
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return Spent(time.perf_counter() - start, _sum_children() - before)


def _sum_children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
