"""An exchange as some other tool kept it, and the cassette that is made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from streamconform.apis import APIS
from streamconform.model.cassette import Cassette, Derived, Request
from streamconform.tools.record import scrub
from streamconform.tools.record.importers.coding import Undecodable, decoded
from streamconform.tools.record.live import SUFFIXES
from streamconform.tools.record.placeholders import Placeholders
from streamconform.wire import eventstream
from streamconform.wire.framings import MEDIA_TYPES, split

BODY_SUFFIX: Final[Mapping[str, str]] = {
    "sse": "sse",
    "ndjson": "ndjson",
    "json_array": "json",
    "eventstream": "eventstream",
}
CUTS_LOST: Final = "where the network cut the stream was not kept"


class Unfit(ValueError):
    """One exchange cannot become a cassette; the others of its file can."""


@dataclass(frozen=True, slots=True)
class Left:
    """An exchange that is left out, and why."""

    origin: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A response, with its request where that was kept. Header names are lower-case."""

    origin: str
    """The file's name and which of its exchanges."""
    recipe: str
    """The tool that kept it, and what was done to it."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes
    """As it was kept, still compressed where the headers say so."""
    url: str | None = None
    method: str = "POST"
    request_headers: Mapping[str, str] = field(default_factory=dict)
    request_body: bytes | None = None

    @property
    def api(self) -> str | None:
        """Return the api that the request's path belongs to."""
        return next((name for name, api in APIS.items() if api.importing.stream.search(self.path)), None)

    @property
    def at_once(self) -> bool:
        """Return whether the request's path says that no stream was asked for."""
        patterns = (api.importing.document for api in APIS.values())
        return any(pattern is not None and pattern.search(self.path) for pattern in patterns)

    @property
    def path(self) -> str:
        """Return the path that was asked, without its query; empty where it was not kept."""
        return urlsplit(self.url or "").path


def to_cassette(exchange: Exchange, api: str, name: str) -> Cassette:
    """Return `exchange` as a cassette of `api`: decoded, headers by allow-list, free of known secrets.

    Raises `Unfit` where it holds no answer that streams and no error document.
    """
    if exchange.method != "POST":
        raise Unfit(f"a {exchange.method}, and answers that stream are asked for by POST")
    try:
        coding = decoded(exchange.body, exchange.headers.get("content-encoding", ""))
    except Undecodable as error:
        raise Unfit(str(error)) from error
    framed = APIS[api].detect_framing(exchange.status, coding.body)
    media = exchange.headers.get("content-type", "").partition(";")[0].strip().lower()
    whole = framed == "document" or (framed == "ndjson" and len(split(framed, coding.body)) == 1)
    if whole and exchange.status < 400 and media == "application/json":
        raise Unfit(f"not a stream: status {exchange.status}, {media}")
    if not coding.body:
        raise Unfit(f"it has no body (status {exchange.status})")
    headers = scrub.kept(exchange.headers, scrub.KEPT_OF_RESPONSE - {"content-encoding"})
    notes = [each for each in (coding.note, _request_note(exchange)) if each]
    clean = _Cleaner(exchange, headers, coding.body)
    body = clean(coding.body)
    return Cassette(
        api=api,
        name=name,
        request=_request(exchange, api, clean),
        status=exchange.status,
        headers=clean.texts(headers) or {"content-type": MEDIA_TYPES[framed]},
        body=body if framed != "eventstream" else eventstream.update_checksums(coding.body, body),
        suffix=SUFFIXES.get(media) or BODY_SUFFIX.get(framed) or BODY_SUFFIX[APIS[api].framing],
        marks=(),
        provenance=Derived(exchange.origin, f"{exchange.recipe}; {CUTS_LOST}", note=" ".join(notes) or None),
    )


def slug(text: str) -> str:
    """Return `text` as the name of a cassette: lower-case words joined by hyphens, at most 80 characters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:80].strip("-") or "imported"


class _Cleaner:
    """Replaces what names a person, an account or a key, by as many bytes, in every part of an exchange."""

    def __init__(self, exchange: Exchange, headers: Mapping[str, str], body: bytes) -> None:
        self._secrets = scrub.secrets_of(_credentials(exchange.request_headers))
        self._placeholders = Placeholders()
        self._placeholders.learn_request(_json(exchange.request_body or b"") or {})
        self._placeholders.learn_headers(headers)
        self._placeholders.learn(exchange.request_body or b"")
        self._placeholders.learn(body)

    def __call__(self, data: bytes) -> bytes:
        return scrub.blank(self._placeholders.apply(data), self._secrets)

    def texts(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {name: self(value.encode()).decode() for name, value in headers.items()}


def _request(exchange: Exchange, api: str, clean: _Cleaner) -> Request:
    body = _json(clean(exchange.request_body or b""))
    kept = scrub.kept(exchange.request_headers, scrub.KEPT_OF_REQUEST)
    return Request(
        method="POST",
        path=_path(exchange.url) or APIS[api].importing.path,
        headers=clean.texts(kept) or {"content-type": "application/json"},
        body={"stream": True} if body is None else body,
    )


def _request_note(exchange: Exchange) -> str | None:
    if exchange.request_body is None:
        return "The request was not kept; a minimal one stands in its place."
    if _json(exchange.request_body) is None:
        return "The request was no JSON object; a minimal one stands in its place."
    return None


def _path(url: str | None) -> str:
    """Return path and query without the parameters that carry keys."""
    if url is None:
        return ""
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([(key, value) for key, value in pairs if key.lower() not in scrub.KEY_PARAMETERS])
    return parts.path + (f"?{query}" if query else "")


def _credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the request headers that are not kept and look like keys: the server may echo them."""
    words = ("auth", "key", "token", "secret")
    return {name: value for name, value in headers.items() if any(word in name for word in words)}


def _json(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
