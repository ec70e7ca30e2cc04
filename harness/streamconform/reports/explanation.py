"""One trial in full, as text: frames with offsets and times, events beside them, expected and actual."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streamconform.adapters.interface import Answer, Greeting, Observation
from streamconform.adapters.program import Collateral
from streamconform.judge.judge import checks_of, judge
from streamconform.model.cassette import Authored, Cassette, Derived, Recorded
from streamconform.model.trial import Trial
from streamconform.model.verdict import Check
from streamconform.reports.terminal import frames as frame_words
from streamconform.reports.words import difference, printable, value
from streamconform.run.blame import Blame, installed
from streamconform.wire.apis import framing, split
from streamconform.wire.frames import Frame

WIDTH = 110


@dataclass(frozen=True, slots=True)
class Explained:
    """A trial whose chunks end where its frames end, and what an implementation answered."""

    trial: Trial
    impl: str
    greeting: Greeting
    answer: Answer | Collateral


def explain(given: Explained, *, verbose: bool) -> str:
    """Return the explanation; `verbose` shows payloads whole, and the request."""
    parts = [_head(given.trial, verbose=verbose), _wire(given, verbose=verbose), _verdict(given)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(trial: Trial, *, verbose: bool) -> Iterator[str]:
    case, cassette, size = trial.case, trial.case.cassette, len(trial.body)
    yield f"{case.id}@{trial.delivery}  ({case.level})"
    yield f"  {printable(case.title, 200)}"
    if case.why:
        yield f"  {printable(case.why, 600)}"
    rows = {
        "tags": " ".join(sorted(case.tags)),
        "sources": " ".join(case.sources),
        "guards": " ".join(case.guards),
        "spec": f"{case.path}:{case.line}",
        "cassette": f"{cassette.api}/{cassette.name}, {_provenance(cassette)}",
        "request": f"{cassette.request.method} {cassette.request.path}, model {cassette.model}",
        "response": f"status {cassette.status}, {cassette.content_type or 'no type'}, {size} bytes",
    }
    for name, text in rows.items():
        if text:
            yield f"  {name:<9} {text}"
    if verbose:
        yield from json.dumps(cassette.request.body, indent=2, ensure_ascii=False).splitlines()


def _wire(given: Explained, *, verbose: bool) -> Iterator[str]:
    """Yield each frame with its number, offset and time, and behind `→` the events that it caused."""
    trial, body = given.trial, given.trial.body
    frames = split(framing(trial.case.api, trial.case.cassette.status, body), body)
    beside, rest = _events(given, len(frames))
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


def _verdict(given: Explained) -> Iterator[str]:
    trial, answer = given.trial, given.answer
    claims = given.greeting.claims(trial.case.api)
    yield f"Expected beside actual: {printable(given.greeting.name)}, {given.impl}"
    if isinstance(answer, Collateral):
        yield "  no answer"
        return
    blame = Blame(installed())
    judgement = judge(trial, answer, claims, blame.first_delta)
    checks: list[Check] = []
    if isinstance(answer, Observation):
        checks, _ = checks_of(trial, answer, claims, blame.first_delta)
    failed = {check.path: check for check in blame.told(trial, judgement.checks, claims)}
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


def _events(given: Explained, count: int) -> tuple[dict[int, list[Any]], list[Any]]:
    """Return the events by the frame that caused them, and those that came at the end of the stream.

    Without the adapter's word on when each event came out, all of them are at the end.
    """
    answer = given.answer
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
