"""Measure the memory that the reference takes for bodies of very short lines, each in a process of its own.

`python -m streamconform_dev.bench.memory BODY CHUNKS SIZE` reads one of them, and prints the bytes by which
the process grew.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform_dev.checkout import ROOT
from streamconform_reference import DECODERS

STATUS: Final = Path("/proc/self/status")
HOSTILE: Final = {
    "a frame of empty lines": ("anthropic-messages", b"", b"data:\n"),
    "a frame of 2-byte lines": ("anthropic-messages", b"", b"data:ab\n"),
    "a document of 2-byte lines": ("google-generate", b"data: {}\n\n{\n", b"ab\n"),
    "frames of 1 byte": ("anthropic-messages", b"", b"data:1\n\n"),
    "comments": ("anthropic-messages", b"", b":\n"),
    "array elements of 1 byte": ("google-generate", b"[", b"1,"),
}
"""For each kind of body: the API, the first bytes, and the bytes that are repeated."""
CHUNKS: Final = {"whole": 1 << 30, "4 KiB": 4096}


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The memory that one body took, in bytes."""

    body: str
    chunks: str
    size: int
    grown: int

    @property
    def ratio(self) -> float:
        """Return how many times the body's size the process grew."""
        return self.grown / self.size


def measure_memory(size: int) -> Iterator[MemoryUse]:
    """Yield the memory for each body of `size` bytes, whole and in small chunks."""
    for body in HOSTILE:
        for chunks in CHUNKS:
            command = [sys.executable, "-m", "streamconform_dev.bench.memory", body, chunks, str(size)]
            ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            yield MemoryUse(body, chunks, size, int(ran.stdout))


def read_body(name: str, chunks: str, size: int) -> int:
    """Read one body; return the bytes by which the memory of this process grew, without those of the body."""
    api, start, line = HOSTILE[name]
    decoder = DECODERS[api]()
    decoder.receive_data(start)
    length = min(CHUNKS[chunks], size) // len(line) * len(line)
    chunk = line * (length // len(line))
    before = _measure_peak()
    for _ in range(size // length):
        decoder.receive_data(chunk)
    decoder.receive_eof()
    assert decoder.outcome.status != "complete"
    return _measure_peak() - before


def _measure_peak() -> int:
    """Return the peak memory of this process in bytes."""
    if STATUS.exists():
        # Not `ru_maxrss`, which on Linux a new process inherits from the one that started it.
        peak = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())
        assert peak is not None, "Linux reports it for every process"
        return int(peak[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    _, name_, chunks_, size_ = sys.argv
    print(read_body(name_, chunks_, int(size_)))  # noqa: T201
