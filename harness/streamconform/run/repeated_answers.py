"""Remember an answer's checks: most deliveries of a stream get exactly the same answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from streamconform.adapters.interface import Observation
from streamconform.judge.judge import AnswerChecks, check_answer
from streamconform.model.capability import Claims
from streamconform.model.case import Case, Level
from streamconform.model.trial import Trial

MAX_CASES: Final = 4
"""The number of cases whose answers are remembered; the trials of one case run in a row."""
MAX_ANSWERS: Final = 32
"""The number of answers to remember per case, so that random answers do not fill the memory."""
MAX_BYTES: Final = 1 << 20
"""The JSON size above which an answer is not remembered."""

_Key = tuple[bytes, Level, Claims]


class RepeatedAnswers:
    """Checks each distinct answer to a case once."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        # A dictionary from the identity of a case, which the value keeps alive, to the checks of its answers.
        self._cases: dict[int, tuple[Case, dict[_Key, AnswerChecks]]] = {}

    def check(self, trial: Trial, seen: Observation, claims: Claims) -> AnswerChecks:
        """Return what `check_answer` returns for the same arguments."""
        # The expectation of a broken stream belongs to one trial, and a proxy's view to one implementation.
        if trial.derived is not None or trial.through is not None:
            return check_answer(trial, seen, claims)
        text = _encode(seen)
        if text is None:
            return check_answer(trial, seen, claims)
        known = self._get_answers(trial.case)
        key = (text, trial.level, claims)
        checked = known.get(key)
        if checked is None:
            checked = check_answer(trial, seen, claims)
            if len(known) < MAX_ANSWERS:
                known[key] = checked
        return checked

    def _get_answers(self, case: Case) -> dict[_Key, AnswerChecks]:
        entry = self._cases.get(id(case))
        if entry is None:
            while len(self._cases) >= MAX_CASES:
                del self._cases[next(iter(self._cases))]
            entry = self._cases[id(case)] = (case, {})
        return entry[1]


def _encode(seen: Observation) -> bytes | None:
    """Return everything in an observation except `taken` as JSON, or None if it is too large or unusual.

    Python's equality would not suffice: `1`, `1.0` and `True` are equal, but only some of them are valid.
    """
    try:
        text = msgspec.json.encode(replace(seen, taken=None))
    except (UnicodeEncodeError, RecursionError):  # a lone surrogate, or too many levels
        return None
    return text if len(text) <= MAX_BYTES else None
