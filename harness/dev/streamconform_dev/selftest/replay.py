"""Play round trips without a server: the answer that a mutant read goes into its next request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from streamconform.adapters.interface import Observation
from streamconform.judge.round_trip import check_round_trip
from streamconform.model.capability import CALLED, OF_STREAMS, Claims
from streamconform.model.trial import RoundTrip, Trial
from streamconform_reference.adapter import BytesRun, build_request

CLAIMS: Final[Claims] = OF_STREAMS | {CALLED["request"][1]}
Adapter = Callable[[Any], Iterator[Mapping[str, Any]]]


def fails_round_trip(adapter: Adapter, trial: RoundTrip) -> bool:
    """Return whether a check of `trial` fails for `adapter`, or the adapter crashes."""
    # Mutants that read wrongly build no requests; those that build wrongly read as the reference does.
    build = vars(adapter).get("build_request", build_request)
    try:
        first = _read(adapter, trial.first)
        asked = dict(trial.case.conversation)
        request = build(trial.case.api, _add_turns(asked, trial, first))
        seen = Observation(
            _read(adapter, trial.second), first=first, requests=(build(trial.case.api, asked), request)
        )
    except Exception:  # noqa: BLE001 - a mutant may crash in any way; a client that does fails the case
        return True
    checks, _ = check_round_trip(trial, seen, CLAIMS)
    return any(check.verdict != "pass" for check in checks)


def _read(adapter: Adapter, answer: Trial) -> Any:
    case, cassette = answer.case, answer.case.cassette
    run = BytesRun(case.api, cassette.status, cassette.headers, case.pricing, answer.chunks, case.stream)
    *_, last = adapter(run)
    return last["outcome"]


def _add_turns(asked: Mapping[str, Any], trial: RoundTrip, first: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conversation with the first answer, and with the results of its calls, if it has some."""
    answer = {
        "role": "assistant",
        "content": first["content"],
        "response_id": first["response_id"],
        "stop": first["stop"]["reason"],
    }
    turns = [answer]
    if trial.case.results:
        turns.append({"role": "tool", "results": [*_pair_results(trial.case.results, first["content"])]})
    return {**asked, "messages": [*asked["messages"], *turns]}


def _pair_results(
    results: Iterable[Mapping[str, Any]], content: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield each result with the id of the first call of its name that has no result yet."""
    calls = [block for block in content if block["type"] == "tool_call" and block["executor"] != "provider"]
    for result in results:
        call = next(call for call in calls if call["name"] == result["name"])
        calls.remove(call)
        yield {**result, "id": call["id"] or call["name"]}
