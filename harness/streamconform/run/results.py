"""Write `results.jsonl` line by line as trials finish, so that nothing is lost. `reading` reads it.

This file is the only record of a run: every report is computed from it alone.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TextIO

from streamconform.errors import ReportError
from streamconform.files import write_atomically
from streamconform.model.result import SUITE_FIELDS, WRITTEN_ALWAYS, Footer, Header, TrialResult

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


def to_json(value: Any) -> dict[str, Any]:
    """Return the JSON form of a line, or of a value in it that has a type of its own."""
    members = {}
    for name, default in _list_fields(value.__class__):
        member = getattr(value, name)
        if default is MISSING or member != default:
            if isinstance(member, tuple) and member and is_dataclass(member[0]):
                member = [to_json(item) for item in member]
            members[name] = to_json(member) if is_dataclass(member) else member
    return _nest_suite(members) if isinstance(value, Header) else members


def _nest_suite(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a header, with those of the suite in `suite`."""
    suite = {name: members[name] for name in SUITE_FIELDS if name in members}
    first = SUITE_FIELDS[0]
    return {
        "suite" if name == first else name: suite if name == first else member
        for name, member in members.items()
        if name == first or name not in suite
    }


@cache
def _list_fields(type_: Any) -> tuple[tuple[str, Any], ...]:
    """Return each field with the value for which it is left out; `MISSING` if it is always written."""
    return tuple(
        (field.name, MISSING if field.name in WRITTEN_ALWAYS else field.default) for field in fields(type_)
    )


def _encode_line(line: Header | TrialResult | Footer) -> str:
    return _ENCODED(to_json(line)) + "\n"
