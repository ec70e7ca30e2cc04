"""Format the result of a search: frames, expected and actual values, and commands to reproduce it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from streamconform.model.verdict import Check
from streamconform.plural import format_count
from streamconform.printable import escape_line, escape_unprintable
from streamconform.reports.describe import describe_difference
from streamconform.reports.markdown import format_code
from streamconform.wire.framings import MESSAGE_REWRITERS, split
from streamconform_capture.minimise.failure_signature import FailureSignature, generalise_path
from streamconform_capture.minimise.oracle import Candidate
from streamconform_capture.minimise.search import Search
from streamconform_capture.minimise.write import WrittenFiles

MAX_PAYLOAD = 20_000
"""The number of characters printed per payload."""


def render_text(
    search: Search, failures: dict[FailureSignature, Check | None], written: WrittenFiles | None, run: str
) -> str:
    """Return the text for the terminal."""
    return "\n".join(_iter_text_lines(search, failures, written, run))


def render_markdown(search: Search, failures: dict[FailureSignature, Check | None], run: str) -> str:
    """Return Markdown for an issue: the stream as sent, and the differences."""
    best, greeting = search.best, search.greeting
    assert best is not None, "the search found a failure"
    assert greeting is not None, "the search started the program"
    version = f" {greeting.version}" if greeting.version else ""
    case = best.trial.case
    origin = (
        f"From {format_code(search.oracle.original.id if search.oracle else case.id, 300)} of streamconform"
    )
    lines = [
        f"### {format_code(case.api)}: {format_code(_get_signature(search))} fails",
        "",
        f"{format_code(greeting.name + version, 200)}, given this stream {_describe_chunks(best)}:",
        "",
        *_fence(_iter_sent_lines(best)),
        "",
        *(f"- {format_code(line, 400)}" for line in _describe_differences(search, failures)),
        "",
        f"{origin}: {format_code(case.title, 200)}. Reproduce: {format_code(run, 400)}",
    ]
    if case.guards:
        lines.append(f"Reported as: {', '.join(format_code(issue) for issue in case.guards)}")
    return "\n".join(lines)


def _iter_text_lines(
    search: Search, failures: dict[FailureSignature, Check | None], written: WrittenFiles | None, run: str
) -> Iterator[str]:
    best, first, oracle = search.best, search.first, search.oracle
    assert best is not None, "the search found a failure"
    assert first is not None, "the search has an original stream"
    assert oracle is not None, "the search has an oracle"
    yield f"{oracle.original.id}, {escape_line(search.job.connection.impl, 200)}"
    interrupted = "" if search.finished else "; interrupted, so a smaller stream may exist"
    spent = format_count(oracle.budget.trials, "trial")
    yield f"  {_format_size(first)} to {_format_size(best)}, in {spent}{interrupted}"
    yield ""
    yield f"The stream, {_describe_chunks(best)}"
    yield from (f"  {line}".rstrip() for line in _iter_sent_lines(best))
    yield ""
    yield f"Fails at {_get_signature(search)}"
    if oracle.target is not None and generalise_path(oracle.path) != oracle.target.what:
        yield f"  (the case fails at {oracle.path}; compared with the bundled parser, it fails here)"
    yield from (f"  {line}" for line in _describe_differences(search, failures))
    if written is not None:
        yield ""
        yield f"wrote {written.spec}"
        yield f"      {written.cassette}"
    yield f"reproduce: {run}"


def _describe_differences(search: Search, failures: dict[FailureSignature, Check | None]) -> Iterator[str]:
    target = search.oracle.target if search.oracle is not None else None
    # `failures` comes from a run after the search, in which a nondeterministic implementation may pass.
    if target not in failures:
        yield "not deterministic: the implementation did not fail when the stream was run once more"
        return
    check = failures[target]
    if check is None:
        yield escape_line(search.reason or str(target), 400)
        return
    first, *more = describe_difference(check)
    yield f"{escape_line(check.path, 200)}: {first}"
    yield from (f"  {line}" for line in more)


def _get_signature(search: Search) -> str:
    target = search.oracle.target if search.oracle is not None else None
    return escape_line("" if target is None else target.what, 200)


def _format_size(candidate: Candidate) -> str:
    return f"{format_count(candidate.frame_count, 'frame')}, {len(candidate.trial.body):,} bytes"


def _describe_chunks(candidate: Candidate) -> str:
    chunks = candidate.trial.chunks
    if chunks == candidate.split_framewise() and len(chunks) > 1:
        return "in one chunk per frame"
    if len(chunks) == 1:
        return "in one chunk"
    starts = [0]
    for chunk in chunks[:-1]:
        starts.append(starts[-1] + len(chunk))
    offsets = ", ".join(map(str, starts[1:9])) + (", …" if len(starts) > 9 else "")
    return f"in {len(chunks)} chunks, split before byte {offsets}"


def _iter_sent_lines(candidate: Candidate) -> Iterator[str]:
    """Yield the escaped lines of the body; for binary messages, their payloads."""
    stream, body = candidate.stream, candidate.trial.body
    if stream.framing in MESSAGE_REWRITERS:
        for frame in split(stream.framing, body):
            payload = frame.payload.decode("utf-8", "backslashreplace")
            yield f"{frame.event}: {escape_line(payload, MAX_PAYLOAD)}"
        return
    for line in body.decode("utf-8", "backslashreplace").rstrip("\n").split("\n"):
        yield escape_unprintable(line[:MAX_PAYLOAD])


def _fence(lines: Iterator[str]) -> Iterator[str]:
    body = [*lines]
    fence = "```"
    while any(fence in line for line in body):
        fence += "`"
    yield f"{fence}text"
    yield from body
    yield fence
