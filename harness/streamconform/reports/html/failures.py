"""What did not pass, as the page shows it: differences, the answer, the wire, how to see it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamconform.adapters.interface import Observation
from streamconform.judge import decode
from streamconform.judge.judge import check_observation
from streamconform.model.capability import CAPABILITIES
from streamconform.model.result import TrialResult
from streamconform.model.trial import Trial
from streamconform.model.verdict import Check
from streamconform.reports.causes import Failure, reproduce, sources
from streamconform.reports.divergence import Placed, place
from streamconform.reports.html.source import Suite
from streamconform.reports.html.wires import about, clip, wire
from streamconform.reports.words import briefly, printable, value
from streamconform.run.blame import MAX_POSITIONS, Blame, installed
from streamconform.run.results import Results

MAX_CHECKS: Final = 24
"""Checks of a failure that are shown; the rest is counted."""
MAX_VALUE: Final = 16_000
"""Characters of a value that are shown; of longer ones the part around the first difference."""
LEAD: Final = 2000
"""Characters shown before that difference."""
MAX_EVENTS: Final = 1000


@dataclass(slots=True)
class Budget:
    """Room on the page, in characters of JSON, and what found none any more."""

    wires: int = 3_000_000
    details: int = 2_500_000
    failures: int = 12_000
    left_out: dict[str, int] = field(default_factory=lambda: {"wires": 0, "details": 0, "failures": 0})

    def take(self, what: str, size: int) -> bool:
        """Return whether there is room for `size` more, and take it."""
        room: int = getattr(self, what)
        if room < size:
            self.left_out[what] += 1
            return False
        setattr(self, what, room - size)
        return True


class Failures:
    """Grows by failures; `rows`, `about` and `wires` are parts of the page's value."""

    def __init__(
        self,
        results: Results,
        suite: Suite,
        index: Mapping[str, int],
        fresh: frozenset[tuple[int, str]],
        budget: Budget,
    ) -> None:
        """Take cases from `suite`, numbered by `index`; `fresh` are (implementation, trial) that are new."""
        self.rows: list[dict[str, Any]] = []
        self.about: dict[int, dict[str, Any]] = {}
        self.wires: dict[str, dict[str, Any]] = {}
        self.budget = budget
        self._results, self._suite, self._index, self._fresh = results, suite, index, fresh
        self._failures: list[Failure] = []
        self._blame = Blame(installed())

    def add(self, failure: Failure, implementation: int) -> int:
        """Return the number of the row that is now there for `failure`, in brief."""
        first = failure.first
        ids = {f"{first.case}@{name}" if name else first.case for name in failure.deliveries}
        row: dict[str, Any] = {
            "i": implementation,
            "c": self._index[first.case],
            "verdict": first.verdict,
            "d": failure.deliveries,
            "words": briefly(first, failure.check)[:6],
            "also": [printable(each, 120) for each in failure.also[:8]],
        }
        if any((implementation, id_) in self._fresh for id_ in ids):
            row["fresh"] = True
        self.rows.append(row)
        self._failures.append(failure)
        return len(self.rows) - 1

    def fill(self, number: int) -> None:
        """Tell of row `number` in full, where there is room."""
        row, first = self.rows[number], self._failures[number].first
        info = self._results.header.implementations[row["i"]]
        row["run"] = reproduce(info, first, self._results.header)
        self._describe(first.case)
        if not self.budget.take("failures", 1):
            return
        trial = self._suite.trial(first.case, first.delivery or "", self._results.header.seed)
        told = _told(first) | self._answer(first, trial)
        asked = f"{shlex.quote(first.id)} -i {shlex.quote(info.impl)}{sources(self._results.header)}"
        told["explain"] = f"conform explain {asked}"
        if first.delivery and first.checks:
            told["minimise"] = f"conform minimise {asked}"
        if self.budget.take("details", len(json.dumps(told))):
            row |= told
        if trial is not None and first.id not in self.wires:
            drawn = wire(trial)
            if self.budget.take("wires", len(json.dumps(drawn))):
                self.wires[first.id] = drawn

    def _describe(self, case: str) -> None:
        found, number = self._suite.cases.get(case), self._index[case]
        if found is not None and number not in self.about:
            self.about[number] = about(found)

    def _answer(self, first: TrialResult, trial: Trial | None) -> dict[str, Any]:
        """Return the events beside their frames, and what was right about the answer."""
        seen = first.observation or {}
        requests = seen.get("requests")
        told: dict[str, Any] = {"requests": list(map(_asked, requests))} if isinstance(requests, list) else {}
        if isinstance(seen.get("traceback"), str):
            told["traceback"] = seen["traceback"][-4000:]
        if trial is None or "outcome" not in seen:
            return told
        events = seen.get("events")
        placed = self._placed(trial, events)
        if isinstance(events, list):
            frames = placed.frames if placed else (None,) * len(events)
            told["events"] = [
                [frame, clip(json.dumps(each, ensure_ascii=False), 2000)]
                for frame, each in zip(frames[:MAX_EVENTS], events, strict=False)
            ]
            told["events_left"] = max(0, len(events) - MAX_EVENTS)
        if placed is not None:
            told["departed"] = placed.departed
        told["right"] = list(_right(first, trial, seen))
        return told

    def _placed(self, trial: Trial, events: Any) -> Placed | None:
        """Return where the events belong; None where there are none, or nobody knows."""
        positions = self._blame.outcomes(trial) if isinstance(events, list) else ()
        if not positions or len(positions) >= MAX_POSITIONS:
            return None
        try:
            return place(decode.decode_events(events), positions)
        except decode.MalformedError:
            return None


def _asked(request: Any) -> str:
    """Return in words what the server got; results hold whatever was written into them."""
    if not isinstance(request, dict):
        return value(request)
    words = (str(request.get(name, "")) for name in ("method", "path"))
    return f"{printable(' '.join(words), 300)}, status {value(request.get('status'))}"


def _told(first: TrialResult) -> dict[str, Any]:
    told: dict[str, Any] = {
        "checks": [_check(each) for each in first.checks[:MAX_CHECKS]],
        "passed": first.passed,
        "level": first.level,
    }
    more = len(first.checks) - MAX_CHECKS
    optional = {
        "more": max(0, more),
        "reason": first.reason and clip(first.reason, 4000),
        "known": first.known and clip(first.known, 1000),
        "culprit": first.culprit,
    }
    return told | {key: given for key, given in optional.items() if given}


def _check(check: Check) -> dict[str, Any]:
    expected, got, since = _sides(check.expected, check.got)
    told = {"path": check.path, "level": check.level, "verdict": check.verdict, "frames": check.frames}
    optional = {"message": check.message and clip(check.message, 4000), "since": since}
    return told | {"expected": expected, "got": got} | {k: v for k, v in optional.items() if v}


def _sides(expected: Any, got: Any) -> tuple[Any, Any, list[int]]:
    """Return both sides, cut around their first difference where one is long; then where, and how long.

    What is cut is text: of JSON its text.
    """
    one, other = _as_text(expected), _as_text(got)
    if max(len(one), len(other)) <= MAX_VALUE:
        return expected, got, []
    pairs = enumerate(zip(one, other, strict=False))
    parted = next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = max(0, parted - LEAD)
    end = start + MAX_VALUE
    return one[start:end], other[start:end], [start, len(one), len(other)]


def _as_text(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2)


def _right(first: TrialResult, trial: Trial, seen: Mapping[str, Any]) -> list[list[str]]:
    """Return [path, value] of what was as expected; claims are not known, so only what holds is told."""
    failed = {check.path for check in first.checks}
    checks, _ = check_observation(
        trial, Observation(seen["outcome"]), CAPABILITIES - {"events"}, lambda _: None
    )
    return [
        [each.path, value(each.got, 200)]
        for each in checks
        if each.verdict == "pass" and each.path not in failed and not each.path.startswith("invariant.")
    ][:60]
