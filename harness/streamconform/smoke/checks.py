"""The table of smoke checks, each a pure function of the transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from streamconform.smoke import answer_checks as answers
from streamconform.smoke import claim_checks as claims
from streamconform.smoke import control_checks as controls
from streamconform.smoke import protocol_checks as protocol
from streamconform.smoke.transcript import Transcript

Mark = Literal["ok", "FIX", "skip"]
MAX_MESSAGES: Final = 8
"""The maximum number of messages listed per check; the others are only counted."""
MAX_STEPS: Final = 3
"""The maximum number of steps named per message; the others are only counted."""


@dataclass(frozen=True, slots=True)
class SmokeResult:
    """The result of a check; `messages` say what is right, what to fix, or why it was skipped."""

    check: str
    mark: Mark
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SmokeCheck:
    """One check of an adapter."""

    success: str
    """The message if the check finds no problem."""
    find_problems: Callable[[Transcript], Iterator[protocol.SmokeProblem]]
    find_skip_reason: Callable[[Transcript], str | None] = protocol.skip_without_runs


CHECKS: Final[Mapping[str, SmokeCheck]] = {
    "greeting": SmokeCheck(
        "introduces itself and speaks protocol 1", protocol.check_greeting, protocol.never_skip
    ),
    "apis": SmokeCheck("claims only known APIs", protocol.check_apis, protocol.skip_without_greeting),
    "capabilities": SmokeCheck(
        "claims only known capabilities", protocol.check_capabilities, protocol.skip_without_greeting
    ),
    "stdout": SmokeCheck("writes only protocol messages to stdout", protocol.check_stdout),
    "answers": SmokeCheck("answers every run once, in time", protocol.check_answers),
    "requests": SmokeCheck(
        "sends its requests to the base URL", protocol.check_requests, protocol.skip_without_http
    ),
    "errored": SmokeCheck(
        "reports no adapter error", protocol.check_adapter_errors, protocol.skip_without_answers
    ),
    "outcome": SmokeCheck(
        "outcomes are in the normal form", answers.check_outcome_form, answers.skip_without_outcomes
    ),
    "arguments": SmokeCheck(
        "arguments are JSON values", answers.check_arguments, answers.skip_without_outcomes
    ),
    "content": SmokeCheck("returns content", answers.check_content, answers.skip_without_whole_streams),
    "reading": SmokeCheck(
        "reads a text answer, a tool call and a truncated stream",
        answers.check_reading,
        answers.skip_without_content,
    ),
    "claims": SmokeCheck("reports what it claims", claims.check_claims, claims.skip_without_claims),
    "events": SmokeCheck(
        "events are in the normal form", answers.check_event_form, answers.skip_without_events
    ),
    "event-order": SmokeCheck(
        "events agree with each other and with the outcome",
        answers.check_event_order,
        answers.skip_without_events,
    ),
    "determinism": SmokeCheck(
        "the same run gives the same outcome", answers.check_determinism, protocol.skip_without_step(" again")
    ),
    "controls": SmokeCheck(
        "does what `control` asks", controls.check_controls, controls.skip_without_controls
    ),
    "unknown-field": SmokeCheck(
        "ignores unknown fields", answers.check_unknown_field, protocol.skip_without_step("unknown field")
    ),
    "unknown-op": SmokeCheck(
        "ignores unknown ops", protocol.check_unknown_op, protocol.skip_without_step("unknown op")
    ),
    "unknown-api": SmokeCheck(
        "answers a run for an unknown API",
        protocol.check_unknown_api,
        protocol.skip_without_step("unknown api"),
    ),
    "concurrency": SmokeCheck(
        "keeps concurrent runs apart", answers.check_concurrency, answers.skip_without_concurrency
    ),
    "stop": SmokeCheck("exits at `stop`", protocol.check_stop, protocol.skip_after_exit),
}
"""All checks, in the order in which their problems should be fixed."""


def run_checks(transcript: Transcript) -> tuple[SmokeResult, ...]:
    """Return the result of every check on `transcript`."""
    return tuple(_run_check(name, check, transcript) for name, check in CHECKS.items())


def has_no_problems(results: tuple[SmokeResult, ...]) -> bool:
    """Return whether there is nothing to fix."""
    return all(result.mark != "FIX" for result in results)


def _run_check(name: str, check: SmokeCheck, transcript: Transcript) -> SmokeResult:
    reason = check.find_skip_reason(transcript)
    if reason is not None:
        return SmokeResult(name, "skip", (reason,))
    # One mistake usually shows in many steps, so each message is printed once, with those steps.
    steps_by_message: dict[str, list[str]] = {}
    for problem in check.find_problems(transcript):
        steps = steps_by_message.setdefault(problem.message, [])
        if problem.step is not None and problem.step not in steps:
            steps.append(problem.step)
    messages = [
        f"{_format_steps(steps)}: {message}" if steps else message
        for message, steps in steps_by_message.items()
    ]
    if not messages:
        return SmokeResult(name, "ok", (check.success,))
    if len(messages) > MAX_MESSAGES:
        messages[MAX_MESSAGES:] = [f"and {len(messages) - MAX_MESSAGES} more"]
    return SmokeResult(name, "FIX", tuple(messages))


def _format_steps(steps: list[str]) -> str:
    more = len(steps) - MAX_STEPS
    return ", ".join(steps[:MAX_STEPS]) + (f" and {more} more" if more > 0 else "")
