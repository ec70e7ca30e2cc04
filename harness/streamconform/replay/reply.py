"""What the server answers: the bytes of a trial, how they are sent, and how they end. Pure."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from streamconform.apis import APIS
from streamconform.model.trial import DELIVERIES, Trial
from streamconform.replay.endpoints import RequestMatch, describe_endpoint

Transfer = Literal["chunked", "length", "close"]
"""How the end of a body is told: by the last chunk, by its length, or by the end of the connection."""
ReplyEnding = Literal["whole", "reset", "stall"]

_TRANSFERS: Final[Mapping[str, Transfer]] = {
    "whole": "length",
    "random": "close",
    "cut-inside-json": "close",
    "cut-inside-utf8": "close",
}
"""The deliveries and faults that are not sent chunked: so that each way is gone, and a cut shows nowhere."""
_ENDINGS: Final[Mapping[str, ReplyEnding]] = {"reset": "reset", "stall": "stall"}
_GZIP_CODINGS: Final = frozenset({"gzip", "x-gzip", "*"})
_ZERO_WEIGHT: Final = re.compile(r"q=0(\.0*)?")
_HOP_HEADERS: Final = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "trailer", "transfer-encoding"}
)
"""Headers that say how a message is sent: those of the recording are not true of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer, ready to be sent."""

    status: int
    headers: Mapping[str, str]
    chunks: tuple[bytes, ...]
    transfer: Transfer = "length"
    ending: ReplyEnding = "whole"
    at: tuple[float, ...] = ()
    """For each chunk the seconds since the request at which it goes; empty: at once."""
    recorded: bool = False
    """Whether the chunks are those of the trial."""
    note: str | None = None
    """What is to be known of the request, where the outcome is not as expected."""
    unfit: str | None = None
    """Why nothing can be judged by this answer."""


def make_reply(trial: Trial, asked: RequestMatch, accepts: str, time_scale: float = 0.0) -> Reply:
    """Return the answer of `trial` to a request; `accepts` is its header `accept-encoding`.

    Times are those of the recording, `time_scale` times as long; 0 is at once.
    """
    match asked.kind:
        case "stream":
            return _make_stream_reply(trial, asked, accepts, time_scale)
        case "document":
            return _make_document_reply(trial)
        case None:
            status = 404 if asked.unfit is None else 400
            words = asked.unfit or asked.note or ""
            return make_error_reply(
                status, words, describe_endpoint(trial.case.api), note=asked.note, unfit=asked.unfit
            )


def make_error_reply(
    status: int, words: str, wanted: str, *, note: str | None = None, unfit: str | None = None
) -> Reply:
    """Return the document that says what is wrong with a request, and what was expected."""
    told = {"error": {"type": "streamconform_replay", "message": words, "expected": wanted}}
    body = json.dumps(told, ensure_ascii=False).encode() + b"\n"
    headers = {"content-type": "application/json"}
    return Reply(status=status, headers=headers, chunks=(body,), note=note, unfit=unfit)


def encode_head(of: Reply, transfer: Transfer, *, close: bool) -> bytes:
    """Return the status line and the headers."""
    phrase = HTTPStatus(of.status).phrase if of.status in set(HTTPStatus) else "Unknown"
    lines = [f"HTTP/1.1 {of.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in of.headers.items() if name not in _HOP_HEADERS]
    if of.headers.get("content-encoding") == "gzip":
        lines.append("content-encoding: gzip")
    match transfer:
        case "chunked":
            lines.append("transfer-encoding: chunked")
        case "length":
            lines.append(f"content-length: {sum(map(len, of.chunks))}")
        case "close":
            pass
    if close:
        lines.append("connection: close")
    return "".join(f"{_escape_line(line)}\r\n" for line in lines).encode("latin-1", "replace") + b"\r\n"


def encode_chunk(chunk: bytes, transfer: Transfer) -> bytes:
    """Return `chunk` as it goes into the socket, in one write; an empty one would end a chunked body."""
    return b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunk and transfer == "chunked" else chunk


LAST_CHUNK: Final = b"0\r\n\r\n"
_CHUNK_INTERVAL: Final = 0.1
"""Seconds between the first chunk of a document and the next: short as it is, one read could bring all."""


def _make_stream_reply(trial: Trial, asked: RequestMatch, accepts: str, time_scale: float) -> Reply:
    cassette, kind = trial.case.cassette, trial.delivery.partition(".")[0]
    headers = {name: value for name, value in cassette.headers.items() if name not in _HOP_HEADERS}
    chunks, unfit = trial.chunks, None
    if kind == "gzip":
        if _accepts_gzip(accepts):
            headers["content-encoding"] = "gzip"
            chunks = tuple(_compress_chunks(trial.chunks))
        else:
            unfit = "the client does not accept gzip"
    return Reply(
        status=cassette.status,
        headers=headers,
        chunks=chunks,
        transfer=_TRANSFERS.get(kind, "chunked"),
        ending=_ENDINGS.get(kind, "whole"),
        at=_schedule_chunks(trial, time_scale),
        recorded=True,
        note=asked.note,
        unfit=unfit,
    )


def _make_document_reply(trial: Trial) -> Reply:
    """Return the answer in one piece: the twin, or a word that there is none."""
    cassette = trial.case.cassette
    wanted = "a request for a stream"
    if trial.delivery not in DELIVERIES:
        words = "the client asks for an answer in one piece; this trial is about a stream that breaks"
        return make_error_reply(400, words, wanted, note=words)
    if cassette.status >= 400:
        headers = {name: value for name, value in cassette.headers.items() if name not in _HOP_HEADERS}
        return Reply(status=cassette.status, headers=headers, chunks=(cassette.body,), recorded=True)
    if cassette.twin is None:
        words = "the client asks for an answer in one piece; this recording has none, it is a stream"
        return make_error_reply(400, words, wanted, note=words)
    words = "the client asked for an answer in one piece, and got that"
    headers = {"content-type": "application/json"}
    return Reply(status=cassette.status, headers=headers, chunks=(cassette.twin,), note=words)


def _schedule_chunks(trial: Trial, scale: float) -> tuple[float, ...]:
    marks = trial.case.cassette.marks
    if (
        len(trial.chunks) > 1
        and APIS[trial.case.api].detect_framing(trial.case.cassette.status, trial.body) == "document"
    ):
        return (0.0, *(_CHUNK_INTERVAL for _ in trial.chunks[1:]))
    if not scale or trial.delivery != "recorded" or len(marks) != len(trial.chunks):
        return ()
    return tuple(mark.ms / 1000 * scale for mark in marks)


def _compress_chunks(chunks: tuple[bytes, ...]) -> Iterator[bytes]:
    """Yield `chunks` compressed, each so that it can be read when it comes."""
    compressor = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    last = len(chunks) - 1
    for i, chunk in enumerate(chunks):
        yield compressor.compress(chunk) + compressor.flush(zlib.Z_FINISH if i == last else zlib.Z_SYNC_FLUSH)


def _accepts_gzip(accepts: str) -> bool:
    """Return whether gzip is among the codings that a header names, and not refused (`;q=0`)."""
    for each in accepts.lower().split(","):
        coding, _, weight = each.partition(";")
        if coding.strip() in _GZIP_CODINGS and not _ZERO_WEIGHT.fullmatch(weight.replace(" ", "")):
            return True
    return False


def _escape_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
