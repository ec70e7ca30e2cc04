"""One exchange, from the request to a cassette that may be published: ask, ask for the twin, scrub, scan.

Nothing is written here; what leaves this module has passed the scan.
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
from streamconform.tools.record.errors import NotAnAnswer, SecretsLeft
from streamconform.tools.record.live import Recording, record, to_cassette
from streamconform.tools.record.placeholders import Placeholders
from streamconform.tools.record.providers import RECORDINGS, at_once, streaming
from streamconform.tools.record.scan import Finding, scan

SHOWN = 5
"""Findings named in an error; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be recorded, and how."""

    api: str
    base_url: str
    model: str
    name: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent beside those of the api. Those not on the allow-list are secrets: sent, forgotten, blanked."""
    key: str | None = None
    twin: bool = False
    allow_error: bool = False
    timeout: float = 300.0
    server: str = "unnamed server"
    """What answers, by name and version, for the provenance."""
    note: str | None = None
    names: tuple[str, ...] = ()
    """Names to be replaced wherever they stand."""
    allowed: tuple[str, ...] = ()
    """Fields and fingerprints that the scan lets pass."""
    date: str = field(default_factory=lambda: dt.datetime.now(dt.UTC).date().isoformat())

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """Return every value that may not be found in anything that is kept."""
        return scrub.secrets_of(_split(self)[1])


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A cassette free of secrets, and what was replaced in it."""

    cassette: Cassette
    replaced: Mapping[str, int]
    """Kind to number of distinct values."""


def exchange(order: Order, on_chunk: Callable[[bytes], None] | None = None) -> Exchanged:
    """Return the exchange that follows from `order`.

    Raises:
        RecordError: no connection, no HTTP, no stream, a status other than 2xx where none is allowed,
            a cut by one of our own bounds, or something left that looks secret.

    """
    body = streaming(order.body, order.model)
    recording = _ask(order, body, on_chunk)
    _check(order, recording)
    twin = None
    if order.twin:
        twin = _ask(order, at_once(RECORDINGS[order.api], body), None)
        _check_twin(order, twin)
    placeholders = Placeholders(order.names)
    placeholders.learn_request(body)
    for part in (recording, twin):
        if part is not None:
            placeholders.learn_headers(part.headers)
            placeholders.learn(part.request_body)
            placeholders.learn(part.body)
    scrubbed = _replaced(recording, placeholders)
    provenance = Recorded(
        server=order.server,
        model=placeholders.apply_text(order.model),
        date=order.date,
        tool=f"streamconform {__version__}",
        note=order.note,
    )
    cassette = to_cassette(scrubbed, api=order.api, name=order.name, provenance=provenance)
    if twin is not None:
        cassette = replace(cassette, twin=placeholders.apply(twin.body))
    look(order, parts_of(cassette))
    return Exchanged(cassette, placeholders.counts)


def parts_of(cassette: Cassette) -> dict[str, bytes]:
    """Return the parts of a cassette that are written, by the names that findings use."""
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


def look(order: Order, parts: Mapping[str, bytes], *, only_known: bool = False) -> None:
    """Raise `SecretsLeft` if one of the known secrets, or what looks like one, is in `parts`."""
    for part, data in parts.items():
        if scrub.blank(data, order.secrets) != data:
            raise SecretsLeft(
                APIS[order.api].endpoints.usual,
                f"the key, or the value of a header that is not kept, stands in the {part}, where it cannot "
                "be replaced. Take it out of what you ask",
            )
    if only_known:
        return
    if findings := scan(parts, order.allowed):
        raise SecretsLeft(APIS[order.api].endpoints.usual, _words(findings))


def _words(findings: tuple[Finding, ...]) -> str:
    lines = [f"\n  {each}" for each in findings[:SHOWN]]
    if len(findings) > SHOWN:
        lines.append(f"\n  and {len(findings) - SHOWN} more")
    first = findings[0]
    how = f"`--allow {first.fingerprint}`" + (f" or `--allow {first.field}`" if first.field else "")
    return (
        f"{len(findings)} place{'s' if len(findings) > 1 else ''} may be secret{''.join(lines)}\n"
        f"Take it out of the request, or, where it is harmless, let it pass: {how} for the first"
    )


def _ask(order: Order, body: Mapping[str, Any], on_chunk: Callable[[bytes], None] | None) -> Recording:
    plain, secret = _split(order)
    return record(
        order.base_url,
        APIS[order.api].endpoints.usual,
        plain,
        body,
        secret_headers=secret,
        timeout=order.timeout,
        on_chunk=on_chunk,
    )


def _split(order: Order) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers that are kept and those that are secret."""
    given = dict(RECORDINGS[order.api].headers) | {
        name.lower(): value for name, value in order.headers.items()
    }
    plain = scrub.kept(given, scrub.KEPT_OF_REQUEST)
    secret = {name: value for name, value in given.items() if name not in plain}
    return plain, secret | (APIS[order.api].key.headers(order.key) if order.key else {})


def _check(order: Order, recording: Recording) -> None:
    where = recording.path
    if recording.cut in {"timeout", "too_large"}:
        bound = f"{order.timeout:g} s" if recording.cut == "timeout" else "16 MB"
        raise NotAnAnswer(where, f"it had not ended after {bound}; raise --timeout, or ask for less")
    if order.allow_error:
        return
    if not 200 <= recording.status < 300:
        words = _excerpt(order, recording)
        raise NotAnAnswer(
            where, f"HTTP {recording.status}, expected 2xx; it says {words}. To keep it: --allow-error"
        )
    if APIS[order.api].detect_framing(recording.status, recording.body) == "document":
        kind = recording.headers.get("content-type", "no content type")
        raise NotAnAnswer(
            where,
            f"expected a stream, got {len(recording.body)} bytes of `{kind}` without a frame; it says "
            f"{_excerpt(order, recording)}. To keep it: --allow-error",
        )


def _check_twin(order: Order, twin: Recording) -> None:
    if twin.cut is not None or (not 200 <= twin.status < 300 and not order.allow_error):
        raise NotAnAnswer(
            twin.path,
            f"the twin (`stream: false`) came with HTTP {twin.status}"
            f"{f', cut: {twin.cut}' if twin.cut else ''}; it says {_excerpt(order, twin)}. Leave out --twin",
        )
    try:
        json.loads(twin.body)
    except ValueError as error:
        raise NotAnAnswer(twin.path, f"the twin is not JSON ({error}). Leave out --twin") from error


def _excerpt(order: Order, recording: Recording) -> str:
    """Return the beginning of a body as words for people, free of names and keys."""
    placeholders = Placeholders(order.names)
    placeholders.learn(recording.body)
    text = placeholders.apply(recording.body).decode("utf-8", "replace")[:300]
    return f"`{' '.join(text.split())}`" if text.strip() else "nothing"


def _replaced(recording: Recording, placeholders: Placeholders) -> Recording:
    return replace(
        recording,
        request_headers={
            name: placeholders.apply_text(text) for name, text in recording.request_headers.items()
        },
        request_body=placeholders.apply(recording.request_body),
        headers={name: placeholders.apply_text(text) for name, text in recording.headers.items()},
        body=placeholders.apply(recording.body),
    )
