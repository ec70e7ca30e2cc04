"""Measure comparisons of many streams: `python -m tests.bench.scale FILE OUT`.

FILE is from `tests.bench.many_streams`. Its first 10,000 and 100,000 streams and all of them are compared,
on two processes and on two Dask workers, between the reference and `tests/programs/planted_bugs.py`; the
floor is a `dask.bag` that reads the same lines with orjson. OUT gets `scale.json`, with the memory of each
run. Other counts may follow.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import psutil

ROOT: Final = Path(__file__).parents[2]
COUNTS: Final = (10_000, 100_000, 1_000_000)
ENGINES: Final = ("local", "dask")
FLOOR: Final = """
import sys, orjson, dask.bag
from distributed import Client, LocalCluster
if __name__ == "__main__":
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        lines = dask.bag.read_text(sys.argv[1], blocksize=2**22)
        print(lines.map(orjson.loads).count().compute())
"""


def cut(path: Path, count: int, folder: Path) -> Path:
    """Return a file with the first `count` lines of `path`."""
    part = folder / f"{count}.jsonl"
    if not part.exists():
        with path.open("rb") as lines, part.open("wb") as file:
            file.writelines(itertools.islice(lines, count))
    return part


def measure(command: Sequence[str]) -> dict[str, Any]:
    """Run `command`; return its seconds of wall and CPU time, and its memory over time in MiB."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "programs"), "PYTHONWARNINGS": "ignore"}
    started = time.monotonic()
    memory: list[tuple[float, float]] = []
    cpu: dict[int, float] = {}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as running:
        root = psutil.Process(running.pid)
        while running.poll() is None:
            total = 0.0
            for each in (root, *root.children(recursive=True)):
                try:
                    total += each.memory_info().rss
                    cpu[each.pid] = sum(each.cpu_times()[:2])
                except psutil.NoSuchProcess:
                    continue
            memory.append((round(time.monotonic() - started, 1), round(total / 2**20, 1)))
            time.sleep(1)
        assert running.stdout is not None
        out = running.stdout.read()
    seconds = time.monotonic() - started
    return {
        "seconds": seconds,
        "cpu": sum(cpu.values()),
        "memory": memory,
        "out": out,
        "exit": running.returncode,
    }


def compare(path: Path, engine: str, report: Path) -> list[str]:
    """Return the command that compares the streams of `path`."""
    options = ["--corpus", str(path), "--deliver", "whole", "-n", "2", "--engine", engine, "-q"]
    names = ["reference", "python:planted_bugs:adapter"]
    return [sys.executable, "-m", "streamconform", "compare", *names, *options, "--report", f"json={report}"]


def show(count: int, engine: str, seconds: float) -> None:
    """Print one row."""
    line = f"{count:>9,} {engine:5} {seconds:8.1f} s {count / seconds / 2:8.0f} streams/s per core\n"
    sys.stdout.write(line)
    sys.stdout.flush()


def main(path: Path, out: Path, counts: Sequence[int] = COUNTS) -> None:
    """Measure everything."""
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for count in counts:
        part = cut(path, count, out)
        for engine in ENGINES if count < max(COUNTS) else ("dask",):
            report = out / f"{engine}-{count}.json"
            found = measure(compare(part, engine, report))
            rows.append({"count": count, "engine": engine, **found})
            show(count, engine, found["seconds"])
        floor = measure([sys.executable, "-c", FLOOR, str(part)])
        rows.append({"count": count, "engine": "floor", **floor})
        show(count, "floor", floor["seconds"])
        (out / "scale.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), tuple(map(int, sys.argv[3:])) or COUNTS)
