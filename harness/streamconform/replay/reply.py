"""Build replies: a trial's bytes, how they are sent, and how they end. Pure.

h11 is not used for replies, because it cannot end an HTTP/1.1 body by closing the connection.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from streamconform.apis import APIS
from streamconform.model.trial import AS_IS, DELIVERIES, Trial
from streamconform.replay.endpoints import RequestMatch, describe_endpoint

Transfer = Literal["chunked", "length", "close"]
"""How the end of a body is marked: by a final chunk, by the body's length, or by closing the connection."""
ReplyEnding = Literal["whole", "reset", "stall"]

_TRANSFERS: Final[Mapping[str, Transfer]] = {
    "whole": "length",
    "random": "close",
    "cut-inside-json": "close",
    "cut-inside-utf8": "close",
}
"""The deliveries and faults that are not sent in chunked encoding, so that every kind of transfer is used.

Truncated bodies end properly, so that no transport error reveals the truncation; only `reset` and `stall`
break the transport.
"""
_ENDINGS: Final[Mapping[str, ReplyEnding]] = {"reset": "reset", "stall": "stall"}
_GZIP_CODINGS: Final = frozenset({"gzip", "x-gzip", "*"})
_ZERO_WEIGHT: Final = re.compile(r"q=0(\.0*)?")
_HOP_HEADERS: Final = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "trailer", "transfer-encoding"}
)
"""Headers that concern only the transfer of a message, which are not replayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A response, ready to be sent."""

    status: int
    headers: Mapping[str, str]
    chunks: tuple[bytes, ...]
    transfer: Transfer = "length"
    ending: ReplyEnding = "whole"
    times: tuple[float, ...] = ()
    """When each chunk is sent, in seconds since the request; empty if all are sent at once."""
    recorded: bool = False
    """Whether these are the trial's own chunks."""
    note: str | None = None
    """A complaint about the request, which is reported if the outcome is not as expected."""
    mismatch: str | None = None
    """The reason why this reply cannot be judged."""


def make_reply(trial: Trial, request: RequestMatch, accepts: str, time_scale: float = 0.0) -> Reply:
    """Return `trial`'s reply to a request whose `accept-encoding` header is `accepts`.

    Chunks are sent at the recorded times multiplied by `time_scale`; 0 sends all chunks at once.
    """
    match request.kind:
        case "document" if not trial.case.stream:
            return _make_recorded_reply(trial, request, accepts, time_scale)
        case "stream" if not trial.case.stream:
            return make_error_reply(
                400, STREAM_REQUESTED, "a request without streaming", note=STREAM_REQUESTED
            )
        case "stream":
            return _make_recorded_reply(trial, request, accepts, time_scale)
        case "document":
            return _make_twin_reply(trial)
        case None:
            status = 404 if request.mismatch is None else 400
            message = request.mismatch or request.note or ""
            expected = describe_endpoint(
                trial.case.api, document=not trial.case.stream, transport=trial.transport
            )
            return make_error_reply(status, message, expected, note=request.note, mismatch=request.mismatch)


def make_error_reply(
    status: int, message: str, expected: str, *, note: str | None = None, mismatch: str | None = None
) -> Reply:
    """Return an error document that describes the expected request."""
    error = {"error": {"type": "streamconform_replay", "message": message, "expected": expected}}
    body = json.dumps(error, ensure_ascii=False).encode() + b"\n"
    headers = {"content-type": "application/json"}
    return Reply(status=status, headers=headers, chunks=(body,), note=note, mismatch=mismatch)


def encode_head(reply: Reply, transfer: Transfer, *, close: bool) -> bytes:
    """Return the encoded status line and headers."""
    phrase = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else "Unknown"
    # A cassette may have any status, even one that the standard library does not know.
    lines = [f"HTTP/1.1 {reply.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in reply.headers.items() if name not in _HOP_HEADERS]
    if reply.headers.get("content-encoding") == "gzip":
        lines.append("content-encoding: gzip")
    match transfer:
        case "chunked":
            lines.append("transfer-encoding: chunked")
        case "length":
            lines.append(f"content-length: {sum(map(len, reply.chunks))}")
        case "close":
            pass
    if close:
        lines.append("connection: close")
    return (
        # A line break in a recorded header would end the head or add a header.
        "".join(f"{_replace_unprintable(line)}\r\n" for line in lines).encode("latin-1", "replace") + b"\r\n"
    )


def encode_chunk(chunk: bytes, transfer: Transfer) -> bytes:
    """Return `chunk` encoded for one write to the socket."""
    # An empty chunk stays empty: encoded, it would end the body.
    return b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunk and transfer == "chunked" else chunk


STREAM_REQUESTED: Final = (
    "the client requested a stream, but this trial tests a non-streaming answer: its run has `stream:"
    " false`, so the adapter must call the client's non-streaming function"
)
"""The complaint about a request for a stream in a trial that tests a non-streaming answer."""
LAST_CHUNK: Final = b"0\r\n\r\n"
_CHUNK_INTERVAL: Final = 0.1
"""Seconds between the chunks of a document; without a pause, one read could return all chunks."""


def _make_recorded_reply(trial: Trial, request: RequestMatch, accepts: str, time_scale: float) -> Reply:
    cassette, kind = trial.case.cassette, trial.delivery.partition(".")[0]
    headers = {name: value for name, value in cassette.headers.items() if name not in _HOP_HEADERS}
    chunks, mismatch = trial.chunks, None
    if kind == "gzip":
        if _accepts_gzip(accepts):
            headers["content-encoding"] = "gzip"
            chunks = tuple(_compress_chunks(trial.chunks))
        else:
            mismatch = "the client does not accept gzip"
    return Reply(
        status=cassette.status,
        headers=headers,
        chunks=chunks,
        transfer=_TRANSFERS.get(kind, "chunked"),
        ending=_ENDINGS.get(kind, "whole"),
        times=_schedule_chunks(trial, time_scale),
        recorded=True,
        note=request.note,
        mismatch=mismatch,
    )


def _make_twin_reply(trial: Trial) -> Reply:
    """Return the non-streaming answer: the twin, or an error if there is none."""
    cassette = trial.case.cassette
    expected = "a request for a stream"
    if trial.delivery not in DELIVERIES:
        message = "the client requested a non-streaming answer, but this trial is a broken stream"
        return make_error_reply(400, message, expected, note=message)
    # A provider sends the same error to clients that stream and to those that do not.
    if cassette.status >= 400:
        headers = {name: value for name, value in cassette.headers.items() if name not in _HOP_HEADERS}
        return Reply(status=cassette.status, headers=headers, chunks=(cassette.body,), recorded=True)
    if cassette.twin is None:
        message = "the client requested a non-streaming answer, but this recording has only a stream"
        return make_error_reply(400, message, expected, note=message)
    note = "the client requested a non-streaming answer, and got one"
    headers = {"content-type": "application/json"}
    return Reply(status=cassette.status, headers=headers, chunks=(cassette.twin,), note=note)


def _schedule_chunks(trial: Trial, scale: float) -> tuple[float, ...]:
    marks = trial.case.cassette.marks
    if trial.case.growth is not None:
        return ()  # finding the frames of a huge body takes longer than clients wait
    if len(trial.chunks) > 1 and APIS[trial.case.api].frame_case(trial.case, trial.body) == "document":
        return (0.0, *(_CHUNK_INTERVAL for _ in trial.chunks[1:]))
    if not scale or trial.delivery != AS_IS or len(marks) != len(trial.chunks):
        return ()
    return tuple(mark.ms / 1000 * scale for mark in marks)


def _compress_chunks(chunks: tuple[bytes, ...]) -> Iterator[bytes]:
    """Yield `chunks` compressed; each can be decompressed as soon as it arrives."""
    compressor = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    last = len(chunks) - 1
    for i, chunk in enumerate(chunks):
        yield compressor.compress(chunk) + compressor.flush(zlib.Z_FINISH if i == last else zlib.Z_SYNC_FLUSH)


def _accepts_gzip(accepts: str) -> bool:
    """Return whether an `accept-encoding` header accepts gzip (`;q=0` rejects it)."""
    for item in accepts.lower().split(","):
        coding, _, weight = item.partition(";")
        if coding.strip() in _GZIP_CODINGS and not _ZERO_WEIGHT.fullmatch(weight.replace(" ", "")):
            return True
    return False


def _replace_unprintable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
