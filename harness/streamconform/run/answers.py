"""Save every answer of a run, so that it can be judged again without the implementation.

An answers file holds JSON lines, compressed if its name ends in `.gz`: a header, and one line per answer in
the order in which the answers were judged. The types in this module and in `adapters/interface.py` define the
format.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self, get_args

from msgspec import Struct

from streamconform.adapters import protocol
from streamconform.adapters.interface import (
    Answer,
    Errored,
    Greeting,
    Hang,
    Observation,
    Output,
    ProtocolFault,
    ServerRecord,
    Skipped,
)
from streamconform.errors import ReportError
from streamconform.model.result import Header
from streamconform.model.trial import AnyTrial, RoundTrip
from streamconform.run.reading import (
    InvalidLine,
    build_header,
    convert,
    decode_line,
    raise_malformed,
    read_lines,
)
from streamconform.run.results import to_json

SCHEMA: Final = "answers.v1"
KINDS: Final[Mapping[type, str]] = {
    Observation: "observation",
    Output: "output",
    Skipped: "skipped",
    Errored: "errored",
    ProtocolFault: "fault",
    Hang: "hang",
}
"""Maps the type of an answer to the member that contains it."""
assert set(KINDS) == set(get_args(Answer)), "every type of answer can be saved"


class SavedAnswer(Struct, frozen=True, kw_only=True):
    """One line of an answers file; exactly one of the members from `observation` to `hang` is set."""

    implementation: int
    id: str
    """The trial's id."""
    input: str
    """A digest of everything that the implementation was given."""
    ms: float
    observation: Observation | None = None
    output: Output | None = None
    skipped: Skipped | None = None
    errored: Errored | None = None
    fault: ProtocolFault | None = None
    hang: Hang | None = None
    server: ServerRecord | None = None

    @property
    def answer(self) -> Answer:
        """Return the answer."""
        answers = (self.observation, self.output, self.skipped, self.errored, self.fault, self.hang)
        return next(answer for answer in answers if answer is not None)


class SavedAnswers(Struct, frozen=True):
    """An answers file: its header, and how to read the answers."""

    path: Path
    header: Header
    """The header of the run's results."""
    greetings: tuple[Greeting, ...]
    """The greeting of each implementation."""

    def __iter__(self) -> Iterator[SavedAnswer]:
        """Yield the answers, up to the last complete line if the run was killed. Raises `ReportError`."""
        lines = read_lines(self.path)
        next(lines)
        for number, line in enumerate(lines, start=2):
            record = decode_line(self.path, number, line)
            if record is None:
                return
            try:
                yield _build_answer(record, self.header)
            except InvalidLine as error:
                raise_malformed(self.path, number, str(error))


def compute_input_digest(trial: AnyTrial) -> str:
    """Return a digest of everything that an implementation is given in `trial`.

    It changes with the bytes, with where they are cut, and with the request, but not with the expectation.
    """
    parts: list[AnyTrial] = [*trial.answers] if isinstance(trial, RoundTrip) else [trial]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(protocol.encode_request("", part, events=True))
    if isinstance(trial, RoundTrip):
        digest.update(_encode({"given": trial.case.conversation, "turns": trial.case.turns}))
    return digest.hexdigest()[:16]


def encode_answer(
    implementation: int, trial: AnyTrial, answer: Answer, server: ServerRecord | None, ms: float
) -> bytes:
    """Return the line for an answer."""
    members: dict[str, Any] = {
        "implementation": implementation,
        "id": trial.id,
        "input": compute_input_digest(trial),
        "ms": round(ms, 3),
        KINDS[type(answer)]: answer,
    }
    if server is not None:
        members["server"] = server
    return _encode(members)


class AnswersWriter:
    """Writes an answers file."""

    def __init__(self, path: Path, header: Header, greetings: Sequence[Mapping[str, Any]]) -> None:
        """Open `path` and write the header; `greetings` are `hello` messages. Raises `ReportError`."""
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Level 1, because most answers repeat the one before, and any level finds that.
            self._file: BinaryIO | gzip.GzipFile = (
                gzip.GzipFile(path, "wb", 1) if path.suffix == ".gz" else path.open("wb")
            )
        except OSError as error:
            raise ReportError(f"`{path}` cannot be written: {error.strerror}") from error
        head = {"kind": "header", "schema": SCHEMA, "results": to_json(header), "greetings": list(greetings)}
        self.write(_encode(head))

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file. Raises `ReportError`, unless another exception is active."""
        try:
            self._file.close()
        except OSError as failure:
            if error is None:
                raise ReportError(f"`{self._path}` cannot be written: {failure.strerror}") from failure

    def write(self, line: bytes) -> None:
        """Append one line. Raises `ReportError`, for example if the disk is full."""
        try:
            self._file.write(line)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            raise ReportError(f"`{self._path}` cannot be written: {error.strerror}") from error


def read_answers(path: Path) -> SavedAnswers:
    """Read the header of an answers file. Raises `ReportError` if it is not one."""
    first = next(read_lines(path), None)
    record = None if first is None else decode_line(path, 1, first)
    if record is None:
        raise ReportError(f"`{path}` contains no answers; `conform run --answers {path}` writes them")
    if record.get("schema") != SCHEMA:
        other = "; it contains results" if str(record.get("schema")).startswith("results.") else ""
        raise_malformed(path, 1, f"expected `schema` to be `{SCHEMA}`{other}")
    try:
        return SavedAnswers(path, *_build_head(record))
    except InvalidLine as error:
        raise_malformed(path, 1, str(error))
    except protocol.ProtocolError as error:
        raise_malformed(path, 1, f"`greetings`: {error.message}")


def _build_head(record: Mapping[str, Any]) -> tuple[Header, tuple[Greeting, ...]]:
    results, greetings = record.get("results"), record.get("greetings")
    if not isinstance(results, dict) or not isinstance(greetings, list):
        raise InvalidLine("`results` is not an object, or `greetings` is not a list")
    header = build_header(results)
    if len(greetings) != len(header.implementations):
        raise InvalidLine("the numbers of `greetings` and of implementations differ")
    parsed = (
        protocol.parse_greeting(json.dumps(greeting).encode(), info.impl)
        for greeting, info in zip(greetings, header.implementations, strict=True)
    )
    return header, tuple(parsed)


def _build_answer(record: dict[str, Any], header: Header) -> SavedAnswer:
    saved = convert(SavedAnswer, record)
    count = sum(getattr(saved, name) is not None for name in KINDS.values())
    if count != 1:
        raise InvalidLine(f"expected exactly one of {', '.join(KINDS.values())}, got {count}")
    if not 0 <= saved.implementation < len(header.implementations):
        raise InvalidLine(f"`implementation`: the header has no implementation {saved.implementation}")
    return saved


def _encode(members: Mapping[str, Any]) -> bytes:
    return json.dumps(members, separators=(",", ":"), default=_list_members).encode() + b"\n"


def _list_members(value: Any) -> dict[str, Any]:
    """Return the members of an answer or of its record, without copying what they contain."""
    return {name: getattr(value, name) for name in type(value).__annotations__}
