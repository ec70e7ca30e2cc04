"""A whole probe: one question after the other to a live server, checks, verdicts, results as they come."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from streamconform import __version__
from streamconform.apis import APIS
from streamconform.errors import ImplementationError
from streamconform.judge.judge import decide_verdict
from streamconform.known_failures.context import KnownFailuresContext, list_problems
from streamconform.known_failures.match import CheckedPaths, OutdatedEntry, Settler, find_outdated
from streamconform.model.result import Footer, Header, ImplementationInfo, TrialResult
from streamconform.model.verdict import VERDICTS, Check
from streamconform.run.exits import RunSummary, choose_exit
from streamconform.run.merge import sort_trials
from streamconform.run.pool import is_unexpected
from streamconform.run.results import Results, ResultsWriter
from streamconform.run.session import FinishedRun, Progress
from streamconform.tools.probe import checks
from streamconform.tools.probe.plan import Case, checked
from streamconform.tools.probe.requests import Asking, Question, broken, counts, question
from streamconform.tools.record.errors import BadAddress, BadHeader, CannotConnect, NoResponse
from streamconform.tools.record.live import RawRecording, record

MAX_BYTES: Final = 4 * 1024 * 1024
"""Bound of an answer: every scenario asks for a short one."""
GIVE_UP_AFTER: Final = 2
"""Questions without any answer, from the first on, after which there is no point in asking on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is asked of whom, and how the answers are judged."""

    base_url: str
    asking: Asking
    cases: tuple[Case, ...]
    timeout: float
    strict: bool
    maxfail: int = 0
    """Stop after this many unexpected verdicts; 0: never."""
    command: str
    """What makes this probe again, for reports; it holds no key."""
    selection: Mapping[str, Any] = field(default_factory=dict)
    listed: tuple[KnownFailuresContext, ...] = ()


class _NotAnsweredError(Exception):
    """Why there is no answer to be judged, as verdict and words."""

    def __init__(self, verdict: str, words: str) -> None:
        super().__init__(words)
        self.verdict, self.words = verdict, words


def conduct(order: Order, path: Path, progress: Progress) -> FinishedRun:
    """Ask every question of `order`, write `path` line by line, and return the results.

    Raises `ImplementationError` before anything is written where nobody listens, and `RecordError` for an
    address or a header that cannot be used. Ctrl-C writes the footer and gives exit code 130.
    """
    return _Probe(order, path, progress).run()


class _Probe:
    """The state of one probe: what has come so far."""

    def __init__(self, order: Order, path: Path, progress: Progress) -> None:
        self.order, self.path, self.progress = order, path, progress
        self.streamed: dict[str, Mapping[str, Any]] = {}
        self.plain: list[TrialResult] = []
        self.ended: list[TrialResult] = []
        self.answered = self.cut_short = False
        self.interrupted = False
        self.by_id = {case.id: case for case in order.cases}

    def run(self) -> FinishedRun:
        order = self.order
        header = Header(
            version=__version__,
            cases=len(order.cases),
            trials=len(order.cases),
            implementations=(_info(order),),
            selection={**order.selection, "probe": order.command, "strict": order.strict},
            seed=0,
        )
        settle = Settler((each.known for each in order.listed), self._checked, strict=order.strict)
        first = self._result(order.cases[0])
        with ResultsWriter(self.path) as writer:
            writer.write(header)
            self.progress.on_start(header)
            try:
                for number, case in enumerate(order.cases):
                    plain = first if number == 0 else self._result(case)
                    settled = settle(plain)
                    self.plain.append(plain)
                    self.ended.append(settled)
                    writer.write(settled)
                    self.progress.on_result(settled)
                    if self._enough():
                        self.cut_short = number + 1 < len(order.cases)
                        break
            except KeyboardInterrupt:
                self.interrupted = True
            return self._finish(header, writer)

    def _enough(self) -> bool:
        bad = sum(is_unexpected(each, strict=self.order.strict) for each in self.ended)
        silent = not self.answered and len(self.ended) >= GIVE_UP_AFTER
        return silent or bool(self.order.maxfail and bad >= self.order.maxfail)

    def _finish(self, header: Header, writer: ResultsWriter) -> FinishedRun:
        listed = self.order.listed
        findings: tuple[tuple[OutdatedEntry, ...], ...] = tuple(() for _ in listed)
        if not self.interrupted:
            findings = tuple(
                find_outdated(
                    each.known, self.plain, self._checked, unmatched=each.unmatched, today=each.today
                )
                for each in listed
            )
        unexpected = any(is_unexpected(each, strict=self.order.strict) for each in self.ended)
        exit_ = choose_exit(
            RunSummary(
                interrupted=self.interrupted,
                unexpected=any(findings) or unexpected,
                attempted=frozenset({0} if self.ended else ()),
                answered=frozenset({0} if self.answered else ()),
            )
        )
        tally = Counter(each.verdict for each in self.ended)
        footer = Footer(
            counts={verdict: tally[verdict] for verdict in VERDICTS},
            exit=exit_,
            complete=not self.interrupted and not self.cut_short,
            problems=list_problems(listed, findings),
        )
        writer.write(footer)
        results = sort_trials(Results(header, tuple(self.ended), footer))
        return FinishedRun(results, exit_, tuple(self.plain), findings, self._checked)

    def _checked(self, result: TrialResult) -> CheckedPaths:
        return checked(self.order.asking.api, self.by_id[result.id], result)

    def _result(self, case: Case) -> TrialResult:
        """Return what came of one question; raises only where the server cannot be asked at all."""
        began = time.perf_counter()
        reason: str | None = None
        came: RawRecording | None = None
        try:
            came, found = self._asked(case)
            self.answered = True
            verdict = decide_verdict(found)
            if case.scenario and case.scenario.may_refuse and found[0].verdict == "fail":
                reason = checks.refused(self.order.asking.api, came)
                verdict, found = ("skipped", []) if reason else (verdict, found)
        except _NotAnsweredError as error:
            if error.verdict == "hang":
                verdict, found, reason = "hang", [], error.words
            else:
                verdict = "fail"
                found = [Check(path="http.answer", level="must", verdict="fail", message=error.words)]
        failed = tuple(each for each in found if each.verdict != "pass")
        wrong = verdict not in ("pass", "skipped")
        return TrialResult(
            implementation=0,
            id=case.id,
            case=case.id,
            delivery=None,
            level=case.refusal.level if case.refusal else "must",
            verdict=verdict,
            culprit="implementation" if wrong else None,
            ms=round((time.perf_counter() - began) * 1000, 1),
            checks=failed,
            passed=len(found) - len(failed),
            reason=reason,
            observation=_shown(came) if wrong and came else None,
            title=case.title if wrong else None,
        )

    def _asked(self, case: Case) -> tuple[RawRecording, list[Check]]:
        asking = self.order.asking
        if case.kind == "refusal":
            assert case.refusal is not None, "a refusal says what is broken"
            came = self._sent(broken(asking, case.refusal))
            return came, checks.of_refusal(asking.api, case.refusal, came)
        if case.kind == "count":
            counting = APIS[asking.api].probing.token_counting
            assert counting is not None, "only an API that counts tokens has such a question"
            short, long = (self._sent(each) for each in counts(asking, counting))
            return short, checks.of_count(counting, short, long)
        scenario = case.scenario
        assert scenario is not None, "what is asked has a scenario"
        asked = question(asking, scenario, stream=case.kind == "stream")
        came = self._sent(asked)
        if case.kind == "twin":
            return came, checks.of_twin(asking.api, scenario, came, self.streamed.get(scenario.name))
        assert isinstance(asked.body, Mapping), "a scenario is asked with an object"
        found, outcome = checks.of_stream(asking.api, scenario, asked.body, came)
        if outcome is not None:
            self.streamed[scenario.name] = outcome
        return came, found

    def _sent(self, asked: Question) -> RawRecording:
        where = self.order.base_url
        try:
            came = record(
                where,
                asked.path,
                asked.headers,
                asked.body,
                secret_headers=asked.secret,
                timeout=self.order.timeout,
                max_bytes=MAX_BYTES,
            )
        except (BadAddress, BadHeader):
            raise
        except CannotConnect as error:
            if not self.answered and not self.ended:
                raise ImplementationError(str(error)) from error
            raise _NotAnsweredError("fail", f"nobody listens any more: {error.why}") from error
        except NoResponse as error:
            late = error.why.startswith("nothing came within")
            raise _NotAnsweredError("hang" if late else "fail", f"no HTTP answer: {error.why}") from error
        if came.cut == "timeout":
            words = f"the answer had not ended after {self.order.timeout:g} s; `--timeout` waits longer"
            self.answered = True
            raise _NotAnsweredError("hang", words)
        return came


def _info(order: Order) -> ImplementationInfo:
    url = order.base_url
    name = url.partition("://")[2]
    return ImplementationInfo(name=name, version=None, language=None, issues=None, impl=url, input="http")


def _shown(came: RawRecording) -> dict[str, Any]:
    """Return what results keep of an answer that did not pass: the whole of it is text for people."""
    body = came.body[:65536].decode("utf-8", "backslashreplace")
    return {"status": came.status, "headers": dict(came.headers), "body": body}
