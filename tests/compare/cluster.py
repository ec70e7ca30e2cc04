"""A Dask scheduler and its workers, as separate processes that can be killed and restarted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Self


class Cluster:
    """A scheduler on a free port, and workers without nannies."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = {**os.environ, "PYTHONWARNINGS": "ignore", **(environment or {})}
        self.scheduler, self.address = self._start(
            "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"
        )
        self.workers: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, self.scheduler):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()

    def add_worker(self) -> subprocess.Popen[str]:
        """Start a worker with one thread."""
        process, _ = self._start(
            "distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"
        )
        self.workers.append(process)
        return process

    def _start(self, module: str, *words: str) -> tuple[subprocess.Popen[str], str]:
        """Start a process, and return it with the address that it prints."""
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            env=self._environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        address = ""
        for line in process.stderr:
            found = re.search(r"at:\s+(tcp://127\.0\.0\.1:\d+)", line)
            if found:
                address = found[1]
                break
        assert address, f"{module} did not start"
        # Nobody reads its further output, for which it must not block.
        threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
        return process, address


def _drain(stream: object) -> None:
    try:
        for _ in stream:  # type: ignore[attr-defined]
            pass
    except ValueError:
        pass  # closed
