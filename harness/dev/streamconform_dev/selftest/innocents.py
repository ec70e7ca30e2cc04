"""Judge innocents: the reference's answers and requests, each changed by one freedom that is documented.

The reference reads each stream once; every innocent changes a copy of its answer, and the changed answer is
judged like any implementation's. Equal answers to a case at the same level are judged once, because most
deliveries of a stream get the same answer.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import msgspec

from streamconform.adapters import host, json_line, protocol
from streamconform.adapters.connect import connect
from streamconform.adapters.interface import Greeting, Observation
from streamconform.apis.api import CANNED_TEXT
from streamconform.errors import ConformError
from streamconform.judge.align import collect_kinds, pair_blocks
from streamconform.judge.decode import decode_block
from streamconform.judge.judge import explain_unclaimed, is_ordered
from streamconform.model.capability import Claims
from streamconform.model.leaf import AnyOf, list_values
from streamconform.model.result import TrialResult
from streamconform.model.trial import DELIVERIES, AnyTrial, Call, Trial, supported_inputs
from streamconform.model.verdict import Check
from streamconform.run.plan import ImplementationPlan
from streamconform.run.pool import build_result
from streamconform_dev.selftest.execute import (
    NO_BLAME,
    REQUEST_ID,
    Adapter,
    answer_request,
    divide,
    parse_answer,
    raise_timed_out,
    split_id,
)
from streamconform_innocents import Alternatives, Answer, Innocent, TrialFacts

REFERENCE: Final = "reference"


class ReferenceFailedError(ConformError):
    """The reference gave no answer, so there is nothing for an innocent to change."""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that an innocent fails."""

    trial: str
    check: Check

    @property
    def is_must(self) -> bool:
        """Return whether the check makes the trial fail, instead of only warning."""
        return self.check.verdict == "fail"


@dataclass(slots=True)
class InnocentResult:
    """The answers of one innocent that differ from the reference's, and their failed checks."""

    changed: Counter[str] = field(default_factory=Counter)
    """The number of changed answers per API."""
    failed: list[FailedCheck] = field(default_factory=list)

    def add(self, other: InnocentResult) -> None:
        """Add the results of other trials."""
        self.changed.update(other.changed)
        self.failed += other.failed


@dataclass(frozen=True, slots=True)
class Suspect:
    """An innocent, and the plan that holds its claims."""

    innocent: Innocent
    plan: ImplementationPlan


def run_innocents(
    innocents: Iterable[Innocent],
    reference: Adapter,
    trials: Sequence[AnyTrial],
    workers: int,
    seconds: float,
) -> dict[str, InnocentResult]:
    """Judge each innocent's answers to the streams and documents among `trials`; return results by name.

    The reference gets `seconds` per trial. Raises `ReferenceFailedError`.
    """
    suspects = [_make_suspect(innocent, reference) for innocent in innocents]
    requests = [trial for trial in trials if isinstance(trial, Call) and trial.case.kind == "request"]
    streams = sorted(
        (trial for trial in trials if isinstance(trial, Trial) and "bytes" in supported_inputs(trial)),
        key=lambda trial: split_id(trial.case.id),
    )
    of_answers = [suspect for suspect in suspects if suspect.innocent.change_request is None]
    of_requests = [suspect for suspect in suspects if suspect.innocent.change_request is not None]
    _STATE.update(
        suspects=of_answers, of_requests=of_requests, trials=streams, requests=requests, reference=reference
    )
    totals = {suspect.innocent.name: InnocentResult() for suspect in suspects}
    try:
        with ProcessPoolExecutor(
            workers, multiprocessing.get_context("fork"), signal.signal, (signal.SIGALRM, raise_timed_out)
        ) as pool:
            for results in pool.map(partial(_run_task, seconds=seconds), divide(streams)):
                for name, result in results.items():
                    totals[name].add(result)
            checked = pool.map(partial(_judge_requests, seconds=seconds), range(len(of_requests)))
            for suspect, result in zip(of_requests, checked, strict=True):
                totals[suspect.innocent.name].add(result)
    finally:
        _STATE.clear()
    return totals


_STATE: Final[dict[str, Any]] = {}
"""The innocents, the trials and the reference; workers inherit them from the parent process."""


def _judge_requests(position: int, seconds: float) -> InnocentResult:
    """Return the result of the innocent at this position, which sends requests in another way."""
    suspect: Suspect = _STATE["of_requests"][position]
    result = InnocentResult()
    for trial in _STATE["requests"]:
        if trial.case.api not in (suspect.innocent.apis or ()):
            continue
        line = answer_request(_STATE["reference"], protocol.encode_call(REQUEST_ID, trial), seconds)
        request = {} if line is None else json_line.loads(line).get("output")
        if not request:
            raise ReferenceFailedError(f"the reference sends no request for {trial.id}")
        original = _encode(request)
        try:
            _change_request(suspect.innocent, trial.case.input, request)
            if _encode(request) != original:
                result.changed[trial.case.api] += 1
                result.failed += _list_failed(trial, judge_answer(suspect, trial, {"output": request}))
        except Exception as error:  # noqa: BLE001 - the other requests are still judged
            result.failed.append(_report_no_answer(trial, f"raised {type(error).__name__}: {error}"))
    return result


def _change_request(innocent: Innocent, conversation: Any, request: Any) -> None:
    assert innocent.change_request is not None, "the caller has checked it"
    innocent.change_request(conversation, request)


def _make_suspect(innocent: Innocent, reference: Adapter) -> Suspect:
    """Return the innocent with claims that equal the reference's except for those that it does not make."""
    hello = host.build_greeting(reference, REFERENCE)
    hello["capabilities"] = [name for name in hello["capabilities"] if name not in innocent.without]
    greeting: Greeting = protocol.parse_greeting(json.dumps(hello).encode(), REFERENCE)
    return Suspect(innocent, ImplementationPlan(0, connect(REFERENCE), greeting, (), ()))


def _run_task(positions: range, seconds: float) -> dict[str, InnocentResult]:
    judge = Judge(_STATE["suspects"])
    for position in positions:
        trial: Trial = _STATE["trials"][position]
        judge.judge_trial(trial, read_reference(_STATE["reference"], trial, seconds))
    return judge.results


def read_reference(reference: Adapter, trial: Trial, seconds: float) -> Answer:
    """Return the reference's answer as JSON. Raises `ReferenceFailedError`."""
    request = protocol.encode_request(REQUEST_ID, trial, events=trial.case.stream)
    line = answer_request(reference, request, seconds)
    answer: Answer = {} if line is None else json_line.loads(line)
    if "outcome" not in answer:
        raise ReferenceFailedError(f"the reference has no answer to {trial.id}; run it with `conform run`")
    return {key: answer[key] for key in ("outcome", "events", "taken") if key in answer}


class Judge:
    """Judges the innocents' answers to trials, and counts those that differ from the reference's."""

    def __init__(self, suspects: Sequence[Suspect]) -> None:
        """Start without results."""
        self.results = {suspect.innocent.name: InnocentResult() for suspect in suspects}
        self._suspects = suspects
        self._known: tuple[str, dict[tuple[str, bytes], Mapping[str, InnocentResult]]] = ("", {})
        """The results of the current case's distinct answers, by level and answer."""
        self._skipped: dict[Claims, bool] = {}
        """Whether the current case is skipped by innocents with these claims."""

    def _is_skipped(self, trial: Trial, suspect: Suspect) -> bool:
        """Return whether the innocent skips the case, because it does not claim a capability."""
        claims = suspect.plan.greeting.claims(trial.case.api)
        if claims not in self._skipped:
            self._skipped[claims] = explain_unclaimed(trial.case, claims) is not None
        return self._skipped[claims]

    def judge_trial(self, trial: Trial, answer: Answer) -> None:
        """Judge each innocent's version of the reference's `answer` to `trial`."""
        if self._known[0] != trial.case.id:
            self._known, self._skipped = (trial.case.id, {}), {}
        # Chunk counts differ in almost every delivery; the freedoms do not depend on them.
        key = (trial.level, _encode_essentials(answer))
        known = self._known[1].get(key) if trial.derived is None else None
        if known is None:
            known = self._judge_distinct(trial, answer)
            if trial.derived is None:
                self._known[1][key] = known
        for name, result in known.items():
            self.results[name].add(result)

    def _judge_distinct(self, trial: Trial, answer: Answer) -> Mapping[str, InnocentResult]:
        """Return the results of the innocents that change this answer, or fail to."""
        original, essentials = _encode(answer), _encode_essentials(answer)
        facts = make_facts(trial, answer)
        found = {}
        for suspect in self._suspects:
            if self._is_skipped(trial, suspect):
                continue
            result = InnocentResult()
            try:
                for changed in apply_change(suspect.innocent, facts, json_line.loads(original)):
                    if _encode_essentials(changed) != essentials:
                        result.changed[trial.case.api] += 1
                        result.failed += _list_failed(trial, judge_answer(suspect, trial, changed))
            except Exception as error:  # noqa: BLE001 - the other innocents are still judged
                result.failed.append(_report_no_answer(trial, f"raised {type(error).__name__}: {error}"))
            if result.changed or result.failed:
                found[suspect.innocent.name] = result
        return found


def _encode_essentials(answer: Answer) -> bytes:
    """Return the answer as JSON without the chunk counts, which are not part of the answer."""
    return _encode({key: value for key, value in answer.items() if key != "taken"})


def _encode(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # JSON can escape half a surrogate pair, which UTF-8 cannot encode
        return json.dumps(value).encode()


def apply_change(innocent: Innocent, facts: TrialFacts, answer: Answer) -> Iterator[Answer]:
    """Yield the innocent's answers in place of the reference's `answer`, which may be changed."""
    changed = innocent.change(facts, answer)
    yield from (answer,) if changed is None else changed


def judge_answer(suspect: Suspect, trial: Trial | Call, answer: Answer) -> TrialResult:
    """Return the result of an innocent's answer, which is encoded and parsed like a program's."""
    claims = suspect.plan.greeting.claims(trial.case.api or "")
    members = {key: value for key, value in answer.items() if key != "continued"}
    if "events" not in claims:
        members.pop("events", None)
    parsed = parse_answer(_encode({"op": "result", "id": REQUEST_ID, **members}) + b"\n")
    if answer.get("continued") and isinstance(parsed, Observation):
        parsed = replace(parsed, continued=True)
    return build_result(suspect.plan, trial, parsed, None, 0.0, NO_BLAME)


def _list_failed(trial: Trial | Call, result: TrialResult) -> list[FailedCheck]:
    if result.verdict in ("faulted", "hang"):
        return [_report_no_answer(trial, result.reason or result.verdict)]
    return [FailedCheck(trial.id, check) for check in result.checks if check.verdict in ("fail", "warn")]


def _report_no_answer(trial: Trial | Call, message: str) -> FailedCheck:
    """Return the failed check for an innocent that is defective itself."""
    return FailedCheck(trial.id, Check(path="answer", level="must", verdict="fail", message=message))


def make_facts(trial: Trial, answer: Answer) -> TrialFacts:
    """Return the facts on which a freedom can depend."""
    expect = trial.expect
    delivery = trial.delivery.partition(".")[0]
    return TrialFacts(
        api=trial.case.api,
        stream=trial.case.stream,
        fault=None if delivery in DELIVERIES else delivery,
        body=trial.body,
        statuses=tuple(list_values(expect.fields.get("status")) or ()),
        kinds=frozenset(kind for kind in collect_kinds(expect.content or ()) if kind is not None),
        has_order=is_ordered(trial),
        alternatives=tuple(_list_alternatives(trial, answer)),
        final_text=CANNED_TEXT,
    )


def _list_alternatives(trial: Trial, answer: Answer) -> Iterator[Alternatives]:
    """Yield the values that `any_of` allows, each with its place in the reference's `answer`."""
    expect = trial.expect
    for path, leaf in expect.fields.items():
        if isinstance(leaf, AnyOf):
            yield Alternatives(path, leaf.values)
    # The content of a broken stream is compared with a part of the expectation.
    if expect.content is None or expect.partial is not None:
        return
    blocks = [decode_block(block) for block in answer["outcome"]["content"]]
    for block, position in zip(expect.content, pair_blocks(expect.content, blocks), strict=True):
        for name, leaf in block.fields.items():
            if isinstance(leaf, AnyOf) and position is not None:
                yield Alternatives(name, leaf.values, position)


@dataclass(frozen=True, slots=True)
class InnocentVerdict:
    """Whether the suite leaves an innocent alone."""

    musts: tuple[FailedCheck, ...]
    warnings: tuple[FailedCheck, ...]
    idle_apis: tuple[str, ...]
    """The APIs that can express the freedom, but in which no answer changed."""
    may_warn: bool

    @property
    def is_guilty(self) -> bool:
        """Return whether the suite punishes the freedom."""
        return bool(self.musts or (self.warnings and not self.may_warn))

    @property
    def is_innocent(self) -> bool:
        """Return whether the innocent uses its freedom and is not punished for it."""
        return not self.is_guilty and not self.idle_apis


def decide(innocent: Innocent, result: InnocentResult, apis: Iterable[str]) -> InnocentVerdict:
    """Return the verdict on an innocent.

    Its answers must change in each of `apis` that can express its freedom.
    """
    return InnocentVerdict(
        musts=tuple(failed for failed in result.failed if failed.is_must),
        warnings=tuple(failed for failed in result.failed if not failed.is_must),
        idle_apis=tuple(
            api for api in apis if (innocent.apis is None or api in innocent.apis) and not result.changed[api]
        ),
        may_warn=innocent.may_warn,
    )
