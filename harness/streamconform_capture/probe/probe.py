"""Run a probe: send questions to a live server one by one, check the answers, and write the results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from streamconform._version import __version__
from streamconform.apis import APIS
from streamconform.apis.payloads import read_payload
from streamconform.conservation import find_lost
from streamconform.errors import ImplementationError
from streamconform.judge.judge import decide_verdict
from streamconform.known_failures.context import KnownFailuresContext, list_problems
from streamconform.known_failures.match import CheckedPaths, OutdatedEntry, Settler, find_outdated
from streamconform.model.result import Footer, Header, ImplementationInfo, TrialResult, is_unexpected
from streamconform.model.verdict import VERDICTS, Check
from streamconform.run.exits import RunSummary, choose_exit
from streamconform.run.merge import sort_trials
from streamconform.run.results import Results, ResultsWriter
from streamconform.run.session import FinishedRun, Progress
from streamconform.suite.scenarios import Scenario
from streamconform_capture.probe import checks, socket_checks
from streamconform_capture.probe.plan import ProbeCase, list_checked_paths
from streamconform_capture.probe.requests import (
    build_bad_request,
    build_count_requests,
    continue_request,
    format_message,
)
from streamconform_capture.record.errors import BadAddress, BadHeader, CannotConnect, NoResponse
from streamconform_capture.record.live import RawRecording, record
from streamconform_capture.record.live_socket import record_socket
from streamconform_capture.record.scenario_request import LiveRequest, RequestSettings, build_request

MAX_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of an answer; every scenario asks for a short one."""
MAX_UNANSWERED: Final = 2
"""The probe stops if it has sent this many questions and none was answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """The server, the questions, and the settings for judging the answers."""

    base_url: str
    request_settings: RequestSettings
    cases: tuple[ProbeCase, ...]
    timeout: float
    strict: bool
    maxfail: int = 0
    """The number of unexpected verdicts after which the probe stops; 0 for no limit."""
    command: str
    """The command that repeats this probe, for reports; it contains no key."""
    selection: Mapping[str, Any] = field(default_factory=dict)
    known_failures: tuple[KnownFailuresContext, ...] = ()


Received = TypeVar("Received")


class _NoAnswerError(Exception):
    """There is no answer to check."""

    def __init__(self, verdict: str, reason: str) -> None:
        super().__init__(reason)
        self.verdict, self.reason = verdict, reason


def run_probe(plan: ProbePlan, path: Path, progress: Progress) -> FinishedRun:
    """Send every question of `plan`, write the results to `path` line by line, and return them.

    Raises `ImplementationError` before anything is written if the server cannot be reached, and `RecordError`
    for an unusable address or header. On Ctrl-C, the footer is still written, and the exit code is 130.
    """
    return _Probe(plan, path, progress).run()


class _Probe:
    """The state of a running probe."""

    def __init__(self, plan: ProbePlan, path: Path, progress: Progress) -> None:
        self.plan, self.path, self.progress = plan, path, progress
        self.streamed_outcomes: dict[str, Mapping[str, Any]] = {}
        self.plain_results: list[TrialResult] = []
        """The results before known failures are applied."""
        self.results: list[TrialResult] = []
        self.answered = self.cut_short = False
        self.interrupted = False
        self.cases_by_id = {case.id: case for case in plan.cases}

    def run(self) -> FinishedRun:
        plan = self.plan
        header = Header(
            version=__version__,
            cases=len(plan.cases),
            trials=len(plan.cases),
            implementations=(_make_info(plan),),
            selection={**plan.selection, "probe": plan.command, "strict": plan.strict},
            seed=0,
        )
        settle = Settler(
            (context.known for context in plan.known_failures), self._list_checked_paths, strict=plan.strict
        )
        # Sent before the file is opened, so that an unreachable server does not overwrite the last results.
        first_result = self._run_case(plan.cases[0])
        with ResultsWriter(self.path) as writer:
            writer.write(header)
            self.progress.on_start(header)
            try:
                for index, case in enumerate(plan.cases):
                    plain_result = first_result if index == 0 else self._run_case(case)
                    result = settle(plain_result)
                    self.plain_results.append(plain_result)
                    self.results.append(result)
                    writer.write(result)
                    self.progress.on_result(result)
                    if self._should_stop():
                        self.cut_short = index + 1 < len(plan.cases)
                        break
            except KeyboardInterrupt:
                self.interrupted = True
            return self._finish(header, writer)

    def _should_stop(self) -> bool:
        failures = sum(is_unexpected(result, strict=self.plan.strict) for result in self.results)
        silent = not self.answered and len(self.results) >= MAX_UNANSWERED
        return silent or bool(self.plan.maxfail and failures >= self.plan.maxfail)

    def _finish(self, header: Header, writer: ResultsWriter) -> FinishedRun:
        contexts = self.plan.known_failures
        outdated: tuple[tuple[OutdatedEntry, ...], ...] = tuple(() for _ in contexts)
        # After an interrupt, questions are missing, so an entry that matches no result may still be needed.
        if not self.interrupted:
            outdated = tuple(
                find_outdated(
                    context.known,
                    self.plain_results,
                    self._list_checked_paths,
                    unmatched=context.unmatched,
                    today=context.today,
                    coverage=context.coverage.cut_short() if self.cut_short else context.coverage,
                    strict=self.plan.strict,
                )
                for context in contexts
            )
        unexpected = any(is_unexpected(result, strict=self.plan.strict) for result in self.results)
        ended_early = self.interrupted or self.cut_short
        ids = [result.id for result in self.results]
        lost = () if ended_early else tuple(sorted(find_lost([case.id for case in self.plan.cases], ids)))
        exit_ = choose_exit(
            RunSummary(
                interrupted=self.interrupted,
                inconsistent=bool(lost),
                unexpected=any(outdated) or unexpected,
                attempted=frozenset({0} if self.results else ()),
                answered=frozenset({0} if self.answered else ()),
            )
        )
        counts = Counter(result.verdict for result in self.results)
        footer = Footer(
            counts={verdict: counts[verdict] for verdict in VERDICTS},
            exit=exit_,
            complete=not (ended_early or lost),
            lost=lost,
            problems=list_problems(contexts, outdated),
        )
        writer.write(footer)
        results = sort_trials(Results(header, tuple(self.results), footer))
        return FinishedRun(results, exit_, tuple(self.plain_results), outdated, self._list_checked_paths)

    def _list_checked_paths(self, result: TrialResult) -> CheckedPaths:
        return list_checked_paths(self.plan.request_settings.api, self.cases_by_id[result.id], result)

    def _run_case(self, case: ProbeCase) -> TrialResult:
        """Return the result of one question. Raises only if no question can be sent at all."""
        started = time.perf_counter()
        reason: str | None = None
        recording: RawRecording | None = None
        try:
            recording, case_checks = self._check_case(case)
            self.answered = True
            verdict = decide_verdict(case_checks)
            if case.scenario and case.scenario.expected.may_refuse and verdict == "fail":
                reason = self._describe_refusal(case, recording, case_checks)
                verdict, case_checks = ("skipped", []) if reason else (verdict, case_checks)
        except _NoAnswerError as error:
            if error.verdict == "hang":
                verdict, case_checks, reason = "hang", [], error.reason
            else:
                verdict = "fail"
                case_checks = [Check(path="http.answer", level="must", verdict="fail", message=error.reason)]
        failed = tuple(check for check in case_checks if check.verdict != "pass")
        wrong = verdict not in ("pass", "skipped")
        return TrialResult(
            implementation=0,
            id=case.id,
            case=case.id,
            delivery=None,
            level=case.bad_request.level if case.bad_request else "must",
            verdict=verdict,
            culprit="implementation" if wrong else None,
            ms=round((time.perf_counter() - started) * 1000, 1),
            checks=failed,
            passed=len(case_checks) - len(failed),
            reason=reason,
            observation=_make_observation(recording) if wrong and recording else None,
            title=case.title if wrong else None,
        )

    def _describe_refusal(self, case: ProbeCase, recording: RawRecording, made: list[Check]) -> str | None:
        api = self.plan.request_settings.api
        if case.kind == "socket":
            return socket_checks.describe_socket_refusal(api, recording)
        return checks.describe_refusal(api, recording) if made[0].verdict == "fail" else None

    def _check_case(self, case: ProbeCase) -> tuple[RawRecording, list[Check]]:
        settings = self.plan.request_settings
        if case.kind == "refusal":
            assert case.bad_request is not None, "a case of kind `refusal` has a bad request"
            recording = self._send(build_bad_request(settings, case.bad_request))
            return recording, checks.check_error(settings.api, case.bad_request, recording)
        if case.kind == "count":
            counting = APIS[settings.api].probing.token_counting
            assert counting is not None, "only APIs that count tokens have this case"
            short, long = (self._send(request) for request in build_count_requests(settings, counting))
            return short, checks.check_token_counts(counting, short, long)
        if case.kind == "socket-refusal":
            assert case.bad_request is not None, "a case of this kind has a bad request"
            request = build_bad_request(settings, case.bad_request)
            (recording,) = self._converse(request, lambda _: request.body)
            return recording, socket_checks.check_socket_error(settings.api, case.bad_request, recording)
        scenario = case.scenario
        assert scenario is not None, "a case of any other kind has a scenario"
        if case.kind in ("socket", "continuation"):
            return self._check_socket(case, scenario)
        request = build_request(settings, scenario, stream=case.kind == "stream")
        recording = self._send(request)
        if case.kind == "twin":
            streamed = self.streamed_outcomes.get(scenario.name)
            return recording, checks.check_twin(settings.api, scenario, recording, streamed)
        assert isinstance(request.body, Mapping), "the request of a scenario is an object"
        case_checks, outcome = checks.check_stream(settings.api, scenario, request.body, recording)
        if outcome is not None:
            self.streamed_outcomes[scenario.name] = outcome
        return recording, case_checks

    def _check_socket(self, case: ProbeCase, scenario: Scenario) -> tuple[RawRecording, list[Check]]:
        api = self.plan.request_settings.api
        request = build_request(self.plan.request_settings, scenario, stream=False)
        assert isinstance(request.body, Mapping), "the request of a scenario is an object"
        body = request.body
        if case.kind == "socket":
            (recording,) = self._converse(request, lambda _: body)
            return recording, socket_checks.check_socket_stream(api, scenario, body, recording)
        sockets = APIS[api].sockets
        first = {**body, **sockets.warm_up} if case.warms_up and sockets is not None else body
        recordings = self._converse(
            request, lambda answers: continue_request(api, body, answers[0]) if answers else first, count=2
        )
        return recordings[-1], socket_checks.check_continuation(
            api, scenario, body, recordings, warms_up=case.warms_up
        )

    def _converse(
        self,
        request: LiveRequest,
        write: Callable[[Sequence[bytes]], bytes | Mapping[str, Any]],
        count: int = 1,
    ) -> tuple[RawRecording, ...]:
        """Return the answers on one connection to the `count` requests whose bodies `write` returns."""
        api = APIS[self.plan.request_settings.api]

        def write_next(answers: Sequence[bytes]) -> str | None:
            return format_message(api, write(answers)) if len(answers) < count else None

        recordings = self._receive(
            lambda: record_socket(
                self.plan.base_url,
                request.path,
                request.headers,
                write_next,
                lambda message: api.ending.is_terminal(read_payload(message)),
                secret_headers=request.secret,
                timeout=self.plan.timeout,
                max_bytes=MAX_BYTES,
            )
        )
        self._check_time(recordings[-1])
        return recordings

    def _send(self, request: LiveRequest) -> RawRecording:
        recording = self._receive(
            lambda: record(
                self.plan.base_url,
                request.path,
                request.headers,
                request.body,
                secret_headers=request.secret,
                timeout=self.plan.timeout,
                max_bytes=MAX_BYTES,
            )
        )
        self._check_time(recording)
        return recording

    def _receive(self, send: Callable[[], Received]) -> Received:
        """Return what `send` returns. Raises `_NoAnswerError` if there is no answer."""
        try:
            return send()
        except (BadAddress, BadHeader):
            raise
        except CannotConnect as error:
            # Later, a question may have crashed the server, which is a result of the probe.
            if not self.answered and not self.results:
                raise ImplementationError(str(error)) from error
            raise _NoAnswerError("fail", f"the server no longer accepts connections: {error.why}") from error
        except NoResponse as error:
            raise _NoAnswerError(
                "hang" if error.timed_out else "fail", f"no HTTP answer: {error.why}"
            ) from error

    def _check_time(self, recording: RawRecording) -> None:
        # A server that begins to answer is not silent, so the probe goes on.
        if recording.cut == "timeout":
            self.answered = True
            reason = f"the answer did not end within {self.plan.timeout:g} s; raise `--timeout`"
            raise _NoAnswerError("hang", reason)


def _make_info(plan: ProbePlan) -> ImplementationInfo:
    url = plan.base_url
    name = url.partition("://")[2]
    return ImplementationInfo(name=name, version=None, language=None, issues=None, impl=url, input="http")


def _make_observation(recording: RawRecording) -> dict[str, Any]:
    """Return a failed answer in the form used in results, with a readable body."""
    body = recording.body[:65536].decode("utf-8", "backslashreplace")
    return {"status": recording.status, "headers": dict(recording.headers), "body": body}
