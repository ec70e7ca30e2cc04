"""Measure comparisons of many streams: `python -m streamconform_dev.bench.scale FILE OUT [COUNT ...]`.

FILE is written by `streamconform_dev.bench.many_streams`. The reference and `planted_bugs` are compared
on its first 10,000 streams, on 100,000 and on all, with two processes and with two Dask workers; the floor is
a `dask.bag` that reads the same lines with orjson. The results are written to OUT: `scale.json`, and
`memory.svg`, a graph of the largest run's memory. Other counts may be given.
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
    """Run `command`; return its wall and CPU time in seconds, and its memory over time in MiB."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
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
    """Return the command that compares implementations on the streams in `path`."""
    options = ["--corpus", str(path), "--deliver", "whole", "-n", "2", "--engine", engine, "-q"]
    names = ["reference", "python:streamconform_dev.bench.planted_bugs:adapter"]
    return [sys.executable, "-m", "streamconform", "compare", *names, *options, "--report", f"json={report}"]


def show(count: int, engine: str, seconds: float) -> None:
    """Print one row."""
    line = f"{count:>9,} {engine:5} {seconds:8.1f} s {count / seconds / 2:8.0f} streams/s per core\n"
    sys.stdout.write(line)
    sys.stdout.flush()


WIDTH, HEIGHT, LEFT, BOTTOM = 720, 260, 56, 30
"""The size of the graph and the space for its scales, in pixels."""


def draw(memory: Sequence[tuple[float, float]], title: str) -> str:
    """Return a graph of memory in MiB over time in seconds, as SVG."""
    seconds, most = memory[-1][0], 200 * (int(max(mib for _, mib in memory)) // 200 + 1)

    def place(time_: float, mib: float) -> str:
        x = LEFT + (WIDTH - LEFT - 16) * time_ / seconds
        return f"{x:.1f},{HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 30) * mib / most:.1f}"

    def write(text: str, time_: float, mib: float, shift: str) -> str:
        x, y = place(time_, mib).split(",")
        return f'<text x="{x}" y="{y}" {shift}>{text}</text>'

    step = max(1, len(memory) // 360)
    line = " ".join(place(*point) for point in memory[::step])
    levels = range(0, most + 1, 200)
    rules = "".join(f'<path d="M{place(0, y)} L{place(seconds, y)}" stroke="#8886"/>' for y in levels)
    labels = "".join(write(f"{y} MiB", 0, y, 'dx="-4" dy="4" text-anchor="end"') for y in levels)
    minutes = range(0, int(seconds) // 60 + 1, max(1, int(seconds) // 360))
    times = "".join(write(f"{each} min", 60 * each, 0, 'dy="18" text-anchor="middle"') for each in minutes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="11" fill="#888"><title>{title}</title>'
        f'<text x="{LEFT}" y="16" font-size="13">{title}</text>{rules}{labels}{times}'
        f'<polyline points="{line}" fill="none" stroke="#2a78d6" stroke-width="1.5"/></svg>\n'
    )


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
            title = f"Memory of all processes, {count:,} streams, {engine}"
            (out / "memory.svg").write_text(draw(found["memory"], title), "utf-8")
        floor = measure([sys.executable, "-c", FLOOR, str(part)])
        rows.append({"count": count, "engine": "floor", **floor})
        show(count, "floor", floor["seconds"])
        (out / "scale.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), tuple(map(int, sys.argv[3:])) or COUNTS)
