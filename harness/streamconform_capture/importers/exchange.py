"""Convert an exchange recorded by another tool to a cassette."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from streamconform.apis import APIS
from streamconform.model.cassette import Cassette, ChunkMark, Derived, Request
from streamconform.model.trial import Framing
from streamconform.secrets import scrub
from streamconform.secrets.placeholders import Placeholders
from streamconform.wire import eventstream
from streamconform.wire.framings import MEDIA_TYPES, MESSAGE_REWRITERS, replace_payloads, split
from streamconform_capture.importers.coding import Undecodable, decode_body
from streamconform_capture.importers.damage import find_damage, note_damage
from streamconform_capture.record.live import SUFFIXES

BODY_SUFFIX: Final[Mapping[str, str]] = {
    "sse": "sse",
    "ndjson": "ndjson",
    "json_array": "json",
    "eventstream": "eventstream",
    "invoke_stream": "eventstream",
}
CUTS_LOST: Final = "the chunk boundaries were not recorded"


KINDS: Final[Mapping[type, str]] = {
    NoneType: "missing", bool: "a truth value", int: "a whole number", float: "a decimal number", str: "text",
    bytes: "bytes", list: "a list", tuple: "a list", dict: "a mapping",
}  # fmt: skip
"""What messages call a value of each type that files contain."""


T = TypeVar("T")


class NotImportable(ValueError):
    """This exchange cannot become a cassette; others in the same file still can."""


@dataclass(frozen=True, slots=True)
class SkippedExchange:
    """An exchange that is not imported, and the reason."""

    origin: str
    why: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An exchange in a file that has not been examined yet."""

    origin: str
    """The file's name, and the exchange's number in the file."""
    read: Callable[[], ImportedExchange]
    """Raises `NotImportable`, or any exception that values of an unexpected form cause."""


def require(value: object, kind: type[T], what: str) -> T:
    """Return `value`, or raise `NotImportable` if it is not of this type; `what` names it."""
    # A truth value is an `int`, but never the right one.
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    found = KINDS.get(type(value), "of another type")
    raise NotImportable(f"{what} is {found}" + (f", expected {KINDS[kind]}" if value is not None else ""))


def join_headers(pairs: Iterable[tuple[object, object]]) -> dict[str, str]:
    """Return headers by lower-case name; repeated values are joined with commas, as in HTTP."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        key, text = to_text(name, "a header's name").lower(), to_text(value, "a header's value")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def to_text(value: object, what: str) -> str:
    """Return a scalar as text that UTF-8 can represent, or raise `NotImportable`; `what` names it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    # The text of a list could be exponentially larger than a file with YAML aliases.
    text = str(value) if isinstance(value, int | float) else require(value, str, what)
    return text.encode("utf-8", "replace").decode()


def encode_text(text: str) -> bytes:
    """Return the bytes of a recorded body. Raises `NotImportable` for half of a surrogate pair."""
    try:
        # The two halves may be in different pieces of the text; UTF-16 joins them.
        return text.encode("utf-16", "surrogatepass").decode("utf-16").encode()
    except UnicodeDecodeError:
        raise NotImportable(
            "its text has half of a surrogate pair, so its bytes were lost when it was recorded"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedExchange:
    """A response and, if it was recorded, its request. Header names are lower-case."""

    origin: str
    """The file's name, and the exchange's number in the file."""
    recipe: str
    """The tool that recorded it, and how it was converted."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes
    """The recorded bytes, possibly still compressed."""
    url: str | None = None
    method: str = "POST"
    request_headers: Mapping[str, str] = field(default_factory=dict)
    request_body: bytes | None = None
    marks: tuple[ChunkMark, ...] = ()
    """The chunks, if the tool recorded them."""
    note: str | None = None
    """What the tool says about a recording that is incomplete."""

    def __post_init__(self) -> None:
        """Raise `NotImportable` if a value is not of the type or in the range that HTTP has."""
        if not 100 <= self.status <= 599:
            raise NotImportable("its status is not between 100 and 599")
        require(self.body, bytes, "its response body")
        require(self.request_body or b"", bytes, "its request body")
        try:
            urlsplit((self.url or "").encode().decode())
        except ValueError:
            raise NotImportable("its URL is not valid") from None

    @property
    def api(self) -> str | None:
        """Return the API that the request's path belongs to, or None."""
        return next((name for name, api in APIS.items() if api.importing.stream.search(self.path)), None)

    @property
    def decoded_body(self) -> bytes:
        """Return the body without its content coding, or unchanged if the coding cannot be removed."""
        try:
            return decode_body(self.body, self.headers.get("content-encoding", "")).body
        except Undecodable:
            return self.body

    @property
    def document_api(self) -> str | None:
        """Return the API to whose non-streaming endpoint the request's path belongs, or None."""
        patterns = ((name, api.importing.document) for name, api in APIS.items())
        return next((name for name, pattern in patterns if pattern and pattern.search(self.path)), None)

    @property
    def path(self) -> str:
        """Return the request's path without its query; empty if the request was not recorded."""
        return urlsplit(self.url or "").path


def to_cassette(
    exchange: ImportedExchange, api: str, *, documents: bool = False
) -> tuple[Cassette, str | None]:
    """Return `exchange` as an `api` cassette without a name, decoded and without known secrets.

    The second value describes the damage, if the recording is incomplete. Raises `NotImportable` if the
    response is damaged beyond use, or is neither a stream nor an error document nor, with `documents`, the
    answer to a request for one.
    """
    if exchange.method != "POST":
        raise NotImportable(f"its method is {exchange.method}, expected POST")
    try:
        coding = decode_body(exchange.body, exchange.headers.get("content-encoding", ""))
    except Undecodable as error:
        raise NotImportable(str(error)) from error
    framed = APIS[api].detect_framing(exchange.status, coding.body)
    media = exchange.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not (documents and _asks_for_document(exchange, api)):
        _reject_document(exchange.status, framed, media, coding.body)
    _reject_damaged(exchange.status, framed, media, coding.body)
    headers = scrub.filter_headers(exchange.headers, scrub.RESPONSE_HEADERS - {"content-encoding"})
    damage = [note for note in (exchange.note, coding.note, note_damage(framed, coding.body)) if note]
    missing = _explain_missing_request(exchange)
    marks = exchange.marks if coding.body is exchange.body else ()
    clean = _Cleaner(exchange, headers, coding.body, framed)
    body = clean(coding.body)
    if framed in MESSAGE_REWRITERS:
        # Binary frames have checksums, which replacing a value would invalidate, and their payloads may be in
        # base64.
        body = replace_payloads(framed, eventstream.update_checksums(coding.body, body), clean)
    cassette = Cassette(
        api=api,
        name="imported",
        request=_build_request(exchange, api, clean),
        status=exchange.status,
        headers={"content-type": MEDIA_TYPES[framed]} | clean.clean_headers(headers),
        body=body,
        suffix=SUFFIXES.get(media) or BODY_SUFFIX.get(framed) or BODY_SUFFIX[APIS[api].framing],
        marks=marks,
        provenance=Derived(
            exchange.origin,
            exchange.recipe if marks else f"{exchange.recipe}; {CUTS_LOST}",
            note=" ".join([*damage, *([missing] if missing else [])]) or None,
        ),
    )
    return cassette, " ".join(damage) or None


def _asks_for_document(exchange: ImportedExchange, api: str) -> bool:
    body = _parse_json(exchange.request_body or b"")
    request = Request(method="POST", path=exchange.path, headers={}, body=body or {"stream": True})
    return not APIS[api].requests_stream(request)


def _reject_document(status: int, framed: Framing, media: str, body: bytes) -> None:
    """Raise `NotImportable` for a body that is neither a stream nor an error document."""
    # Where a stream consists of JSON lines, a non-streaming answer looks like a stream of one line.
    whole = framed == "document" or (framed == "ndjson" and len(split(framed, body)) == 1)
    if body and whole and status < 400 and media in ("application/json", ""):
        raise NotImportable(f"not a stream: HTTP status {status}, {media or 'a document'}")


def _reject_damaged(status: int, framed: Framing, media: str, body: bytes) -> None:
    """Raise `NotImportable` for a body that is empty or damaged."""
    if not body:
        raise NotImportable(f"it has no body (HTTP status {status})")
    if status < 400 and (why := find_damage(framed, media, body)) is not None:
        raise NotImportable(why)


def make_slug(text: str) -> str:
    """Return `text` as a cassette name: lower-case words joined by hyphens, at most 80 characters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:80].strip("-") or "imported"


def find_secrets(exchange: ImportedExchange) -> tuple[bytes, ...]:
    """Return the keys, passwords and cookies in an exchange, which the server may echo in its body."""
    return scrub.find_credentials(exchange.request_headers, exchange.headers, exchange.url or "")


class _Cleaner:
    """Replaces keys and identifying values with text of the same length in every part of an exchange."""

    def __init__(
        self, exchange: ImportedExchange, headers: Mapping[str, str], body: bytes, framed: Framing
    ) -> None:
        self._secrets = find_secrets(exchange)
        self._placeholders = Placeholders()
        self._placeholders.learn_request(_parse_json(exchange.request_body or b"") or {})
        self._placeholders.learn_headers(headers)
        self._placeholders.learn((exchange.url or "").encode("utf-8", "replace"))
        self._placeholders.learn(exchange.request_body or b"")
        self._placeholders.learn(body)
        for frame in split(framed, body) if framed in MESSAGE_REWRITERS else ():
            self._placeholders.learn(frame.payload)

    def __call__(self, data: bytes) -> bytes:
        return scrub.blank(self._placeholders.apply(data), self._secrets)

    def clean_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {name: self.clean_text(value) for name, value in headers.items()}

    def clean_text(self, text: str) -> str:
        return self(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")


def _build_request(exchange: ImportedExchange, api: str, clean: _Cleaner) -> Request:
    body = _parse_json(clean(exchange.request_body or b""))
    headers = scrub.filter_headers(exchange.request_headers, scrub.REQUEST_HEADERS)
    return Request(
        method="POST",
        path=clean.clean_text(_get_target(exchange.url)) or APIS[api].importing.path,
        headers=clean.clean_headers(headers) or {"content-type": "application/json"},
        body={"stream": True} if body is None else body,
    )


def _explain_missing_request(exchange: ImportedExchange) -> str | None:
    if exchange.request_body is None:
        return "The request was not recorded; a minimal one replaces it."
    if _parse_json(exchange.request_body) is None:
        return "The request is not a JSON object; a minimal one replaces it."
    return None


def _get_target(url: str | None) -> str:
    """Return the path and query of `url`, without the values of parameters that contain keys."""
    parts = urlsplit(url or "")
    return scrub.replace_key_parameters(parts.path + (f"?{parts.query}" if parts.query else ""))


def _parse_json(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
