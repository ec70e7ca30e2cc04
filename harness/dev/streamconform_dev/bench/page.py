"""Format the measurements as Markdown tables, for the terminal and for `docs/benchmarks/README.md`."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from streamconform_dev.bench.commands import Suite
from streamconform_dev.bench.measure import Timed
from streamconform_dev.bench.memory import MemoryUse
from streamconform_dev.bench.peers import PeerTime
from streamconform_dev.bench.ratios import Ratio
from streamconform_dev.bench.recorded import Recorded
from streamconform_dev.bench.streams import APIS

LIMIT: Final = 5
"""The maximum ratio of the reference's time to the floor."""
LIMIT_HELP: Final = 3
LIMIT_SUITE: Final = 20


def streams(rows: Iterable[Timed]) -> str:
    """Return the table of streams."""
    cells = [
        (
            *(row.api, row.kind, row.chunking, f"{row.size:,}", _pieces(row)),
            *(f"{row.floor / 1e6:.1f}", f"{row.reference / 1e6:.1f}", f"{row.ratio:.1f}"),
        )
        for row in rows
    ]
    names = ("API", "stream", "chunks", "bytes", "deltas", "floor ms", "reference ms", "ratio")
    return _table(names, cells, numbers=5)


def sizes(rows: Sequence[Timed]) -> str:
    """Return the table of nanoseconds per delta, with one column per size; rows must be sorted by size."""
    lengths = sorted({row.deltas for row in rows})
    size = {row.deltas: f"{row.deltas * CHARACTERS // 1000} KB" for row in rows}
    found = {(row.api, row.kind, row.deltas): f"{row.per_delta:,.0f}" for row in rows}
    streams_ = dict.fromkeys((row.api, row.kind) for row in rows)
    cells = [(*each, *(found[*each, length] for length in lengths)) for each in streams_]
    return _table(("API", "stream", *(size[length] for length in lengths)), cells, numbers=len(lengths))


CHARACTERS: Final = 20
"""Of one delta."""


SMALLEST: Final = 10_000_000
"""Nanoseconds between two readings of a process's processor time."""


def recordings(rows: Iterable[Recorded]) -> str:
    """Return the table of recordings, one row for each API."""
    cells = [
        (
            *(row.api, f"{row.count:,}", f"{row.size / row.count / 1024:.1f} KiB"),
            *(f"{time / row.count / 1000:,.0f}" for time in (row.floor, row.reference)),
            f"{row.ratio:.1f}",
        )
        for row in rows
    ]
    return _table(("API", "streams", "average size", "floor µs", "reference µs", "ratio"), cells, numbers=5)


def ratios(rows: Iterable[Ratio]) -> str:
    """Return the table of ratios, each with its goal."""
    cells = [(row.name, f"{row.measured:.2f}", f"{row.goal:g}") for row in rows]
    return _table(("ratio", "measured", "goal"), cells, numbers=2)


def peers(rows: Iterable[PeerTime]) -> str:
    """Return the table of peers, one row for each peer and API, the fastest first."""
    found: dict[tuple[str, str, str], dict[str, PeerTime]] = {}
    for row in rows:
        found.setdefault((row.peer, row.release, row.api), {})[row.kind] = row
    kinds = ("text", "tool call")
    cells = [
        (*key, *(_describe_time(by_kind.get(kind)) for kind in kinds))
        for key, by_kind in sorted(found.items(), key=lambda item: item[1]["text"].ratio or math.inf)
    ]
    return _table(("peer", "release", "API", *kinds), cells, numbers=len(kinds))


def _describe_time(row: PeerTime | None) -> str:
    if row is None or row.spent is None or row.ratio is None:
        return "not read"
    if row.spent < SMALLEST:
        return f"under {SMALLEST // 1_000_000} ms"
    return f"{row.ratio:,.0f} times, {row.spent / 1e6:,.0f} ms"


def memory(rows: Iterable[MemoryUse]) -> str:
    """Return the table of memory, one row for each body and chunk size."""
    cells = [
        (
            row.body,
            row.chunks,
            f"{row.size / 2**20:.0f} MiB",
            f"{row.grown / 2**20:,.0f} MiB",
            f"{row.ratio:.1f}",
        )
        for row in rows
    ]
    return _table(("body", "chunks", "size", "memory", "ratio"), cells, numbers=3)


def profile(shares: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table that shows where the time goes, with one column per stream."""
    groups = next(iter(shares.values()))
    cells = [(group, *(f"{of[group]:.0%}" for of in shares.values())) for group in groups]
    return _table(("share of the time", *shares), cells, numbers=len(shares))


def commands(ratio: float, whole: Suite) -> str:
    """Return the table of complete commands."""
    cells = [
        ("`conform --help` to `python -c 'import click'`", f"{ratio:.1f} times", f"{LIMIT_HELP} times"),
        (
            f"the whole suite: {whole.cases:,} cases, {whole.trials:,} trials",
            f"{whole.seconds:.1f} s, {whole.processor:.1f} s CPU time",
            f"{LIMIT_SUITE} s on two cores",
        ),
    ]
    return _table(("command", "took", "limit"), cells, numbers=1)


def page(tables: Mapping[str, str]) -> str:
    """Return the page, with every table under its heading."""
    sections = [f"## {heading}\n\n{table}" for heading, table in tables.items()]
    return "\n\n".join([HEAD.format(machine=machine()), *sections, METHOD]) + "\n"


def machine() -> str:
    """Return the conditions of the measurement: date, Python version, kind of machine."""
    day = datetime.now(UTC).date().isoformat()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{day}, {python}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def _pieces(row: Timed) -> str:
    whole = row.kind == "tool call" and APIS[row.api].whole_calls
    return "whole" if whole else f"{row.deltas:,}"


def _table(names: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int) -> str:
    """Return a table whose last `numbers` columns are right-aligned."""
    rule = ["---"] * (len(names) - numbers) + ["---:"] * numbers
    return "\n".join(f"| {' | '.join(row)} |" for row in (names, rule, *rows))


HEAD: Final = """# Benchmarks

This page shows the speed of the reference parser, of installed peers and of the suite. `make bench` measures
and prints these figures; `conform dev bench --write` writes this page and its plot. No test asserts these
figures: times on a shared machine are unreliable, although ratios within one run are more stable. [The fuzz
campaign and the load tests](load.md) have a page of their own.

Measured on {machine}.

![How many times the floor each peer takes for a text](peers.svg)"""

METHOD: Final = f"""## Method

- **Floor**: split the body at blank lines, or at line ends for JSON lines, and call `orjson.loads` on each
  payload; it ignores everything else, even comments and other line endings
  (`streamconform_dev/bench/floor.py`). The floors of `bedrock-converse` and `bedrock-invoke` also verify
  both checksums of each message with `zlib.crc32`, because no reader of event streams can skip them; they do
  not read the headers. The floor of `bedrock-invoke` also decodes the base64 of each event.
- **Reference**: reads the bytes and returns every event and the outcome as values
  (`streamconform_dev/bench/measure.py`).
- Streams are generated, not recorded: every delta has {CHARACTERS} characters, some of them multi-byte, in
  the frames that the API documents (`streamconform_dev/bench/streams.py`).
- `google-generate` and `ollama-chat` send a call in one payload (only Vertex AI can stream arguments), so
  their tool calls are `whole`, and their time per delta is the time per {CHARACTERS} characters.
- Chunks: `whole` is one chunk, `frame by frame` is one chunk per frame, and `1 KiB` means chunks of that
  size.
- Floor and reference run in turn in one process. Each figure is the minimum of several runs, in CPU time, so
  that waiting for a core does not count. Garbage is collected before each run, but not during it.
- **Recordings** are those from other projects in the folder that `STREAMCONFORM_CORPUS` names, except any
  that the floor cannot read. They are read in chunks of 4 KiB. Many are short, so starting and ending an
  answer takes a larger share of the time than in the generated streams.
- **Peers** read the same generated streams over HTTP, each in its own process
  (`streamconform_dev/bench/peers.py`). Their time is the processor time of that process: the library,
  its HTTP client, and what our adapter does with the library's objects, minus the time for an answer of
  two deltas. The floor has no HTTP client, so compare peers with each other rather than with the reference.
- **Memory**: the body consists of the same very short lines. The figure is the growth of the process's peak
  memory while it reads the body, without the body itself (`streamconform_dev/bench/memory.py`).
- **What the harness adds** is measured by commands in turn, each figure being the least of three
  (`streamconform_dev/bench/ratios.py`). The time before the first trial is that of the process which selects
  the trials. For `conform compare`, the time of one stream is subtracted from that of 1,001 streams, and the
  difference is divided by the time of the decoder alone for the same deliveries.
- `not read` means that the peer rejected the generated stream, which contains only the fields that most
  clients need. A tool call that takes many times as long as a text points to arguments that are parsed again
  with every delta.
- Limits: a ratio of at most {LIMIT}, and the same time per delta from 50 KB to 3.2 MB, which shows that no
  text is joined and no JSON is parsed repeatedly as it grows.
- The suite runs with the normal command, `conform run --deliver full`, and one worker per core. Its elapsed
  time is only meaningful on an idle machine; its CPU time hardly depends on the load.
- The profile attributes C code to its caller. Profiling makes calls slower, so the profile shows where to
  look, not how long things take."""
