"""Record the answers of the reference, the mutants and the innocents to the trials of a case.

Equal answers to a case get equal checks, unless the trial has an expectation or ids of its own. So each is
recorded once, and a mutant whose bug does not matter in a case adds nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from streamconform.adapters import json_line, protocol
from streamconform.adapters.interface import Answer, Observation
from streamconform.judge.judge import explain_unclaimed
from streamconform.model.capability import Claims
from streamconform.model.trial import UNCHANGED, VARIANTS, Trial, is_fault
from streamconform.suite.kinds import find_path
from streamconform_dev.judges.answers import ALL, AnsweredTrial, encode_line
from streamconform_dev.judges.damage import CLAIMS, DAMAGES, damage
from streamconform_dev.selftest.execute import REQUEST_ID, Adapter, answer_request, parse_answer
from streamconform_dev.selftest.innocents import apply_change, make_facts
from streamconform_innocents import INNOCENTS
from streamconform_mutants import MUTANTS
from streamconform_reference import adapter as reference

SECONDS: Final = 10.0
"""The time that an implementation has for a trial."""
_FEW: Final = 2
"""The number of damaged answers per trial, and of sets of claims, unless all are recorded."""
_SOME: Final = 1 / 8
"""The share of the innocents that is recorded per trial, unless all are."""
_MAX_BYTES: Final = 1 << 16
"""The size of a line above which it is left out, unless all are recorded: images."""


class AnswerRecorder:
    """Records the distinct answers to the trials of one case."""

    def __init__(self, *, full: bool) -> None:
        """Record nothing yet; `full` means with every mutant in every trial, and every damage."""
        self._full = full
        self._seen: set[tuple[str, bytes]] = set()
        self._hung: set[str] = set()

    def record(self, trial: Trial) -> Iterator[AnsweredTrial]:
        """Yield the answers to `trial` that no earlier trial of the case has."""
        line = self._ask(reference, trial, "reference")
        assert line is not None, f"the reference has no answer to {trial.id}"
        yield from self._keep(trial, ALL, parse_answer(line))
        yield from self._record_innocents(trial, line)
        yield from self._record_mutants(trial)
        yield from self._record_damages(trial, json_line.loads(line)["outcome"])

    def _ask(self, adapter: Adapter, trial: Trial, name: str) -> bytes | None:
        request = protocol.encode_request(REQUEST_ID, trial, events=False)
        line = None if name in self._hung else answer_request(adapter, request, SECONDS)
        if line is None:
            self._hung.add(name)
        return line

    def _keep(self, trial: Trial, claims: Claims, answer: Answer) -> Iterator[AnsweredTrial]:
        """Yield an answer with an outcome, unless JSON cannot represent it or it was recorded before."""
        if not isinstance(answer, Observation) or answer.not_json:
            return
        found = answer.raised
        raised = None if found is None else {"type": found.type, "message": found.message}
        answered = AnsweredTrial(trial.id, tuple(sorted(claims)), answer.outcome, raised)
        own = trial.derived is not None or trial.delivery in VARIANTS
        try:
            line = encode_line(answered.serialize())
        except (ValueError, RecursionError):
            return
        key = trial.id if own else trial.level, line.partition(b",")[2]
        if key not in self._seen and (self._full or len(line) <= _MAX_BYTES):
            self._seen.add(key)
            yield answered

    def _record_innocents(self, trial: Trial, line: bytes) -> Iterator[AnsweredTrial]:
        facts = make_facts(trial, json_line.loads(line))
        random = Random(trial.id)  # noqa: S311 - a sample that is always the same
        for innocent in INNOCENTS.values():
            claims = ALL - innocent.without
            is_chosen = self._full or random.random() < _SOME
            if innocent.change_request is not None or not is_chosen or _is_skipped(trial, claims):
                continue
            for changed in apply_change(innocent, facts, json_line.loads(line)):
                answer = {key: changed[key] for key in ("outcome", "raised") if key in changed}
                encoded = json.dumps({"op": "result", "id": REQUEST_ID, **answer})
                yield from self._keep(trial, claims, parse_answer(encoded.encode() + b"\n"))

    def _record_mutants(self, trial: Trial) -> Iterator[AnsweredTrial]:
        if not (self._full or trial.delivery in UNCHANGED):
            return
        path = find_path(trial.case)
        for name, mutant in MUTANTS.items():
            if trial.case.api not in mutant.adapter.apis or path not in mutant.paths:
                continue
            if mutant.trials != "all" and not (trial.delivery in UNCHANGED or is_fault(trial.delivery)):
                continue
            line = self._ask(mutant.adapter, trial, name)
            if line is not None:
                yield from self._keep(
                    trial, ALL.intersection(mutant.adapter.capabilities), parse_answer(line)
                )

    def _record_damages(self, trial: Trial, outcome: Any) -> Iterator[AnsweredTrial]:
        random = Random(trial.id)  # noqa: S311 - a sample that is always the same
        claimed = [claims for claims in CLAIMS if not _is_skipped(trial, claims)]
        for claims in claimed if self._full else random.sample(claimed, _FEW):
            yield from self._keep(trial, claims, Observation(outcome))
        for name in DAMAGES if self._full else random.sample([*DAMAGES], _FEW):
            damaged, raised = damage(name, f"{trial.id}:{name}", outcome)
            claims = random.choice((ALL, random.choice(claimed)))
            parsed = protocol.parse_raised(raised)
            yield from self._keep(trial, claims, Observation(damaged, raised=parsed))


def _is_skipped(trial: Trial, claims: Claims) -> bool:
    return explain_unclaimed(trial.case, claims) is not None


def record_case(trials: Sequence[Trial], *, full: bool = False) -> Iterator[tuple[Trial, AnsweredTrial]]:
    """Yield the distinct answers to the trials of one case, each with its trial."""
    recorder = AnswerRecorder(full=full)
    for trial in trials:
        for answered in recorder.record(trial):
            yield trial, answered
