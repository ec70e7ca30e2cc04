"""Judge the answer to a trial: checks, verdict and culprit. Pure. No other module decides verdicts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct, structs

from streamconform.adapters.interface import (
    Answer,
    Errored,
    Hang,
    Observation,
    Output,
    ProtocolFault,
    Skipped,
)
from streamconform.apis import APIS
from streamconform.apis.api import CANNED_TEXT
from streamconform.judge import decode, invariants, proxy_expectation
from streamconform.judge.align import (
    find_mislabeled_calls,
    join_split_thoughts,
    normalize_expected,
    normalize_received,
)
from streamconform.judge.behavior import check_behavior, check_unanswered
from streamconform.judge.claims import NOTHING_COMPARED, ComparedClaims, find_compared
from streamconform.judge.compare import (
    FAILED_VERDICT,
    check_leaf,
    check_rule,
    compare_outcome,
    count_client_calls,
    list_unexposed,
    must_not_run,
)
from streamconform.judge.mentions import find_mention
from streamconform.judge.needed_claims import list_needed_capabilities
from streamconform.judge.partial import compare_partial
from streamconform.judge.request import compare_request
from streamconform.judge.round_trip import check_round_trip
from streamconform.judge.schema_problems import explain_malformed_events, explain_malformed_outcome
from streamconform.judge.unknown_keys import find_unknown_keys
from streamconform.model.behavior import Control
from streamconform.model.capability import CALLED, INCLUDED_IN, Capability, Claims
from streamconform.model.case import (
    AnyCase,
    BehaviorCase,
    CallCase,
    Case,
    Counts,
    Expectation,
    Level,
    RoundTripCase,
)
from streamconform.model.event import BlockDelta, BlockEnd, Event
from streamconform.model.growth import shorten_texts
from streamconform.model.leaf import Literally, list_values
from streamconform.model.outcome import Error, Outcome, Text, Thinking, ToolCall
from streamconform.model.request import RequestExpectation
from streamconform.model.result import Raised
from streamconform.model.trial import AnyTrial, Behavior, Call, RoundTrip, Trial, lower_level
from streamconform.model.verdict import Check, Culprit, Verdict
from streamconform.printable import escape_unprintable

FirstDelta = Callable[[Trial], int | None]
"""Returns the offset at which the frame with a body's first delta ends, or None if it is unknown."""
_UNFINISHED_CALL: Final = re.compile(r"content\.(complete_calls|\d+\.tool_call\.(complete|arguments))")
"""Matches the paths of checks that a call is not executable."""
SKIPPED_THOUGH_CLAIMED: Final = "skipped a trial that its claims include"
"""The beginning of the reason for a trial that fails because the adapter skipped it."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one trial; `checks` are those that failed, and `passed` counts the others."""

    verdict: Verdict
    culprit: Culprit | None
    checks: tuple[Check, ...] = ()
    passed: int = 0
    reason: str | None = None
    not_exposed: tuple[str, ...] = ()
    """The paths that the case expects but the implementation leaves out."""
    claims: ComparedClaims = NOTHING_COMPARED
    unknown_keys: tuple[str, ...] = ()
    """The paths of the outcome's unknown keys, which are not judged."""


_NEEDED_BY_STREAMS: Final[Claims] = frozenset({"documents", "thinking", "parallel_tool_calls"})
"""The capabilities that a stream or document may need (`find_needed_capabilities`)."""


def explain_unclaimed(case: AnyCase, claims: Claims) -> str | None:
    """Return why a case is skipped for an implementation with `claims`, or None."""
    if isinstance(case, Case) and case.unavailable is not None:
        return case.unavailable
    if isinstance(case, Case) and claims >= _NEEDED_BY_STREAMS:
        return None  # without the expectation, which only the process that runs the case needs
    needed = find_needed_capabilities(case)
    missing = next((name for name in needed if not claims & {name, INCLUDED_IN.get(name)}), None)
    return None if missing is None else f"{missing} is not claimed"


def find_needed_capabilities(case: AnyCase) -> tuple[Capability, ...]:
    """Return the capabilities without which a case is skipped."""
    needed: tuple[Capability, ...]
    calls = 0
    if isinstance(case, CallCase):
        needed = (CALLED[case.kind][1],)
        # A client that cannot hold a block of the given conversation cannot send it back. In a round trip,
        # the client got the blocks from the provider, so losing them is a bug whatever it claims.
        if case.kind == "request":
            needed += list_needed_capabilities(case.input)
    elif isinstance(case, RoundTripCase):
        calls = max(len(turn.results) for turn in case.turns)
        needed = ("round_trips", "tool_calls") if calls else ("round_trips",)
    elif isinstance(case, BehaviorCase):
        needed = (*_list_controls(case.control), *(("tool_calls",) if "call" in case.streams else ()))
    else:
        needed = () if case.stream else ("documents",)
        # Google sends thoughts only on request, so a client that cannot request them never gets such a
        # stream.
        if APIS[case.api].thoughts_on_request and _has_thoughts(case):
            needed = (*needed, "thinking")
        calls = count_client_calls(case.expect)
    return (*needed, "parallel_tool_calls") if calls > 1 else needed


def _list_controls(control: Control) -> Iterator[Capability]:
    """Yield the capabilities that a client needs to do what `control` asks."""
    if control.stop is not None:
        yield "abort"
    if control.retries is not None:
        yield "retries"
    if control.answers > 1:
        yield "concurrency"
    if control.pause is not None:
        yield "backpressure"


def _has_thoughts(case: Case) -> bool:
    # Blocks without text do not count: Google sends signatures even if no thoughts were requested.
    texts = (block.fields.get("text") for block in case.expect.content or () if block.type == "thinking")
    return any(text not in (None, Literally("")) for text in texts)


class AnswerChecks(Struct, frozen=True):
    """The part of a judgement that depends on the answer and the case, but not on the delivery's chunks."""

    checks: tuple[Check, ...]
    culprit: Culprit
    outcome: Outcome | None = None
    """The outcome, unless it is not in the normal form."""
    events: tuple[Event, ...] | None = None
    """The events, if they were judged."""
    not_exposed: tuple[str, ...] = ()
    claims: ComparedClaims = NOTHING_COMPARED
    unknown_keys: tuple[str, ...] = ()


CheckAnswer = Callable[[Trial, Observation, Claims], AnswerChecks]
"""`check_answer`, or a function that remembers its results."""


def check_answer(trial: Trial, seen: Observation, claims: Claims) -> AnswerChecks:
    """Return every check of an observation that does not depend on the chunks of `trial`.

    An answer that is not in the normal form gets only one failed check: nothing else can be judged until the
    adapter is fixed.
    """
    if trial.case.growth is not None:
        seen = replace(seen, outcome=shorten_texts(seen.outcome))
    try:
        outcome = decode.decode_outcome(seen.outcome)
    except decode.MalformedError:
        return _report_malformed(trial, "outcome-schema", explain_malformed_outcome(seen.outcome))
    not_exposed = _find_unexposed(trial, outcome, claims)
    events: tuple[Event, ...] | None = None
    # An exception cuts the events short, so an answer with an exception may lack them.
    has_events = trial.case.stream and trial.case.growth is None and "events" in claims
    if has_events and (seen.raised is None or seen.events is not None):
        if seen.events is None:
            message = "the implementation claims `events` but sent none"
            return _report_malformed(trial, "event-schema", message, outcome, not_exposed)
        try:
            events = decode.decode_events(seen.events)
        except decode.MalformedError:
            message = explain_malformed_events(seen.events)
            return _report_malformed(trial, "event-schema", message, outcome, not_exposed)
    decoded, outcome = outcome, _read_error_of_exception(trial.expect, outcome, seen.raised)
    ordered = is_ordered(trial)
    expect, judged = _set_ending_aside(trial.expect, outcome) if seen.continued else (trial.expect, outcome)
    find_id = partial(find_mention, trial)
    checks = [*compare_outcome(expect, judged, claims, trial.level, ordered=ordered, find_id=find_id)]
    checks += compare_partial(expect, judged.content, claims, trial.level, ordered=ordered, find_id=find_id)
    compared = find_compared(expect, judged, claims, checks, raised=seen.raised is not None)
    # On `outcome` instead of `judged`, because the events also contain the canned answer.
    if seen.raised is not None and outcome.status != "complete":
        checks = [_excuse_call(check) for check in checks]
    checks += _check_ended_calls(trial, events, claims)
    checks += _check_split_thoughts(trial, judged, events, claims)
    checks += _check_invariants(trial, outcome, events, claims)
    checks += proxy_expectation.check_rules(trial, seen.deviations)
    checks = _add_non_json_checks(trial, seen, claims, checks)
    unknown_keys = find_unknown_keys(seen.outcome)
    return AnswerChecks(tuple(checks), "implementation", decoded, events, not_exposed, compared, unknown_keys)


def _excuse_call(check: Check) -> Check:
    """Return `check`, at most as a warning if it is about a call that must not be executed.

    The caller gets the exception instead of the outcome, so nobody runs a call in it; an adapter that keeps
    the content must not be worse off than one that drops it.
    """
    if check.verdict != "fail" or not _UNFINISHED_CALL.fullmatch(check.path):
        return check
    return replace(check, level="should", verdict=FAILED_VERDICT["should"])


def _check_ended_calls(trial: Trial, events: Sequence[Event] | None, claims: Claims) -> Iterator[Check]:
    """Yield the check that no event hands out more finished calls than the stream has.

    Agents run a call at its `toolcall_end`, whatever follows, so this stays a failure beside an exception.
    """
    expect = trial.expect
    if events is None or expect.content is None or "tool_calls" not in claims:
        return
    calls = [
        block
        for block in expect.content
        if block.type == "tool_call" and block.fields.get("executor") != Literally("provider")
    ]
    unfinished = sum(map(must_not_run, calls))
    if expect.partial is None and not unfinished:
        return
    allowed = len(calls) - unfinished if expect.partial is None else expect.partial.calls_ended
    ended = [event.final for event in events if isinstance(event, BlockEnd)]
    # An agent does not run a call that the provider has run.
    finals = [final for final in ended if isinstance(final, ToolCall)]
    mislabeled = [*find_mislabeled_calls(expect.content, calls, finals)]
    client = [
        final
        for final in finals
        if final.executor == "client" and not any(final is call for call in mislabeled)
    ]
    got = sum(final.is_executable for final in client)
    message = f"{got} calls were handed out as finished by `toolcall_end`, but only {allowed} had ended"
    yield _make_check(trial, "ended-calls", message if got > allowed else None)


def _check_split_thoughts(
    trial: Trial, outcome: Outcome, events: Sequence[Event] | None, claims: Claims
) -> Iterator[Check]:
    """Yield the check that each thought is one block in the events; a block per delta is only a warning."""
    content = trial.expect.content or ()
    if events is None or "thinking" not in claims or not any(block.type == "thinking" for block in content):
        return
    ordered = is_ordered(trial)
    expected = normalize_expected(content, claims, ordered=ordered)
    got = normalize_received(outcome.content, claims, content, ordered=ordered)
    pieces = len(got) - len(join_split_thoughts(expected, got))
    if not ordered:
        # There, `got` has a single thought, so only the number of blocks shows that each delta is one.
        unsigned = [block for block in outcome.content if isinstance(block, Thinking) and not block.signature]
        thoughts = sum(block.type == "thinking" for block in content)
        extra = sum(bool(block.text) for block in unsigned) - thoughts
        pieces = max(pieces, extra if extra > thoughts else 0)
    message = f"the thoughts are split into {pieces} more blocks than the stream has"
    level = lower_level(trial.level, "should")
    yield check_rule("invariant.one-block-per-thought", level, message if pieces else None)


def _report_malformed(
    trial: Trial, rule: str, message: str, outcome: Outcome | None = None, not_exposed: tuple[str, ...] = ()
) -> AnswerChecks:
    return AnswerChecks((_make_check(trial, rule, message),), "adapter", outcome, not_exposed=not_exposed)


def judge(
    trial: AnyTrial,
    answer: Answer,
    claims: Claims,
    first_delta: FirstDelta,
    check: CheckAnswer = check_answer,
) -> Judgement:
    """Judge an implementation's `answer` to `trial`, given its `claims`, and return the judgement."""
    match answer:
        case Observation() | Output():
            return _judge_answer(trial, answer, claims, first_delta, check)
        case Skipped(reason):
            # Not `skipped`: only claims exclude trials, so an adapter that cannot run one must narrow its
            # claims.
            return Judgement("fail", "adapter", reason=f"{SKIPPED_THOUGH_CLAIMED}: {reason}")
        case Errored(message):
            return Judgement("faulted", "adapter", reason=message)
        case ProtocolFault(kind, message):
            return Judgement("faulted", "adapter", reason=f"{kind}: {message}")
        case Hang(seconds):
            message = f"no answer in {seconds:g} s; flush stdout after each line, or raise `--timeout`"
            # A script also judges whether the client ends.
            checks = (check_unanswered(trial),) if isinstance(trial, Behavior) else ()
            return Judgement("hang", "implementation", checks, reason=message)


def check_observation(
    trial: Trial,
    seen: Observation,
    claims: Claims,
    first_delta: FirstDelta,
    check: CheckAnswer = check_answer,
) -> AnswerChecks:
    """Return every check of an observation, whether passed or failed, and the culprit for the failed ones."""
    checked = check(trial, seen, claims)
    events = checked.events
    # Broken streams are excluded: a call whose name never arrived must not be shown, so its first delta may
    # rightly be late. Streams in which a proxy may hold a call back are excluded too.
    applies = trial.expect.partial is None and not (trial.through and trial.through.held)
    # The counts come from the program, which may send more or fewer of them than events.
    if applies and events is not None and seen.taken is not None and len(seen.taken) == len(events):
        streaming = _check_streaming(trial, events, seen.taken, first_delta)
        return structs.replace(checked, checks=(*checked.checks, streaming))
    return checked


def _read_error_of_exception(expect: Expectation, outcome: Outcome, raised: Raised | None) -> Outcome:
    """Return the outcome with the error that an exception reports, unless the adapter already reports one.

    If a library raises an exception, the exception contains the provider's message, often with other text
    around it. The type and the status are attributes that only an adapter can read, so they count as not
    exposed unless the adapter reports them.
    """
    is_judged = any(path.startswith("error.") for path in expect.fields)
    if raised is None or outcome.error is not None or not is_judged:
        return outcome
    expected = list_values(expect.fields.get("error.message")) or ()
    texts = [value for value in expected if isinstance(value, str)]
    # An exception's message is one line, in which the line breaks of the provider's message are escaped.
    text = next((text for text in texts if escape_unprintable(text) in raised.message), None)
    absent = outcome.absent | {"error.type", "error.status"}
    error = Error(message=text or raised.message)
    return replace(outcome, error=error, absent=absent, omitted=outcome.omitted - {"error"})


def _set_ending_aside(expect: Expectation, outcome: Outcome) -> tuple[Expectation, Outcome]:
    """Return both arguments without the values that the canned final answer has replaced.

    A client may report both answers or only the last one. Stopping and continuing are both correct.
    """
    content = outcome.content
    last = content[-1] if content else None
    if isinstance(last, Text) and last.text.endswith(CANNED_TEXT):
        content = (*content[:-1], Text(last.text.removesuffix(CANNED_TEXT)))
    reports_first = any(block != Text("") for block in content)
    fields = {"status": expect.fields["status"]}
    return (
        replace(expect, fields=fields, content=expect.content if reports_first else None),
        replace(outcome, content=content),
    )


def is_ordered(trial: Trial) -> bool:
    """Return whether the API in which the trial is read records the order of text and calls."""
    # `get`, because a program may name any API in its greeting.
    api = APIS.get(trial.case.api if trial.through is None else trial.through.api)
    return api is None or api.ordered_content


def check_output(call: Call, got: Any) -> list[Check]:
    """Return the checks on a call: one for a function's result, or one per leaf of a request."""
    expect = call.case.expect
    if isinstance(expect, RequestExpectation):
        return [*compare_request(call.case.api or "", expect, got, call.level)]
    if isinstance(expect, Counts):
        message = _explain_counts(expect, got)
        return [check_rule("output", call.level, message, expected={"counts": expect.order}, got=got)]
    return [check_leaf("output", expect, got, call.level)]


def _explain_counts(expect: Counts, got: Any) -> str | None:
    """Return a message about the first wrong count in `got` (one count per input), or None."""
    counts = got if isinstance(got, list) else [got]
    # All counts are validated before the first comparison, which would raise for null or text. `bool` is a
    # subclass of `int`, but not a count.
    for i, count in enumerate(counts):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            return f"expected a token count for input {i}, got {json.dumps(count)[:80]}"
    for i, (count, following) in enumerate(pairwise(counts)):
        if following < count:
            return f"input {i + 1} has {following} tokens, fewer than input {i}, which has {count}"
        if expect.order == "equal" and following > count:
            rule = "which must have the same number"
            return f"input {i + 1} has {following} tokens, but input {i}, {rule}, has {count}"
        if expect.order == "increasing" and following == count:
            return f"input {i + 1} is longer than input {i}, but both have {count} tokens"
    return None


def _judge_answer(
    trial: AnyTrial,
    answer: Observation | Output,
    claims: Claims,
    first_delta: FirstDelta,
    check: CheckAnswer,
) -> Judgement:
    checks: Sequence[Check]
    checked = AnswerChecks((), "implementation")
    match trial, answer:
        case Trial(), Observation():
            checked = check_observation(trial, answer, claims, first_delta, check)
            checks, culprit = checked.checks, checked.culprit
        case Call(), Output(value):
            checks, culprit = check_output(trial, value), "implementation"
        case Call(), Observation(raised=Raised() as raised):
            # Known-failures entries can name only the paths listed by `get_checked_paths`, and these are
            # among them.
            path = "body" if isinstance(trial.case.expect, RequestExpectation) else "output"
            message = f"the library raised {raised.type}: {raised.message}"
            checks, culprit = [check_rule(path, trial.level, message)], "implementation"
        case RoundTrip(), Observation():
            checks, culprit = check_round_trip(trial, answer, claims)
        case Behavior(), Observation():
            checks, culprit = check_behavior(trial, answer, claims)
        case _:
            needed = "call has an `output`" if isinstance(trial, Call) else "run has an `outcome`"
            return Judgement("faulted", "adapter", reason=f"not-a-message: the answer to a {needed}")
    failed = tuple(check for check in checks if check.verdict != "pass")
    return Judgement(
        decide_verdict(checks),
        culprit if failed else None,
        failed,
        len(checks) - len(failed),
        not_exposed=checked.not_exposed,
        claims=checked.claims,
        unknown_keys=checked.unknown_keys,
    )


def _find_unexposed(trial: Trial, outcome: Outcome, claims: Claims) -> tuple[str, ...]:
    if not trial.expect.fields and not trial.expect.content:
        return ()  # true of compared recordings, of which there may be millions
    return list_unexposed(trial.expect, outcome, claims)


def _add_non_json_checks(trial: Trial, seen: Observation, claims: Claims, checks: list[Check]) -> list[Check]:
    """Return `checks`, replacing each check on a value that JSON cannot represent with a failed one."""
    in_outcome = [pair for pair in seen.not_json if not pair[0].startswith("events.")]
    for place, text in in_outcome or seen.not_json:  # the events repeat the outcome's values
        needed = ("usage",) if ".usage." in place else ("tool_calls", "provider_tools")
        if claims.isdisjoint(needed):
            continue
        path = re.sub(r"^outcome\.(content\.\d+)\.arguments", r"\1.tool_call.arguments", place)
        path = path.removeprefix("outcome.")
        # No check compares a value inside an event with the case, so there is no check to replace.
        if path.startswith("events."):
            message = f"{path} is {text}, which JSON cannot represent"
            return [*checks, check_rule("invariant.json", trial.level, message)]
        # The dots keep a value at `usage.cache_write_1h` from replacing the check on `usage.cache_write`.
        checks = [check for check in checks if not f"{path}.".startswith(f"{check.path}.")]
        checks.append(check_rule(path, trial.level, f"got {text}, which JSON cannot represent", got=text))
    return checks


def _check_invariants(
    trial: Trial, outcome: Outcome, events: Sequence[Event] | None, claims: Claims
) -> Iterator[Check]:
    if "tool_calls" in claims or "provider_tools" in claims:
        yield _make_check(trial, "unique-ids", invariants.check_unique_ids(outcome))
    if events is not None:
        for name, rule in invariants.EVENT_RULES.items():
            yield _make_check(trial, name, rule(outcome, events))


def _check_streaming(
    trial: Trial, events: Sequence[Event], taken: Sequence[int], first_delta: FirstDelta
) -> Check:
    """Return the check that the first delta is emitted before the last chunk is read.

    It also passes if the frame of that delta ends in the last chunk, or if its end is unknown.
    """
    # No delta can be emitted before the only chunk is read.
    if len(trial.chunks) == 1:
        return _make_check(trial, "streaming", None)
    deltas = (n for event, n in zip(events, taken, strict=True) if isinstance(event, BlockDelta))
    # Finding the frame requires parsing the body, so this is done only if the delta was late.
    frame_end = first_delta(trial) if next(deltas, 0) >= len(trial.chunks) else None
    if frame_end is None:
        return _make_check(trial, "streaming", None)
    last_start = sum(map(len, trial.chunks[:-1]))
    message = (
        f"the first delta was emitted only after all {len(trial.chunks)} chunks were read; "
        f"its frame ends at byte {frame_end}, the last chunk begins at {last_start}"
    )
    return _make_check(trial, "streaming", message if frame_end <= last_start else None)


def _make_check(trial: Trial, name: str, message: str | None) -> Check:
    if message is None:
        return _make_passed_check(name, trial.level)
    return check_rule(f"invariant.{name}", trial.level, message)


@cache
def _make_passed_check(name: str, level: Level) -> Check:
    """Return the check for a rule that holds; it is cached, because a run has many identical checks."""
    return Check(path=f"invariant.{name}", level=level, verdict="pass")


def decide_verdict(checks: Sequence[Check]) -> Verdict:
    """Return the worst check's verdict; a difference at level `may` passes."""
    verdicts = {check.verdict for check in checks}
    return "fail" if "fail" in verdicts else "warn" if "warn" in verdicts else "pass"


def serialize_answer(answer: Answer) -> Mapping[str, Any] | None:
    """Return the part of a failed answer to keep in the results."""
    match answer:
        case Observation(outcome, events, earlier=earlier, requests=requests, raised=raised) as seen:
            described = None if raised is None else asdict(raised)
            optional = {
                "raised": described,
                "events": events,
                "earlier": list(earlier) or None,
                "sent": list(requests) or None,
                "outcomes": list(seen.outcomes) if seen.outcomes else None,
            }
            return {"outcome": outcome} | {key: part for key, part in optional.items() if part is not None}
        case Output(value):
            return {"output": value}
        case Errored(_, traceback) if traceback:
            return {"traceback": traceback}
        case ProtocolFault(stderr=lines) if lines:
            return {"stderr": list(lines)}
        case _:
            return None
