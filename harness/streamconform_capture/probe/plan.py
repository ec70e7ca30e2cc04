"""A probe's questions, with their ids and the paths of their checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from streamconform.apis import APIS
from streamconform.errors import SelectionError
from streamconform.known_failures.match import CheckedPaths
from streamconform.known_failures.model import Entry, KnownCause
from streamconform.model.cassette import SWITCHED, Transport
from streamconform.model.result import TrialResult
from streamconform.model.verdict import Check
from streamconform.suite.scenarios import Scenario, load_bundled
from streamconform.suite.select import matches, split_pattern
from streamconform_capture.probe import checks, socket_checks
from streamconform_capture.probe.bad_requests import BAD_REQUESTS, RefusedRequest
from streamconform_capture.record.live import RawRecording

Kind = Literal["stream", "twin", "refusal", "count", "socket", "continuation", "socket-refusal"]
"""The kinds of question: streaming, non-streaming, bad request, and token count; and over a WebSocket, one
answer, two on a connection, and bad request.
"""
DECISIVE: Final = frozenset({
    "document.json", "error.json", "http.answer", "http.status", "websocket.continued",
    "websocket.handshake", "websocket.refused",
})  # fmt: skip
"""The checks after whose failure nothing else can be checked."""
SOCKET_SUFFIX: Final = "over-websocket"
CONTINUED: Final = "text"
"""The scenario to continue."""
EMPTY_ANSWER: Final = RawRecording(
    path="/",
    request_headers={},
    request_body=b"{}",
    status=200,
    headers={},
    body=b"{}",
    received=2,
    marks=(),
    cut=None,
)
EMPTY_ERROR: Final = RawRecording(
    path="/",
    request_headers={},
    request_body=b"{}",
    status=400,
    headers={},
    body=b"{}",
    received=2,
    marks=(),
    cut=None,
)
EMPTY_SWITCH: Final = replace(EMPTY_ANSWER, status=SWITCHED, body=b"")


@dataclass(frozen=True, slots=True)
class ProbeCase:
    """One question of a probe."""

    id: str
    title: str
    kind: Kind
    scenario: Scenario | None = None
    bad_request: RefusedRequest | None = None
    warms_up: bool = False
    """Whether the first of two requests on a connection only prepares the second."""


def list_cases(
    api: str, patterns: Sequence[str], *, has_key: bool, transport: Transport = "http"
) -> tuple[ProbeCase, ...]:
    """Return the questions for an `api` server; if there are `patterns`, only those that match one.

    `has_key` adds the question with a wrong key. Raises `SelectionError` if a pattern matches no question.
    """
    list_all = _iter_cases if transport == "http" else _iter_socket_cases
    cases = tuple(list_all(api, has_key=has_key))
    for pattern in patterns:
        if not any(matches(pattern, case.id) for case in cases):
            names = ", ".join(case.id.rpartition("/")[2] for case in cases)
            raise SelectionError(f"`-k {pattern}` matches no question; available: {names}")
    return tuple(
        case for case in cases if not patterns or any(matches(pattern, case.id) for pattern in patterns)
    )


def _iter_cases(api: str, *, has_key: bool) -> Iterator[ProbeCase]:
    probing = APIS[api].probing
    for scenario in load_bundled():
        if scenario.probed and scenario.possible(probing):
            id_ = f"probe/{api}/{scenario.name}"
            yield ProbeCase(id_, scenario.title, "stream", scenario=scenario)
            if scenario.expected.twin:
                title = f"{scenario.title}, not streamed"
                yield ProbeCase(f"{id_}-at-once", title, "twin", scenario=scenario)
    for bad_request in BAD_REQUESTS:
        if bad_request.possible(probing) and (bad_request.broken != "key" or has_key):
            id_ = f"probe/{api}/{bad_request.name}"
            yield ProbeCase(id_, bad_request.title, "refusal", bad_request=bad_request)
    if probing.token_counting is not None:
        yield ProbeCase(f"probe/{api}/count-tokens", "Token counts", "count")


def _iter_socket_cases(api: str, *, has_key: bool) -> Iterator[ProbeCase]:
    for case in _iter_cases(api, has_key=has_key):
        if case.kind in ("stream", "refusal"):
            kind: Kind = "socket" if case.kind == "stream" else "socket-refusal"
            title = f"{case.title}, over a WebSocket"
            yield replace(case, id=f"{case.id}-{SOCKET_SUFFIX}", title=title, kind=kind)
    scenario = next(each for each in load_bundled() if each.name == CONTINUED)
    for name, title in (
        ("continuation", "Another answer on the same connection, which continues the first"),
        ("warm-up", "An answer to a request that an earlier one has prepared"),
    ):
        id_ = f"probe/{api}/{name}-{SOCKET_SUFFIX}"
        yield ProbeCase(id_, title, "continuation", scenario=scenario, warms_up=name == "warm-up")


def list_checked_paths(api: str, case: ProbeCase, result: TrialResult | None = None) -> CheckedPaths:
    """Return the paths of a question's checks: those made, according to `result`, and all possible ones."""
    possible = frozenset(check.path for check in _check_empty_answer(api, case))
    failed = {check.path for check in result.checks if check.verdict == "fail"} if result else set()
    if failed & DECISIVE:
        return CheckedPaths(frozenset(failed), possible | {"http.answer"})
    return CheckedPaths(possible, possible | {"http.answer"})


def find_unmatched(entries: Sequence[Entry], api: str) -> frozenset[int]:
    """Return the indices of the entries that match no check of any question for an `api` server."""
    causes = {n: entry for n, entry in enumerate(entries) if isinstance(entry, KnownCause)}
    unmatched = {n for n, entry in causes.items() if entry.api not in APIS}
    # As if a key were configured, so that an entry about the wrong key matches without one, too.
    over_socket = _iter_socket_cases(api, has_key=True) if APIS[api].sockets is not None else ()
    listed = (*_iter_cases(api, has_key=True), *over_socket)
    cases = [(case.id, list_checked_paths(api, case).possible) for case in listed]
    return frozenset(unmatched) | frozenset(
        index
        for index, entry in enumerate(entries)
        if not isinstance(entry, KnownCause)
        for pattern in (split_pattern(entry.match),)
        if not any(
            pattern.case.match(id_)
            and pattern.matches_delivery(None)
            and (pattern.check is None or any(pattern.check.match(path) for path in paths))
            for id_, paths in cases
        )
    )


def _check_empty_answer(api: str, case: ProbeCase) -> list[Check]:
    # Paths do not depend on the answer, so checking an empty answer lists them all.
    if case.kind == "refusal":
        assert case.bad_request is not None, "a case of kind `refusal` has a bad request"
        return checks.check_error(api, case.bad_request, EMPTY_ERROR)
    if case.kind == "count":
        counting = APIS[api].probing.token_counting
        assert counting is not None, "only APIs that count tokens have this case"
        return checks.check_token_counts(counting, EMPTY_ANSWER, EMPTY_ANSWER)
    if case.kind == "socket-refusal":
        assert case.bad_request is not None, "a case of this kind has a bad request"
        return socket_checks.check_socket_error(api, case.bad_request, EMPTY_ERROR)
    assert case.scenario is not None, "a case of any other kind has a scenario"
    if case.kind == "socket":
        return socket_checks.check_socket_stream(api, case.scenario, {}, EMPTY_SWITCH)
    if case.kind == "continuation":
        answers = EMPTY_SWITCH, EMPTY_SWITCH
        return socket_checks.check_continuation(api, case.scenario, {}, answers, warms_up=case.warms_up)
    if case.kind == "twin":
        return checks.check_twin(api, case.scenario, EMPTY_ANSWER, None)
    return checks.check_stream(api, case.scenario, {}, EMPTY_ANSWER)[0]
