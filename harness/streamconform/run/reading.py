"""Read `results.jsonl`, complete or truncated. The types in `model/result.py` define the format."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, NoReturn, TypeVar

import msgspec

from streamconform.errors import Problem, ReportError
from streamconform.files import CutError, TooLargeError, open_regular
from streamconform.files.json_text import check_values
from streamconform.model.result import SUITE_FIELDS, Footer, Header, TrialResult
from streamconform.model.trial import get_current_name, update_id
from streamconform.printable import escape_unprintable
from streamconform.run.results import Results
from streamconform.schemas import find_problems

T = TypeVar("T")

SCHEMA: Final = "results.v1"
MAX_LINE: Final = 64 * 1024 * 1024
"""The maximum length of a line; the outcome of the largest body fits in it."""
FOLDERS: Final = ("specs", "cassettes")
"""Members of `selection` that reports repeat in the commands they print."""


class InvalidLine(Exception):
    """A line does not match the format."""


def read(path: Path) -> Results:
    """Read the results from `path`, up to the last complete line if the run was killed.

    `footer` is None in that case. Unknown fields are ignored. Raises a `ReportError` that gives the line
    number if the file is not a results file or has no header.
    """
    header: Header | None = None
    footer: Footer | None = None
    trials: list[TrialResult] = []
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            check_values(line)
            record = decode_line(path, number, line)
            if record is None:
                break
            match record.get("kind"), header, footer:
                case "header", None, None:
                    header = build_header(record)
                case "trial", Header(), None:
                    trials.append(_build_trial(record, header))
                case "footer", Header(), None:
                    footer = _build_footer(record, header)
                case kind, _, _:
                    _reject_kind(kind, header)
        except (InvalidLine, TooLargeError) as error:
            raise_malformed(path, number, str(error))
    if header is None:
        reason = "the run was killed before its first line was written" if number else "the file is empty"
        raise ReportError(f"`{path}` contains no results: {reason}; `conform run` writes them")
    return Results(header, tuple(trials), footer)


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines in `path`, decompressed if its name ends in `.gz`.

    If the run was killed, the last one may lack its line ending, and a compressed file ends where it was cut.
    Raises `ReportError`.
    """
    try:
        with open_regular(path, pipe=True) as opened:
            file = _decompress(opened) if path.suffix == ".gz" else opened
            # Read one byte more than allowed, so that a longer line is detected without reading all of it.
            while line := file.readline(MAX_LINE + 1):
                yield line
    except CutError:
        return
    except OSError as error:
        hint = "; `conform run` writes it" if isinstance(error, FileNotFoundError) else ""
        raise ReportError(f"`{path}` cannot be read: {error.strerror}{hint}") from error


def _decompress(file: IO[bytes]) -> IO[bytes]:
    # Only here, because every command imports this module, and few results are compressed.
    from streamconform.files.compressed import GZIP, decompress

    return decompress(file, GZIP)


def decode_line(path: Path, number: int, line: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a line, or None for a truncated line. Raises `ReportError` otherwise."""
    if len(line) > MAX_LINE:
        raise_malformed(path, number, f"line exceeds {MAX_LINE} bytes")
    try:
        record = json.loads(line.decode(), parse_constant=_reject_constant, parse_float=_parse_finite)
    except (ValueError, RecursionError) as error:
        if not line.endswith(b"\n"):
            return None
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise_malformed(path, number, f"invalid JSON: {reason}")
    if not isinstance(record, dict):
        raise_malformed(path, number, "expected a JSON object")
    return record


def raise_malformed(path: Path, number: int, message: str) -> NoReturn:
    """Raise a `ReportError` about a line."""
    raise ReportError(str(Problem(str(path), number, escape_unprintable(message[:400]))))


def _reject_constant(name: str) -> float:
    """Reject NaN and Infinity, which Python's parser accepts although JSON cannot represent them."""
    raise ValueError(f"`{name}` is not a JSON number")


def _parse_finite(text: str) -> float:
    """Return the number if it fits in a double; otherwise reject it, because no report could write it."""
    number = float(text)
    return number if math.isfinite(number) else _reject_constant(text)


def _reject_kind(kind: Any, header: Header | None) -> NoReturn:
    if kind not in ("header", "trial", "footer"):
        raise InvalidLine("`kind` is not `header`, `trial` or `footer`")
    if header is None:
        raise InvalidLine("the first line is not a header")
    raise InvalidLine("a second header" if kind == "header" else "a line after the footer")


def build_header(record: dict[str, Any]) -> Header:
    """Return the header in a results file's first line. Raises `InvalidLine`."""
    if record.get("schema") != SCHEMA:
        raise InvalidLine(f"unsupported format `{record.get('schema')}`; this version reads `{SCHEMA}`")
    suite = record.get("suite")
    if not isinstance(suite, dict):
        raise InvalidLine("`suite` is not an object")
    header = _convert_line(Header, record | {name: suite[name] for name in SUITE_FIELDS if name in suite})
    for name in FOLDERS:
        if not isinstance(header.selection.get(name), str | None):
            raise InvalidLine(f"`selection.{name}` is not a string")
    return header


def _build_trial(record: dict[str, Any], header: Header) -> TrialResult:
    trial = _convert_line(TrialResult, record)
    if trial.implementation >= len(header.implementations):
        raise InvalidLine(f"`implementation`: the header has no implementation {trial.implementation}")
    delivery = None if trial.delivery is None else get_current_name(trial.delivery)
    return replace(trial, id=update_id(trial.id), delivery=delivery)


def _build_footer(record: dict[str, Any], header: Header) -> Footer:
    footer = _convert_line(Footer, record)
    for i, claim in enumerate(footer.claims):
        if claim.implementation >= len(header.implementations):
            raise InvalidLine(
                f"`claims.{i}.implementation`: the header has no implementation {claim.implementation}"
            )
    return footer


def _convert_line(kind: type[T], record: Mapping[str, Any]) -> T:
    """Return the line; if it is invalid, the schema explains why, because its messages name the choices."""
    try:
        return convert(kind, record)
    except InvalidLine as error:
        raise InvalidLine(next(iter(find_problems(SCHEMA, record)), str(error))) from error


def convert(kind: type[T], value: Any) -> T:
    """Return `value` as a `kind`, a type that defines a format. Raises `InvalidLine`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidLine(str(error)) from error
