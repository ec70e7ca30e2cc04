"""`conform explain CASE --outcome FILE`: judge an outcome that was produced elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from streamconform.adapters import protocol
from streamconform.adapters.interface import Answer, Greeting, Observation, Output
from streamconform.errors import SelectionError, UsageError
from streamconform.files import read_given
from streamconform.judge.judge import Judgement, judge
from streamconform.model.capability import CAPABILITIES, Capability
from streamconform.model.trial import AnyTrial, Behavior, Call, RoundTrip
from streamconform.model.verdict import UNEXPECTED
from streamconform.reports.explanation import ExplainedTrial
from streamconform.run.exits import Exit
from streamconform.run.results import to_json

SHAPE: Final = 'an outcome, or {"outcome": …, "events": […], "raised": {…}}'


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """The answer in a file, and its judgement."""

    explained: ExplainedTrial
    judgement: Judgement

    def get_exit(self, *, strict: bool) -> Exit:
        """Return the exit code; `strict` makes warnings failures."""
        verdict = self.judgement.verdict
        failed = verdict in UNEXPECTED or (strict and verdict == "warn")
        return Exit.UNEXPECTED if failed else Exit.EXPECTED

    def format_json(self) -> str:
        """Return the judgement as JSON."""
        document = {
            "id": self.explained.trial.id,
            "verdict": self.judgement.verdict,
            "passed": self.judgement.passed,
            "checks": [to_json(check) for check in self.judgement.checks],
        }
        return json.dumps(document, indent=1, ensure_ascii=False)


def judge_file(file: str, trial: AnyTrial, capabilities: tuple[Capability, ...]) -> JudgedFile:
    """Judge the answer in `file` (`-` is stdin), by `capabilities`, or by all if there are none.

    Raises `SelectionError` for a round trip, and `UsageError` if the file contains no answer.
    """
    if isinstance(trial, Behavior | RoundTrip):
        raise SelectionError(
            f"`{trial.case.id}` tests requests, which only a server sees; use `conform run` to judge it"
        )
    answer = _read_answer(file, trial)
    has_events = isinstance(answer, Observation) and answer.events is not None
    # An outcome without events does not claim them; otherwise, their absence would be a failure.
    claims = frozenset(capabilities) or (CAPABILITIES - (frozenset() if has_events else {"events"}))
    explained = ExplainedTrial(trial, file, Greeting(name=file, capabilities=claims), answer)
    return JudgedFile(explained, judge(trial, answer, claims, lambda _: None))


def _read_answer(file: str, trial: AnyTrial) -> Answer:
    """Return the answer in `file`. Raises `UsageError` if the file contains no answer."""
    try:
        data = read_given(file, protocol.MAX_LINE)
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {error.strerror}") from error
    if isinstance(trial, Call):
        return Output(_parse(file, data, protocol.parse_value, "a JSON value", "the function's output"))
    document = _parse(file, data, protocol.parse_object, "a JSON object", SHAPE)
    raised = protocol.parse_raised(document.get("raised"))
    if "outcome" in document:
        return Observation(document["outcome"], document.get("events"), raised=raised)
    if raised is not None:
        return Observation(protocol.RAISED_OUTCOME, raised=raised)
    return Observation(document)


def _parse(file: str, data: bytes, parse: Callable[[bytes], Any], kind: str, expected: str) -> Any:
    try:
        return parse(data)
    except protocol.ProtocolError as fault:
        if fault.kind == "too-deep":
            raise UsageError(f"`{file}`: {fault.message}") from fault
        raise UsageError(
            f"`{file}` is not {kind} in UTF-8: {protocol.quote_line(data)}; expected {expected}"
        ) from fault
