"""A probe's questions, with their ids and the paths of their checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from streamconform.apis import APIS
from streamconform.errors import SelectionError
from streamconform.known_failures.match import CheckedPaths
from streamconform.known_failures.model import Entry, KnownCause
from streamconform.model.result import TrialResult
from streamconform.model.verdict import Check
from streamconform.suite.scenarios import Scenario, load_bundled
from streamconform.suite.select import matches, split_pattern
from streamconform_capture.probe import checks
from streamconform_capture.probe.bad_requests import BAD_REQUESTS, RefusedRequest
from streamconform_capture.record.live import RawRecording

Kind = Literal["stream", "twin", "refusal", "count"]
"""The kinds of question: streaming, non-streaming, bad request, and token count."""
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


@dataclass(frozen=True, slots=True)
class ProbeCase:
    """One question of a probe."""

    id: str
    title: str
    kind: Kind
    scenario: Scenario | None = None
    bad_request: RefusedRequest | None = None


def list_cases(api: str, patterns: Sequence[str], *, has_key: bool) -> tuple[ProbeCase, ...]:
    """Return the questions for an `api` server; if there are `patterns`, only those that match one.

    `has_key` adds the question with a wrong key. Raises `SelectionError` if a pattern matches no question.
    """
    cases = tuple(_iter_cases(api, has_key=has_key))
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


def list_checked_paths(api: str, case: ProbeCase, result: TrialResult | None = None) -> CheckedPaths:
    """Return the paths of a question's checks: those made, according to `result`, and all possible ones."""
    possible = frozenset(check.path for check in _check_empty_answer(api, case))
    failed = {check.path for check in result.checks if check.verdict == "fail"} if result else set()
    # After these failures there is nothing left to check.
    if failed & {"http.status", "http.answer", "document.json", "error.json"}:
        return CheckedPaths(frozenset(failed), possible | {"http.answer"})
    return CheckedPaths(possible, possible | {"http.answer"})


def find_unmatched(entries: Sequence[Entry], api: str) -> frozenset[int]:
    """Return the indices of the entries that match no check of any question for an `api` server."""
    causes = {n: entry for n, entry in enumerate(entries) if isinstance(entry, KnownCause)}
    unmatched = {n for n, entry in causes.items() if entry.api not in APIS}
    # As if a key were configured, so that an entry about the wrong key matches without one, too.
    cases = [(case.id, list_checked_paths(api, case).possible) for case in _iter_cases(api, has_key=True)]
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
    assert case.scenario is not None, "a case of any other kind has a scenario"
    if case.kind == "twin":
        return checks.check_twin(api, case.scenario, EMPTY_ANSWER, None)
    return checks.check_stream(api, case.scenario, {}, EMPTY_ANSWER)[0]
