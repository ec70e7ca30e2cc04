"""Measure the CPU time of each test, with that of the processes that it starts or asks to work."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .cli.forked import SERVERS

TICKS = os.sysconf("SC_CLK_TCK")
START = pytest.StashKey[float]()


def measure_server(pid: int) -> float:
    """Return the CPU seconds of a server of forks and the children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0
    return sum(map(int, fields[11:15])) / TICKS


def measure() -> float:
    """Return the CPU seconds of this process, the children that it has waited for, and its servers."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    servers = sum(measure_server(server.process.pid) for server in SERVERS.values())
    return time.process_time() + ended.ru_utime + ended.ru_stime + servers


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[START] = measure()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "teardown":
        report.user_properties.append(("cpu", measure() - item.stash[START]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the tests with their CPU seconds, the most expensive first."""
    times = {
        report.nodeid: dict(report.user_properties)["cpu"]
        for report in terminalreporter.stats.get("", ())
        if report.when == "teardown"
    }
    lines = [f"{times[test]:8.2f} {test}\n" for test in sorted(times, key=times.__getitem__, reverse=True)]
    path = Path(config.option.cpu_report)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{sum(times.values()):8.2f} total\n" + "".join(lines))
