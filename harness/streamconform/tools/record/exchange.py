"""Turn a request into a cassette that may be published: record, record the twin, scrub, scan.

Nothing is written here. Every cassette that this module returns has passed the scan for secrets.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streamconform import __version__
from streamconform.apis import APIS
from streamconform.model.cassette import Cassette, Recorded, Request
from streamconform.tools.record import scrub
from streamconform.tools.record.errors import SecretsLeft, UnexpectedResponse
from streamconform.tools.record.live import RawRecording, record, to_cassette
from streamconform.tools.record.placeholders import Placeholders
from streamconform.tools.record.providers import RECORDINGS, build_streaming_body
from streamconform.tools.record.scan import SecretFinding, scan

MAX_FINDINGS_SHOWN = 5
"""Findings listed in an error; the others are only counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordJob:
    """The request to record, and how to record it."""

    api: str
    base_url: str
    model: str
    name: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent in addition to the API's own. Those not on the allow-list are treated as secrets."""
    key: str | None = None
    twin: bool = False
    """Whether to repeat the request with `stream: false` and keep that response too."""
    allow_error: bool = False
    timeout: float = 300.0
    server: str = "unnamed server"
    """Name and version of the server, for the provenance."""
    note: str | None = None
    names: tuple[str, ...] = ()
    """Names to replace everywhere."""
    allowed: tuple[str, ...] = ()
    """Fields and fingerprints that the scan ignores."""
    date: str = field(default_factory=lambda: dt.datetime.now(dt.UTC).date().isoformat())

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """Return every value that must not appear in any written file."""
        return scrub.extract_secrets(_split_headers(self)[1])


@dataclass(frozen=True, slots=True)
class ScrubbedExchange:
    """A cassette without secrets, and the number of values replaced in it."""

    cassette: Cassette
    replaced: Mapping[str, int]
    """Kind to number of distinct values."""


def record_exchange(job: RecordJob, on_chunk: Callable[[bytes], None] | None = None) -> ScrubbedExchange:
    """Record `job` and return the scrubbed cassette.

    Raises:
        RecordError: the connection failed, the response is not HTTP, not a stream or has a status other
            than 2xx (unless `allow_error` is set), the recorder's own limits ended it, or the scan found
            a possible secret.

    """
    body = build_streaming_body(job.body, job.model)
    recording = _send(job, body, on_chunk)
    _check_recording(job, recording)
    twin = None
    if job.twin:
        twin = _send(job, APIS[job.api].write_document_body(body), None)
        _check_twin(job, twin)
    placeholders = Placeholders(job.names)
    placeholders.learn_request(body)
    for part in (recording, twin):
        if part is not None:
            placeholders.learn_headers(part.headers)
            placeholders.learn(part.request_body)
            placeholders.learn(part.body)
    scrubbed = _apply_placeholders(recording, placeholders)
    provenance = Recorded(
        server=job.server,
        model=placeholders.apply_text(job.model),
        date=job.date,
        tool=f"streamconform {__version__}",
        note=job.note,
    )
    cassette = to_cassette(scrubbed, api=job.api, name=job.name, provenance=provenance)
    if twin is not None:
        cassette = replace(cassette, twin=placeholders.apply(twin.body))
    check_for_secrets(job, collect_parts(cassette))
    return ScrubbedExchange(cassette, placeholders.counts)


def collect_parts(cassette: Cassette) -> dict[str, bytes]:
    """Return the parts of a cassette that are written to files, by the names used in findings."""
    request: Request = cassette.request
    parts = {
        "request path": request.path.encode(),
        "request headers": json.dumps(dict(request.headers)).encode(),
        "request body": json.dumps(request.body, ensure_ascii=False).encode(),
        "response headers": json.dumps(dict(cassette.headers)).encode(),
        "response body": cassette.body,
    }
    provenance = json.dumps([cassette.name, *dataclasses.astuple(cassette.provenance)])
    twin = {} if cassette.twin is None else {"twin": cassette.twin}
    return parts | {"provenance": provenance.encode()} | twin


def check_for_secrets(job: RecordJob, parts: Mapping[str, bytes], *, only_known: bool = False) -> None:
    """Raise `SecretsLeft` if `parts` contain a known secret or, unless `only_known`, a suspect value."""
    for part, data in parts.items():
        if scrub.blank(data, job.secrets) != data:
            raise SecretsLeft(
                APIS[job.api].endpoints.usual,
                f"the {part} contains the key or the value of a secret header, and it cannot be replaced "
                "there. Remove it from the request",
            )
    if only_known:
        return
    if findings := scan(parts, job.allowed):
        raise SecretsLeft(APIS[job.api].endpoints.usual, _format_findings(findings))


def _format_findings(findings: tuple[SecretFinding, ...]) -> str:
    lines = [f"\n  {finding}" for finding in findings[:MAX_FINDINGS_SHOWN]]
    if len(findings) > MAX_FINDINGS_SHOWN:
        lines.append(f"\n  and {len(findings) - MAX_FINDINGS_SHOWN} more")
    first = findings[0]
    allow = f"`--allow {first.fingerprint}`" + (f" or `--allow {first.field}`" if first.field else "")
    return (
        f"{len(findings)} possible secret{'s' if len(findings) > 1 else ''} found{''.join(lines)}\n"
        f"Remove them from the request, or allow harmless ones: {allow} for the first"
    )


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
    if recording.cut in {"timeout", "too_large"}:
        limit = f"{job.timeout:g} s" if recording.cut == "timeout" else "16 MB"
        raise UnexpectedResponse(
            where, f"it did not end within {limit}; raise --timeout, or request a shorter response"
        )
    if job.allow_error:
        return
    if not 200 <= recording.status < 300:
        excerpt = _make_excerpt(job, recording)
        raise UnexpectedResponse(
            where,
            f"HTTP status {recording.status}, expected 2xx; body: {excerpt}. To keep it, pass --allow-error",
        )
    if APIS[job.api].detect_framing(recording.status, recording.body) == "document":
        kind = recording.headers.get("content-type", "no content type")
        raise UnexpectedResponse(
            where,
            f"expected a stream, got {len(recording.body)} bytes of `{kind}` without a frame; body: "
            f"{_make_excerpt(job, recording)}. To keep it, pass --allow-error",
        )


def _check_twin(job: RecordJob, twin: RawRecording) -> None:
    if twin.cut is not None or (not 200 <= twin.status < 300 and not job.allow_error):
        raise UnexpectedResponse(
            twin.path,
            f"the twin (`stream: false`) has HTTP status {twin.status}"
            f"{f', cut: {twin.cut}' if twin.cut else ''}; body: {_make_excerpt(job, twin)}. Omit --twin",
        )
    try:
        json.loads(twin.body)
    except ValueError as error:
        raise UnexpectedResponse(twin.path, f"the twin is not JSON ({error}). Omit --twin") from error


def _make_excerpt(job: RecordJob, recording: RawRecording) -> str:
    """Return the beginning of a body as printable text, without names and keys."""
    placeholders = Placeholders(job.names)
    placeholders.learn(recording.body)
    text = placeholders.apply(recording.body).decode("utf-8", "replace")[:300]
    return f"`{' '.join(text.split())}`" if text.strip() else "empty"


def _apply_placeholders(recording: RawRecording, placeholders: Placeholders) -> RawRecording:
    return replace(
        recording,
        request_headers={
            name: placeholders.apply_text(text) for name, text in recording.request_headers.items()
        },
        request_body=placeholders.apply(recording.request_body),
        headers={name: placeholders.apply_text(text) for name, text in recording.headers.items()},
        body=placeholders.apply(recording.body),
    )
