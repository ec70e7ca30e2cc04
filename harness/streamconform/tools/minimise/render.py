"""Format the result of a search: frames, expected and actual values, and how to reproduce it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from streamconform.model.verdict import Check
from streamconform.printable import escape_line, escape_unprintable
from streamconform.reports.describe import describe_difference, format_count
from streamconform.reports.markdown import format_code
from streamconform.tools.minimise.failure_signature import FailureSignature, generalise_path
from streamconform.tools.minimise.oracle import Candidate
from streamconform.tools.minimise.search import Search
from streamconform.tools.minimise.write import Written
from streamconform.wire.framings import split

PAYLOAD_MAX = 20_000
"""Characters of one payload that are shown."""


def text(
    search: Search, wrong: dict[FailureSignature, Check | None], written: Written | None, run: str
) -> str:
    """Return the text for the terminal."""
    return "\n".join(_text(search, wrong, written, run))


def markdown(search: Search, wrong: dict[FailureSignature, Check | None], run: str) -> str:
    """Return Markdown for an issue: the stream as sent, and the differences."""
    best, greeting = search.best, search.greeting
    assert best is not None, "something was found"
    assert greeting is not None, "it was greeted"
    version = f" {greeting.version}" if greeting.version else ""
    case = best.trial.case
    seen = f"From {format_code(search.oracle.given.id if search.oracle else case.id, 300)} of streamconform"
    lines = [
        f"### {format_code(case.api)}: {format_code(_get_signature(search))} is wrong",
        "",
        f"{format_code(greeting.name + version, 200)}, fed {_describe_chunks(best)}:",
        "",
        *_fence(_iter_sent_lines(best)),
        "",
        *(f"- {format_code(each, 400)}" for each in _describe_differences(search, wrong)),
        "",
        f"{seen}: {format_code(case.title, 200)}. To see it: {format_code(run, 400)}",
    ]
    if case.guards:
        lines.append(f"Known from: {', '.join(format_code(each) for each in case.guards)}")
    return "\n".join(lines)


def _text(
    search: Search, wrong: dict[FailureSignature, Check | None], written: Written | None, run: str
) -> Iterator[str]:
    best, first, oracle = search.best, search.first, search.oracle
    assert best is not None, "something was found"
    assert first is not None, "it began with something"
    assert oracle is not None, "it was asked"
    yield f"{oracle.given.id}, {escape_line(search.order.connection.impl, 200)}"
    cut = "" if search.ended else "; cut short, it may get smaller"
    spent = format_count(oracle.budget.trials, "trial")
    yield f"  {_format_size(first)} to {_format_size(best)}, in {spent}{cut}"
    yield ""
    yield f"The stream, {_describe_chunks(best)}"
    yield from (f"  {line}".rstrip() for line in _iter_sent_lines(best))
    yield ""
    yield f"Fails at {_get_signature(search)}"
    if oracle.target is not None and generalise_path(oracle.path) != oracle.target.what:
        yield f"  (the case fails at {oracle.path}; beside what the bundled parser says it is this)"
    yield from (f"  {line}" for line in _describe_differences(search, wrong))
    if written is not None:
        yield ""
        yield f"wrote {written.spec}"
        yield f"      {written.cassette}"
    yield f"run it: {run}"


def _describe_differences(search: Search, wrong: dict[FailureSignature, Check | None]) -> Iterator[str]:
    target = search.oracle.target if search.oracle is not None else None
    if target not in wrong:
        yield "it did not fail again when it was asked once more: the implementation is not deterministic"
        return
    check = wrong[target]
    if check is None:
        yield escape_line(search.reason or str(target), 400)
        return
    first, *more = describe_difference(check)
    yield f"{escape_line(check.path, 200)}: {first}"
    yield from (f"  {each}" for each in more)


def _get_signature(search: Search) -> str:
    target = search.oracle.target if search.oracle is not None else None
    return escape_line("" if target is None else target.what, 200)


def _format_size(candidate: Candidate) -> str:
    return f"{format_count(candidate.frames, 'frame')}, {len(candidate.trial.body):,} bytes"


def _describe_chunks(candidate: Candidate) -> str:
    chunks = candidate.trial.chunks
    if chunks == candidate.framewise() and len(chunks) > 1:
        return "a chunk a frame"
    if len(chunks) == 1:
        return "in one chunk"
    edges = [0]
    for chunk in chunks[:-1]:
        edges.append(edges[-1] + len(chunk))
    shown = ", ".join(map(str, edges[1:9])) + (", …" if len(edges) > 9 else "")
    return f"in {len(chunks)} chunks, cut before byte {shown}"


def _iter_sent_lines(candidate: Candidate) -> Iterator[str]:
    """Yield the body in lines, with what does not print spelled out; of binary messages what they say."""
    stream, body = candidate.stream, candidate.trial.body
    if stream.framing == "eventstream":
        for frame in split(stream.framing, body):
            said = frame.payload.decode("utf-8", "backslashreplace")
            yield f"{frame.event}: {escape_line(said, PAYLOAD_MAX)}"
        return
    for line in body.decode("utf-8", "backslashreplace").rstrip("\n").split("\n"):
        yield escape_unprintable(line[:PAYLOAD_MAX])


def _fence(lines: Iterator[str]) -> Iterator[str]:
    body = [*lines]
    fence = "```"
    while any(fence in line for line in body):
        fence += "`"
    yield f"{fence}text"
    yield from body
    yield fence
