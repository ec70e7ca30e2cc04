"""The document `scores.v1`: its fields, its layout in a file, and what follows from it. Pure.

The document lists no trial that passes. What a page needs about those follows from the number of cases in
each topic: a case that neither fails, warns nor is skipped has passed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import msgspec

from streamconform.causes.table import Harm
from streamconform.model.trial import AS_IS, is_fault
from streamconform.reports.matrix.score import FRAMING, TRUNCATION, Score

CaseMark = Literal["pass", "warn", "fail", "framing", "truncation", "skipped"]
"""Whether a case fails in `as-is`, only in other deliveries (`framing`), or only when truncated."""
Count = Literal["passed", "failed", "warned", "skipped"]
"""A field of `Score`."""
CASES: Final = "cases"
"""Stands for the column of all cases."""
ALL: Final = "*"
"""Stands for all cases of a topic."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """The judged implementation, as in a results file."""

    impl: str
    name: str
    version: str | None
    language: str | None
    issues: str | None
    input: str


@dataclass(frozen=True, slots=True)
class Suite:
    """The suite that it was judged against."""

    version: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class Example:
    """One trial of a cause, and the difference in it."""

    trial: str
    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A cause that fails cases of one API."""

    title: str
    harm: Harm | None
    """None if the implementation is not at fault."""
    trials: int
    tracked: tuple[str, ...]
    """The issues of the known failures among its trials."""
    example: Example
    cases: Mapping[str, Mapping[str, str]]
    """Topic to deliveries, separated by spaces, to the names of the cases that fail in these deliveries."""

    def list_cases(self, api: str) -> dict[str, tuple[str, ...]]:
        """Return the deliveries in which each case fails, by case id; a function call has no delivery."""
        pairs = (
            (f"{api}/{topic}/{name}", tuple(deliveries.split()))
            for topic, by_deliveries in self.cases.items()
            for deliveries, names in by_deliveries.items()
            for name in names.split()
        )
        return dict(sorted(pairs))


@dataclass(frozen=True, slots=True)
class Warned:
    """A cause that only warns."""

    title: str
    cases: int
    example: Example
    as_is: str = ""
    """The cases that warn in `as-is`, each as `topic/name`."""


@dataclass(frozen=True, slots=True)
class ApiScores:
    """The scores in one API."""

    counts: Mapping[Count, Mapping[str, int]]
    """By count, the number of cases in each column of the matrix, and of all cases as `cases`."""
    topics: Mapping[str, int]
    """The number of cases in each topic."""
    skipped: Mapping[str, str]
    """The names of the skipped cases in each topic, or `*`."""
    not_exposed: Mapping[str, int]
    """By path, the number of cases in which the library does not expose it."""
    failures: tuple[Failure, ...]
    warnings: tuple[Warned, ...]

    def score(self, column: str = CASES) -> Score:
        """Return the score in a column of the matrix, or that of all cases."""
        return Score(**{name: columns.get(column, 0) for name, columns in self.counts.items()})


@dataclass(frozen=True, slots=True)
class Scores:
    """A document."""

    scores: Literal[1]
    implementation: Implementation
    date: str | None
    suite: Suite
    apis: Mapping[str, ApiScores]

    def mark_cases(self, ids: Iterable[str]) -> dict[str, CaseMark]:
        """Return the mark of every case in `ids`, the cases of the suite, that is known.

        If the suite has gained or lost cases of a topic since the run, it is unknown which of the others in
        this topic passed, and they have no mark.
        """
        members: dict[tuple[str, str], list[str]] = {}
        for id_ in ids:
            members.setdefault(split_id(id_)[:2], []).append(id_)
        marks: dict[str, CaseMark] = {}
        for api, own in self.apis.items():
            for topic, count in own.topics.items():
                of_topic = members.get((api, topic), [])
                if len(of_topic) == count:
                    skipped = own.skipped.get(topic) == ALL
                    marks |= dict.fromkeys(of_topic, "skipped" if skipped else "pass")
            marks |= _list_marks(api, own)
        return marks


def split_id(case: str) -> tuple[str, str, str]:
    """Return the API, the topic and the name in the id of a case."""
    group, _, name = case.rpartition("/")
    api, _, topic = group.partition("/")
    return api, topic, name


def _list_marks(api: str, own: ApiScores) -> Iterator[tuple[str, CaseMark]]:
    """Yield the marks of the cases that the document names; a later mark of a case counts."""
    for warned in own.warnings:
        for case in warned.as_is.split():
            yield f"{api}/{case}", "warn"
    failing: dict[str, list[str]] = {}
    for failure in own.failures:
        for case, deliveries in failure.list_cases(api).items():
            failing.setdefault(case, []).extend(deliveries or (AS_IS,))
    for case, of_case in failing.items():
        only_faults = all(map(is_fault, of_case))
        yield case, "fail" if AS_IS in of_case else TRUNCATION if only_faults else FRAMING
    for topic, names in own.skipped.items():
        for name in names.replace(ALL, "").split():
            yield f"{api}/{topic}/{name}", "skipped"


def read_scores(text: str | bytes) -> Scores:
    """Return the scores in a document that `format_scores` wrote. Raises `msgspec.DecodeError`."""
    return msgspec.json.decode(text, type=Scores)


def format_scores(scores: Scores) -> str:
    """Return the document: JSON with one fact per line, for short differences between two versions."""
    head = _lines({name: value for name, value in msgspec.to_builtins(scores).items() if name != "apis"})
    apis = [f"{_to_line(api)}: {_format_api(own)}" for api, own in scores.apis.items()]
    return _open("{}", [*head, f'"apis": {_open("{}", apis, 1)}'], 0)


def _format_api(own: ApiScores) -> str:
    # The topics that are skipped as a whole share one line.
    whole = ", ".join(_lines({topic: names for topic, names in own.skipped.items() if names == ALL}))
    rest = _lines({topic: names for topic, names in own.skipped.items() if names != ALL})
    members = {
        "counts": _open("{}", _lines(own.counts), 3),
        "topics": _to_line(own.topics),
        "skipped": _open("{}", [whole, *rest] if whole else rest, 3),
        "not_exposed": _to_line(own.not_exposed),
        "failures": _open("[]", map(_format_failure, own.failures), 3),
        "warnings": _open("[]", map(_format_warned, own.warnings), 3),
    }
    return _open("{}", [f"{_to_line(name)}: {text}" for name, text in members.items()], 2)


def _format_failure(failure: Failure) -> str:
    """Return one line about the cause, and one for each topic."""
    head = msgspec.to_builtins(failure)
    topics = _open("{}", _lines(head.pop("cases")), 4)
    return f'{_to_line(head)[:-1]}, "cases": {topics}}}'


def _format_warned(warned: Warned) -> str:
    return _to_line({name: value for name, value in asdict(warned).items() if value != ""})


def _open(brackets: str, members: Iterable[str], depth: int) -> str:
    """Return a JSON container with each of its members on a line of its own."""
    indent = "\n" + " " * depth
    lines = f",{indent} ".join(members)
    return f"{brackets[0]}{indent} {lines}{indent}{brackets[1]}" if lines else brackets


def _lines(members: Mapping[Any, Any]) -> list[str]:
    return [f"{_to_line(name)}: {_to_line(value)}" for name, value in members.items()]


def _to_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
