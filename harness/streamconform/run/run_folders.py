"""The folders that contain the results of runs: `.conform/runs/<UTC time>/results.jsonl`.

Every run has its own folder, so that concurrent runs in a project do not mix, and a partial run does not
overwrite a complete one.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final, Self

from streamconform.errors import ReportError, UsageError
from streamconform.files import open_regular, read_regular, write_atomically
from streamconform.system import try_lock

CONFORM: Final = Path(".conform")
RUNS: Final = CONFORM / "runs"
RESULTS_NAME: Final = "results.jsonl"
LATEST_NAME: Final = "latest"
"""A text file with the name of the latest run's folder; a link would require privileges on Windows."""
LOCK_NAME: Final = "lock"
KEPT_RUNS: Final = 10
PARTIAL_SETTINGS: Final = ("select", "api", "profile", "level", "shard", "last_failed")
"""Members of `selection` that make a run partial."""


class RunFolder:
    """The folder of a run in progress; its lock tells other processes that the run is not interrupted."""

    def __init__(self, path: Path) -> None:
        """Lock the folder `path`. Raises `UsageError` if a run in progress is using it."""
        self.path = path
        self.results = path / RESULTS_NAME
        self._lock: IO[bytes] = (path / LOCK_NAME).open("ab")
        if not try_lock(self._lock):
            self._lock.close()
            raise UsageError(f"the run in `{path}` is still in progress")

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *_: object) -> None:
        """Unlock the folder, and delete it if the run wrote no results."""
        # The operating system releases the lock of a killed process too.
        self._lock.close()
        with contextlib.suppress(OSError):
            (self.path / LOCK_NAME).unlink()
            if not self.results.exists():
                self.path.rmdir()

    def mark_latest(self) -> None:
        """Make this run the latest, and delete the oldest runs."""
        # Another process may read the name at the same time.
        write_atomically(self.path.parent / LATEST_NAME, f"{self.path.name}\n".encode())
        delete_old_runs(self.path.parent)


def create_run_folder(root: Path = RUNS) -> RunFolder:
    """Return a new folder named after the UTC time. Raises `ReportError` if it cannot be written."""
    prepare_conform_folder(root.parent)
    try:
        root.mkdir(exist_ok=True)
        # Two runs may start in the same millisecond; the second one takes the next.
        while True:
            # No colons: Windows does not allow them in names.
            now = datetime.now(UTC)
            path = root / f"{now:%Y-%m-%dT%H-%M-%S}.{now.microsecond // 1000:03d}Z"
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                return RunFolder(path)
            time.sleep(0.001)
    except OSError as error:
        raise _describe_unwritable(root, error) from error


def prepare_conform_folder(folder: Path = CONFORM) -> None:
    """Create the results folder, with a `.gitignore` that keeps it out of version control."""
    ignore = folder / ".gitignore"
    try:
        folder.mkdir(exist_ok=True)
        if not ignore.exists():
            ignore.write_text("*\n", "utf-8")
    except OSError as error:
        raise _describe_unwritable(folder, error) from error


def find_latest_results(root: Path = RUNS) -> Path | None:
    """Return the latest run's results, or None if there are none."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        named = root / read_regular(root / LATEST_NAME).decode().strip() / RESULTS_NAME
        if named.is_file():
            return named
    folders = _list_runs(root)
    return folders[-1] / RESULTS_NAME if folders else None


def get_latest_results(root: Path = RUNS) -> Path:
    """Return the latest run's results. Raises `ReportError` if there are none."""
    path = find_latest_results(root)
    if path is None:
        raise ReportError(f"no results in `{root}`; `conform run` writes them")
    return path


def resolve_results(name: str) -> Path:
    """Return the results file for `name`, which is a file or a run's folder."""
    inner = Path(name) / RESULTS_NAME
    return inner if inner.is_file() else Path(name)


def delete_old_runs(root: Path, kept: int = KEPT_RUNS) -> None:
    """Delete old runs, but keep the `kept` newest ones, those in progress, and the newest full-suite run."""
    folders = _list_runs(root)
    old = folders[:-kept]
    if not old:
        return
    # Ten filtered runs must not delete the last run of the full suite, which takes minutes.
    newest_full = next((folder for folder in reversed(folders) if _is_full(folder / RESULTS_NAME)), None)
    for folder in old:
        if folder != newest_full and not _is_locked(folder):
            # Another run may delete the same folder.
            shutil.rmtree(folder, ignore_errors=True)


def _list_runs(root: Path) -> list[Path]:
    """Return the folders of runs with results, oldest first."""
    return sorted(path.parent for path in root.glob(f"*/{RESULTS_NAME}"))


def _is_full(path: Path) -> bool:
    """Return whether `path` contains the results of a completed run of the full suite."""
    try:
        first, last = _read_ends(path)
        selection = json.loads(first)["selection"]
        return bool(json.loads(last)["complete"]) and not any(map(selection.get, PARTIAL_SETTINGS))
    # The file may have a different format version, or be truncated.
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _read_ends(path: Path) -> tuple[bytes, bytes]:
    """Return the first and last lines of a file; each must be shorter than 64 KiB."""
    with open_regular(path) as file:
        first = file.readline()
        file.seek(0, 2)
        # Only the two ends are read, because a results file may have hundreds of megabytes.
        file.seek(max(0, file.tell() - 65536))
        return first, file.read().rstrip(b"\n").rpartition(b"\n")[2]


def _is_locked(folder: Path) -> bool:
    try:
        with (folder / LOCK_NAME).open("rb+") as file:
            return not try_lock(file)
    except OSError:
        return False


def _describe_unwritable(folder: Path, error: OSError) -> ReportError:
    advice = "choose another path for results with `--report jsonl=PATH`"
    # `mkdir` only says that something exists: a file, or a link to nothing.
    reason = "it is not a folder" if isinstance(error, FileExistsError) else error.strerror
    return ReportError(f"`{folder}` cannot be written: {reason}; {advice}")


def is_in_run_folder(results: Path) -> bool:
    """Return whether a results file is in a folder that a run created."""
    return results.name == RESULTS_NAME and results.parent.parent == RUNS


def lock_run(results: Path) -> contextlib.AbstractContextManager[object]:
    """Lock an existing run's folder; do nothing if the results are at a path that the user chose."""
    if is_in_run_folder(results):
        return RunFolder(results.parent)
    return contextlib.nullcontext()
