"""Damage everything that comes from outside: `python -m streamconform_dev.fuzz.inputs`.

Files to import, collections to compare, and the clients and servers of `conform record listen`. Each input
may use 256 MiB and 5 s of CPU time. No exception but a refusal may escape, and nothing may be lost without a
word. With the same seed the input is the same, so `--target NAME --seed N --inputs 1` repeats a failure.
"""

from __future__ import annotations

import argparse
import enum
import gc
import itertools
import json
import mmap
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from streamconform.printable import escape_line
from streamconform_dev.fuzz import imports, readers, recorder
from streamconform_dev.fuzz.damage import Ending, Loss
from streamconform_dev.fuzz.target import Target, make_rng

TARGETS: Final = (*imports.TARGETS, *readers.TARGETS, *recorder.TARGETS)
PER_PROCESS: Final = 1000
CPU_SECONDS: Final = 5
SECONDS: Final = 120
"""The maximum time of an input, most of which it may have to wait for a processor."""
MEMORY: Final = 256 * 1024 * 1024
"""Beyond what the process needs before the first input."""
MAX_TEXT: Final = 300
STARTED: Final = 255
ENDINGS: Final = tuple(Ending)


class Kind(enum.Enum):
    """What must not happen."""

    FOREIGN = "foreign exceptions"
    MEMORY = "over 256 MiB"
    CPU = "over 5 s of CPU"
    HANG = "over 120 s"
    KILLED = "killed"
    LOSS = "silent losses"


SIGNALS: Final = {signal.SIGPROF: Kind.CPU, signal.SIGALRM: Kind.HANG}


@dataclass(slots=True)
class Tally:
    """What became of the inputs of a target."""

    endings: Counter[Ending] = field(default_factory=Counter)
    failures: Counter[Kind] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    cpu: float = 0.0

    @property
    def inputs(self) -> int:
        """Return the number of inputs."""
        return self.endings.total() + self.failures.total()


def try_input(target: Target, made: object, folder: Path) -> Ending | tuple[Kind, str]:
    """Return what became of one input."""
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return target.check(made, folder)
    except Loss as error:
        return Kind.LOSS, str(error)
    except MemoryError:
        return Kind.MEMORY, "MemoryError"
    except Exception as error:  # noqa: BLE001 - it is what is looked for
        return Kind.FOREIGN, escape_line(f"{type(error).__name__}: {error}", MAX_TEXT)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def run_inputs(target: Target, seeds: range) -> Tally:
    """Try inputs in processes of their own; one that is killed is replaced."""
    tally = Tally()
    while seeds:
        seeds = seeds[_run_process(target, seeds, tally) :]
    return tally


def _run_process(target: Target, seeds: range, tally: Tally) -> int:
    """Try inputs in a process, add what became of them, and return their number."""
    # Shared, so that what a process has done is known even if it is killed.
    with mmap.mmap(-1, len(seeds)) as done, tempfile.TemporaryFile("w+") as texts, _make_folder() as folder:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                _work(target, seeds, done, texts.fileno(), Path(folder))
                code = 0
            except Exception:  # noqa: BLE001 - a process that was forked must not go on
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status, usage = os.wait4(pid, 0)
        tally.cpu += usage.ru_utime + usage.ru_stime
        texts.seek(0)
        for line in texts:
            kind, text = json.loads(line)
            tally.failures[Kind(kind)] += 1
            tally.texts.append(f"{target.name}, {text}")
        marks = done[:].rstrip(b"\0")
    tally.endings.update(ENDINGS[mark - 1] for mark in marks if mark <= len(ENDINGS))
    if status:
        number = os.WTERMSIG(status)
        kind = SIGNALS.get(signal.Signals(number), Kind.KILLED) if number else Kind.KILLED
        tally.failures[kind] += 1
        seed = seeds[max(len(marks) - 1, 0)]
        tally.texts.append(f"{target.name}, seed {seed}: {kind.value} ({status})")
    return max(len(marks), 1)


def _make_folder() -> tempfile.TemporaryDirectory[str]:
    memory = Path("/dev/shm")  # noqa: S108 - much faster than a disk, and used only if there is one
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


def _work(target: Target, seeds: range, done: mmap.mmap, texts: int, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # A limit of the address space ends what the measured memory notices only afterwards.
    resource.setrlimit(resource.RLIMIT_AS, (size + 8 * MEMORY, size + 8 * MEMORY))
    before = _measure_memory()
    for number, seed in enumerate(seeds):
        done[number] = STARTED
        made = target.make(make_rng(seed))
        if _measure_memory() > before:
            # It sets the maximum, which making the input has raised, to what is in use.
            Path("/proc/self/clear_refs").write_text("5")
            before = _measure_memory()
        ending = try_input(target, made, folder)
        used = _measure_memory() - before
        if used > MEMORY:
            ending = Kind.MEMORY, f"{used // 1024 // 1024} MiB"
        if isinstance(ending, Ending):
            done[number] = ENDINGS.index(ending) + 1
        else:
            kind, text = ending
            os.write(texts, json.dumps([kind.value, f"seed {seed}: {text}"]).encode() + b"\n")
            done[number] = STARTED - 1
        if used > MEMORY:
            return  # the maximum of a process never falls


def _measure_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def plan(targets: Sequence[Target], inputs: int, seed: int) -> Iterator[tuple[Target, range]]:
    """Yield the targets in turn, each as often as its share says, with the seeds of up to 1,000 inputs."""
    turn = sorted(
        ((number + 0.5) / target.share, index, target)
        for index, target in enumerate(targets)
        for number in range(target.share)
    )
    used: Counter[str] = Counter()
    for _, _, target in itertools.cycle(turn):
        count = min(PER_PROCESS, inputs)
        if not count:
            return
        start = seed + used[target.name]
        yield target, range(start, start + count)
        used[target.name] += count
        inputs -= count


def format_tallies(tallies: dict[str, Tally]) -> str:
    """Return a table of what became of the inputs."""
    kinds = [*Kind]
    heads = ["target", "inputs", "per CPU second", *(each.value for each in (*Ending, *kinds))]
    rows = [
        [
            name,
            f"{tally.inputs:,}",
            f"{tally.inputs / (tally.cpu or 1):,.0f}",
            *(f"{tally.endings[each]:,}" for each in Ending),
            *(f"{tally.failures[each]:,}" for each in kinds),
        ]
        for name, tally in tallies.items()
    ]
    rule = ["---", *["--:"] * (len(heads) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, rule, *rows))


def _add(tallies: Sequence[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.endings += tally.endings
        total.failures += tally.failures
        total.cpu += tally.cpu
    return total


def main(words: Sequence[str]) -> int:
    """Run a campaign, and print its figures as it goes."""
    parser = argparse.ArgumentParser(prog="python -m streamconform_dev.fuzz.inputs", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each target")
    parser.add_argument("--target", default="*", help="a glob of names, such as `read *`")
    wanted = parser.parse_args(words)
    targets = [target for target in TARGETS if fnmatchcase(target.name, wanted.target)]
    tallies: dict[str, Tally] = {}
    started = time.monotonic()
    gc.freeze()
    for turn, (target, seeds) in enumerate(plan(targets, wanted.inputs, wanted.seed), 1):
        found = run_inputs(target, seeds)
        for text in found.texts:
            sys.stdout.write(f"{text}\n")
        before = tallies.get(target.name, Tally())
        tallies[target.name] = _add([before, found])
        if turn % 10 == 0:
            total = _add([*tallies.values()])
            failures = total.failures.total()
            seconds = time.monotonic() - started
            sys.stdout.write(f"{total.inputs:,} inputs in {seconds:,.0f} s, {failures} failures\n")
        sys.stdout.flush()
    total = _add([*tallies.values()])
    sys.stdout.write(format_tallies({**tallies, "all": total}))
    return 1 if total.failures else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
