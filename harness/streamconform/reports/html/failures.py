"""The failures of a run as the page shows them: differences, answer, wire and commands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from streamconform.adapters.interface import Observation
from streamconform.causes.raised import describe_error
from streamconform.judge import decode
from streamconform.judge.compare import BLOCK_MISSING
from streamconform.judge.judge import check_observation
from streamconform.model.capability import CAPABILITIES
from streamconform.model.result import TrialResult
from streamconform.model.trial import Trial
from streamconform.model.verdict import Check
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.reports.causes import (
    Failure,
    format_explain_command,
    format_run_command,
    format_source_options,
)
from streamconform.reports.describe import describe_failure, format_value
from streamconform.reports.divergence import Placement, place_events
from streamconform.reports.html.bill import bill_to_json
from streamconform.reports.html.source import Suite
from streamconform.reports.html.wires import body_to_json, case_to_json, limit_text, wire_to_json
from streamconform.reports.tracebacks import read_traceback
from streamconform.run.blame import MAX_POSITIONS, Blame, load_snapshots
from streamconform.run.results import Results

MAX_CHECKS: Final = 24
"""The maximum number of checks shown per failure; the rest are counted."""
MAX_VALUE: Final = 16_000
"""The maximum number of characters of a value to show; a longer value is trimmed to the part around the first
difference."""
CONTEXT_BEFORE: Final = 2000
"""The number of characters shown before that difference."""
MAX_EVENTS: Final = 1000
MAX_PASSED_CHECKS: Final = 60
CALL_FIELDS: Final[tuple[str, ...]] = ("name", "arguments", "complete", "id")
"""The fields of a call that are shown even if they are right, in their order."""
CALL_PATH: Final = re.compile(r"(content\.[0-9]+\.tool_call\.)")
SIGNATURE: Final = ".signature"
SIGNATURE_BEFORE: Final = 16
SIGNATURE_AFTER: Final = 24
"""The number of characters of a signature that are shown before and after the first difference."""


# With these limits, a page of 20,000 trials takes less than 3 MB (`tests/browser/test_large.py`).
@dataclass(slots=True)
class Budget:
    """The space left on the page, in characters of uncompressed JSON, and the number of items left out."""

    wires: int = 3_500_000
    details: int = 3_000_000
    failures: int = 12_000
    left_out: dict[str, int] = field(default_factory=lambda: {"wires": 0, "details": 0, "failures": 0})

    def take(self, kind: str, size: int) -> bool:
        """Reserve space for `size` more characters; return whether there was enough."""
        room: int = getattr(self, kind)
        if room < size:
            self.left_out[kind] += 1
            return False
        setattr(self, kind, room - size)
        return True


class FailureRows:
    """Collects failures in `rows`, `about`, `wires` and `bodies`, which become parts of the page's value."""

    def __init__(
        self,
        results: Results,
        suite: Suite,
        case_numbers: Mapping[str, int],
        new: frozenset[tuple[int, str]],
        budget: Budget,
    ) -> None:
        """Refer to cases by `case_numbers`; `new` lists (implementation, trial id) for each new failure."""
        self.rows: list[dict[str, Any]] = []
        self.about: dict[int, dict[str, Any]] = {}
        self.wires: dict[str, dict[str, Any]] = {}
        self.bodies: list[dict[str, Any]] = []
        self.budget = budget
        self._results, self._suite, self._case_numbers, self._new = results, suite, case_numbers, new
        self._failures: list[Failure] = []
        self._body_numbers: dict[tuple[str, bytes], int] = {}
        self._blame = Blame(load_snapshots())

    def add(self, failure: Failure, implementation: int) -> int:
        """Add a short row for `failure` and return its number."""
        first = failure.first
        ids = {f"{first.case}@{name}" if name else first.case for name in failure.deliveries}
        row: dict[str, Any] = {
            "i": implementation,
            "c": self._case_numbers[first.case],
            "verdict": first.verdict,
            "d": failure.deliveries,
            "lines": [*describe_failure(first, failure.check)[:6], *describe_error(first)],
            "also": [escape_line(path, 120) for path in failure.also[:8]],
        }
        if failure.check is not None:
            row["root"] = failure.check.path
        if any((implementation, id_) in self._new for id_ in ids):
            row["fresh"] = True
        self.rows.append(row)
        self._failures.append(failure)
        return len(self.rows) - 1

    def add_details(self, number: int) -> None:
        """Add values, commands and the wire to row `number`, as far as the budget allows."""
        row, first = self.rows[number], self._failures[number].first
        info = self._results.header.implementations[row["i"]]
        row["run"] = format_run_command(info, first, self._results.header)
        self._add_case(first.case)
        if not self.budget.take("failures", 1):
            return
        trial = self._suite.find_trial(first.case, first.delivery or "", self._results.header.seed)
        details = _result_to_json(first) | self._answer_to_json(first, trial)
        details["explain"] = self.format_explain_command(first)
        if first.delivery and first.checks:
            sources = format_source_options(self._results.header)
            arguments = f"{shlex.quote(first.id)} -i {shlex.quote(info.impl)}{sources}"
            details["minimise"] = f"conform minimise {arguments}"
        if self.budget.take("details", len(json.dumps(details))):
            row |= details
        # A huge stream does not fit on the page, and its short one is in the suite.
        if trial is not None and trial.case.growth is None and first.id not in self.wires:
            self._add_wire(trial, first.id)

    def format_explain_command(self, result: TrialResult) -> str:
        """Return the command that shows the trial of `result` in full."""
        header = self._results.header
        return format_explain_command(header.implementations[result.implementation], result, header)

    def _add_wire(self, trial: Trial, trial_id: str) -> None:
        """Add the wire of a trial; deliveries of one stream share its body."""
        key = (trial.case.api, trial.body)
        body = None if key in self._body_numbers else body_to_json(trial)
        number = self._body_numbers.get(key, len(self.bodies))
        wire = wire_to_json(trial, number)
        if not self.budget.take("wires", len(json.dumps([wire, body]))):
            return
        if body is not None:
            self._body_numbers[key] = number
            self.bodies.append(body)
        self.wires[trial_id] = wire

    def _add_case(self, case_id: str) -> None:
        case, number = self._suite.cases.get(case_id), self._case_numbers[case_id]
        if case is not None and number not in self.about:
            self.about[number] = case_to_json(case, self._suite.facts.get(case_id, ()))

    def _answer_to_json(self, first: TrialResult, trial: Trial | None) -> dict[str, Any]:
        """Return an answer's requests, traceback, events by frame, and passed checks."""
        observation = first.observation or {}
        document: dict[str, Any] = {}
        requests = observation.get("requests")
        if isinstance(requests, list):
            document["requests"] = [_describe_request(request) for request in requests]
        if isinstance(observation.get("traceback"), str):
            document["traceback"] = "\n".join(read_traceback(observation))
        left_out = observation.get("left_out")
        if isinstance(left_out, dict):
            # `type`, because `True` is an `int`, and results files may contain anything.
            sizes = {name: size for name, size in left_out.items() if type(size) is int}
            names = " and ".join(f"`{name}` ({size:,} bytes)" for name, size in sizes.items())
            if names:
                document["left_out"] = f"The answer is too large for the results; missing: {names}."
        if trial is None or "outcome" not in observation:
            return document
        events = observation.get("events")
        placement = self._place_events(trial, events)
        if isinstance(events, list):
            frames = placement.frames if placement else (None,) * len(events)
            document["events"] = [
                [frame, limit_text(json.dumps(event, ensure_ascii=False), 2000)]
                for frame, event in zip(frames[:MAX_EVENTS], events, strict=False)
            ]
            document["events_left"] = max(0, len(events) - MAX_EVENTS)
        if placement is not None:
            document["diverged"] = placement.diverged
        passed = _list_passed_checks(first, trial, observation)
        optional = {
            "right": [[check.path, _format_passed(check)] for check in passed[:MAX_PASSED_CHECKS]],
            "calls": list(_list_calls(first.checks[:MAX_CHECKS], passed, observation["outcome"])),
            "bill": bill_to_json(first.checks[:MAX_CHECKS], passed, trial.case.pricing),
        }
        return document | {key: value for key, value in optional.items() if value}

    def _place_events(self, trial: Trial, events: Any) -> Placement | None:
        """Return the frames of the events, or None if there are no events or no snapshots of the stream."""
        snapshots = self._blame.list_outcomes(trial) if isinstance(events, list) else ()
        # In that case not every frame has a snapshot, as in `explanation`.
        if not snapshots or len(snapshots) >= MAX_POSITIONS:
            return None
        try:
            return place_events(decode.decode_events(events), snapshots)
        except decode.MalformedError:
            return None


def _describe_request(request: Any) -> str:
    """Return a request's method, path and status; results come from a file and may contain anything."""
    if not isinstance(request, dict):
        return format_value(request)
    target = " ".join(str(request.get(name, "")) for name in ("method", "path"))
    return f"{escape_line(target, 300)}, status {format_value(request.get('status'))}"


def _result_to_json(first: TrialResult) -> dict[str, Any]:
    document: dict[str, Any] = {
        "checks": [_check_to_json(check) for check in first.checks[:MAX_CHECKS]],
        "passed": first.passed,
        "level": first.level,
    }
    optional = {
        "more": max(0, len(first.checks) - MAX_CHECKS),
        "reason": first.reason and limit_text(first.reason, 4000),
        "known": first.known and limit_text(first.known, 1000),
        "raised": " ".join(describe_error(first)),
    }
    return document | {key: value for key, value in optional.items() if value}


def _check_to_json(check: Check) -> dict[str, Any]:
    expected, got, since = _limit_sides(check.expected, check.got)
    signature = _compare_signatures(check)
    if signature:
        expected, got = signature.pop("sides")
    document = {
        "path": check.path,
        "level": check.level,
        "verdict": check.verdict,
        "frames": _pick_frames(check),
    }
    optional = {
        "message": check.message and limit_text(check.message, 4000),
        "since": [] if signature else since,
        "signature": signature,
    }
    return (
        document
        | {"expected": expected, "got": got}
        | {key: value for key, value in optional.items() if value}
    )


def _pick_frames(check: Check) -> tuple[int, ...]:
    """Return the relevant frames; for a text, only the one with the first wrong character."""
    expected, got = check.expected, check.got
    if not (check.path.startswith("content.") and isinstance(expected, str) and isinstance(got, str)):
        return check.frames
    # The frames of a text begin at the first one that disagrees with the answer (`run.blame`). If none does,
    # the answer has the whole text, and then more.
    return check.frames[-1:] if got.startswith(expected) else check.frames[:1]


def _compare_signatures(check: Check) -> dict[str, Any]:
    """Return where two signatures differ and the text around that place, or `{}` for any other check."""
    expected, got = check.expected, check.got
    if not (check.path.endswith(SIGNATURE) and isinstance(expected, str) and isinstance(got, str)):
        return {}
    position = _find_difference(expected, got)
    start, end = max(0, position - SIGNATURE_BEFORE), position + SIGNATURE_AFTER
    sides = [
        f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}" for text in (expected, got)
    ]
    sizes = [_count_bytes(expected), _count_bytes(got)]
    return {"byte": _count_bytes(expected[:position]), "sizes": sizes, "sides": sides}


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _limit_sides(expected: Any, got: Any) -> tuple[Any, Any, list[int]]:
    """Return both values, and `[start, expected length, got length]` if they were trimmed, or else `[]`.

    Long values become text that is trimmed to the part around the first difference.
    """
    expected_text, got_text = _to_text(expected), _to_text(got)
    if max(len(expected_text), len(got_text)) <= MAX_VALUE:
        return expected, got, []
    start = max(0, _find_difference(expected_text, got_text) - CONTEXT_BEFORE)
    end = start + MAX_VALUE
    return expected_text[start:end], got_text[start:end], [start, len(expected_text), len(got_text)]


def _find_difference(expected: str, got: str) -> int:
    """Return the position of the first character that differs, or the length of the shorter text."""
    pairs = enumerate(zip(expected, got, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(expected), len(got)))


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _list_passed_checks(first: TrialResult, trial: Trial, observation: Mapping[str, Any]) -> list[Check]:
    """Return the checks that passed.

    Results contain only the number of passed checks, so the outcome is judged again. Results do not contain
    the claims either: all capabilities are assumed, and checks that fail as a result are left out.
    """
    failed = {check.path for check in first.checks}
    checked = check_observation(
        trial, Observation(observation["outcome"]), CAPABILITIES - {"events"}, lambda _: None
    )
    return [
        check
        for check in checked.checks
        if check.verdict == "pass" and check.path not in failed and not check.path.startswith("invariant.")
    ]


def _format_passed(check: Check) -> str:
    if check.path.endswith(SIGNATURE) and isinstance(check.got, str):
        return f"same ({format_count(_count_bytes(check.got), 'byte')})"
    return format_value(check.got, 200)


def _list_calls(failed: Sequence[Check], passed: Sequence[Check], outcome: Any) -> Iterator[dict[str, Any]]:
    """Yield each call with a failed check as two objects, `expected` and `got`, and the paths they cover.

    A call with a value that is too long for the page is left out: its checks are shown one by one.
    """
    for prefix in dict.fromkeys(match[1] for check in failed if (match := CALL_PATH.match(check.path))):
        wrong = {check.path.removeprefix(prefix): check for check in failed if check.path.startswith(prefix)}
        right = {check.path.removeprefix(prefix): check for check in passed if check.path.startswith(prefix)}
        judged = {name: check.got for name, check in (right | wrong).items()}
        got = _find_arguments(outcome, judged) | judged
        names = [name for name in dict.fromkeys((*CALL_FIELDS, *wrong)) if name in got]
        expected = {name: check.got for name, check in right.items()}
        expected |= {name: check.expected for name, check in wrong.items()}
        is_missing = all(check.message == BLOCK_MISSING for check in wrong.values())
        document = {
            "path": prefix.removesuffix("."),
            "checks": [check.path for check in wrong.values()],
            "expected": {name: expected[name] for name in names if name in expected},
            "got": None if is_missing else {name: got[name] for name in names},
        }
        if len(json.dumps(document)) <= MAX_VALUE:
            yield document


def _find_arguments(outcome: Any, judged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the call with the values that were judged, or `{}` if not exactly one has them.

    The arguments of a call that must not run are not judged, but they are what would run.
    """
    content = outcome.get("content") if isinstance(outcome, dict) else None
    found = [
        block
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict)
        and block.get("type") == "tool_call"
        and all(block.get(name) == value for name, value in judged.items())
    ]
    return {"arguments": found[0].get("arguments")} if len(found) == 1 else {}
