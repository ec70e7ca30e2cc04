"""Ask the user's package index for a library's releases, using pip or npm."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any, Final

from streamconform.errors import ImplementationError
from streamconform_peers.peer import Peer

STABLE: Final = re.compile(r"[0-9]+(\.[0-9]+)*")
"""A release that pip and npm install without an option that allows pre-releases."""
FIRST_DAY: Final = date(2022, 1, 1)
"""A day that is earlier than any release that can be tested."""
PIN: Final = re.compile(r"^([^#\s=]+)==(\S+)", re.MULTILINE)
"""The name and the release in a line of a Python library's pins."""
PRECISION: Final = timedelta(days=10)
"""The precision at which the search for a release's date on the Python index stops."""
NAME_AND_VERSION: Final = re.compile(r"(?P<name>@?[^@\[=]+)(\[[^\]]*\])?(@|==)?(?P<version>[0-9][^@]*)?")


@dataclass(frozen=True, slots=True)
class Package:
    """A package on an index."""

    language: str
    name: str


def list_packages(peer: Peer) -> dict[str, str]:
    """Return the library and its companions, each with its pinned release."""
    named = [NAME_AND_VERSION.match(text) for text in (peer.distribution, *peer.companions)]
    versions = {match["name"]: match["version"] for match in named if match}
    versions[peer.distribution] = peer.version
    if peer.language == "python":
        pins = dict(PIN.findall(peer.pins.read_text("utf-8")))
        versions |= {name: pins[name] for name in versions}
    return versions


def list_releases(package: Package) -> tuple[str, ...]:
    """Return the stable releases on the index, in version order.

    Raises:
        ImplementationError: pip or npm is missing or failed.
    """
    if package.language == "javascript":
        versions = tuple(_read_npm_dates(package.name))
    else:
        versions = _list_python_releases(package.name, None)
    stable = {version for version in versions if STABLE.fullmatch(version)}
    return tuple(sorted(stable, key=get_sort_key))


def find_date(package: Package, version: str) -> date | None:
    """Return a day shortly after the release was uploaded to the index, or None if that is unknown."""
    if package.language == "javascript":
        text = _read_npm_dates(package.name).get(version)
        # `npm install --before DAY` means the start of that day, which is before the upload.
        return None if text is None else datetime.fromisoformat(text).date() + timedelta(days=1)
    earlier, later = FIRST_DAY, datetime.now(UTC).date()
    try:
        if version in _list_python_releases(package.name, earlier):
            return None  # the index has no dates
        while later - earlier > PRECISION:
            middle = earlier + (later - earlier) // 2
            if version in _list_python_releases(package.name, middle):
                later = middle
            else:
                earlier = middle
    except ImplementationError:
        return None  # this pip cannot restrict a query to a day
    return later


def get_sort_key(version: str) -> tuple[int, ...]:
    """Return the numbers that make up a stable version."""
    return tuple(map(int, version.split(".")))


@cache
def _list_python_releases(name: str, day: date | None) -> tuple[str, ...]:
    """Return the releases that were on the index on a given day (by default, today), newest first."""
    until = () if day is None else ("--uploaded-prior-to", day.isoformat())
    command = (sys.executable, "-m", "pip", "index", "versions", name, "--json", *until)
    options = ("--no-input", "--disable-pip-version-check", "--only-binary", ":all:")
    try:
        document = json.loads(_run((*command, *options), f"pip index versions {name}"))
    except ImplementationError:
        if day is None:
            raise
        return ()  # pip fails if there was no release yet
    return tuple(map(str, document["versions"]))


@cache
def _read_npm_dates(name: str) -> dict[str, str]:
    """Return the time of each release."""
    npm = shutil.which("npm")
    if npm is None:
        raise ImplementationError(f"cannot list the releases of {name}: `npm` is not on the PATH")
    times: Any = json.loads(_run((npm, "view", name, "time", "--json"), f"npm view {name}"))
    return {str(version): str(time) for version, time in times.items()}


def _run(command: tuple[str, ...], title: str) -> str:
    ran = subprocess.run(  # noqa: S603 - the user's pip or npm, and names from our own table
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if ran.returncode != 0:
        lines = [line.strip() for line in (ran.stderr + ran.stdout).splitlines() if line.strip()]
        raise ImplementationError(f"`{title}` failed: {(lines or ['no output'])[-1][:300]}")
    return ran.stdout
