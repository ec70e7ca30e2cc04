"""One trial in full, as text: frames with offsets and times, events beside them, expected and actual."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamconform.adapters.interface import Answer, Greeting, Observation, Output
from streamconform.adapters.program import Collateral
from streamconform.apis import APIS
from streamconform.judge import decode
from streamconform.judge.judge import Judgement, check_observation, check_output, judge
from streamconform.judge.round_trip import check_round_trip
from streamconform.model.capability import CALLED
from streamconform.model.trial import AnyTrial, Call, RoundTrip, Trial
from streamconform.model.verdict import Check
from streamconform.replay.exchange import TrialExchange
from streamconform.reports.divergence import place
from streamconform.reports.style import Line
from streamconform.reports.terminal import STYLES
from streamconform.reports.terminal import frames as frame_words
from streamconform.reports.words import difference, printable, provenance, value
from streamconform.run.blame import MAX_POSITIONS, Blame, installed
from streamconform.run.dispatch import over_http
from streamconform.wire.frames import Frame
from streamconform.wire.framings import split

WIDTH = 110
UNSHOWN = re.compile(r"((first|outcome)[.])?(invariant[.]|content[.]length$)")
"""Checks that are not worth a line where they hold."""
DECIDED = "bold yellow"
WRONG = "bold red"
RIGHT = "green"
EVENT = "cyan"


@dataclass(frozen=True, slots=True)
class Explained:
    """A trial or a call, and what an implementation answered."""

    trial: AnyTrial
    impl: str
    greeting: Greeting
    answer: Answer | Collateral
    framewise: Answer | Collateral | None = None
    """What it answered to the same bytes, a chunk a frame: so each event stands beside its frame."""
    exchange: TrialExchange | None = None
    """Over HTTP what it asked the server."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What was judged: every check, and those that did not pass with their frames."""

    judgement: Judgement | None
    checks: Sequence[Check]
    failed: Sequence[Check]
    departed: int | None = None


def explain(given: Explained, *, verbose: bool) -> Iterator[Line]:
    """Yield the explanation; `verbose` shows payloads whole, and the request."""
    trial = given.trial
    found = _judged(given)
    yield Line(f"{trial.id}  ({trial.case.level})", "bold")
    yield from map(Line, _head(trial, verbose=verbose))
    yield Line("")
    if isinstance(trial, Trial):
        yield from _wire(trial, given.framewise or given.answer, found, verbose=verbose)
        yield Line("")
    yield Line(f"Expected beside actual: {printable(given.greeting.name)}, {given.impl}", "bold")
    yield from _verdict(found)


def verdict(given: Explained) -> Iterator[Line]:
    """Yield a line for each check, those that did not pass last, and the verdict."""
    return _verdict(_judged(given))


def _head(trial: AnyTrial, *, verbose: bool) -> Iterator[str]:
    case = trial.case
    yield f"  {printable(case.title, 200)}"
    if case.why:
        yield f"  {printable(case.why, 600)}"
    rows = {
        "tags": " ".join(sorted(case.tags)),
        "sources": " ".join(case.sources),
        "guards": " ".join(case.guards),
        "spec": f"{case.path}:{case.line}",
        **_about(trial, verbose=verbose),
    }
    for name, text in rows.items():
        if text:
            yield f"  {name:<9} {text}"
    if verbose and isinstance(trial, Trial):
        yield from json.dumps(trial.case.cassette.request.body, indent=2, ensure_ascii=False).splitlines()


def _about(trial: AnyTrial, *, verbose: bool) -> dict[str, str]:
    """Return what is given to the implementation, by name."""
    if isinstance(trial, Call):
        text = json.dumps(trial.case.input, ensure_ascii=False)
        return {"calls": CALLED[trial.case.kind][0], "input": printable(text, 10**6 if verbose else 600)}
    if isinstance(trial, RoundTrip):
        case = trial.case
        named = [f"{each.api}/{each.cassette.name}" for each in (case.first, case.second)]
        text, results = (json.dumps(each, ensure_ascii=False) for each in (case.conversation, case.results))
        return {
            "cassettes": ", ".join(named),
            "given": printable(text, 10**6 if verbose else 600),
            "results": printable(results, 10**6 if verbose else 600),
        }
    cassette, size = trial.case.cassette, len(trial.body)
    return {
        "cassette": f"{cassette.api}/{cassette.name}, {provenance(cassette)}",
        "request": f"{cassette.request.method} {cassette.request.path}, model {cassette.model}",
        "response": f"status {cassette.status}, {cassette.content_type or 'no type'}, {size} bytes",
    }


def _judged(given: Explained) -> _Found:
    trial, answer = given.trial, given.answer
    if isinstance(answer, Collateral):
        return _Found(None, [], ())
    claims = given.greeting.claims(trial.case.api)
    blame = Blame(installed())
    judgement = judge(trial, answer, claims, blame.first_delta)
    if given.exchange is not None:
        judgement = over_http(judgement, given.exchange, answer)
    match trial, answer:
        case Trial(), Observation():
            checks, _ = check_observation(trial, answer, claims, blame.first_delta)
            told = blame.told(trial, judgement.checks, claims)
            wrong = judgement.verdict != "pass"
            return _Found(judgement, checks, told, _departed(trial, answer, blame) if wrong else None)
        case RoundTrip(), Observation():
            checks, _ = check_round_trip(trial, answer, claims)
            return _Found(judgement, checks, judgement.checks)
        case Call(), Output(output):
            return _Found(judgement, check_output(trial, output), judgement.checks)
        case _:
            return _Found(judgement, [], judgement.checks)


def _departed(trial: Trial, answer: Observation, blame: Blame) -> int | None:
    """Return the first frame at which the events are not what a right parser says; None: nobody knows."""
    positions = blame.outcomes(trial) if isinstance(answer.events, list) else ()
    if not positions or len(positions) >= MAX_POSITIONS:
        return None
    try:
        return place(decode.decode_events(answer.events), positions).departed
    except decode.MalformedError:
        return None


def _wire(trial: Trial, answer: Answer | Collateral, found: _Found, *, verbose: bool) -> Iterator[Line]:
    """Yield each frame with its number, offset and time, and behind `→` the events that it caused."""
    body = trial.body
    frames = split(APIS[trial.case.api].detect_framing(trial.case.cassette.status, body), body)
    beside, rest = _events(answer, len(frames))
    yield Line("Wire: frame, byte offset, ms since the request; → what the implementation made of it", "bold")
    decided = {number for check in found.failed for number in check.frames}
    if decided:
        yield Line("  > frames that decided what is wrong", DECIDED)
    if not frames:
        yield Line(f"  {printable(body.decode('utf-8', 'replace'), 2000 if verbose else 400)}")
    for number, frame in enumerate(frames):
        name = f"{frame.event}  " if frame.event else ""
        text = name + frame.payload.decode("utf-8", "replace")
        shown = printable(text, 10**6 if verbose else WIDTH)
        mark, style = (">", DECIDED) if number in decided else ("", "")
        yield Line(f"{mark:1}{number:>4} {frame.start:>7} {_time(trial, frame):>6}  {shown}", style)
        if number == found.departed:
            yield Line(
                f"{'':>22}! the first frame at which its events depart from what the stream says", WRONG
            )
        for event in beside.get(number, ()):
            yield Line(f"{'':>22}→ {_event(event)}", EVENT)
    if rest:
        yield Line(f"{'':>8}at the end of the stream")
        for event in rest:
            yield Line(f"{'':>22}→ {_event(event)}", EVENT)


def _verdict(found: _Found) -> Iterator[Line]:
    judgement = found.judgement
    if judgement is None:
        yield Line("  no answer", WRONG)
        return
    failed = {check.path: check for check in found.failed}
    width = max((len(check.path) for check in found.checks), default=0)
    for check in found.checks:
        if check.path not in failed and not UNSHOWN.match(check.path):
            yield Line(f"   ok {check.path:<{width}}  {value(check.got, 80)}", RIGHT)
    for check in failed.values():
        yield from _failed(check, width)
    why = f", {judgement.reason}" if judgement.reason else ""
    good = judgement.verdict == "pass"
    yield Line(f"verdict: {judgement.verdict}{why}", f"bold {RIGHT}" if good else WRONG)


def _failed(check: Check, width: int) -> Iterator[Line]:
    first, *more = difference(check)
    yield Line(f"{check.verdict:>5} {check.path:<{width}}  {first}", STYLES.get(check.verdict, WRONG))
    for words in more:
        yield Line(f"      {'':<{width}}  {words}")
    if check.frames:
        yield Line(f"      {'':<{width}}  decided by {frame_words(check.frames)}", DECIDED)


def _events(answer: Answer | Collateral, count: int) -> tuple[dict[int, list[Any]], list[Any]]:
    """Return the events by the frame that caused them, and those that came at the end of the stream.

    Without the adapter's word on when each event came out, all of them are at the end.
    """
    if not isinstance(answer, Observation) or not isinstance(answer.events, list):
        return {}, []
    taken = answer.taken if answer.taken and len(answer.taken) == len(answer.events) else None
    if taken is None:
        return {}, answer.events
    beside: dict[int, list[Any]] = {}
    rest: list[Any] = []
    for event, chunks in zip(answer.events, taken, strict=True):
        number = min(chunks, count) - 1
        ended = isinstance(event, dict) and event.get("type") == "error" and chunks >= count
        (rest if ended or number < 0 else beside.setdefault(number, [])).append(event)
    return beside, rest


def _event(event: Any) -> str:
    if not isinstance(event, dict):
        return value(event, WIDTH)
    fields = " ".join(f"{k}={value(_told(v), 80)}" for k, v in event.items() if k != "type")
    return f"{event.get('type')} {fields}"


def _told(given: Any) -> Any:
    """Return `given` without what it leaves open, for a line that has little room."""
    return {k: v for k, v in given.items() if v is not None} if isinstance(given, dict) else given


def _time(trial: Trial, frame: Frame) -> str:
    """Return when the chunk came in which the frame begins, where that was recorded."""
    marks = trial.case.cassette.marks
    if not marks or trial.delivery != "recorded":
        return ""
    at = bisect_right([mark.offset for mark in marks], frame.start) - 1
    return str(marks[at].ms)
