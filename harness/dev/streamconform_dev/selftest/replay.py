"""Play round trips without a process: what a mutant read goes into its next request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from streamconform.adapters.interface import Observation, Output
from streamconform.judge.round_trip import check_round_trip
from streamconform.model.capability import CALLED, OF_STREAMS, Claims
from streamconform.model.trial import Call, RoundTrip, Trial
from streamconform.run.round_trip import play
from streamconform_reference.adapter import BytesRun, build_request

CLAIMS: Final[Claims] = OF_STREAMS | {CALLED["request"][1]}
Adapter = Callable[[Any], Iterator[Mapping[str, Any]]]


def fails_round_trip(adapter: Adapter, trial: RoundTrip) -> bool:
    """Return whether a check of `trial` fails for `adapter`, or the adapter crashes."""
    # Mutants that read wrongly build no requests; those that build wrongly read as the reference does.
    build = vars(adapter).get("build_request", build_request)

    async def ask(part: Trial | Call) -> Output | Observation:
        if isinstance(part, Call):
            return Output(build(part.case.api, part.case.input))
        return Observation(_read(adapter, part))

    try:
        seen = asyncio.run(play(trial, ask))
    except Exception:  # noqa: BLE001 - a mutant may crash in any way; a client that does fails the case
        return True
    assert isinstance(seen, Observation)
    checks, _ = check_round_trip(trial, seen, CLAIMS)
    return any(check.verdict != "pass" for check in checks)


def _read(adapter: Adapter, answer: Trial) -> Any:
    case = answer.case
    run = BytesRun(case.api, answer.status, answer.headers, case.pricing, answer.chunks, case.stream)
    *_, last = adapter(run)
    return last["outcome"]
