"""One trial in full, as text: frames with offsets and times, events beside them, expected and actual."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streamconform.adapters.interface import Answer, Greeting, Observation, Output
from streamconform.adapters.program import Collateral
from streamconform.judge.judge import check_output, checks_of, judge
from streamconform.model.cassette import Authored, Cassette, Derived, Recorded
from streamconform.model.trial import AnyTrial, Call, Trial
from streamconform.model.verdict import Check
from streamconform.replay.exchange import Exchange
from streamconform.reports.terminal import frames as frame_words
from streamconform.reports.words import difference, printable, value
from streamconform.run.asking import over_http
from streamconform.run.blame import Blame, installed
from streamconform.wire.apis import framing, split
from streamconform.wire.frames import Frame

WIDTH = 110


@dataclass(frozen=True, slots=True)
class Explained:
    """A trial or a call, and what an implementation answered."""

    trial: AnyTrial
    impl: str
    greeting: Greeting
    answer: Answer | Collateral
    framewise: Answer | Collateral | None = None
    """What it answered to the same bytes, a chunk a frame: so each event stands beside its frame."""
    exchange: Exchange | None = None
    """Over HTTP what it asked the server."""


def explain(given: Explained, *, verbose: bool) -> str:
    """Return the explanation; `verbose` shows payloads whole, and the request."""
    trial = given.trial
    who = f"Expected beside actual: {printable(given.greeting.name)}, {given.impl}"
    parts = [_head(trial, verbose=verbose), (who, *verdict(given))]
    if isinstance(trial, Trial):
        parts.insert(1, _wire(trial, given.framewise or given.answer, verbose=verbose))
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(trial: AnyTrial, *, verbose: bool) -> Iterator[str]:
    case = trial.case
    yield f"{trial.id}  ({case.level})"
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
        return {"calls": trial.case.function, "input": printable(text, 10**6 if verbose else 600)}
    cassette, size = trial.case.cassette, len(trial.body)
    return {
        "cassette": f"{cassette.api}/{cassette.name}, {_provenance(cassette)}",
        "request": f"{cassette.request.method} {cassette.request.path}, model {cassette.model}",
        "response": f"status {cassette.status}, {cassette.content_type or 'no type'}, {size} bytes",
    }


def _wire(trial: Trial, answer: Answer | Collateral, *, verbose: bool) -> Iterator[str]:
    """Yield each frame with its number, offset and time, and behind `→` the events that it caused."""
    body = trial.body
    frames = split(framing(trial.case.api, trial.case.cassette.status, body), body)
    beside, rest = _events(answer, len(frames))
    yield "Wire: frame, byte offset, ms since the request; → what the implementation made of it"
    if not frames:
        yield f"  {printable(body.decode('utf-8', 'replace'), 2000 if verbose else 400)}"
    for number, frame in enumerate(frames):
        name = f"{frame.event}  " if frame.event else ""
        text = name + frame.payload.decode("utf-8", "replace")
        shown = printable(text, 10**6 if verbose else WIDTH)
        yield f"{number:>5} {frame.start:>7} {_time(trial, frame):>6}  {shown}"
        for event in beside.get(number, ()):
            yield f"{'':>22}→ {_event(event)}"
    if rest:
        yield f"{'':>8}at the end of the stream"
        for event in rest:
            yield f"{'':>22}→ {_event(event)}"


def verdict(given: Explained) -> Iterator[str]:
    """Yield a line for each check, those that did not pass last, and the verdict."""
    trial, answer = given.trial, given.answer
    claims = given.greeting.claims(trial.case.api)
    if isinstance(answer, Collateral):
        yield "  no answer"
        return
    blame = Blame(installed())
    judgement = judge(trial, answer, claims, blame.first_delta)
    if given.exchange is not None:
        judgement = over_http(judgement, given.exchange, answer)
    checks: list[Check] = []
    told = judgement.checks
    match trial, answer:
        case Trial(), Observation():
            checks, _ = checks_of(trial, answer, claims, blame.first_delta)
            told = blame.told(trial, told, claims)
        case Call(), Output(output):
            checks = [check_output(trial, output)]
        case _:
            pass
    failed = {check.path: check for check in told}
    width = max((len(check.path) for check in checks), default=0)
    for check in checks:
        if (
            check.path not in failed
            and not check.path.startswith("invariant.")
            and check.path != "content.length"
        ):
            yield f"   ok {check.path:<{width}}  {value(check.got, 80)}"
    for check in failed.values():
        yield from _failed(check, width)
    yield f"verdict: {judgement.verdict}" + (f", {judgement.reason}" if judgement.reason else "")


def _failed(check: Check, width: int) -> Iterator[str]:
    first, *more = difference(check)
    yield f"{check.verdict:>5} {check.path:<{width}}  {first}"
    for words in more:
        yield f"      {'':<{width}}  {words}"
    if check.frames:
        yield f"      {'':<{width}}  decided by {frame_words(check.frames)}"


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


def _provenance(cassette: Cassette) -> str:
    match cassette.provenance:
        case Recorded(server=server, model=model, date=date):
            return f"recorded {date} from {server}, model {model}"
        case Derived(source=source, recipe=recipe):
            return f"derived from {source}: {recipe}"
        case Authored(source=source):
            return f"authored from {source}"
