"""Write `results.jsonl` line by line as trials finish, so that nothing is lost. `reading` reads it.

This file is the only record of a run: every report is computed from it alone.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TextIO

from streamconform.errors import ReportError
from streamconform.model.result import Footer, Header, ImplementationInfo, TrialResult
from streamconform.model.verdict import Check
from streamconform.suite.cassettes import write_atomically

SCHEMA = "results.v1"
OPTIONAL = frozenset(
    {
        "reason",
        "observation",
        "known",
        "tracked",
        "title",
        "guards",
        "not_exposed",
        "compared",
        "uncompared",
        "unknown_keys",
    }
)
"""Fields of a trial that are omitted if they are empty."""

RUN_FACTS: Final = ("date", "command", "platform")
"""Header fields that differ when a run is repeated."""

_ENCODED: Final = json.JSONEncoder(separators=(",", ":")).encode


class ResultsWriter:
    """Writes a header, trials and a footer; each line is in the file by the time `write` returns."""

    def __init__(
        self, path: Path, earlier: Sequence[Header | TrialResult] = (), copy: Path | None = None
    ) -> None:
        """Open `path`; `earlier` contains the lines to keep from an interrupted run. Raises `ReportError`.

        The same lines go to `copy`, which is deleted if it cannot be written.
        """
        self._path, self._copy_path = path, copy
        self._copy: TextIO | None = None
        try:
            self._file = _open_results(path, earlier)
        except OSError as error:
            raise ReportError(f"`{path}` cannot be written: {error.strerror}") from error
        if copy is not None:
            try:
                self._copy = _open_results(copy, earlier)
            except OSError:
                self._drop_copy()

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # `write` has already reported the error
            self._file.close()
        if self._copy is not None:
            with contextlib.suppress(OSError):
                self._copy.close()

    def write(self, line: Header | TrialResult | Footer) -> None:
        """Append one line. Raises `ReportError`, for example if the disk is full."""
        text = _encode_line(line)
        if self._copy is not None:
            try:
                self._copy.write(text)
            except OSError:
                self._drop_copy()
        try:
            self._file.write(text)
        except OSError as error:
            with contextlib.suppress(OSError):  # the buffered text cannot be written either
                self._file.close()
            raise ReportError(f"`{self._path}` cannot be written: {error.strerror}") from error

    def _drop_copy(self) -> None:
        """Delete the copy: without some of its lines, it would look like a run that was killed."""
        copy, self._copy = self._copy, None
        with contextlib.suppress(OSError):
            if copy is not None:
                copy.close()
        with contextlib.suppress(OSError):
            if self._copy_path is not None:
                self._copy_path.unlink()


@dataclass(frozen=True, slots=True)
class Results:
    """The contents of a results file; `footer` is None if the run was killed."""

    header: Header
    trials: tuple[TrialResult, ...]
    footer: Footer | None


def _open_results(path: Path, earlier: Sequence[Header | TrialResult]) -> TextIO:
    """Open `path` after it was replaced by the lines `earlier`, if there are any. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if earlier:
        # The file may end with an incomplete line or a footer. It stays unchanged until it is replaced.
        write_atomically(path, "".join(map(_encode_line, earlier)).encode())
    # Line-buffered: a killed run keeps every line that was written.
    return path.open("a" if earlier else "w", encoding="utf-8", buffering=1)


def to_json(line: Header | TrialResult | Footer) -> dict[str, Any]:
    """Return the JSON form of one line."""
    match line:
        case Header():
            # These are facts about one run, not about the suite; reproducible reports leave them out.
            facts = {name: getattr(line, name) for name in RUN_FACTS if getattr(line, name) is not None}
            counts = {"cases": line.cases, "trials": line.trials}
            digest = {} if line.digest is None else {"digest": line.digest}
            return {
                "kind": "header",
                "schema": SCHEMA,
                **facts,
                "suite": {"version": line.version, "rules": line.rules, **counts} | digest,
                "implementations": [_info_to_json(info) for info in line.implementations],
                "selection": dict(line.selection),
                "seed": line.seed,
            }
        case TrialResult():
            members = {name: getattr(line, name) for name in TrialResult.__slots__}
            members["checks"] = [check_to_json(check) for check in line.checks]
            return {"kind": "trial"} | {k: v for k, v in members.items() if k not in OPTIONAL or v}
        case Footer():
            members = {name: getattr(line, name) for name in Footer.__slots__}
            members["problems"] = [asdict(problem) for problem in line.problems]
            members["claims"] = tuple(asdict(claim) for claim in line.claims)
            members = {name: value for name, value in members.items() if value not in (None, ())}
            return {"kind": "footer"} | members


def _encode_line(line: Header | TrialResult | Footer) -> str:
    return _ENCODED(to_json(line)) + "\n"


def _info_to_json(info: ImplementationInfo) -> dict[str, Any]:
    members = asdict(info)
    if info.claims is None:
        del members["claims"]
    return members


def check_to_json(check: Check) -> dict[str, Any]:
    """Return the JSON form of a check."""
    members = {name: getattr(check, name) for name in Check.__slots__}
    if check.message is None:
        del members["message"]
    return members | {"frames": list(check.frames)}
