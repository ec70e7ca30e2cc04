"""An environment made for a peer: a virtual one, filled by the user's own pip with what the pins name."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from streamconform import __version__
from streamconform.errors import ImplementationError
from streamconform.peers import node_package
from streamconform.peers.environments import ABOUT, Environment, installed, pins
from streamconform.peers.table import Peer
from streamconform.user_cache import VARIABLE

PIP: Final = ("--no-input", "--disable-pip-version-check")
INSTALL: Final = ("install", "--quiet", "--only-binary", ":all:", "--no-warn-script-location")
"""Nothing is built: what has no wheel for this Python cannot be judged on it."""
NOT_THERE: Final = re.compile(
    r"No matching distribution found|Could not find a version|conflicting dependencies", re.IGNORECASE
)
SAID_MAX: Final = 6
"""Lines of pip's that are shown."""


class InstallFailed(ImplementationError):
    """A peer cannot be installed: which, why, and what to do next."""


def install(root: Path, peer: Peer) -> Environment:
    """Make the environment of `peer` under `root` and return it; raises `InstallFailed`.

    Everything happens in a temporary folder beside the place, which is renamed into place at the end and
    removed whatever happens.
    """
    javascript = peer.language == "javascript"
    if not javascript and importlib.util.find_spec("pip") is None:
        raise InstallFailed(
            f"`{peer.name}` is installed with pip, which `{sys.executable}` does not have: "
            "`python -m ensurepip` installs it"
        )
    place = root / peer.key
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{peer.key}.", dir=root) as work:
            made = Path(work) / "made"
            made.mkdir()
            found = node_package.fill(made, peer) if javascript else _filled(made, peer)
            (made / ABOUT).write_text(_about(peer, found), "utf-8")
            if not place.exists():  # somebody else may have installed it in the meantime
                made.replace(place)
    except OSError as error:
        raise InstallFailed(
            f"`{peer.name}` cannot be written to `{root}`: {error.strerror or error}; "
            f"another folder is given by `--cache` or `{VARIABLE}`"
        ) from error
    there = installed(root, peer)
    assert there is not None, "it was put into place, or was there"
    return there


def _filled(made: Path, peer: Peer) -> dict[str, str]:
    """Make a virtual environment with the peer, and return the version of each distribution in it."""
    venv.create(made, symlinks=os.name != "nt")
    python = made / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ran = _pip(python, *INSTALL, "--constraint", str(pins(peer)), *peer.requirements)
    if ran.returncode != 0:
        raise InstallFailed(_why(peer, ran.stdout + ran.stderr))
    return _distributions(python)


def _pip(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the user's pip upon the environment of `python`: index, proxy and cache are the user's."""
    return subprocess.run(  # noqa: S603 - our own Python, and words of our own table
        (sys.executable, "-m", "pip", "--python", str(python), *PIP, *words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _distributions(python: Path) -> dict[str, str]:
    """Return what is installed for `python`, the version of each."""
    listed = _pip(python, "list", "--format", "json").stdout
    return {str(each["name"]): str(each["version"]) for each in json.loads(listed)}


def _about(peer: Peer, distributions: dict[str, str]) -> str:
    document = {
        "requirements": list(peer.requirements),
        "by": __version__,
        "python": sys.version.partition(" ")[0],
        "distributions": distributions,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _why(peer: Peer, said: str) -> str:
    """Return what went wrong, by what pip printed."""
    wanted = " ".join(peer.requirements)
    lines = [f"pip cannot install {wanted}:", *(f"  {each}" for each in _last(said))]
    if NOT_THERE.search(said):
        lines.append(
            "  `pip config list` shows where pip looks (`index-url`, `no-index`, `find-links`); "
            "it has to have what is pinned, as wheels for Python "
            f"{sys.version_info.major}.{sys.version_info.minor}"
        )
    return "\n".join(lines)


def _last(said: str) -> Iterator[str]:
    """Yield the last lines that pip printed, shortened; its errors where it names some."""
    lines = [each.strip() for each in said.splitlines() if each.strip()]
    errors = [each for each in lines if each.startswith("ERROR")]
    for each in (errors or lines or ["it says nothing"])[-SAID_MAX:]:
        yield each[:300]
