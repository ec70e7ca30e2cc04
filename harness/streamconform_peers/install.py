"""Install a peer's pinned releases into a virtual environment with the user's own pip."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from streamconform._version import __version__
from streamconform.errors import ImplementationError
from streamconform.system import IS_WINDOWS, find_venv_python
from streamconform.user_cache import VARIABLE
from streamconform_peers import node_package, node_runtime
from streamconform_peers.environments import MANIFEST, Environment, read_environment
from streamconform_peers.table import Peer

PIP_OPTIONS: Final = ("--no-input", "--disable-pip-version-check")
INSTALL_COMMAND: Final = (
    *("install", "--quiet", "--require-hashes", "--only-binary", ":all:", "--no-warn-script-location"),
)
"""Only pinned wheels are installed, and their digests are verified; nothing is ever built."""
NOT_FOUND: Final = re.compile(
    r"No matching distribution found|Could not find a version|conflicting dependencies", re.IGNORECASE
)
"""Matches pip's output when the index lacks a release."""
MAX_OUTPUT_LINES: Final = 6
"""The maximum number of lines of pip's output to show in an error message."""


class InstallError(ImplementationError):
    """A peer cannot be installed."""


def install(root: Path, peer: Peer) -> Environment:
    """Install `peer` under `root` and return its environment.

    Raises:
        InstallError: pip is missing or failed, or the folder cannot be written to.
        ImplementationError: npm is missing or failed.
    """
    is_javascript = peer.language == "javascript"
    if not is_javascript and importlib.util.find_spec("pip") is None:
        raise InstallError(
            f"cannot install `{peer.name}`: `{sys.executable}` has no pip; run `python -m ensurepip`"
        )
    target = root / peer.key
    try:
        root.mkdir(parents=True, exist_ok=True)
        # The environment is renamed into place only when it is complete, so a killed installation never
        # looks like an installed peer.
        with tempfile.TemporaryDirectory(prefix=f".{peer.key}.", dir=root) as work:
            folder = Path(work) / "environment"
            folder.mkdir()
            if is_javascript:
                node_runtime.install_runtime(root)
                distributions = node_package.fill(folder, peer.pins)
            else:
                distributions = _fill(folder, peer)
            (folder / MANIFEST).write_text(_format_manifest(peer, distributions), "utf-8")
            if read_environment(root, peer) is None:  # another process may have installed it in the meantime
                if target.exists():  # with less than the peer needs today
                    target.replace(Path(work) / "outdated")
                folder.replace(target)
    except OSError as error:
        raise InstallError(
            f"cannot write `{peer.name}` to `{root}`: {error.strerror or error}; "
            f"choose another folder with `--cache` or `{VARIABLE}`"
        ) from error
    environment = read_environment(root, peer)
    assert environment is not None, "the folder was just renamed into place, or already existed"
    return environment


def _fill(folder: Path, peer: Peer) -> dict[str, str]:
    """Create a virtual environment with the peer; return the version of each distribution in it."""
    # Without pip, because the user's own pip installs into it.
    venv.create(folder, symlinks=not IS_WINDOWS)
    python = find_venv_python(folder)
    # Not as constraints, because pip 23.0 takes digests only from requirements.
    result = _run_pip(python, *INSTALL_COMMAND, "--requirement", str(peer.pins))
    if result.returncode != 0:
        raise InstallError(_describe_failure(peer, result.stdout + result.stderr))
    return _list_distributions(python)


def _run_pip(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the user's pip, with its index, proxy and cache, on `python`'s environment."""
    return subprocess.run(  # noqa: S603 - our own Python, and arguments from our own table
        (sys.executable, "-m", "pip", "--python", str(python), *PIP_OPTIONS, *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _list_distributions(python: Path) -> dict[str, str]:
    """Return the version of each distribution installed for `python`."""
    output = _run_pip(python, "list", "--format", "json").stdout
    return {str(entry["name"]): str(entry["version"]) for entry in json.loads(output)}


def _format_manifest(peer: Peer, distributions: dict[str, str]) -> str:
    document = {
        "requirements": list(peer.requirements),
        "by": __version__,
        "python": sys.version.partition(" ")[0],
        "distributions": distributions,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _describe_failure(peer: Peer, output: str) -> str:
    """Return the error message for a pip failure, given pip's output."""
    requirements = " ".join(peer.requirements)
    lines = [f"pip cannot install {requirements}:", *(f"  {line}" for line in _select_lines(output))]
    if NOT_FOUND.search(output):
        lines.append(
            "  `pip config list` shows which index pip uses (`index-url`, `no-index`, `find-links`); "
            "that index must have the pinned releases as wheels for Python "
            f"{sys.version_info.major}.{sys.version_info.minor}"
        )
    return "\n".join(lines)


def _select_lines(output: str) -> Iterator[str]:
    """Yield pip's last error lines or, if there are none, the last lines of its output, shortened."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    for line in (errors or lines or ["(no output)"])[-MAX_OUTPUT_LINES:]:
        yield line[:300]
