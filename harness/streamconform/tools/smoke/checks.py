"""What is to be right in a conversation: a table of checks, each a pure function of the transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from streamconform.tools.smoke import answer_checks, protocol_checks
from streamconform.tools.smoke.transcript import Transcript

Mark = Literal["ok", "FIX", "skip"]
MAX_MESSAGES: Final = 8
"""What one check lists."""
MAX_STEPS: Final = 3
"""The steps that one message names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: `messages` say what to do, or why it did not apply."""

    check: str
    mark: Mark
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what is well where it finds nothing, and where it applies."""

    well: str
    find: Callable[[Transcript], Iterator[protocol_checks.Problem]]
    applies: Callable[[Transcript], str | None] = protocol_checks.anything_asked
    """Why there is nothing to look at, or None."""


CHECKS: Final[Mapping[str, Check]] = {
    "greeting": Check(
        "says who it is, and speaks protocol 1", protocol_checks.greeting, protocol_checks.always
    ),
    "apis": Check("claims apis that are known", protocol_checks.apis, protocol_checks.greeted),
    "capabilities": Check(
        "claims capabilities that are known", protocol_checks.capabilities, protocol_checks.greeted
    ),
    "stdout": Check("prints nothing but the protocol's messages", protocol_checks.stdout),
    "answers": Check("answers every run once, in time", protocol_checks.in_time),
    "requests": Check(
        "asks the server that it is given", protocol_checks.requests, protocol_checks.over_http
    ),
    "errored": Check("does not fail itself", protocol_checks.errored, protocol_checks.answered),
    "outcome": Check(
        "outcomes are in the normal form", answer_checks.outcome_form, answer_checks.any_outcome
    ),
    "arguments": Check("arguments are JSON values", answer_checks.arguments, answer_checks.any_outcome),
    "content": Check("content comes out", answer_checks.content, answer_checks.empty_answers),
    "reading": Check(
        "a text, a call and a cut come out right", answer_checks.reading, answer_checks.any_content
    ),
    "events": Check("events are in the normal form", answer_checks.event_form, answer_checks.events_claimed),
    "event-order": Check(
        "events fit each other and the outcome", answer_checks.event_order, answer_checks.events_claimed
    ),
    "determinism": Check(
        "the same run gives the same outcome", answer_checks.determinism, protocol_checks.tried(" again")
    ),
    "unknown-field": Check(
        "ignores fields that it does not know",
        answer_checks.unknown_field,
        protocol_checks.tried("unknown field"),
    ),
    "unknown-op": Check(
        "ignores ops that it does not know", protocol_checks.unknown_op, protocol_checks.tried("unknown op")
    ),
    "unknown-api": Check(
        "answers a run of an api that it does not know",
        protocol_checks.unknown_api,
        protocol_checks.tried("unknown api"),
    ),
    "concurrency": Check(
        "keeps runs apart that are in flight together", answer_checks.together, answer_checks.concurrent
    ),
    "stop": Check("ends at `stop`", protocol_checks.stop, protocol_checks.there_at_the_end),
}
"""Every check, in the order in which it is worth mending."""


def examine(transcript: Transcript) -> tuple[Finding, ...]:
    """Return what every check finds in `transcript`."""
    return tuple(_finding(name, check, transcript) for name, check in CHECKS.items())


def sane(findings: tuple[Finding, ...]) -> bool:
    """Return whether there is nothing to fix."""
    return all(finding.mark != "FIX" for finding in findings)


def _finding(name: str, check: Check, transcript: Transcript) -> Finding:
    reason = check.applies(transcript)
    if reason is not None:
        return Finding(name, "skip", (reason,))
    steps: dict[str, list[str]] = {}
    for problem in check.find(transcript):
        found = steps.setdefault(problem.words, [])
        if problem.step is not None and problem.step not in found:
            found.append(problem.step)
    messages = [f"{_where(found)}: {words}" if found else words for words, found in steps.items()]
    if not messages:
        return Finding(name, "ok", (check.well,))
    if len(messages) > MAX_MESSAGES:
        messages[MAX_MESSAGES:] = [f"and {len(messages) - MAX_MESSAGES} more"]
    return Finding(name, "FIX", tuple(messages))


def _where(steps: list[str]) -> str:
    more = len(steps) - MAX_STEPS
    return ", ".join(steps[:MAX_STEPS]) + (f" and {more} more" if more > 0 else "")
