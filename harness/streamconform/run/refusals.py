"""Hold back the trials in which a client refused to send a request, until it has sent one to the same API.

A client that sends no request to an API at all is not refusing some models: nothing of it was tested, for
example because its base URL is wrong. Its trials fail.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from streamconform.model.result import REFUSED, TrialResult


class Refusals:
    """The refused trials of APIs to which no request has been sent yet."""

    def __init__(self) -> None:
        """Start without any trial."""
        self._held: dict[tuple[int, str], list[TrialResult]] = defaultdict(list)
        self._reached: set[tuple[int, str]] = set()

    def release(self, result: TrialResult) -> list[TrialResult]:
        """Return the results to emit now that `result` is known; it may be held back."""
        api = (result.implementation, result.case.partition("/")[0])
        if is_refused(result):
            # Only a trial that failed can be a failure; an error passes if the stream is broken.
            is_failure = any(check.verdict == "fail" for check in result.checks)
            if api in self._reached or not is_failure:
                return [skip_refusal(result)]
            self._held[api].append(result)
            return []
        if result.verdict == "pass" or (result.observation or {}).get("requests"):
            self._reached.add(api)
            return [*map(skip_refusal, self._held.pop(api, ())), result]
        return [result]

    @property
    def held(self) -> tuple[TrialResult, ...]:
        """Return the results that are held back."""
        return tuple(result for results in self._held.values() for result in results)

    def release_rest(self) -> Iterator[TrialResult]:
        """Yield the trials of APIs to which no request was sent, as failures."""
        for results in self._held.values():
            for result in results:
                yield replace(result, verdict="fail", culprit="implementation")
        self._held.clear()


def is_refused(result: TrialResult) -> bool:
    """Return whether the client refused to send the request of this trial."""
    return result.verdict == "skipped" and (result.reason or "").startswith(REFUSED)


def skip_refusal(result: TrialResult) -> TrialResult:
    """Return the result of a refused trial without the checks that failed because of the refusal."""
    if not is_refused(result):
        return result
    return replace(result, checks=(), passed=0, observation=None, not_exposed=(), compared=(), uncompared=())
