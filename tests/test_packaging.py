"""The wheel alone, in a separate environment, contains every case and can judge the reference."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from streamconform.suite import compiled

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "streamconform/_bundled/"
PACKAGES = (
    "streamconform",
    "streamconform_capture",
    "streamconform_peers",
    "streamconform_reference",
    "streamconform_mutants",
    "streamconform_innocents",
    "streamconform_proxy",
)
BUNDLED = (
    *(ROOT / name for name in ("specs", "cassettes")),
    *(ROOT / "docs" / "matrix" / name for name in ("findings", "known", "history")),
)
PAGE = (".html", ".css", ".js")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Build the wheel once, for all workers of a session."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "dist"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            argv = (
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
            )
            subprocess.run((*argv, "--wheel-dir", str(folder), str(ROOT)), check=True, cwd=folder)
        (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_holds_exactly_the_bundled_folders_of_the_checkout(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {
            name.removeprefix(PREFIX): hashlib.sha256(archive.read(name)).hexdigest()
            for name in archive.namelist()
            if name.startswith(PREFIX) and not name.startswith(f"{PREFIX}{compiled.NAME}/")
        }
    here = {
        path.relative_to(folder.parent).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in BUNDLED
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert packed == here


def test_the_wheel_carries_types_and_schemas(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert "streamconform/schemas/spec.v1.json" in names
    assert "streamconform/init/adapter.py.txt" in names
    here = ROOT / "harness/streamconform/reports/html"
    page = {path.relative_to(ROOT / "harness").as_posix() for path in here.rglob("*") if path.suffix in PAGE}
    assert len(page) > 10
    assert page <= names


def test_the_wheel_holds_every_module_of_the_checkout_but_the_workshop(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.endswith(".py")}
    here = {
        path.relative_to(root).as_posix()
        for root in (ROOT / "harness", ROOT / "reference_impl")
        for path in root.rglob("*.py")
        if ROOT / "harness/dev" not in path.parents
    }
    assert packed == here


def test_the_wheel_alone_knows_every_case_and_runs_the_reference(wheel, tmp_path):
    """It contains the same files as the checkout, so a few cases of every API show that it works."""
    home = tmp_path / "env"
    venv.create(home, with_pip=False)
    pip = (sys.executable, "-m", "pip", "--python", str(home / "bin/python"), "--disable-pip-version-check")
    subprocess.run((*pip, "install", "--quiet", "--no-compile", str(wheel)), check=True, cwd=tmp_path)
    how = {
        "cwd": tmp_path,
        "capture_output": True,
        "text": True,
        "env": {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        | {"CONFORM_CACHE": str(tmp_path / "cache")},
    }
    listed = subprocess.run((home / "bin/conform", "list"), check=False, **how)
    unlisted = ("recorded-", "sizes")  # run only if they are named
    files = [path for path in (ROOT / "specs").glob("*/*.yaml") if not path.name.startswith(unlisted)]
    specs = [path.read_text("utf-8") for path in files]
    cases = sum(spec.count("\n  - id: ") for spec in specs)
    assert len(listed.stdout.splitlines()) == cases, listed.stderr
    chosen = (
        "--profile",
        "core-2026.1",
        "--shard",
        "3/8",
        "--deliver",
        "fast",
    )  # has every API of the profile
    ran = subprocess.run((home / "bin/conform", "run", "--impl", "reference", *chosen), check=False, **how)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # Everything that `list` and `run` read is in the wheel as they would keep it.
    assert not (tmp_path / "cache" / compiled.FOLDER).exists()
