"""An answer to a trial, and what the judge in Python finds in it: a line of a file of answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from streamconform.adapters.interface import Observation
from streamconform.judge.judge import check_answer, decide_verdict
from streamconform.model.capability import CAPABILITIES, Claims
from streamconform.model.case import AnyCase
from streamconform.model.result import Raised
from streamconform.model.trial import DELIVERY_SETS, Trial, supported_inputs
from streamconform.suite.expand import expand
from streamconform_dev.artifact import SEED

Json = dict[str, Any]

ALL: Final[Claims] = CAPABILITIES - {"events"}
"""All claims that a judge in another language knows: it gets no events."""


class AnsweredTrial(Struct, frozen=True):
    """An answer to a trial from an implementation with these claims."""

    trial: str
    claims: tuple[str, ...]
    outcome: Any
    raised: Mapping[str, str] | None = None
    """The exception, `{type, message}`, each on one line."""

    def serialize(self) -> Json:
        """Return the members that a checker reads."""
        answer = {"outcome": self.outcome} | ({} if self.raised is None else {"raised": self.raised})
        return {"trial": self.trial, "claims": self.claims, "answer": answer}


def encode_line(value: Json) -> bytes:
    """Return a line of JSON. Raises `ValueError` for NaN and infinity."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def expand_covered(cases: Iterable[AnyCase], *, full: bool) -> Iterator[Trial]:
    """Yield the trials that a judge in another language covers: those whose bytes it can hand over.

    Without `full`, one fault of each kind breaks a stream.
    """
    for trial in expand(cases, DELIVERY_SETS["full"], "bytes", SEED, "all" if full else "one"):
        if isinstance(trial, Trial) and trial.transport == "http" and "bytes" in supported_inputs(trial):
            yield trial


def encode_judged(trial: Trial, answered: AnsweredTrial) -> bytes:
    """Return the line of a file of answers: an answer, and what a judge must find in it."""
    return encode_line(answered.serialize() | {"expected": find_expected(trial, answered)})


def find_expected(trial: Trial, answer: AnsweredTrial) -> Json:
    """Return what a judge must find: the verdict, every check in the order of its path, and the claims."""
    raised = None if answer.raised is None else Raised(answer.raised["type"], answer.raised["message"])
    claims = ALL.intersection(answer.claims)
    judged = check_answer(trial, Observation(answer.outcome, raised=raised), claims)
    has_failed = any(check.verdict != "pass" for check in judged.checks)
    compared = [[claim, True] for claim in judged.claims.compared]
    return {
        "verdict": decide_verdict(judged.checks),
        "culprit": judged.culprit if has_failed else None,
        "checks": sorted(
            ({"path": check.path, "level": check.level, "verdict": check.verdict} for check in judged.checks),
            key=lambda check: check["path"],
        ),
        "compared": sorted([*compared, *([claim, False] for claim in judged.claims.uncompared)]),
    }
