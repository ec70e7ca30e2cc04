"""What cases came to in each column of the matrix. Pure.

The unit is the case. It counts in the column of each of its tags, as its stream was recorded; its other
deliveries count once more under `framing`, and what breaks its stream once more under `truncation`, both
only where it passes as recorded: what fails anyway would say nothing about these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from streamconform.model.capability import Capability
from streamconform.model.case import AnyCase
from streamconform.model.result import ImplementationInfo, TrialResult
from streamconform.model.trial import FAULTS
from streamconform.run.results import Results

COLUMNS: Final[Mapping[str, str]] = {
    "text": "text",
    "tool_calls": "tool calls",
    "parallel": "parallel",
    "thinking": "thinking",
    "usage": "usage",
    "cost": "cost",
    "errors": "errors",
    "stop": "stop",
    "tolerance": "tolerance",
    "framing": "framing",
    "truncation": "truncation",
    "heal": "heal",
    "partial": "partial",
}
"""The columns by tag, in order; one that no case of an api is in is left out of its table."""
NEEDED: Final[Mapping[str, Capability]] = {
    "tool_calls": "tool_calls",
    "parallel": "parallel_tool_calls",
    "thinking": "thinking",
    "usage": "usage",
    "cost": "cost",
    "errors": "errors",
    "heal": "heal",
    "partial": "partial_json",
}
"""What a column is about: where that is not claimed, nobody looked, whatever else its cases came to."""
RECORDED: Final = "recorded"
FRAMING: Final = "framing"
TRUNCATION: Final = "truncation"
Mark = Literal["pass", "warn", "fail", "skipped"]
"""What one or more trials came to together."""


@dataclass(frozen=True, slots=True)
class Score:
    """What the cases of a cell came to."""

    passed: int = 0
    """With those of which something is only warned."""
    failed: int = 0
    warned: int = 0
    skipped: int = 0

    @property
    def judged(self) -> int:
        """Return how many were."""
        return self.passed + self.failed


@dataclass(frozen=True, slots=True)
class Row:
    """An implementation and an api that it speaks."""

    implementation: int
    api: str
    cases: Score
    """Every case, as recorded."""
    columns: Mapping[str, Score]
    failing: tuple[TrialResult, ...]
    """Every trial that does not pass, in whatever way it was handed over."""


def rows(results: Results, suite: Mapping[str, AnyCase]) -> tuple[Row, ...]:
    """Return a row for each implementation and api of which any trial was judged.

    `suite` has the tags by case id; a case that is not in it counts in the columns that need none. Under
    `--strict` a warning is a failure.
    """
    strict = bool(results.header.selection.get("strict"))
    groups: dict[tuple[int, str], dict[str, list[TrialResult]]] = {}
    for trial in results.trials:
        key = trial.implementation, trial.case.partition("/")[0]
        groups.setdefault(key, {}).setdefault(trial.case, []).append(trial)
    return tuple(
        _claimed(_row(at, api, cases, suite, strict=strict), results.header.implementations[at])
        for (at, api), cases in groups.items()
        if any(trial.verdict != "skipped" for own in cases.values() for trial in own)
    )


def mark(trials: Sequence[TrialResult], *, strict: bool) -> Mark:
    """Return what `trials` came to: what is known to fail fails, and what is listed but passes has passed."""
    verdicts = {each.verdict for each in trials}
    if verdicts & {"fail", "hang", "faulted", "known"} or (strict and "warn" in verdicts):
        return "fail"
    if "warn" in verdicts:
        return "warn"
    return "pass" if verdicts & {"pass", "stale"} else "skipped"


def score(marks: Iterable[Mark]) -> Score:
    """Return `marks` counted."""
    counts = Counter(marks)
    return Score(counts["pass"] + counts["warn"], counts["fail"], counts["warn"], counts["skipped"])


def is_fault(trial: TrialResult) -> bool:
    """Return whether the stream was broken in the trial."""
    return (trial.delivery or "").partition(".")[0] in FAULTS


def columns_of(failed: Mapping[str, Sequence[str]], row: Row, suite: Mapping[str, AnyCase]) -> list[str]:
    """Return the columns of `row` in which cases count as failing, given by id with their deliveries."""
    found: set[str] = set()
    plain = {each.case for each in row.failing if each.delivery in (RECORDED, None)}
    for id_, names in failed.items():
        if id_ not in plain:
            found |= {TRUNCATION if name.partition(".")[0] in FAULTS else FRAMING for name in names}
        elif id_ in suite:
            found |= suite[id_].tags
    return [name for name in COLUMNS if name in found and row.columns.get(name, Score()).judged]


def _row(
    implementation: int,
    api: str,
    cases: Mapping[str, Sequence[TrialResult]],
    suite: Mapping[str, AnyCase],
    *,
    strict: bool,
) -> Row:
    every: list[Mark] = []
    columns: dict[str, list[Mark]] = {}
    for id_, trials in cases.items():
        plain = [each for each in trials if each.delivery == RECORDED] or trials
        own = mark(plain, strict=strict)
        every.append(own)
        for tag in suite[id_].tags if id_ in suite else ():
            if tag in COLUMNS:
                columns.setdefault(tag, []).append(own)
        if own not in ("pass", "warn"):
            continue
        rest = [each for each in trials if all(each is not one for one in plain)]
        broken = [each for each in rest if is_fault(each)]
        others = [each for each in rest if not is_fault(each)]
        for column, part in ((FRAMING, others), (TRUNCATION, broken)):
            if part:
                columns.setdefault(column, []).append(_beside(own, mark(part, strict=strict)))
    failing = (each for own in cases.values() for each in own if mark([each], strict=strict) == "fail")
    return Row(
        implementation,
        api,
        score(every),
        {name: score(columns[name]) for name in COLUMNS if name in columns},
        tuple(failing),
    )


def _claimed(row: Row, info: ImplementationInfo) -> Row:
    """Return `row` without what stands in columns that the implementation makes no claim to."""
    if info.claims is None:
        return row
    claims = info.claims.get(row.api, ())
    columns = dict(row.columns)
    for name, each in row.columns.items():
        if name in NEEDED and NEEDED[name] not in claims:
            columns[name] = Score(skipped=each.judged + each.skipped)
    return replace(row, columns=columns)


def _beside(own: Mark, other: Mark) -> Mark:
    """Return what other deliveries add: a warning that is there as recorded too is none of theirs."""
    return "pass" if own == other == "warn" else other
