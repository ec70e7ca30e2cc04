"""Install one release of a library into a separate environment, with dependencies as of its release date."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Final

from streamconform.errors import ImplementationError
from streamconform_peers import environments, node_package, node_runtime
from streamconform_peers.peer import Peer
from streamconform_peers.releases import NAME_AND_VERSION, Package, find_date

INSTALL_SECONDS: Final = 600
"""The time limit for an installation; pip may search for compatible releases for hours."""
# pip and npm run no code of the packages that they install: pip takes only wheels, npm ignores scripts.
PIP: Final = (sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "--python")
PIP_INSTALL: Final = ("install", "--quiet", "--only-binary", ":all:", "--no-warn-script-location")
NPM_INSTALL: Final = ("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")


@contextmanager
def install_release(root: Path, peer: Peer, package: Package, version: str, *, keep: bool) -> Iterator[Path]:
    """Install `peer` with the release `version` of `package`; on exit, remove it unless `keep` is set.

    Other distributions are not pinned: the newest releases as of that date are installed, or simply the
    newest if the index does not report release dates.

    Raises:
        ImplementationError: it cannot be installed.
    """
    name = f"{package.name.lstrip('@').replace('/', '-')}-{version}"
    folder = root / "history" / f"{peer.language}-{peer.distribution.rpartition('/')[2]}-{name}"
    # A killed installation leaves a folder without this file, so the release is installed again.
    complete = folder / "complete"
    try:
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            install = _install_node if peer.language == "javascript" else _install_python
            install(folder, list(_list_requirements(peer, package, version)), find_date(package, version))
            complete.touch()
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def build_command(root: Path, peer: Peer, folder: Path) -> tuple[str, ...]:
    """Return the command that runs `peer`'s adapter in an environment made by `install_release`."""
    if peer.language == "javascript":
        return node_package.build_command(node_runtime.install_runtime(root), folder, peer)
    return environments.build_python_command(find_python(folder), peer)


def _list_requirements(peer: Peer, package: Package, version: str) -> Iterator[str]:
    """Yield `peer`'s requirements, with `package` pinned to `version` and the others unpinned."""
    exactly = "@" if peer.language == "javascript" else "=="
    for requirement in peer.requirements:
        match = NAME_AND_VERSION.match(requirement)
        assert match is not None, "a requirement begins with a name"
        name, extras = match["name"], match[2] or ""
        yield f"{name}{extras}{exactly}{version}" if name == package.name else f"{name}{extras}"


def _install_python(folder: Path, requirements: list[str], day: date | None) -> None:
    venv.create(folder, symlinks=os.name != "nt")
    until = () if day is None else ("--uploaded-prior-to", day.isoformat())
    _run((*PIP, str(find_python(folder)), *PIP_INSTALL, *until, *requirements), folder, "pip", requirements)


def _install_node(folder: Path, requirements: list[str], day: date | None) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise ImplementationError("`npm` is not on the PATH")
    # Without this file, npm would look for a project in the parent folders and install there.
    (folder / "package.json").write_text(json.dumps({"private": True}), "utf-8")
    until = () if day is None else ("--before", day.isoformat())
    _run((npm, *NPM_INSTALL, *until, *requirements), folder, "npm", requirements)


def find_python(folder: Path) -> Path:
    """Return the Python of an environment made by `install_release`."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(command: tuple[str, ...], folder: Path, tool: str, requirements: list[str]) -> None:
    title = f"{tool} cannot install {' '.join(requirements)}"
    try:
        ran = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ImplementationError(f"{title} within {INSTALL_SECONDS} seconds") from error
    if ran.returncode != 0:
        lines = [line.strip() for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines or ["no output"]
        raise ImplementationError(f"{title}: {errors[-1][:300]}")
