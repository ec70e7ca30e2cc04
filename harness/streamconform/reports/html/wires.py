"""The wire of a trial as JSON values: bytes, frames, chunk marks and times. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import to_builtins

from streamconform.apis import APIS
from streamconform.model.capability import CALLED
from streamconform.model.case import AnyCase, BehaviorCase, Case, RoundTripCase
from streamconform.model.trial import AS_IS, Trial, is_fault
from streamconform.reports.describe import describe_provenance
from streamconform.suite.evidence import Fact
from streamconform.wire.frames import Frame
from streamconform.wire.framings import split

MAX_BODY: Final = 192 * 1024
"""The maximum number of bytes to show of a body; only the beginning of a longer body is on the page."""
MAX_FRAMES: Final = 3000
MAX_CHUNKS: Final = 4000
"""The maximum number of chunk sizes and times to list."""
MAX_INPUT: Final = 64 * 1024
"""The maximum number of characters to show of a request body or a function's input."""


def body_to_json(trial: Trial) -> dict[str, Any]:
    """Return `trial`'s bytes and how they are framed; `size` and `count` describe the whole body.

    A frame is `[bytes since the last frame, size, bytes before the payload, bytes after it, event]`. If the
    payload is not one contiguous piece of the body, both numbers are null, and it follows as base64. The
    bytes are text under `text`, or base64 under `base64` if they are not valid UTF-8: text compresses better.
    """
    body = trial.body
    shown = body[:MAX_BODY]
    framing_name = APIS[trial.case.api].frame_case(trial.case, body)
    frames = split(framing_name, body)
    shown_frames = [frame for frame in frames[:MAX_FRAMES] if frame.start < len(shown)]
    return {
        "framing": framing_name,
        "size": len(body),
        "shown": len(shown),
        **_bytes_to_json(shown),
        "count": len(frames),
        "frames": list(_frames_to_json(shown_frames, body, len(shown))),
    }


def wire_to_json(trial: Trial, body: int) -> dict[str, Any]:
    """Return how `trial`'s bytes were sent; `body` is the number of its body on the page.

    `chunks` are the sizes of the reads, or null if every read was one byte.
    """
    # The sizes of single bytes would take several times the space of the body.
    is_bytewise = len(trial.chunks) == len(trial.body) > 1
    return {
        "body": body,
        "chunks": None if is_bytewise else [len(chunk) for chunk in trial.chunks[:MAX_CHUNKS]],
        "reads": len(trial.chunks),
        "times": _list_times(trial),
        "broken": is_fault(trial.delivery),
    }


def case_to_json(case: AnyCase, facts: Sequence[Fact] = ()) -> dict[str, Any]:
    """Return a case's description, the facts that support it, and its exchange or function input."""
    document: dict[str, Any] = {
        "why": case.why,
        "evidence": [[fact.says, fact.source or fact.observed, fact.read] for fact in facts],
        "sources": case.sources,
        "guards": case.guards,
        "spec": f"{'/'.join(case.path.split('/')[-2:])}:{case.line}",
    }
    if isinstance(case, RoundTripCase):
        names = ", ".join(f"{case.api}/{answer.cassette.name}" for answer in case.answers)
        value = {"conversation": case.conversation, "turns": to_builtins(case.turns)}
        return document | {"function": f"a round trip: {names}", "input": _limit_json(value)}
    if isinstance(case, BehaviorCase):
        value = {"control": to_builtins(case.control), "server": to_builtins(case.replies)}
        return document | {"function": "a script of requests and answers", "input": _limit_json(value)}
    if not isinstance(case, Case):
        return document | {"function": CALLED[case.kind][0], "input": _limit_json(case.input)}
    cassette = case.cassette
    return document | {
        "cassette": f"{cassette.api}/{cassette.name}",
        "provenance": describe_provenance(cassette),
        "request": f"{cassette.request.method} {cassette.request.path}",
        "body": _limit_json(cassette.request.body),
        "model": cassette.model,
        "status": cassette.status,
        "headers": dict(cassette.headers),
    }


def limit_text(text: str, width: int) -> str:
    """Return the first `width` characters of `text`, and the number of characters left out."""
    return text if len(text) <= width else f"{text[:width]} … [{len(text) - width:,} more characters]"


def _limit_json(value: Any) -> Any:
    """Return `value`, or only the beginning of its JSON text if that text is long."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return value if len(text) <= MAX_INPUT else limit_text(text, MAX_INPUT)


def _bytes_to_json(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": _encode(data)}


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _frames_to_json(frames: Sequence[Frame], body: bytes, size: int) -> Iterator[list[Any]]:
    """Yield each frame relative to the one before it: in numbers that repeat, which compress well."""
    before = 0
    for frame in frames:
        end = min(frame.end, size)
        span = [frame.start - before, end - frame.start]
        start, value_end = frame.value or (0, 0)
        if frame.value is None or body[start:value_end] != frame.payload:
            yield [*span, None, None, frame.event, _encode(frame.payload[:MAX_BODY])]
        else:
            yield [*span, start - frame.start, end - min(value_end, size), frame.event]
        before = end


def _list_times(trial: Trial) -> list[list[int]]:
    """Return [offset, ms since the request] of each read; only the `as-is` delivery has recorded times."""
    if trial.delivery != AS_IS:
        return []
    return [[mark.offset, mark.ms] for mark in trial.case.cassette.marks[:MAX_CHUNKS]]
