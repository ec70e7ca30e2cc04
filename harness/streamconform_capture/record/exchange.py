"""Turn a request into a cassette without known secrets: record the answer and its twin, and scrub both.

Nothing is written here; `scanned` must check the cassette first.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streamconform._version import __version__
from streamconform.apis import APIS
from streamconform.model.cassette import Cassette, Recorded
from streamconform.secrets import scrub
from streamconform.secrets.placeholders import Placeholders
from streamconform.secrets.scan import redact
from streamconform_capture.record.errors import UnexpectedResponse
from streamconform_capture.record.live import RawRecording, record, to_cassette
from streamconform_capture.record.providers import RECORDINGS, build_streaming_body
from streamconform_capture.record.server_name import name_server

MAX_EXCERPTED = 100_000
"""The number of bytes at the beginning of a body from which an excerpt is taken."""


def get_today() -> str:
    """Return today's date in UTC."""
    return dt.datetime.now(dt.UTC).date().isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordJob:
    """The request to record, and how to record it."""

    api: str
    base_url: str
    model: str
    name: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers to send in addition to the API's own. Those not on the allow-list are treated as secret."""
    key: str | None = None
    twin: bool = False
    """Whether to repeat the request with `stream: false` and keep that response too."""
    allow_error: bool = False
    timeout: float = 300.0
    server: str | None = None
    """The server's name and version, for the provenance, if the user says so."""
    note: str | None = None
    names: tuple[str, ...] = ()
    """The names to replace everywhere."""
    allowed: tuple[str, ...] = ()
    """The fields and fingerprints that the scan ignores."""
    date: str = field(default_factory=get_today)

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """Return every value that must not appear in any written file."""
        return scrub.extract_secrets(_split_headers(self)[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The recordings' origin, for their provenance."""

    server: str | None = None
    """Name and version, if the user says so."""
    base_url: str = ""
    date: str = field(default_factory=get_today)
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ScrubbedExchange:
    """A cassette with secrets replaced where possible, and the number of replaced values."""

    cassette: Cassette
    replaced: Mapping[str, int]
    """The number of distinct values replaced, by kind."""
    received: int
    """The number of bytes of the answer and of its twin that arrived."""


def record_exchange(job: RecordJob, on_chunk: Callable[[bytes], None] | None = None) -> ScrubbedExchange:
    """Record `job` and return the scrubbed cassette.

    Raises:
        RecordError: the connection failed; the response is not HTTP, is not a stream, or has a status other
        than 2xx (unless `allow_error` is set); or the recorder's own limits ended the exchange.

    """
    body = build_streaming_body(job.body, job.model)
    recording = _send(job, body, on_chunk)
    _check_recording(job, recording)
    twin = None
    if job.twin:
        twin = _send(job, APIS[job.api].write_document_body(body), None)
        _check_twin(job, twin)
    origin = Origin(server=job.server, base_url=job.base_url, date=job.date, note=job.note)
    return scrub_exchange(
        recording,
        body,
        api=job.api,
        name=job.name,
        model=job.model,
        origin=origin,
        names=job.names,
        twin=twin,
    )


def scrub_exchange(
    recording: RawRecording,
    body: Mapping[str, Any],
    *,
    api: str,
    name: str,
    model: str,
    origin: Origin,
    names: tuple[str, ...] = (),
    twin: RawRecording | None = None,
) -> ScrubbedExchange:
    """Return a recording as a cassette, with all identifying values replaced.

    Raises:
        UnsuitableExchange: a cassette cannot represent the recording.

    """
    answers = [part for part in (recording, twin) if part is not None]
    placeholders = _learn_names(body, answers, names)
    provenance = Recorded(
        server=origin.server or name_server(origin.base_url, recording.server),
        model=placeholders.apply_text(model),
        date=origin.date,
        tool=f"streamconform {__version__}",
        note=origin.note,
    )
    scrubbed = _apply_placeholders(recording, placeholders)
    cassette = to_cassette(scrubbed, api=api, name=name, provenance=provenance)
    if twin is not None:
        cassette = replace(cassette, twin=placeholders.apply(twin.body))
    return ScrubbedExchange(cassette, placeholders.counts, sum(part.received for part in answers))


def _learn_names(
    body: Mapping[str, Any], recordings: Iterable[RawRecording], names: tuple[str, ...]
) -> Placeholders:
    placeholders = Placeholders(names)
    placeholders.learn_request(body)
    for part in recordings:
        placeholders.learn_headers(part.headers)
        placeholders.learn(part.path.encode())
        placeholders.learn(part.request_body)
        placeholders.learn(part.body)
    return placeholders


def _send(job: RecordJob, body: Mapping[str, Any], on_chunk: Callable[[bytes], None] | None) -> RawRecording:
    plain, secret = _split_headers(job)
    return record(
        job.base_url,
        APIS[job.api].endpoints.usual,
        plain,
        body,
        secret_headers=secret,
        timeout=job.timeout,
        on_chunk=on_chunk,
    )


def _split_headers(job: RecordJob) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers to keep and the secret ones."""
    headers = dict(RECORDINGS[job.api].headers) | {name.lower(): value for name, value in job.headers.items()}
    plain = scrub.filter_headers(headers, scrub.REQUEST_HEADERS)
    secret = {name: value for name, value in headers.items() if name not in plain}
    return plain, secret | (APIS[job.api].key.headers(job.key) if job.key else {})


def _check_recording(job: RecordJob, recording: RawRecording) -> None:
    where = recording.path
    # Even with `allow_error`, because the recorder and not the server chose where such a body ends.
    if recording.cut in {"timeout", "too_large"}:
        limit = f"{job.timeout:g} s" if recording.cut == "timeout" else "16 MB"
        raise UnexpectedResponse(
            where, f"it did not end within {limit}; raise --timeout, or request a shorter response"
        )
    if job.allow_error:
        return
    if not 200 <= recording.status < 300:
        excerpt = make_excerpt(recording, job.names)
        raise UnexpectedResponse(
            where,
            f"HTTP status {recording.status}, expected 2xx; body: {excerpt}. To keep it, pass --allow-error",
        )
    if APIS[job.api].detect_framing(recording.status, recording.body) == "document":
        kind = recording.headers.get("content-type", "no content type")
        raise UnexpectedResponse(
            where,
            f"expected a stream, got {len(recording.body)} bytes of `{kind}` without a frame; body: "
            f"{make_excerpt(recording, job.names)}. To keep it, pass --allow-error",
        )


def _check_twin(job: RecordJob, twin: RawRecording) -> None:
    if twin.cut is not None or (not 200 <= twin.status < 300 and not job.allow_error):
        raise UnexpectedResponse(
            twin.path,
            f"the twin (`stream: false`) has HTTP status {twin.status}"
            f"{f', cut: {twin.cut}' if twin.cut else ''}; body: {make_excerpt(twin, job.names)}. Omit --twin",
        )
    try:
        json.loads(twin.body)
    except ValueError as error:
        raise UnexpectedResponse(twin.path, f"the twin is not JSON ({error}). Omit --twin") from error


def make_excerpt(recording: RawRecording, names: tuple[str, ...] = ()) -> str:
    """Return the beginning of a body as printable text, without names and keys."""
    placeholders = Placeholders(names)
    placeholders.learn(recording.body)
    # Redact before cutting, because a partial key is not recognised.
    text = redact(placeholders.apply(recording.body[:MAX_EXCERPTED]).decode("utf-8", "replace"))[:300]
    return f"`{' '.join(text.split())}`" if text.strip() else "empty"


def _apply_placeholders(recording: RawRecording, placeholders: Placeholders) -> RawRecording:
    return replace(
        recording,
        path=placeholders.apply_text(scrub.replace_key_parameters(recording.path)),
        request_headers={
            name: placeholders.apply_text(text) for name, text in recording.request_headers.items()
        },
        request_body=placeholders.apply(recording.request_body),
        headers={name: placeholders.apply_text(text) for name, text in recording.headers.items()},
        body=placeholders.apply(recording.body),
    )
