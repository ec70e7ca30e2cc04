"""`results.jsonl` read back, whole or cut. The types of `model/result.py` are the format."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, NoReturn, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from streamconform.errors import Problem, ReportError
from streamconform.model.result import Footer, Header, TrialResult
from streamconform.printable import escape_unprintable
from streamconform.run.results import SCHEMA, Results

T = TypeVar("T")

MAX_LINE: Final = 64 * 1024 * 1024
"""The longest line that is read: what an implementation made of the largest body, in JSON, fits."""
IN_WORDS: Final[Mapping[type, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
FOLDERS: Final = ("specs", "cassettes")
"""Entries of a selection that commands in reports name."""
SUITE: Final = ("version", "cases", "trials")
"""Fields of a header that stand one level deeper in the file."""


class _Unfit(Exception):
    """What a line has at a place is not what the format has there."""


def read(path: Path) -> Results:
    """Return what `path` holds, up to its last whole line where the run was killed.

    `footer` is None then. Fields that nobody knows yet are left out. Raises `ReportError`, which names
    the line, where this is no results file, and where there is not even a header.
    """
    header: Header | None = None
    footer: Footer | None = None
    trials: list[TrialResult] = []
    number = 0
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        told = _decoded(path, number, line)
        if told is None:
            break
        try:
            match told.get("kind"), header, footer:
                case "header", None, None:
                    header = _header(told)
                case "trial", Header(), None:
                    trials.append(_trial(told, header))
                case "footer", Header(), None:
                    footer = _made(Footer, told, "")
                case kind, _, _:
                    _misplaced(kind, header)
        except _Unfit as error:
            _malformed(path, number, str(error))
    if header is None:
        before = "the run was ended before it had begun" if number else "it is empty"
        raise ReportError(f"`{path}` holds no results: {before}; `conform run` writes them")
    return Results(header, tuple(trials), footer)


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of `path`; the last one has no line end where the run was killed."""
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE + 1):
                yield line
    except OSError as error:
        hint = "; `conform run` writes it" if isinstance(error, FileNotFoundError) else ""
        raise ReportError(f"`{path}` cannot be read: {error.strerror}{hint}") from error


def _decoded(path: Path, number: int, line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line, None where it was cut; raises `ReportError` for anything else."""
    if len(line) > MAX_LINE:
        _malformed(path, number, f"a line is at most {MAX_LINE} bytes long")
    try:
        told = json.loads(line.decode(), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        if not line.endswith(b"\n"):
            return None
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        _malformed(path, number, f"no JSON: {what}")
    if not isinstance(told, dict):
        _malformed(path, number, "a line of results is a JSON object")
    return told


def _malformed(path: Path, number: int, message: str) -> NoReturn:
    raise ReportError(str(Problem(str(path), number, escape_unprintable(message[:400]))))


def _refuse(word: str) -> float:
    """Refuse NaN and Infinity, which only Python takes for JSON."""
    raise ValueError(f"`{word}` is no number")


def _finite(text: str) -> float:
    """Return the number; one that no double holds is refused, because nothing could write it again."""
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _misplaced(kind: Any, header: Header | None) -> NoReturn:
    if kind not in ("header", "trial", "footer"):
        raise _Unfit("a line of results is a header, a trial or a footer, by its `kind`")
    if header is None:
        raise _Unfit("the first line of results is a header")
    raise _Unfit("a second header" if kind == "header" else "nothing follows a footer")


def _header(told: dict[str, Any]) -> Header:
    if told.get("schema") != SCHEMA:
        raise _Unfit(f"results in the format `{told.get('schema')}`; this version reads `{SCHEMA}`")
    suite = told.get("suite")
    if not isinstance(suite, dict):
        raise _Unfit("`suite` is not an object")
    header = _made(Header, told | {name: suite[name] for name in SUITE if name in suite}, "")
    for name in FOLDERS:
        if not isinstance(header.selection.get(name), str | None):
            raise _Unfit(f"`selection.{name}` is not text")
    return header


def _trial(told: dict[str, Any], header: Header) -> TrialResult:
    trial = _made(TrialResult, told, "")
    if not 0 <= trial.implementation < len(header.implementations):
        raise _Unfit(f"`implementation`: the header has no implementation {trial.implementation}")
    return trial


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


@cache
def _shape(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return ("dataclass" if is_dataclass(kind) else get_origin(kind)), get_args(kind)


def _made(kind: type[T], told: Any, at: str) -> T:
    """Return `told` as a value of `kind`, which is a type that fields of results have; raises `_Unfit`.

    The types are the format: a field that they grow by is read without a word here.
    """
    made: Any = told
    if kind is Any or type(told) is kind:
        return cast("T", made)
    origin, inner = _shape(cast("Any", kind))
    fits = False
    if origin == "dataclass":
        fits = isinstance(told, dict)
        made = _values(kind, told, at) if fits else None
    elif origin is Literal:
        fits = isinstance(told, str) and told in inner
    elif origin in (UnionType, Union):
        fits = True
        chosen = next(each for each in inner if each is not type(None))
        made = None if told is None else _made(chosen, told, at)
    elif origin is tuple:
        fits = isinstance(told, list)
        made = tuple(_made(inner[0], each, f"{at}.{i}") for i, each in enumerate(told)) if fits else None
    elif origin is not None:
        fits = isinstance(told, dict)
        made = {name: _made(inner[1], each, f"{at}.{name}") for name, each in told.items()} if fits else None
    elif kind is float:
        fits = type(told) is int
    if not fits:
        other = "a list" if origin is tuple else "an object"
        wanted = f"one of {', '.join(inner)}" if origin is Literal else IN_WORDS.get(kind, other)
        raise _Unfit(f"`{at}` is not {wanted}" if at else f"this is not {wanted}")
    return cast("T", made)


def _values(kind: Any, told: Mapping[str, Any], at: str) -> Any:
    values = {}
    for field in fields(kind):
        where = f"{at}.{field.name}" if at else field.name
        if field.name in told:
            values[field.name] = _made(_hints(kind)[field.name], told[field.name], where)
        elif field.default is MISSING and field.default_factory is MISSING:
            if type(None) not in get_args(_hints(kind)[field.name]):
                raise _Unfit(f"`{where}` is missing")
            values[field.name] = None
    return kind(**values)
