"""Explain one trial as text: frames with their events, expected and actual values."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import to_builtins

from streamconform.adapters.interface import Answer, Greeting, Observation, Output, ServerRecord
from streamconform.adapters.program import Collateral
from streamconform.apis import APIS
from streamconform.causes.raised import format_raised, parse_raised
from streamconform.judge import decode
from streamconform.judge.behavior import check_behavior
from streamconform.judge.judge import Judgement, check_observation, check_output, judge, serialize_answer
from streamconform.judge.round_trip import check_round_trip
from streamconform.model.capability import CALLED
from streamconform.model.trial import AS_IS, AnyTrial, Behavior, Call, RoundTrip, Trial
from streamconform.model.verdict import Check
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.reports.describe import (
    VERDICT_LABELS,
    describe_difference,
    describe_provenance,
    format_value,
)
from streamconform.reports.divergence import place_events
from streamconform.reports.server_log import describe_log
from streamconform.reports.style import StyledLine
from streamconform.reports.terminal import STYLES, format_frames
from streamconform.reports.tracebacks import read_traceback
from streamconform.run.blame import MAX_POSITIONS, Blame, load_snapshots
from streamconform.run.dispatch import add_requests, apply_http_checks
from streamconform.suite.evidence import Fact
from streamconform.wire.frames import Frame
from streamconform.wire.framings import split

WIDTH: Final = 110
UNLIMITED: Final = 10**6
"""The width up to which `-v` shows a text in full."""
MAX_FRAMES: Final = 20_000
"""The maximum number of frames to list: more than in any recording, and fewer than in a huge stream."""
HIDDEN_IF_PASSED: Final = re.compile(r"((first|outcome)[.])?(invariant[.]|content[.]length$)")
"""Checks that are shown only if they fail."""
RELEVANT_STYLE: Final = "bold yellow"
WRONG_STYLE: Final = "bold red"
RIGHT_STYLE: Final = "green"
EVENT_STYLE: Final = "cyan"


@dataclass(frozen=True, slots=True)
class ExplainedTrial:
    """A trial or a function call, and the implementation's answer."""

    trial: AnyTrial
    impl: str
    greeting: Greeting
    answer: Answer | Collateral
    framewise: Answer | Collateral | None = None
    """The answer to the same bytes, sent one frame per chunk to show which frame caused each event."""
    server: ServerRecord | None = None
    """What the server saw, if the trial ran over HTTP."""
    facts: tuple[Fact, ...] = ()
    """The facts that support the case."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """The judgement, all checks, and those that did not pass, with their frames."""

    judgement: Judgement | None
    checks: Sequence[Check]
    failed: Sequence[Check]
    diverged: int | None = None


def explain(explained: ExplainedTrial, *, verbose: bool) -> Iterator[StyledLine]:
    """Yield the explanation; `verbose` adds the request and shows payloads in full."""
    trial = explained.trial
    judged = _judge(explained)
    yield StyledLine(f"{trial.id}  ({trial.case.level})", "bold")
    yield from _head_lines(trial, explained.facts, verbose=verbose)
    yield StyledLine("")
    if isinstance(trial, Trial):
        yield from _wire_lines(trial, explained.framewise or explained.answer, judged, verbose=verbose)
        yield StyledLine("")
    name = escape_line(explained.greeting.name)
    yield StyledLine(f"Expected and actual: {name}, {explained.impl}", "bold")
    yield from _verdict_lines(judged, explained.answer, explained.server)


def explain_verdict(explained: ExplainedTrial) -> Iterator[StyledLine]:
    """Yield one line per check, starting with the passed ones, and then the verdict."""
    return _verdict_lines(_judge(explained), explained.answer, explained.server)


def _head_lines(trial: AnyTrial, facts: Sequence[Fact], *, verbose: bool) -> Iterator[StyledLine]:
    case = trial.case
    yield StyledLine(f"  {escape_line(case.title, 200)}")
    if case.why:
        yield StyledLine(f"  {escape_line(case.why, 600)}")
    for number, fact in enumerate(facts):
        yield _label("" if number else "evidence", escape_line(fact.says, 600))
        origin = fact.source or f"observed: {fact.observed}"
        yield _label("", f"{escape_line(origin, 300)}, read {escape_line(fact.read)}")
    rows = {
        "tags": " ".join(sorted(case.tags)),
        "see also": " ".join(case.sources),
        "guards": " ".join(case.guards),
        "spec": f"{case.path}:{case.line}",
        **_describe_input(trial, verbose=verbose),
    }
    for name, text in rows.items():
        if text:
            yield _label(name, text)
    if verbose and isinstance(trial, Trial):
        body = json.dumps(trial.case.cassette.request.body, indent=2, ensure_ascii=False)
        yield from map(StyledLine, body.splitlines())


def _label(name: str, text: str) -> StyledLine:
    head = f"  {name:<9} "
    return StyledLine(head + text, hang=len(head))


def _describe_input(trial: AnyTrial, *, verbose: bool) -> dict[str, str]:
    """Return the implementation's input as a label and a text."""
    width = UNLIMITED if verbose else 600
    if isinstance(trial, Call):
        text = json.dumps(trial.case.input, ensure_ascii=False)
        return {"calls": CALLED[trial.case.kind][0], "input": escape_line(text, width)}
    if isinstance(trial, RoundTrip):
        case = trial.case
        names = [f"{answer.api}/{answer.cassette.name}" for answer in case.answers]
        conversation, turns = (
            json.dumps(value, ensure_ascii=False) for value in (case.conversation, to_builtins(case.turns))
        )
        return {
            "cassettes": ", ".join(names),
            "given": escape_line(conversation, width),
            "turns": escape_line(turns, width),
        }
    if isinstance(trial, Behavior):
        script = {"control": to_builtins(trial.case.control), "server": to_builtins(trial.case.replies)}
        names = [f"{stream.api}/{stream.cassette.name}" for stream in trial.case.streams.values()]
        return {name: escape_line(json.dumps(value), width) for name, value in script.items()} | {
            "cassettes": ", ".join(names)
        }
    cassette, size = trial.case.cassette, len(trial.body)
    over_http = cassette.content_type or "no content type"
    content_type = over_http if trial.transport == "http" else "over a WebSocket"
    return {
        "cassette": f"{cassette.api}/{cassette.name}, {describe_provenance(cassette)}",
        "seen in": trial.case.seen_in or "",
        "request": f"{cassette.request.method} {cassette.request.path}, model {cassette.model}",
        "response": f"status {trial.status}, {content_type}, {size:,} bytes",
    }


def _judge(explained: ExplainedTrial) -> _Judged:
    trial, answer = explained.trial, explained.answer
    if isinstance(answer, Collateral):
        return _Judged(None, [], ())
    claims = explained.greeting.claims(trial.case.api)
    blame = Blame(load_snapshots())
    judgement = judge(trial, answer, claims, blame.find_first_delta)
    if explained.server is not None:
        judgement = apply_http_checks(judgement, trial, answer, explained.server)
    match trial, answer:
        case Trial(), Observation():
            # Again, because a judgement only counts the checks that passed, and the explanation shows them.
            checked = check_observation(trial, answer, claims, blame.find_first_delta)
            failed = blame.add_frames(trial, judgement.checks, claims)
            diverged = None if judgement.verdict == "pass" else _find_divergence(trial, answer, blame)
            return _Judged(judgement, checked.checks, failed, diverged)
        case RoundTrip(), Observation():
            checks, _ = check_round_trip(trial, answer, claims)
            return _Judged(judgement, checks, judgement.checks)
        case Behavior(), Observation():
            checks, _ = check_behavior(trial, answer, claims)
            return _Judged(judgement, checks, judgement.checks)
        case Call(), Output(output):
            return _Judged(judgement, check_output(trial, output), judgement.checks)
        case _:
            return _Judged(judgement, [], judgement.checks)


def _find_divergence(trial: Trial, answer: Observation, blame: Blame) -> int | None:
    """Return the first frame at which the events differ from a correct parser's; None if unknown."""
    snapshots = blame.list_outcomes(trial) if isinstance(answer.events, list) else ()
    # In that case not every frame has a snapshot, and the first wrong event may belong to a frame without a
    # snapshot.
    if not snapshots or len(snapshots) >= MAX_POSITIONS:
        return None
    try:
        return place_events(decode.decode_events(answer.events), snapshots).diverged
    except decode.MalformedError:
        return None


def _wire_lines(
    trial: Trial, answer: Answer | Collateral, judged: _Judged, *, verbose: bool
) -> Iterator[StyledLine]:
    """Yield each frame with its number, offset and time, followed by `→` and the events that it caused."""
    body = trial.body
    frames = split(APIS[trial.case.api].frame_case(trial.case, body), body)
    events_by_frame, last_events = _assign_events(answer, len(frames))
    yield StyledLine(
        "Wire: frame, byte offset, ms since the request; → events from the implementation", "bold"
    )
    relevant = {number for check in judged.failed for number in check.frames}
    if relevant:
        yield StyledLine("  > relevant frames", RELEVANT_STYLE)
    if not frames:
        text = body.decode("utf-8", "replace")
        yield StyledLine(f"  {escape_line(text, 2000 if verbose else 400)}")
    for number, frame in enumerate(frames[:MAX_FRAMES]):
        event_name = f"{frame.event}  " if frame.event else ""
        payload = event_name + frame.payload.decode("utf-8", "replace")
        text = escape_line(payload, UNLIMITED if verbose else WIDTH)
        mark, style = (">", RELEVANT_STYLE) if number in relevant else ("", "")
        time = _format_time(trial, frame)
        head = f"{mark:1}{number:>4} {frame.start:>7} {time:>6}  "
        yield StyledLine(head + text, style, len(head))
        if number == judged.diverged:
            yield StyledLine(f"{'':>22}! first wrong event", WRONG_STYLE)
        for event in events_by_frame.get(number, ()):
            yield StyledLine(f"{'':>22}→ {_format_event(event)}", EVENT_STYLE)
    if len(frames) > MAX_FRAMES:
        yield StyledLine(f"{'':>8}and {format_count(len(frames) - MAX_FRAMES, 'more frame')}")
    if last_events:
        yield StyledLine(f"{'':>8}at the end of the stream")
        for event in last_events:
            yield StyledLine(f"{'':>22}→ {_format_event(event)}", EVENT_STYLE)


def _verdict_lines(
    judged: _Judged, answer: Answer | Collateral, server: ServerRecord | None
) -> Iterator[StyledLine]:
    judgement = judged.judgement
    if judgement is None:
        yield StyledLine("  no answer", WRONG_STYLE)
        return
    failed = {check.path: check for check in judged.failed}
    width = max((len(check.path) for check in judged.checks), default=0)
    for check in judged.checks:
        if check.path not in failed and not HIDDEN_IF_PASSED.match(check.path):
            head = f"   ok {check.path:<{width}}  "
            yield StyledLine(head + format_value(check.got, 80), RIGHT_STYLE, len(head))
    causes = [StyledLine(f"      {line}", WRONG_STYLE) for line in _describe_cause(answer, server)]
    for check in failed.values():
        yield from _failed_check_lines(check, width)
        yield from causes  # Shown right after the first check, because the other checks follow from it.
        causes = []
    yield from causes
    reason = f", {judgement.reason}" if judgement.reason else ""
    style = f"bold {RIGHT_STYLE}" if judgement.verdict == "pass" else WRONG_STYLE
    yield StyledLine(f"verdict: {VERDICT_LABELS[judgement.verdict]}{reason}", style)


def _failed_check_lines(check: Check, width: int) -> Iterator[StyledLine]:
    first, *rest = describe_difference(check)
    style = STYLES.get(check.verdict, WRONG_STYLE)
    head = f"{check.verdict:>5} {check.path:<{width}}  "
    yield StyledLine(head + first, style, len(head))
    margin = " " * len(head)
    for line in rest:
        yield StyledLine(margin + line, hang=len(margin))
    if check.frames:
        yield StyledLine(f"{margin}relevant {format_frames(check.frames)}", RELEVANT_STYLE, len(margin))


def _describe_cause(answer: Answer | Collateral, server: ServerRecord | None) -> Iterator[str]:
    """Yield the library's exception, what the server of a script saw, or the last lines of an error."""
    seen = add_requests(None if isinstance(answer, Collateral) else serialize_answer(answer), server)
    raised = parse_raised((seen or {}).get("raised"))
    if raised is not None:
        yield f"raised {format_raised(raised)}"
    yield from describe_log(seen)
    yield from (f"| {line}" for line in read_traceback(seen))


def _assign_events(answer: Answer | Collateral, frame_count: int) -> tuple[dict[int, list[Any]], list[Any]]:
    """Return the events, grouped by the frame that caused them, and the events at the end of the stream.

    For each event, `taken` contains the number of chunks read when it was emitted. Without `taken`, all
    events are placed at the end.
    """
    if not isinstance(answer, Observation) or not isinstance(answer.events, list):
        return {}, []
    taken = answer.taken if answer.taken and len(answer.taken) == len(answer.events) else None
    if taken is None:
        return {}, answer.events
    events_by_frame: dict[int, list[Any]] = {}
    last_events: list[Any] = []
    for event, chunks in zip(answer.events, taken, strict=True):
        # Bytes after the last frame are one more chunk.
        number = min(chunks, frame_count) - 1
        # An error after the last frame is the reaction to the end of the stream, not to that frame.
        is_error = isinstance(event, dict) and event.get("type") == "error" and chunks >= frame_count
        (last_events if is_error or number < 0 else events_by_frame.setdefault(number, [])).append(event)
    return events_by_frame, last_events


def _format_event(event: Any) -> str:
    if not isinstance(event, dict):
        return format_value(event, WIDTH)
    fields = " ".join(f"{k}={format_value(_drop_nulls(v), 80)}" for k, v in event.items() if k != "type")
    return f"{event.get('type')} {fields}"


def _drop_nulls(value: Any) -> Any:
    """Return `value` without its null members, to save space on a single line."""
    return {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def _format_time(trial: Trial, frame: Frame) -> str:
    """Return the time in ms at which the frame's first byte arrived, or `""` if that was not recorded."""
    marks = trial.case.cassette.marks
    if not marks or trial.delivery != AS_IS:
        return ""
    index = bisect_right([mark.offset for mark in marks], frame.start) - 1
    return str(marks[index].ms)
