"""Turn the exchanges of `listen` into cassettes and draft cases, and write them one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from streamconform.apis import APIS
from streamconform.apis.payloads import read_payload
from streamconform.errors import ConformError
from streamconform.model.cassette import MODEL_IN_PATH, SWITCHED, Cassette, ChunkMark
from streamconform.secrets import scrub
from streamconform.secrets.scan import SecretFinding
from streamconform.suite import cassettes
from streamconform.suite.documents import is_document
from streamconform.wire.framings import MEDIA_TYPES, split
from streamconform_capture.record import draft, save
from streamconform_capture.record.errors import UnsuitableExchange
from streamconform_capture.record.exchange import Origin, scrub_exchange
from streamconform_capture.record.live import MAX_BYTES, RawRecording
from streamconform_capture.record.overheard import Overheard, detect_api

Streams = dict[str, str]
"""The cassette names of streams without a twin, keyed by request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenSettings:
    """The settings for writing exchanges."""

    specs: Path
    folder: Path
    """The folder of the cassettes."""
    name: str
    """The prefix for the cassette names."""
    topic: str
    origin: Origin
    names: tuple[str, ...] = ()
    """Names to replace everywhere."""
    allowed: tuple[str, ...] = ()
    """Fields and fingerprints that the scan ignores."""


@dataclass(frozen=True, slots=True)
class KeptExchange:
    """The files of one exchange."""

    cassette: Cassette
    spec: Path
    replaced: Mapping[str, int]
    """The number of distinct values that were replaced, by kind."""
    notes: tuple[SecretFinding, ...]
    """Random words that the user should review."""
    is_twin: bool
    """Whether the answer became the twin of an earlier stream."""
    is_reframed: bool = False
    """Whether the answer came over a WebSocket, and has the frames of HTTP here."""

    @property
    def size(self) -> int:
        """Return the number of bytes of the answer that the file has, in lines if it came in messages."""
        saved = (self.cassette.twin if self.is_twin else self.cassette.body) or b""
        if not self.is_reframed:
            return len(saved)
        return sum(len(frame.payload) + 1 for frame in split(APIS[self.cassette.api].framing, saved))


@dataclass(frozen=True, slots=True)
class NotKept:
    """An exchange that was forwarded but not written."""

    request: str
    """Method and path."""
    why: str
    is_lost: bool
    """Whether the exchange should have been saved; false for a list of models, for example."""


def keep_exchange(exchange: Overheard, settings: ListenSettings, streams: Streams) -> KeptExchange | NotKept:
    """Write the cassette and the draft case of `exchange`, or nothing.

    A non-streaming answer to a request in `streams` becomes the twin of that stream; a new stream is added to
    `streams`.
    """
    secrets = scrub.find_credentials(exchange.request_headers, exchange.headers, exchange.target)
    path = exchange.target.partition("?")[0][:200]
    request = scrub.blank(f"{exchange.method} {path}".encode(), secrets).decode()
    api = detect_api(exchange.target) if exchange.method == "POST" else None
    if exchange.status is None:
        why = exchange.failure or "the client disconnected before the server answered"
        return NotKept(request, why, is_lost=False)
    if api is None:
        return NotKept(request, f"HTTP {exchange.status}; not an answer from a known API", is_lost=False)
    try:
        return _write(exchange, api, settings, secrets, streams)
    except ConformError as error:
        why = scrub.blank(str(error).encode(), secrets).decode("utf-8", "replace")
        return NotKept(request, why, is_lost=True)
    except RecursionError:
        return NotKept(request, "its request or answer is nested too deeply", is_lost=True)


def _write(
    exchange: Overheard, api: str, settings: ListenSettings, secrets: tuple[bytes, ...], streams: Streams
) -> KeptExchange:
    if exchange.cut == "too_large":
        raise UnsuitableExchange(exchange.target, f"the answer has more than {MAX_BYTES:,} bytes")
    over_http = to_http(exchange, api)
    is_reframed = over_http is not exchange
    notes = (settings.origin.note, "It came over a WebSocket, one message per event." if is_reframed else "")
    origin = replace(settings.origin, note=" ".join(filter(None, notes)) or None)
    cassette, replaced = _make_cassette(over_http, api, replace(settings, origin=origin), secrets)
    request = _identify_request(cassette)
    stream = streams.pop(request, None) if is_document(cassette) and _is_good(exchange) else None
    if stream is None:
        cassette = replace(cassette, name=_choose_name(cassette, settings))
    else:
        cassette = replace(cassettes.load(settings.folder, api, stream), twin=cassette.body)
    title = f"{cassette.name}: describe in one line what this {_describe(cassette)} shows"
    _, spec, scanned = save.save_new(
        cassette,
        title,
        save.Destination(settings.specs, settings.folder, settings.topic),
        secrets=secrets,
        allowed=settings.allowed,
        # Requests from a user's program are full of ids, and repeating the requests requires those ids.
        refuse_random_words=False,
    )
    if cassette.twin is None and not is_document(cassette) and _is_good(exchange):
        streams[request] = cassette.name
    is_twin = stream is not None
    return KeptExchange(cassette, spec, replaced, scanned.notes, is_twin=is_twin, is_reframed=is_reframed)


def to_http(exchange: Overheard, api: str) -> Overheard:
    """Return an answer over a WebSocket as HTTP carries it too, so that it can be replayed over both.

    Each message becomes the payload of one frame, unchanged.
    """
    sockets = APIS[api].sockets
    if exchange.status != SWITCHED or sockets is None or not exchange.is_whole:
        return exchange
    body = _parse(exchange.request_body)
    messages = [frame.payload for frame in split("ndjson", bytes(exchange.body))]
    if not sockets.fits_http(body, [read_payload(message) for message in messages]):
        return exchange
    frames = [APIS[api].write([message]) for message in messages]
    starts = accumulate(map(len, frames), initial=0)
    return replace(
        exchange,
        status=200,
        headers={"content-type": MEDIA_TYPES[APIS[api].framing]},
        request_body=json.dumps({**body, "stream": True}).encode(),
        body=bytearray(b"".join(frames)),
        marks=[ChunkMark(start, mark.ms) for start, mark in zip(starts, exchange.marks, strict=False)],
    )


def _is_good(exchange: Overheard) -> bool:
    return exchange.is_whole and exchange.status is not None and 200 <= exchange.status < 300


def _identify_request(cassette: Cassette) -> str:
    """Return a key that is the same for a request with and without streaming."""
    api, request = APIS[cassette.api], cassette.request
    body = api.write_document_body(request.body)
    path = api.endpoints.document_path(request.path)
    return json.dumps([cassette.api, path, body], sort_keys=True)


def _make_cassette(
    exchange: Overheard, api: str, settings: ListenSettings, secrets: tuple[bytes, ...]
) -> tuple[Cassette, Mapping[str, int]]:
    assert exchange.status is not None, "the caller has looked"
    recording = RawRecording(
        path=exchange.target,
        request_headers=scrub.filter_headers(exchange.request_headers, scrub.REQUEST_HEADERS),
        request_body=scrub.blank(exchange.request_body, secrets),
        status=exchange.status,
        headers=scrub.filter_headers(exchange.headers, scrub.RESPONSE_HEADERS),
        body=scrub.blank(bytes(exchange.body), secrets),
        received=exchange.received,
        marks=tuple(exchange.marks),
        cut=exchange.cut,
        server=scrub.blank(exchange.headers.get("server", "").encode(), secrets).decode(),
    )
    body = _parse(recording.request_body)
    scrubbed = scrub_exchange(
        recording,
        body,
        api=api,
        name=settings.name,
        model=_find_model(exchange.target, body),
        origin=settings.origin,
        names=settings.names,
    )
    return scrubbed.cassette, scrubbed.replaced


def _choose_name(cassette: Cassette, settings: ListenSettings) -> str:
    """Return the first numbered name that no cassette or case uses."""
    taken = {path.name.partition(".")[0] for path in (settings.folder / cassette.api).glob("*.*")}
    taken.update(draft.list_cases(draft.find_spec(settings.specs, cassette, settings.topic)))
    number = 1
    while f"{settings.name}-{number}" in taken:
        number += 1
    return f"{settings.name}-{number}"


def _find_model(target: str, body: Mapping[str, Any]) -> str:
    """Return the model named in the body or the path."""
    named = body.get("model")
    if isinstance(named, str) and named:
        return named
    match = MODEL_IN_PATH.search(target)
    return unquote(match[1]) if match else "unknown"


def _describe(cassette: Cassette) -> str:
    return "answer" if is_document(cassette) else "stream"


def _parse(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
