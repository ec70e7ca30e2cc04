"""The questions of a probe, their ids, and the checks that each of them is judged on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from streamconform.apis import APIS
from streamconform.errors import SelectionError
from streamconform.known_failures.match import CheckedPaths
from streamconform.known_failures.model import KnownFailure
from streamconform.model.result import TrialResult
from streamconform.model.verdict import Check
from streamconform.suite.select import matches, split_pattern
from streamconform.tools.probe import checks
from streamconform.tools.probe.refusals import REFUSALS, Refusal
from streamconform.tools.probe.scenarios import SCENARIOS, Kind, Scenario
from streamconform.tools.record.live import RawRecording

NOTHING: Final = RawRecording(
    path="/", request_headers={}, request_body=b"{}", status=200, headers={}, body=b"{}", marks=(), cut=None
)
REFUSED: Final = RawRecording(
    path="/", request_headers={}, request_body=b"{}", status=400, headers={}, body=b"{}", marks=(), cut=None
)


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a probe."""

    id: str
    title: str
    kind: Kind
    scenario: Scenario | None = None
    refusal: Refusal | None = None


def cases(api: str, patterns: Sequence[str], *, keyed: bool) -> tuple[Case, ...]:
    """Return the questions to a server of `api`, those that `patterns` mean where there are any.

    `keyed` is whether there is a key, so that a wrong one can be told from none. Raises `SelectionError`.
    """
    every = tuple(_cases(api, keyed=keyed))
    for pattern in patterns:
        if not any(matches(pattern, case.id) for case in every):
            known = ", ".join(case.id.rpartition("/")[2] for case in every)
            raise SelectionError(f"`-k {pattern}` matches no question; there are {known}")
    return tuple(case for case in every if not patterns or any(matches(each, case.id) for each in patterns))


def _cases(api: str, *, keyed: bool) -> Iterator[Case]:
    probing = APIS[api].probing
    for each in SCENARIOS:
        if each.possible(probing):
            id_ = f"probe/{api}/{each.name}"
            yield Case(id_, each.title, "stream", scenario=each)
            if each.twin:
                yield Case(f"{id_}-at-once", f"{each.title}, not streamed", "twin", scenario=each)
    for refusal in REFUSALS:
        if refusal.possible(probing) and (refusal.broken != "key" or keyed):
            yield Case(f"probe/{api}/{refusal.name}", refusal.title, "refusal", refusal=refusal)
    if probing.token_counting is not None:
        yield Case(f"probe/{api}/count-tokens", "Counts of tokens", "count")


def checked(api: str, case: Case, result: TrialResult | None = None) -> CheckedPaths:
    """Return the paths of the checks of a question; of `result`, those that were certainly made."""
    possible = frozenset(each.path for each in _judged_on_nothing(api, case))
    first = {each.path for each in result.checks if each.verdict == "fail"} if result else set()
    if first & {"http.status", "http.answer", "document.json", "error.json"}:
        return CheckedPaths(frozenset(first), possible | {"http.answer"})
    return CheckedPaths(possible, possible | {"http.answer"})


def unmatched(entries: Sequence[KnownFailure], api: str) -> frozenset[int]:
    """Return the numbers of the entries that match no check of any question to a server of `api`."""
    every = [(case.id, checked(api, case).possible) for case in _cases(api, keyed=True)]
    return frozenset(
        number
        for number, entry in enumerate(entries)
        for where in (split_pattern(entry.match),)
        if not any(
            where.case.match(id_)
            and where.matches_delivery(None)
            and (where.check is None or any(where.check.match(path) for path in paths))
            for id_, paths in every
        )
    )


def _judged_on_nothing(api: str, case: Case) -> list[Check]:
    if case.kind == "refusal":
        assert case.refusal is not None, "a refusal says what is broken"
        return checks.of_refusal(api, case.refusal, REFUSED)
    if case.kind == "count":
        counting = APIS[api].probing.token_counting
        assert counting is not None, "only an API that counts tokens has such a question"
        return checks.of_count(counting, NOTHING, NOTHING)
    assert case.scenario is not None, "what is asked has a scenario"
    if case.kind == "twin":
        return checks.of_twin(api, case.scenario, NOTHING, None)
    return checks.of_stream(api, case.scenario, {}, NOTHING)[0]
