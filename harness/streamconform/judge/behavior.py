"""Judge what a client did on its connections, by the order of what the server saw, and its outcomes. Pure.

The paths of checks are `connection.…`, `requests.…`, `buffer.…` and `outcome.…`; with several answers,
`outcomes.ROLE.…`, where the role is that of the stream that the outcome should show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final

from streamconform.adapters.interface import Observation
from streamconform.apis import APIS
from streamconform.judge import decode
from streamconform.judge.compare import check_leaf, check_rule, compare_outcome
from streamconform.judge.match import matches_leaf
from streamconform.judge.partial import compare_partial
from streamconform.judge.schema_problems import explain_malformed_outcome
from streamconform.model.behavior import LogEntry
from streamconform.model.capability import Claims
from streamconform.model.case import Case, Expectation, Partial
from streamconform.model.leaf import AnyOf, Literally, Matches
from streamconform.model.outcome import BROKEN_STATUSES, Outcome
from streamconform.model.result import Raised
from streamconform.model.trial import Behavior
from streamconform.model.verdict import Check, Culprit
from streamconform.plural import format_count
from streamconform.printable import escape_unprintable

MAX_REQUESTS: Final = 16
"""A client that sends more requests than this for one answer never stops."""
HAD_BEGUN: Final = "though the first answer had begun"
_CLOSED: Final = "connection.closed"
_ERRORS: Final = ("error", "rejected")
"""The roles of streams that are errors instead of answers."""
_EMPTY: Final = Outcome(status="error", content=())
_COMPLETE: Final = Outcome(status="complete", content=())


def check_behavior(trial: Behavior, seen: Observation, claims: Claims) -> tuple[list[Check], Culprit]:
    """Return every check of a trial about behavior, and the culprit for the failed ones."""
    case = trial.case
    values = [seen.outcome] if seen.outcomes is None else [*seen.outcomes]
    outcomes: list[Outcome] = []
    for i, value in enumerate(values if case.expect.outcome != "any" or case.control.answers > 1 else ()):
        try:
            outcomes.append(decode.decode_outcome(value))
        except decode.MalformedError:
            name = "outcome" if seen.outcomes is None else f"outcomes-{i}"
            message = explain_malformed_outcome(value)
            return [check_rule(f"invariant.{name}-schema", trial.level, message)], "adapter"
    checks = [*_check_connections(trial, seen.log), *_check_requests(trial, seen.log, outcomes)]
    if case.control.answers > 1:
        checks += _check_outcomes(trial, outcomes, claims)
    elif outcomes:
        checks += _prefix("outcome", _check_outcome(trial, seen, outcomes[0], claims))
    return checks, "implementation"


def check_unanswered(trial: Behavior) -> Check:
    """Return the failed check of a client that never ends."""
    message = "the client neither ended nor failed"
    return check_rule("outcome" if trial.case.control.answers == 1 else "outcomes", trial.level, message)


def list_behavior_paths(trial: Behavior, claims: Claims) -> frozenset[str]:
    """Return the path of every check that may be made on a trial about behavior."""
    once, twice = Observation({}), Observation({}, log=(LogEntry("request", 1, 1), LogEntry("request", 1, 2)))
    possible = [check_unanswered(trial), *_check_connections(trial, ())]
    possible += _check_requests(trial, (), [_EMPTY])
    if trial.case.control.answers > 1:
        possible.append(check_rule("outcomes.length", trial.level, None))
        for role, stream in trial.case.streams.items():
            possible += _prefix(f"outcomes.{role}", _compare_whole(trial, stream, _EMPTY, claims))
    else:
        for seen, outcome in ((once, _EMPTY), (once, _COMPLETE), (twice, _COMPLETE)):
            possible += _prefix("outcome", _check_outcome(trial, seen, outcome, claims))
    return frozenset(check.path for check in possible)


def _check_connections(trial: Behavior, log: Sequence[LogEntry]) -> Iterator[Check]:
    expect = trial.case.expect
    if expect.closed:
        yield check_rule(_CLOSED, trial.level, _explain_open(log))
    if expect.reused is not None:
        name = "connection.reused" if expect.reused else "connection.not-reused"
        message = _explain_not_reused(log) if expect.reused else _explain_reused(log)
        yield check_rule(name, trial.level, message)
    if expect.bounded:
        yield check_rule("buffer.bounded", trial.level, _explain_unbounded(log))


def _explain_unbounded(log: Sequence[LogEntry]) -> str | None:
    """Return a message if the client did not just stop reading while it paused, or None."""
    paused = next((i for i, entry in enumerate(log) if entry.event == "paused"), len(log))
    after = next((entry for entry in log[paused:] if entry.event in ("accepted", "full", "closed")), None)
    match after:
        case LogEntry("accepted", detail=taken):
            return f"the client took {taken} bytes while the application was not reading"
        case LogEntry("closed"):
            return (
                "the client closed the connection while the application was not reading: "
                "a slow reader loses the answer"
            )
        case _:
            return None


def _explain_open(log: Sequence[LogEntry]) -> str | None:
    """Return a message if the connection of the first answer is still open, or None."""
    if not any(entry.event == "open" and entry.connection == 1 for entry in log):
        return None
    was_read = any(entry.event == "ended" and entry.request == 1 for entry in log)
    done = (
        "it read the answer to its end instead"
        if was_read
        else "it is still open after two more complete answers"
    )
    return f"the client did not close the connection of the answer that it left: {done}"


def _explain_reused(log: Sequence[LogEntry]) -> str | None:
    """Return a message if a request came on a connection with an answer that has not ended, or None."""
    unended: dict[int | None, int | None] = {}
    for entry in log:
        match entry.event:
            case "request":
                if entry.connection in unended:
                    return _format_reuse(entry.request, unended[entry.connection])
                unended[entry.connection] = entry.request
            case "data":
                return _format_reuse(None, entry.request)
            case "ended":
                unended.pop(entry.connection, None)
            case _:
                pass
    return None


def _format_reuse(request: int | None, earlier: int | None) -> str:
    later = "more" if request is None else f"request {request}"
    return f"the client sent {later} on the connection of answer {earlier}, which has not ended"


def _explain_not_reused(log: Sequence[LogEntry]) -> str | None:
    used = Counter(entry.connection for entry in log if entry.event == "request")
    if len(used) < used.total() or used.total() < 2:
        return None
    return f"{format_count(used.total(), 'request')} used a connection each, though each answer ended"


def _check_requests(trial: Behavior, log: Sequence[LogEntry], outcomes: Sequence[Outcome]) -> Iterator[Check]:
    """Yield the checks on the number of requests, and on their bodies."""
    case = trial.case
    requests = [entry for entry in log if entry.event == "request"]
    count, most = len(requests), case.expect.requests or MAX_REQUESTS
    message = f"{format_count(count, 'request')} for {format_count(case.control.answers, 'answer')}"
    is_over = count > most
    if case.expect.unrepeated:
        # A client may start again if it does not show the first part twice; `outcome.…` says whether it does.
        most, message = 1, f"{format_count(count, 'request')}, {HAD_BEGUN}"
        is_over = count > 1 and not any(outcome.status == "complete" for outcome in outcomes)
    if case.expect.unrepeated or case.expect.requests or case.control.retries:
        yield check_rule(
            "requests.count", trial.level, message if is_over else None, expected=most, got=count
        )
    if case.control.retries is not None:
        bodies = {entry.detail for entry in requests}
        changed = "a later request has another body than the first"
        yield check_rule("requests.same", trial.level, changed if len(bodies) > 1 else None)


def _check_outcomes(trial: Behavior, outcomes: Sequence[Outcome], claims: Claims) -> Iterator[Check]:
    """Yield the checks on several outcomes; those of requests at the same time may come in any order."""
    case = trial.case
    yield check_leaf("outcomes.length", Literally(case.control.answers), len(outcomes), trial.level)
    replies = [case.find_reply(number) for number in range(1, case.control.answers + 1)]
    # Of an answer that was left, or that broke, other cases judge the outcome.
    is_judged = [reply.is_whole for reply in replies]
    if case.control.stop is not None:
        is_judged[0] = False
    roles = [reply.stream for reply in compress(replies, is_judged)]
    outcomes = [*compress(outcomes, is_judged)]
    pairs = (
        _pair(trial, roles, outcomes, claims)
        if case.control.at_once
        else [
            (role, [*_compare_whole(trial, case.streams[role], outcome, claims)])
            for role, outcome in zip(roles, outcomes, strict=False)
        ]
    )
    worst: dict[str, Check] = {}
    for role, checks in pairs:
        for check in _prefix(f"outcomes.{role}", checks):
            if check.path not in worst or worst[check.path].verdict == "pass":
                worst[check.path] = check
    yield from worst.values()


def _pair(
    trial: Behavior, roles: Sequence[str], outcomes: Sequence[Outcome], claims: Claims
) -> list[tuple[str, list[Check]]]:
    """Pair each outcome with the role of a stream that it shows, or else with one that is left over."""
    left = Counter(roles)
    pairs: list[tuple[str, list[Check]]] = []
    wrong: list[dict[str, list[Check]]] = []
    for outcome in outcomes:
        found = {role: [*_compare_whole(trial, trial.case.streams[role], outcome, claims)] for role in left}
        fits = [role for role, checks in found.items() if left[role] and _count_failed(checks) == 0]
        if fits:
            left[fits[0]] -= 1
            pairs.append((fits[0], found[fits[0]]))
        else:
            wrong.append(found)
    for found in wrong:
        remaining = [role for role in found if left[role]] or [*found]
        role = min(remaining, key=lambda role: _count_failed(found[role]))
        left[role] -= 1
        pairs.append((role, found[role]))
    return pairs


def _count_failed(checks: Iterable[Check]) -> int:
    return sum(check.verdict == "fail" for check in checks)


def _check_outcome(trial: Behavior, seen: Observation, outcome: Outcome, claims: Claims) -> Iterator[Check]:
    """Yield the checks on the only outcome."""
    case, rule = trial.case, trial.case.expect.outcome
    is_complete = outcome.status == "complete"
    text = case.streams["text"]
    # After one request, a complete outcome is a broken answer that counts as complete.
    may_be_whole = rule == "whole-or-error" or any(entry.request == 2 for entry in seen.log)
    if rule == "whole" or (is_complete and may_be_whole and rule != "error"):
        yield from _compare_whole(trial, _find_stream(trial, text), outcome, claims)
    elif rule == "beginning":
        yield from _compare_beginning(trial, case.main.expect, outcome, claims)
    else:
        yield from _compare_error(trial, outcome, seen.raised, claims)


def _find_stream(trial: Behavior, text: Case) -> Case:
    """Return the stream of a whole answer."""
    roles = [reply.stream for reply in trial.case.replies if reply.stream not in _ERRORS]
    return trial.case.streams[roles[-1]] if roles else text


def _compare_whole(trial: Behavior, stream: Case, outcome: Outcome, claims: Claims) -> Iterator[Check]:
    ordered = APIS[stream.api].ordered_content
    yield from compare_outcome(stream.expect, outcome, claims, trial.level, ordered=ordered)


def _compare_beginning(
    trial: Behavior, whole: Expectation, outcome: Outcome, claims: Claims
) -> Iterator[Check]:
    """Yield the checks that an outcome has nothing but a part of the answer, once."""
    yield check_leaf("status", AnyOf(BROKEN_STATUSES), outcome.status, trial.level)
    expect = replace(whole, partial=Partial(calls_ended=0))
    ordered = APIS[trial.case.api].ordered_content
    yield from compare_partial(expect, outcome.content, claims, trial.level, ordered=ordered)


def _compare_error(
    trial: Behavior, outcome: Outcome, raised: Raised | None, claims: Claims
) -> Iterator[Check]:
    """Yield the checks that an outcome reports the error of the last reply."""
    yield check_leaf("status", AnyOf(BROKEN_STATUSES), outcome.status, trial.level)
    yield check_leaf("content.length", Literally(0), len(outcome.content), trial.level)
    role = next((reply.stream for reply in trial.case.replies if reply.stream in _ERRORS), None)
    error = None if role is None else trial.case.streams[role]
    message = error and error.expect.fields.get("error.message")
    if isinstance(message, Literally | Matches) and "errors" in claims:
        reported = [outcome.error.message] if outcome.error is not None else []
        reported += [raised.message] if raised is not None else []
        shown = any(_shows(text or "", message) for text in reported)
        problem = None if shown else "the outcome does not report the error that the provider sent"
        expected = message.value if isinstance(message, Literally) else message.pattern.pattern
        got: Any = reported[-1] if reported else None
        yield check_rule("error.message", trial.level, problem, expected=expected, got=got)


def _shows(text: str, message: Literally | Matches) -> bool:
    """Return whether a text has the provider's message; an exception's has more around it, on one line."""
    if isinstance(message, Matches):
        return matches_leaf(message, text)
    return str(message.value) in text or escape_unprintable(str(message.value)) in text


def _prefix(name: str, checks: Iterable[Check]) -> Iterator[Check]:
    return (replace(check, path=f"{name}.{check.path}") for check in checks)
