"""The wire of a trial as JSON values: bytes, frames, chunk marks, times. Pure; the page draws it."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from streamconform.apis import APIS
from streamconform.model.capability import CALLED
from streamconform.model.case import AnyCase, Case, RoundTripCase
from streamconform.model.trial import Trial
from streamconform.reports.words import provenance
from streamconform.wire.frames import Frame
from streamconform.wire.framings import split

MAX_BODY: Final = 192 * 1024
"""Bytes of a body that a page holds; of a longer one the beginning."""
MAX_FRAMES: Final = 3000
MAX_MARKS: Final = 4000
"""Chunk marks that are listed."""
MAX_INPUT: Final = 64 * 1024


def wire(trial: Trial) -> dict[str, Any]:
    """Return what came over the wire; `size` and `count` tell how much there was where it is cut.

    A frame is `[start, end, payload start, payload end, event]`; where the payload does not stand in the
    body in one piece, it follows as base64. `chunks` are the offsets at which reads began, null where each
    byte was one.
    """
    body = trial.body
    shown = body[:MAX_BODY]
    framed = APIS[trial.case.api].detect_framing(trial.case.cassette.status, body)
    frames = split(framed, body)
    listed = [each for each in frames[:MAX_FRAMES] if each.start < len(shown)]
    bytewise = len(trial.chunks) == len(body) > 1
    return {
        "framing": framed,
        "size": len(body),
        "body": _text(shown),
        "count": len(frames),
        "frames": [_frame(each, len(shown)) for each in listed],
        "chunks": None if bytewise else _offsets(trial.chunks),
        "reads": len(trial.chunks),
        "times": _times(trial),
        "broken": trial.derived is not None,
    }


def about(case: AnyCase) -> dict[str, Any]:
    """Return what a case says of itself, and of the exchange or the call that it is about."""
    told: dict[str, Any] = {
        "why": case.why,
        "sources": case.sources,
        "guards": case.guards,
        "spec": f"{'/'.join(case.path.split('/')[-2:])}:{case.line}",
    }
    if isinstance(case, RoundTripCase):
        names = ", ".join(f"{case.api}/{each.cassette.name}" for each in (case.first, case.second))
        given = {"conversation": case.conversation, "results": case.results}
        return told | {"function": f"a round trip: {names}", "input": _clipped(given)}
    if not isinstance(case, Case):
        return told | {"function": CALLED[case.kind][0], "input": _clipped(case.input)}
    cassette = case.cassette
    return told | {
        "cassette": f"{cassette.api}/{cassette.name}",
        "provenance": provenance(cassette),
        "request": f"{cassette.request.method} {cassette.request.path}",
        "asked": _clipped(cassette.request.body),
        "model": cassette.model,
        "status": cassette.status,
        "headers": dict(cassette.headers),
    }


def clip(text: str, width: int) -> str:
    """Return the beginning of `text`, with a word on how much is missing."""
    return text if len(text) <= width else f"{text[:width]} … [{len(text) - width} more characters]"


def _clipped(given: Any) -> Any:
    """Return JSON as it is, or where it is large the beginning of its text."""
    text = json.dumps(given, ensure_ascii=False, indent=2)
    return given if len(text) <= MAX_INPUT else clip(text, MAX_INPUT)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _frame(frame: Frame, size: int) -> list[Any]:
    told: list[Any] = [frame.start, min(frame.end, size)]
    if frame.value is None:
        return [*told, None, None, frame.event, _text(frame.payload[:MAX_BODY])]
    start, end = frame.value
    return [*told, start, min(end, size), frame.event]


def _offsets(chunks: tuple[bytes, ...]) -> list[int]:
    found, at = [], 0
    for chunk in chunks[:MAX_MARKS]:
        found.append(at)
        at += len(chunk)
    return found


def _times(trial: Trial) -> list[list[int]]:
    """Return (offset, ms since the request) of each read, where that was recorded and is what was sent."""
    if trial.delivery != "recorded":
        return []
    return [[mark.offset, mark.ms] for mark in trial.case.cassette.marks[:MAX_MARKS]]
