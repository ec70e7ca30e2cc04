"""`results.jsonl`: written line by line as trials end, so that nothing is lost; and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from streamconform.errors import ReportError
from streamconform.model.result import Footer, Header, ImplementationInfo, TrialResult
from streamconform.model.verdict import Check

SCHEMA = "results.v1"
OPTIONAL = frozenset({"reason", "observation", "known", "title", "guards"})
"""Fields of a trial that are left out where they hold nothing."""


class ResultsWriter:
    """Writes a header, trials and a footer; each line is on disk when `write` returns."""

    def __init__(self, path: Path) -> None:
        """Open `path` for writing; raises `ReportError`."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise ReportError(f"`{path}` cannot be written: {error.strerror}") from error

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    def write(self, line: Header | TrialResult | Footer) -> None:
        """Append one line."""
        self._file.write(json.dumps(to_json(line), separators=(",", ":")) + "\n")


@dataclass(frozen=True, slots=True)
class Results:
    """A results file. `footer` is None where the run was cut."""

    header: Header
    trials: tuple[TrialResult, ...]
    footer: Footer | None


def to_json(line: Header | TrialResult | Footer) -> dict[str, Any]:
    """Return the JSON form of one line."""
    match line:
        case Header():
            return {
                "kind": "header",
                "schema": SCHEMA,
                "suite": {"version": line.version, "cases": line.cases, "trials": line.trials},
                "implementations": [asdict(each) for each in line.implementations],
                "selection": dict(line.selection),
                "seed": line.seed,
            }
        case TrialResult():
            told = {name: getattr(line, name) for name in TrialResult.__slots__}
            told["checks"] = [check_json(each) for each in line.checks]
            return {"kind": "trial"} | {k: v for k, v in told.items() if k not in OPTIONAL or v}
        case Footer():
            return {"kind": "footer"} | {name: getattr(line, name) for name in Footer.__slots__}


def check_json(check: Check) -> dict[str, Any]:
    """Return the JSON form of a check."""
    told = {name: getattr(check, name) for name in Check.__slots__}
    if check.message is None:
        del told["message"]
    return told | {"frames": list(check.frames)}


def read(path: Path) -> Results:
    """Return what `path` holds up to its last whole line; raises `ReportError` where that is no run."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"`{path}` cannot be read: {error}") from error
    header: Header | None = None
    footer: Footer | None = None
    trials: list[TrialResult] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            told = json.loads(line)
        except ValueError:
            break  # a run that was killed ends in the middle of a line
        match told.pop("kind", None):
            case "header":
                header = _header(told)
            case "trial":
                checks = tuple(
                    Check(**each | {"frames": tuple(each["frames"])}) for each in told.pop("checks")
                )
                told["guards"] = tuple(told.get("guards", ()))
                trials.append(TrialResult(**told, checks=checks))
            case "footer":
                footer = Footer(**told)
            case kind:
                raise ReportError(f"`{path}:{number}`: a line of the unknown kind `{kind}`")
    if header is None:
        raise ReportError(f"`{path}` is not the results of a run: it has no header")
    return Results(header, tuple(trials), footer)


def _header(told: Mapping[str, Any]) -> Header:
    if told.get("schema") != SCHEMA:
        raise ReportError(f"results in the format `{told.get('schema')}`; this version reads `{SCHEMA}`")
    return Header(
        version=told["suite"]["version"],
        cases=told["suite"]["cases"],
        trials=told["suite"]["trials"],
        implementations=tuple(ImplementationInfo(**each) for each in told["implementations"]),
        selection=told["selection"],
        seed=told["seed"],
    )
