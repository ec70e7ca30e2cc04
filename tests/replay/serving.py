"""`conform serve`, started and ended like a user does."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..cli import forked


@dataclass
class Served:
    """The output before the first request; the requests and the exit are known afterwards."""

    urls: list[str]
    lines: list[str]
    log: str = ""
    code: int | None = None
    more: dict = field(default_factory=dict)


@contextlib.contextmanager
def serve(folder: Path, *words: str, end: signal.Signals = signal.SIGINT) -> Iterator[Served]:
    """Serve until the context ends, then send `end`."""
    with forked.Started("streamconform", ("serve", *words), cwd=folder, env=os.environ) as process:
        ready = process.stderr.readline()  # follows the lines of the cases
        if "stop with Ctrl-C" not in ready:
            _, rest = process.communicate(timeout=30)
            raise AssertionError(ready + rest)
        count = int(ready.split()[0].replace(",", ""))
        lines = [process.stdout.readline().rstrip() for _ in range(count)]
        served = Served([line.split()[0] for line in lines], lines)
        yield served
        process.send_signal(end)
        _, served.log = process.communicate(timeout=30)
        served.code = process.returncode
