"""Measure what the harness adds to the reference's own work, as ratios of CPU times within one run.

Ratios hold on any machine; the times do not.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from streamconform.model.case import Case
from streamconform.model.trial import Trial
from streamconform.suite.expand import expand
from streamconform_capture.cli import compare
from streamconform_capture.compare.inputs import read_partition, split_input
from streamconform_dev.bench.commands import CONFORM, Spent, measure_command
from streamconform_dev.bench.many_streams import write_streams
from streamconform_dev.bench.measure import reference, spent_on

ONE_TRIAL: Final = "openai-chat/citations/annotations-in-several-deltas@whole"
STREAMS: Final = 1000
"""The number of streams that `conform compare` reads, besides one that shows how long the start takes."""

# Each program prints seconds of CPU time.
IMPORT_REFERENCE: Final = """
import time
start = time.process_time()
import streamconform_reference
print(time.process_time() - start)
"""
SELECT: Final = """
import time
import streamconform.cli.run
from streamconform.suite.selection import SelectionSettings, select
start = time.process_time()
select(SelectionSettings())
print(time.process_time() - start)
"""
SERIAL_SHARE: Final = """
import resource, tempfile, time
from pathlib import Path
from streamconform.adapters.preflight import make_connections
from streamconform.run.plan import Settings
from streamconform.run.session import Progress, RunRequest, execute_run
from streamconform.suite.selection import SelectionSettings, select

started = []
trials = select(SelectionSettings()).trials
request = RunRequest(
    connections=make_connections(["reference"]),
    trials=trials,
    settings=Settings(workers=2, timeout=10.0),
    selection={},
)
progress = Progress(lambda _: started.append(time.process_time()), lambda _: None)
with tempfile.TemporaryDirectory() as folder:
    execute_run(request, Path(folder, "results.jsonl"), progress)
spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(started[0] / sum(each.ru_utime + each.ru_stime for each in spent))
"""
IMPORT_HOST: Final = "import streamconform_reference, streamconform.adapters.host"


class Ratio(NamedTuple):
    """A measured ratio, and the goal that it should not exceed."""

    name: str
    measured: float
    goal: float


def measure_ratios(runs: int) -> Iterator[Ratio]:
    """Yield each ratio; each figure in it is the least of `runs` runs, which take turns."""
    yield Ratio(
        "selecting and expanding the default suite : importing the reference, CPU",
        _divide(runs, lambda: _read_figure(SELECT), lambda: _read_figure(IMPORT_REFERENCE)),
        3,
    )
    yield Ratio(
        "CPU time before the first trial : all CPU time, `conform run -n 2`",
        min(_read_figure(SERIAL_SHARE) for _ in range(runs)),
        0.04,
    )
    yield Ratio(
        "`conform run -n 2` : `conform run -n 1`, elapsed",
        _divide(runs, lambda: _run("-n", "2").elapsed, lambda: _run("-n", "1").elapsed),
        0.53,
    )
    yield Ratio(
        "`conform compare reference`, all processes : decoding the same deliveries, CPU",
        _compare_to_decoding(runs),
        1.8,
    )
    yield Ratio(
        "one named trial : importing the reference and its host, CPU",
        _divide(
            runs,
            lambda: _run("-k", ONE_TRIAL).processor,
            lambda: measure_command((sys.executable, "-c", IMPORT_HOST)).processor,
        ),
        2.2,
    )


def _divide(runs: int, numerator: Callable[[], float], denominator: Callable[[], float]) -> float:
    pairs = [(numerator(), denominator()) for _ in range(runs)]
    return min(first for first, _ in pairs) / min(second for _, second in pairs)


def _read_figure(program: str) -> float:
    """Return the number that a Python program prints."""
    return float(subprocess.run((sys.executable, "-c", program), check=True, capture_output=True).stdout)


def _run(*options: str) -> Spent:
    with tempfile.TemporaryDirectory() as folder:
        return measure_command((CONFORM, "run", *options, "--quiet"), folder)


def _compare_to_decoding(runs: int) -> float:
    """Return the ratio of the CPU times per stream, without what `conform compare` takes to start."""
    with tempfile.TemporaryDirectory() as folder:
        one, all_ = Path(folder, "one.jsonl"), Path(folder, "all.jsonl")
        write_streams(1, one)
        write_streams(1 + STREAMS, all_)
        deliveries = list(_list_deliveries(all_))
        pairs = [(_compare(all_, folder), _compare(one, folder)) for _ in range(runs)]
        comparing = min(first for first, _ in pairs) - min(second for _, second in pairs)
        decoding = min(spent_on(lambda: _decode(deliveries)) for _ in range(runs))
    return comparing / (decoding / 1e9)


def _compare(corpus: Path, folder: str) -> float:
    command = (CONFORM, "compare", "reference", "--corpus", str(corpus), "-n", "1", "--quiet")
    return measure_command(command, folder).processor


def _list_deliveries(corpus: Path) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the API and the chunks of each delivery of each stream but the first."""
    cases = (
        case
        for partition in split_input(str(corpus))
        for case in read_partition(partition)
        if isinstance(case, Case)
    )
    next(cases)
    default = next(str(option.default) for option in compare.command.params if option.name == "deliver")
    for trial in expand(cases, default.split(","), "bytes", 0):
        assert isinstance(trial, Trial), "a recording has no other trials"
        yield trial.case.api, list(trial.chunks)


def _decode(deliveries: Sequence[tuple[str, list[bytes]]]) -> None:
    for api, chunks in deliveries:
        reference(api, chunks)
