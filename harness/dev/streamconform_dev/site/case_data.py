"""The content of a case's page, within limits: its streams frame by frame, its input, and its spec text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from streamconform.apis import APIS
from streamconform.model.case import AnyCase, BehaviorCase, CallCase, Case, RoundTripCase
from streamconform.plural import format_count
from streamconform.printable import escape_line, escape_lines
from streamconform.reports.describe import describe_provenance
from streamconform.wire.framings import split
from streamconform_dev.checkout import ROOT

MAX_FRAMES: Final = 80
MAX_FRAME: Final = 900
"""The maximum number of characters shown of a frame."""
MAX_BODY: Final = 12_000
"""The maximum number of characters shown of a body without frames, or of a request."""
MAX_SPEC_LINES: Final = 90


@dataclass(frozen=True, slots=True)
class FrameView:
    """One frame as text."""

    number: int
    start: int
    event: str
    payload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamView:
    """A request and its answer."""

    title: str
    request: str
    request_body: str
    status: int
    content_type: str
    size: int
    provenance: str
    frames: tuple[FrameView, ...]
    text: str
    """The body, if it has no frames."""
    omitted: str
    """A sentence about the parts left out; empty if everything is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDetails:
    """Everything about a case except its results."""

    path: str
    """The path of its spec in the repository."""
    spec: str
    """Its text there."""
    streams: tuple[StreamView, ...]
    input: str
    """The input of a function or the conversation of a round trip, as JSON; empty for a stream."""


def describe_case(case: AnyCase) -> CaseDetails:
    """Return the details of a case."""
    path = Path(case.path)
    streams: tuple[StreamView, ...] = ()
    value: Any = None
    match case:
        case Case():
            streams = (_view_stream(case, "The stream" if case.stream else "The answer"),)
        case RoundTripCase():
            value = {"conversation": case.conversation, "turns": to_builtins(case.turns)}
            streams = tuple(
                _view_stream(answer, f"Answer {number}") for number, answer in enumerate(case.answers, 1)
            )
        case BehaviorCase():
            value = {"control": to_builtins(case.control), "server": to_builtins(case.replies)}
            streams = tuple(_view_stream(stream, f"Stream {role}") for role, stream in case.streams.items())
        case CallCase():
            value = case.input
    return CaseDetails(
        path=path.relative_to(ROOT).as_posix(),
        spec=_read_entry(path, case.line),
        streams=streams,
        input="" if value is None else _format_json(value),
    )


def _view_stream(case: Case, title: str) -> StreamView:
    cassette = case.cassette
    body = cassette.body
    frames = split(APIS[case.api].frame_case(case, body), body)
    text = "" if frames else body.decode("utf-8", "replace")
    omitted = ""
    if len(frames) > MAX_FRAMES:
        omitted = (
            f"{format_count(len(frames) - MAX_FRAMES, 'more frame')}; `conform explain` shows all of them."
        )
    elif len(text) > MAX_BODY:
        omitted = f"{format_count(len(text) - MAX_BODY, 'more character')}."
    return StreamView(
        title=title,
        request=escape_line(f"{cassette.request.method} {cassette.request.path}"),
        request_body=_format_json(cassette.request.body),
        status=cassette.status,
        content_type=cassette.content_type,
        size=len(body),
        provenance=describe_provenance(cassette),
        frames=tuple(
            FrameView(
                number,
                frame.start,
                escape_line(frame.event or ""),
                escape_line(frame.payload.decode("utf-8", "backslashreplace"), MAX_FRAME),
            )
            for number, frame in enumerate(frames[:MAX_FRAMES])
        ),
        text=escape_lines(text[:MAX_BODY]),
        omitted=omitted,
    )


def _format_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return escape_lines(text if len(text) <= MAX_BODY else f"{text[:MAX_BODY]}\n…")


def _read_entry(path: Path, line: int) -> str:
    """Return the lines of the entry that begins at `line`, without those of the next one."""
    return "\n".join(_list_entry_lines(path.read_text("utf-8").splitlines()[line - 1 :])).rstrip()


def _list_entry_lines(lines: list[str]) -> Iterator[str]:
    indent = len(lines[0]) - len(lines[0].lstrip())
    for number, line in enumerate(lines):
        if number and line.strip() and len(line) - len(line.lstrip()) <= indent:
            return
        if number == MAX_SPEC_LINES:
            yield "…"
            return
        yield line[indent:]
